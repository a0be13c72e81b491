"""`rackfit accuracy`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import catalog_option, json_option, opened
from rackfit.cli.showing import show_json, show_table

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(short_help="Estimates against published measurements")
@click.option("--cases", type=FILE, help="Case file in CSV  [default: the catalog's measurements]")
@click.option("--csv", "csv_file", type=FILE, help="Also write one row per case to this file")
@json_option
@catalog_option
def accuracy(cases: Path | None, csv_file: Path | None, as_json: bool, catalog: Path | None) -> None:
    """Estimate every case from its configuration alone and report the error by kind.

    \b
    rackfit accuracy
    rackfit accuracy --cases my-cases.csv --csv rows.csv
    """
    from rackfit.accuracy.score import score

    if cases is not None and not cases.is_file():
        raise click.BadParameter(f"{cases} is not a file", param_hint="--cases")
    with opened(catalog) as connection:
        report = score(connection, cases)
        if csv_file is not None:
            report.write_csv(csv_file)
    if as_json:
        show_json(report.as_json())
        return
    for title, groups in (("by kind", report.groups("kind")), ("by quantity", report.groups("quantity"))):
        click.echo(f"\n{title}", color=False)
        show_table([_shown(name, group) for name, group in groups.items()])
    fits = report.fits()
    click.echo(
        f"\nsaid it fits: {fits['true_fit']} right, {fits['false_fit']} wrong; "
        f"said no: {fits['true_no']} right, {fits['false_no']} wrong",
        color=False,
    )
    if (coverage := report.coverage()) is not None:
        click.echo(f"measured values inside the range given: {coverage:.0%}", color=False)


def _shown(name: str, group: Mapping[str, Any]) -> dict[str, Any]:
    errors = {key: "" if group[key] is None else f"{group[key]:.1%}" for key in ("median", "p90", "max")}
    return {"": name, **{key: group[key] for key in ("cases", "resolved", "refused")}, **errors}
