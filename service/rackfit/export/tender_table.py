"""A tender check as a table: one line per system and requirement, the summary of each system among the notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from rackfit.export.columns import answer_columns
from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_id
from rackfit.tabular.table import Kind, Table, cell_of

NAME = "tender"
KINDS: dict[str, Kind] = dict.fromkeys((
    "system", "system_verdict", "requirement", "text", "wanted", "verdict", "value", "reason", "record", "sources",
    "confidence", "assumptions",
), "string")  # fmt: skip
"""Columns of a line: name -> what its cells are."""


def tender_table(connection: sqlite3.Connection, found: Mapping[str, Any]) -> Table:
    """Return the check of a tender as a table, with the sources behind it."""
    whole = {row["system"]: row["verdict"] for row in found["systems"]}
    rows = [{**row, "system_verdict": whole[row["system"]]} for row in found["results"]]
    keys = {key for row in rows for key in row["sources"]}
    return Table(
        NAME, answer_columns(NAME, KINDS), [[cell_of(row[name]) for name in KINDS] for row in rows],
        [*_asked(found), *catalog_notes(connection)], sources_by_id(connection, keys),
    )  # fmt: skip


def _asked(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    asked = [(f"asked: {name}", value) for name, value in found["query"].items() if value is not None]
    summary = [
        (f"system {row['system']}", f"{row['verdict']}: {row['compliant']} compliant, {row['not_compliant']} not, "
         f"{row['unknown']} unknown")
        for row in found["systems"]
    ]  # fmt: skip
    return [*asked, *summary]
