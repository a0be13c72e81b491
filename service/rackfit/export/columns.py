"""What the columns of an export are: name in the header, meaning, unit and type."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rackfit.records.fieldguide import describe, guide
from rackfit.tabular.table import Column, Kind, distinct, header

TYPES: dict[str, Kind] = {"INTEGER": "integer", "REAL": "number", "TEXT": "string", "BLOB": "string"}
"""SQLite's declared type -> type of a column."""

FOUND: tuple[tuple[frozenset[str], Kind], ...] = (
    (frozenset({"integer"}), "integer"),
    (frozenset({"integer", "real"}), "number"),
)
"""Types of the values of a column that nothing is declared of -> type of the column; any other mix is text."""

DATES = frozenset({"valid_from", "valid_until", "price_date", "date", "accessed", "published", "released"})


def describe_columns(connection: sqlite3.Connection, names: Iterable[str], table: str | None = None) -> list[Column]:
    """Return what each column of a table, view or query is; a column nobody describes keeps its bare name."""
    declared = _declared_types(connection, table) if table else {}
    entries = guide()
    columns = []
    for name in names:
        entry = entries.get(f"{table}.{name}") or entries.get(name)
        unit = entry.unit if entry else None
        description = entry.description if entry else None
        columns.append(Column(name, header(name, unit), description, unit, _kind(name, declared.get(name, ""))))
    return distinct(columns)


def answer_columns(table: str, kinds: Mapping[str, Kind]) -> list[Column]:
    """Return the columns of a table that holds answers, with what the field guide says of each there.

    Raises:
        KeyError: the guide does not describe one of them.
    """
    entries = ((name, kind, describe(name, table)) for name, kind in kinds.items())
    return distinct(
        [Column(name, header(name, one.unit), one.description, one.unit, kind) for name, kind, one in entries]
    )


def _kind(name: str, declared: str) -> Kind:
    if (name in DATES or name.endswith("_date")) and declared in ("TEXT", ""):
        return "date"
    return TYPES.get(declared, "any")


def settle_kinds(
    connection: sqlite3.Connection, columns: Sequence[Column], sql: str, values: Mapping[str, Any]
) -> list[Column]:
    """Return columns of which each has a type: what nothing is declared of has the type of its values."""
    unsettled = [place for place, column in enumerate(columns) if column.kind == "any"]
    if not unsettled:
        return list(columns)
    kinds = ", ".join(f"group_concat(distinct typeof(c{place}))" for place in unsettled)
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    row = connection.execute(f"with rows_of({names}) as ({sql}) select {kinds} from rows_of", dict(values)).fetchone()
    settled = list(columns)
    for place, found in zip(unsettled, row, strict=True):
        types = frozenset((found or "").split(",")) - {"null", ""}
        kind: Kind = next((kind for among, kind in FOUND if types and types <= among), "string")
        settled[place] = replace(columns[place], kind=kind)
    return settled


def _declared_types(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    rows = connection.execute("select name, type from pragma_table_info(?)", (table,))
    return {name: kind.upper() for name, kind in rows}
