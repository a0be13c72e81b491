"""A tender check as a table: one line per system and requirement, the summary of each system among the notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_id
from rackfit.records.fieldguide import describe
from rackfit.tabular.table import Column, Table

NAME = "tender"
COLUMNS = (
    "system", "system_verdict", "requirement", "text", "wanted", "verdict", "value", "reason", "record", "sources",
    "confidence", "assumptions",
)  # fmt: skip


def tender_table(connection: sqlite3.Connection, found: Mapping[str, Any]) -> Table:
    """Return the check of a tender as a table, with the sources behind it."""
    whole = {row["system"]: row["verdict"] for row in found["systems"]}
    rows = [{**row, "system_verdict": whole[row["system"]]} for row in found["results"]]
    keys = {key for row in rows for key in row["sources"]}
    columns = [Column(name, name, describe(name, NAME).description, None, "string") for name in COLUMNS]
    return Table(
        NAME, columns, [[_text(row[name]) for name in COLUMNS] for row in rows],
        [*_asked(found), *catalog_notes(connection)], sources_by_id(connection, keys),
    )  # fmt: skip


def _text(value: Any) -> Any:
    return "; ".join(value) or None if isinstance(value, list) else value


def _asked(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    asked = [(f"asked: {name}", value) for name, value in found["query"].items() if value is not None]
    summary = [
        (f"system {row['system']}", f"{row['verdict']}: {row['compliant']} compliant, {row['not_compliant']} not, "
         f"{row['unknown']} unknown")
        for row in found["systems"]
    ]  # fmt: skip
    return [*asked, *summary]
