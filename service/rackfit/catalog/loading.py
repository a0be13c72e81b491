"""Rows into tables: many at a time, and by name when one is refused."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rackfit.errors import CatalogError

BATCH = 5000
"""Rows held in memory before they are written."""


def load(connection: sqlite3.Connection, rows: Iterable[tuple[str, dict[str, Any]]]) -> Counter[str]:
    """Insert rows in the order given and return how many went into each table.

    Raises:
        CatalogError: naming table, reason and row, when the schema refuses one.
    """
    counts: Counter[str] = Counter()
    table = ""
    columns: tuple[str, ...] = ()
    batch: list[tuple[Any, ...]] = []
    for name, row in rows:
        if name != table or tuple(row) != columns or len(batch) >= BATCH:
            _insert(connection, table, columns, batch)
            table, columns, batch = name, tuple(row), []
        batch.append(tuple(row.values()))
        counts[name] += 1
    _insert(connection, table, columns, batch)
    return counts


def _insert(connection: sqlite3.Connection, table: str, columns: tuple[str, ...], batch: list[tuple[Any, ...]]) -> None:
    if not batch:
        return
    names = ", ".join(f'"{column}"' for column in columns)
    statement = f'insert into "{table}" ({names}) values ({", ".join("?" * len(columns))})'
    connection.execute("savepoint load_batch")
    try:
        connection.executemany(statement, batch)
    except (sqlite3.IntegrityError, sqlite3.OperationalError, sqlite3.InterfaceError, OverflowError) as error:
        if "disk" in str(error):
            raise
        connection.execute("rollback to load_batch")
        raise _refusal(connection, statement, table, columns, batch) from error
    connection.execute("release load_batch")


def _refusal(
    connection: sqlite3.Connection, statement: str, table: str, columns: tuple[str, ...], batch: list[tuple[Any, ...]]
) -> CatalogError:
    """Find the first row of a batch that the schema refuses."""
    for values in batch:
        try:
            connection.execute(statement, values)
        except (sqlite3.Error, OverflowError) as error:
            shown = ", ".join(f"{column}={value!r}" for column, value in zip(columns, values, strict=True))
            return CatalogError(f"{table}: {error} in the row {shown[:400]}")
    return CatalogError(f"{table}: a batch of rows was refused")


def defer_indexes(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Drop every index and return (table, statement) to create it again: loading first and indexing after is faster."""
    found = connection.execute(
        "select name, tbl_name, sql from sqlite_master where type = 'index' and sql is not null and "
        "tbl_name not like '\\_sqlite%' escape '\\' order by name"
    ).fetchall()
    for name, _, _ in found:
        connection.execute(f'drop index "{name}"')
    return [(table, sql) for _, table, sql in found]
