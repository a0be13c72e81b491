"""`rackfit diff`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rackfit.cli.options import catalog_path, json_option
from rackfit.cli.showing import show_json, show_table
from rackfit.cli.taking import Wanted, output_option

if TYPE_CHECKING:
    from rackfit.catalog.diff import Difference

FILE = click.Path(path_type=Path, dir_okay=False)
SHOWN = 40
"""Lines of one list that a table for people shows."""


@click.command("diff", short_help="Two catalogs: facts that changed, verdicts that flipped")
@click.argument("old", metavar="OLD", type=FILE)
@click.argument("new", metavar="[NEW]", type=FILE, required=False)
@click.option("--flips", type=click.IntRange(min=0), default=1000, show_default=True, help="Most flipped fits to list")
@output_option
@json_option
def diff(old: Path, new: Path | None, flips: int, output: Wanted | None, as_json: bool) -> None:
    """Compare two catalogs. Without NEW the one in use is the newer.

    Listed are records that are gone, records that are new, every field that says something else, and the fits whose
    verdict is another. Local rows are not compared. A file (-o) has all of them.

    \b
    rackfit diff october.db november.db
    rackfit diff october.db --json
    rackfit diff october.db november.db -o what-changed.csv
    """
    from rackfit.catalog.diff import compare

    newer = new or catalog_path(None)
    found = compare(old, newer, None if output is not None else flips)
    if output is not None:
        from rackfit.catalog.connect import open_catalog
        from rackfit.export.page_tables import DIFF, page_table

        with open_catalog(newer) as connection:
            table = page_table(connection, DIFF, _lines(found), {"old": old.name, "new": newer.name})
            output.write(connection, table, {"asked": {"old": old.name, "new": newer.name}})
    elif as_json:
        show_json(_document(found))
    else:
        _show(found)


def _lines(found: Difference) -> Iterator[dict[str, Any]]:
    for change in found.changes:
        yield {**asdict(change), "about": "fact"}
    for flip in found.flips:
        key = "/".join((flip.model, flip.precision, flip.configuration))
        yield {
            "about": "verdict", "change": "changed", "table": "inference_fits", "key": key, "field": "verdict",
            "old": flip.old, "new": flip.new,
        }  # fmt: skip


def _document(found: Difference) -> dict[str, Any]:
    return {
        "old": found.old._asdict(),
        "new": found.new._asdict(),
        "changes": [asdict(change) for change in found.changes],
        "verdicts": [{"old": old, "new": new, "fits": count} for (old, new), count in found.flip_counts.items()],
        "flips": [asdict(flip) for flip in found.flips],
        "not_compared": list(found.not_compared),
    }


def _show(found: Difference) -> None:
    click.echo(f"from {found.old.version} of {found.old.date} to {found.new.version} of {found.new.date}", color=False)
    counts = Counter((change.table, change.change) for change in found.changes)
    tables = sorted({table for table, _ in counts})
    rows = [
        {"table": table, **{kind: counts[table, kind] or None for kind in ("removed", "added", "changed")}}
        for table in tables
    ]
    click.echo("\nfacts", color=False)
    headings = {"table": "table", "removed": "rows gone", "added": "rows new", "changed": "fields changed"}
    show_table(rows, headings, empty="no fact changed")
    for kind in ("removed", "changed", "added"):
        _list(kind, [asdict(change) for change in found.changes if change.change == kind])
    click.echo("\nverdicts of fits", color=False)
    flipped = [{"old": old, "new": new, "fits": count} for (old, new), count in found.flip_counts.items()]
    show_table(flipped, {"old": "was", "new": "is", "fits": "fits"}, empty="no verdict flipped")
    if found.flips:
        click.echo("", color=False)
        show_table([asdict(flip) for flip in found.flips[:SHOWN]])
        _more(sum(found.flip_counts.values()), SHOWN)
    if found.not_compared:
        click.echo(f"\nonly one of the two has: {', '.join(found.not_compared)}", color=False)


def _list(kind: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    click.echo(f"\n{kind}", color=False)
    names = ("table", "key", "field", "old", "new") if kind == "changed" else ("table", "key")
    show_table(rows[:SHOWN], {name: name for name in names})
    _more(len(rows), SHOWN)


def _more(count: int, shown: int) -> None:
    if count > shown:
        click.echo(f"... and {count - shown:,} more: -o FILE has all of them", color=False)
