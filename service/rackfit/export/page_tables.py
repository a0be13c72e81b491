"""Lists that pages and commands show row by row, as tables: the columns of each, with what the field guide says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rackfit.export.columns import answer_columns
from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_id
from rackfit.tabular.table import Column, Kind, Table

SCALING, ZERO, MATRIX, CASES, SOURCES, DIFF = "scaling", "zero", "matrix", "cases", "sources", "diff"
PAGE_TABLES: dict[str, dict[str, Kind]] = {
    SCALING: {
        "strategy": "string", "degree": "integer", "tokens": "integer", "figure": "string", "compute_s": "number",
        "communication_s": "number", "efficiency": "number", "link": "string", "link_gb_s": "number",
        "bytes_per_token": "integer", "bound_by": "string", "assumptions": "string",
    },
    ZERO: {
        "stage": "integer", "partitioned": "string", "formula": "string", "bytes_per_parameter": "number",
        "bytes_per_device": "number", "reduction": "number", "communication": "number", "fewest_devices": "integer",
    },
    MATRIX: {
        "model": "string", "hardware": "string", "verdict": "string", "precision": "string",
        "effective_bits": "number", "context": "string", "sequences": "string", "why": "string",
    },
    CASES: {
        "case_id": "string", "kind": "string", "quantity": "string", "unit": "string", "printed": "string",
        "measured": "number", "estimate": "number", "low": "number", "high": "number", "relative_error": "number",
        "error_gib": "number", "card_share": "number", "inside_range": "integer", "status": "string",
        "reason": "string", "confidence": "string", "runtime": "string", "engine": "string", "precision": "string",
        "model": "string", "gpu": "string", "engine_stated": "string", "assumptions": "string",
        "source_url": "string", "source_note": "string",
    },
    DIFF: {
        "about": "string", "change": "string", "table": "string", "key": "string", "field": "string", "old": "any",
        "new": "any",
    },
    SOURCES: {
        "source_id": "string", "title": "string", "url": "string", "issuer": "string", "published": "date",
        "accessed": "date", "source_class": "string", "licence": "string", "share_alike": "integer",
        "facts": "integer",
    },
}  # fmt: skip
"""Table -> its columns: name -> what its cells are."""


def page_table(
    connection: sqlite3.Connection, name: str, rows: Iterable[Mapping[str, Any]], asked: Mapping[str, Any]
) -> Table:
    """Return the rows of one of `PAGE_TABLES`, with what was asked as notes and the sources that they name."""
    kinds, listed = PAGE_TABLES[name], list(rows)
    cells = [[row.get(column) for column in kinds] for row in listed]
    keys = {str(row["source_id"]) for row in listed if "source_id" in kinds}
    return noted(connection, name, answer_columns(name, kinds), cells, asked, keys)


def noted(
    connection: sqlite3.Connection,
    name: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    asked: Mapping[str, Any],
    sources: Iterable[str],
) -> Table:
    """Return rows as a table under their columns' bare names, with what was asked and the sources of these keys."""
    bare = [replace(column, header=column.name) for column in columns]
    notes = [(f"asked: {key}", str(value)) for key, value in asked.items() if value is not None]
    return Table(name, bare, rows, [*notes, *catalog_notes(connection)], sources_by_id(connection, sources))
