"""What the columns of an export are: name in the header, meaning, unit and type."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from rackfit.records.fieldguide import guide

SUFFIXES = {
    "byte": "bytes",
    "bytes": "bytes",
    "B": "bytes",
    "GB as labelled": "gb",
    "GB": "gb",
    "GB/s": "gb_s",
    "MHz": "mhz",
    "W": "w",
    "bit": "bits",
    "bits": "bits",
    "tokens/s": "tokens_s",
    "%": "percent",
    "USD": "usd",
    "tokens": "tokens",
    "TFLOPS": "tflops",
    "Gbit/s": "gbps",
    "B/param": "bytes_per_param",
    "kg": "kg",
    "mm": "mm",
}
"""Unit in the field guide -> ending of a column's name that says it."""

TYPES = {"INTEGER": "integer", "REAL": "number", "TEXT": "string", "BLOB": "string"}
"""SQLite's declared type -> Table Schema type."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in SQL, its header, and what the field guide says of it."""

    name: str
    header: str
    description: str | None
    unit: str | None
    kind: str

    def as_field(self) -> dict[str, str]:
        """Return the column as a field of a Table Schema."""
        field = {"name": self.header, "type": self.kind}
        if self.description:
            field["description"] = self.description
        if self.unit:
            field["unit"] = self.unit
        if self.header != self.name:
            field["column"] = self.name
        return field


def header(name: str, unit: str | None) -> str:
    """Return a column's name with its unit, unless the name says it already.

    >>> header("memory_bandwidth_gb_s", "GB/s"), header("max_context", "tokens")
    ('memory_bandwidth_gb_s', 'max_context_tokens')
    """
    suffix = SUFFIXES.get(unit or "")
    if suffix is None or set(suffix.split("_")) & set(name.split("_")):
        return name
    return f"{name}_{suffix}"


def describe_columns(connection: sqlite3.Connection, names: Iterable[str], table: str | None = None) -> list[Column]:
    """Return what each column of a table, view or query is; a column nobody describes keeps its bare name."""
    declared = _declared_types(connection, table) if table else {}
    entries = guide()
    columns = []
    for name in names:
        entry = entries.get(f"{table}.{name}") or entries.get(name)
        unit = entry.unit if entry else None
        kind = TYPES.get(declared.get(name, ""), "any")
        description = entry.description if entry else None
        columns.append(Column(name, header(name, unit), description, unit, kind))
    return _unique(columns)


def _declared_types(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    rows = connection.execute("select name, type from pragma_table_info(?)", (table,))
    return {name: kind.upper() for name, kind in rows}


def _unique(columns: list[Column]) -> list[Column]:
    """Keep bare names where two headers would be the same."""
    headers = [column.header for column in columns]
    return [
        Column(column.name, column.name, column.description, column.unit, column.kind)
        if headers.count(column.header) > 1
        else column
        for column in columns
    ]
