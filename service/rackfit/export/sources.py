"""The sources behind what is taken away, with their licences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rackfit.catalog.read import rows_of
from rackfit.export.selection import Selection

_SOURCES = """
select source_id, title, url as path, issuer, published, accessed, licence, share_alike from sources
where source_id in ({chosen}) order by source_id
"""


def sources_of(connection: sqlite3.Connection, selection: Selection) -> list[dict[str, Any]]:
    """Return the sources behind a table's facts; behind a query or view, those of every table in its SQL."""
    named = connection.execute("select distinct table_name from provenance").fetchall()
    text = (
        selection.sql if selection.table is None else selection.table + " " + _definition(connection, selection.table)
    )
    tables = [name for (name,) in named if name in text]
    chosen = f"select source_id from provenance where table_name in ({', '.join('?' * len(tables))})"
    return _rows(connection, chosen, tables)


def sources_by_id(connection: sqlite3.Connection, keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return the sources of so many keys."""
    listed = sorted(set(keys))
    return _rows(connection, ", ".join("?" * len(listed)), listed)


def sources_by_offer(connection: sqlite3.Connection, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the sources of the prices in rows that have an `offer_id`."""
    offers = sorted({row["offer_id"] for row in rows if row.get("offer_id") is not None})
    chosen = f"select source_id from offers where offer_id in ({', '.join('?' * len(offers))})"
    return _rows(connection, chosen, offers)


def _rows(connection: sqlite3.Connection, chosen: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    rows = rows_of(connection, _SOURCES.format(chosen=chosen), *values)
    return [{name: value for name, value in row.items() if value not in (None, 0)} for row in rows]


def _definition(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("select sql from sqlite_master where name = ? and type = 'view'", (name,)).fetchone()
    return row[0] if row else ""
