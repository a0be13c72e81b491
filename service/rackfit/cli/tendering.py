"""`rackfit tender`: requirement lines against systems."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rackfit.cli.options import catalog_option, json_option, limit_option, opened
from rackfit.cli.showing import show_json, show_table
from rackfit.cli.taking import Wanted, file_options

if TYPE_CHECKING:
    from rackfit.ask.tender.offered import Offered

FILE = click.Path(path_type=Path, dir_okay=False)
FEW = 3
"""Systems of which every requirement is shown; of more the summary."""
_SUMMARY = {
    "system": "system", "verdict": "verdict", "compliant": "compliant", "not_compliant": "not", "unknown": "unknown",
    "fails": "fails", "open": "not known",
}  # fmt: skip
_LINES = {"requirement": "requirement", "wanted": "wanted", "verdict": "verdict", "value": "value", "record": "record"}


@click.command(short_help="Requirement lines against systems: compliant, not, unknown, with evidence")
@click.argument("requirements", type=FILE)
@click.option("--offers", type=FILE, help="A vendor's systems: CSV with name, hardware, and what the vendor states")
@click.option("--system", "systems", multiple=True, metavar="HARDWARE", help="A system or expression; repeat it")
@click.option("--kind", help="Without offers and systems: that kind of system  [default: all that are bought]")
@click.option("--provider", help="Without offers and systems: systems of that maker or provider")
@limit_option(20)
@file_options
@json_option
@catalog_option
def tender(requirements: Path, limit: int, as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Check REQUIREMENTS, a .toml or .csv file, against systems offered or on record.

    A requirement is compliant, not compliant, or unknown: what is not on record, disputed, or only within part of an
    estimate's range is unknown and never taken for met. Each verdict has its value, record and sources. The file:
    docs/tender.md. Without --offers and --system every system on record that is bought is checked; people are shown the
    first --limit of them, best first, files and --json have all.

    \\b
    rackfit tender requirements.toml --system nvidia-dgx-h200 --system "8x mi300x"
    rackfit tender requirements.toml --offers offers.csv -o check.xlsx
    rackfit tender requirements.csv --provider Dell --json
    """
    from rackfit.ask.tender.judge import check_tender
    from rackfit.ask.tender.requirements import read_requirements

    to_file = asked["output"] is not None or asked["named_format"] is not None
    wanted = Wanted.read(asked) if to_file else None
    lines = read_requirements(requirements)
    with opened(catalog) as connection:
        found = check_tender(connection, lines, _offered(connection, asked))
        if wanted is not None:
            from rackfit.export.tender_table import tender_table

            wanted.write(connection, tender_table(connection, found), {"asked": found["query"]})
            return
    show_json(found) if as_json else _show(found, limit)


def _offered(connection: sqlite3.Connection, asked: Mapping[str, Any]) -> list[Offered]:
    """Return the systems that are asked about.

    Raises:
        click.UsageError: offers or systems beside a choice among those on record.
    """
    from rackfit.ask.tender.offered import named_systems, of_catalog, read_offered

    chosen = bool(asked["offers"] or asked["systems"])
    if chosen and (asked["kind"] or asked["provider"]):
        raise click.UsageError("--kind and --provider choose among all systems on record: leave out --offers, --system")
    if not chosen:
        return of_catalog(connection, asked["provider"], asked["kind"])
    offers = read_offered(connection, asked["offers"]) if asked["offers"] else []
    return [*offers, *named_systems(connection, asked["systems"])]


def _show(found: Mapping[str, Any], limit: int) -> None:
    systems: Sequence[Mapping[str, Any]] = found["systems"]
    rows = [{**row, "fails": ", ".join(row["fails"]), "open": ", ".join(row["open"])} for row in systems]
    show_table(rows[:limit], _SUMMARY)
    if len(rows) > limit:
        click.echo(
            f"the first {limit} of {len(rows)}: --limit shows more, --json and -o have all", err=True, color=False
        )
    if len(systems) <= FEW:
        for row in systems:
            click.echo(f"\n{row['system']}", color=False)
            show_table([line for line in found["results"] if line["system"] == row["system"]], _LINES)
