"""`rackfit accuracy`."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rackfit.cli.options import catalog_option, json_option, opened
from rackfit.cli.showing import show_json, show_table

if TYPE_CHECKING:
    from rackfit.accuracy.score import Report
    from rackfit.accuracy.summary import Row

FILE = click.Path(path_type=Path, dir_okay=False)
WORST = 10
GROUPS = (
    ("kind", "by kind"),
    ("quantity", "by quantity"),
    ("engine", "by engine rules"),
    ("precision", "by precision family"),
    ("confidence", "by confidence"),
)
SHOWN_COMPONENTS = ("weights", "kv", "kv pool", "workspace", "non-torch", "graphs", "usable")


@click.command(short_help="Estimates against published measurements")
@click.option("--cases", type=FILE, help="Case file in CSV  [default: the catalog's measurements]")
@click.option("--csv", "csv_file", type=FILE, help="Also write one row per case to this file")
@json_option
@catalog_option
def accuracy(cases: Path | None, csv_file: Path | None, as_json: bool, catalog: Path | None) -> None:
    """Estimate every case from its configuration alone and report the error by kind.

    The worst cases come last, each component of the estimate beside what the same run of the source prints.

    \b
    rackfit accuracy
    rackfit accuracy --cases my-cases.csv --csv rows.csv
    """
    from rackfit.accuracy.score import score
    from rackfit.accuracy.summary import estimated_row
    from rackfit.catalog.context import read_context

    if cases is not None and not cases.is_file():
        raise click.BadParameter(f"{cases} is not a file", param_hint="--cases")
    with opened(catalog) as connection:
        report = score(connection, cases)
        if csv_file is not None:
            report.write_csv(csv_file)
        context = read_context(connection)
        rows = [estimated_row(connection, context, one) for one in report.estimates]
        if as_json:
            show_json(_document(connection, report, rows))
            return
        _show_summary(rows)
        _show_worst(connection, report, rows)


def _document(connection: sqlite3.Connection, report: Report, rows: Sequence[Row]) -> dict[str, Any]:
    from rackfit.accuracy import summary

    return {
        **report.as_json(),
        "engines": summary.groups(rows, "engine"),
        "precisions": summary.groups(rows, "precision"),
        "absolute": summary.absolute(rows),
        "refusals": summary.refusals(rows),
        "worst": [
            {"case_id": row.case_id, "relative_error": row.relative_error, "components": parts}
            for row, parts in _taken_apart(connection, report, summary.worst(rows)[:WORST])
        ],
    }


def _show_summary(rows: Sequence[Row]) -> None:
    from rackfit.accuracy import summary

    for field, title in GROUPS:
        _say(f"\n{title}")
        show_table([_shown(name, group) for name, group in summary.groups(rows, field).items()])
    fits = summary.confusion(rows)
    _say("\nstatements of fit")
    show_table(
        [
            {"the source says": "fits", "right": fits["true_fit"], "wrong": fits["false_no"],
             "refused": fits["refused_fit"], "share right": _percent(fits["fits_right"])},
            {"the source says": "does not fit", "right": fits["true_no"], "wrong": fits["false_fit"],
             "refused": fits["refused_no"], "share right": _percent(fits["no_right"])},
        ]
    )  # fmt: skip
    if absolute := summary.absolute(rows):
        _say("\npools as a share of the card's memory, small terms in GiB")
        show_table([_shown_absolute(entry) for entry in absolute])
    everything = summary.summary(rows)
    if everything["ranged"]:
        _say(
            f"\nmeasured values inside the range given: {everything['in_range']} of {everything['ranged']} "
            f"({everything['coverage']:.0%})"
        )


def _show_worst(connection: sqlite3.Connection, report: Report, rows: Sequence[Row]) -> None:
    from rackfit.accuracy import summary

    lists = (
        ("wrong verdicts", summary.wrong_verdicts(rows)[:WORST]),
        (f"furthest off, at most {WORST} cases", summary.worst(rows)[:WORST]),
    )
    for title, chosen in lists:
        if chosen:
            _say(f"\n{title}; components in GiB per device, behind the slash as the same run prints them")
            show_table([_worst_line(row, parts) for row, parts in _taken_apart(connection, report, chosen)])


def _taken_apart(
    connection: sqlite3.Connection, report: Report, rows: Sequence[Row]
) -> list[tuple[Row, dict[str, dict[str, float | None]]]]:
    """Return rows with their components: name -> estimate and printed, GiB; none for runs that no engine serves."""
    from rackfit.accuracy.components import components
    from rackfit.accuracy.setting import setting_of
    from rackfit.accuracy.training import is_training
    from rackfit.catalog.context import read_context
    from rackfit.errors import RackfitError

    context = read_context(connection)
    cases = {one.case.case_id: one.case for one in report.estimates}
    found = []
    for row in rows:
        case = cases[row.case_id]
        try:
            setting = None if is_training(case) else setting_of(connection, context, case)
        except RackfitError:
            setting = None  # what was assumed in its place has no components of an engine
        parts = components(setting, cases.values()) if setting is not None and setting.subject is not None else []
        found.append((row, {one.name: {"estimate": one.estimate, "printed": one.printed} for one in parts}))
    return found


def _worst_line(row: Row, parts: Mapping[str, Mapping[str, float | None]]) -> dict[str, Any]:
    verdicts = {1.0: "fits", 0.0: "no"}
    is_fit = row.quantity == "fits"
    estimate = "" if row.estimate is None else f"{row.estimate:.4g}" if row.estimate < 1e4 else f"{row.estimate:,.0f}"
    line = {
        "case": row.case_id,
        "quantity": row.quantity,
        "measured": verdicts.get(row.measured or 0.0) if is_fit else row.printed,
        "estimate": verdicts.get(row.estimate or 0.0) if is_fit else estimate,
        "error": "" if row.relative_error is None else f"{row.relative_error:+.1%}",
    }
    for name in SHOWN_COMPONENTS:
        part = parts.get(name, {"estimate": None, "printed": None})
        shown = "" if part["estimate"] is None else f"{part['estimate']:.2f}"
        line[name] = shown if part["printed"] is None else f"{shown} / {part['printed']:.2f}"
    return line


def _shown(name: str, group: Mapping[str, Any]) -> dict[str, Any]:
    errors = {key: _percent(group[key]) for key in ("median", "p90", "max")}
    covered = f"{group['in_range']} of {group['ranged']}" if group["ranged"] else ""
    return {"": name, **{key: group[key] for key in ("cases", "resolved", "refused")}, **errors, "in range": covered}


def _shown_absolute(entry: Mapping[str, Any]) -> dict[str, Any]:
    card = entry["unit"] != "GiB"

    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:.1%}" if card else f"{value:.2f} GiB"

    limit = f"{entry['limit']:.0%}" if card else f"{entry['limit']} GiB"
    return {
        "": entry["quantity"],
        "cases": entry["cases"],
        **{name: shown(entry[name]) for name in ("median", "p90", "max")},
        "within": f"{entry['within']} of {entry['cases']} by {limit}",
    }


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _say(text: str) -> None:
    click.echo(text, color=False)
