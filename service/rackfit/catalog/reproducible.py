"""One release, one hash: what a catalog says, apart from how SQLite laid it out."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Container
from typing import Any

CHUNK = 2000
"""Rows taken at a time. It bounds memory and does not change the hash."""

ORIGIN = "origin"
"""Column that tells rows of a release from local ones, which are no part of what the release says."""

SELF_DESCRIBING = frozenset({"releases"})
"""Tables left out of the hash because the hash stands in them."""


def normalised(sql: str) -> str:
    """Return a statement with spacing and letter case that no longer matter."""
    return re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", sql)).strip().lower()


def schema(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return (type, name, normalised statement) of everything in the schema, sorted."""
    rows = connection.execute("select type, name, sql from sqlite_master where name not like 'sqlite\\_%' escape '\\'")
    return sorted((kind, name, normalised(sql or "")) for kind, name, sql in rows)


def own_tables(connection: sqlite3.Connection, schema: str = "main") -> list[str]:
    """Return the names of the tables of a catalog, sorted, without those that SQLite and its tools keep for themselves.

    Args:
        connection: a catalog.
        schema: the file, where a second one is attached.
    """
    names = connection.execute(f"select name from {schema}.sqlite_master where type = 'table' order by name").fetchall()
    return [str(row[0]) for row in names if not row[0].startswith(("sqlite_", "_sqlite"))]


def key_columns(connection: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Return (name, declared type) of the columns of a table's primary key, in its order."""
    rows = [row for row in connection.execute(f'pragma main.table_info("{table}")') if row[5]]
    return [(row[1], row[2]) for row in sorted(rows, key=lambda row: row[5])]


def only_released(columns: Container[str]) -> str:
    """Return the condition that leaves the local rows of a table out; empty where it has none."""
    return f"where {ORIGIN} <> 'local'" if ORIGIN in columns else ""


def _hash_table(connection: sqlite3.Connection, table: str, digest: Any) -> None:
    cursor = connection.cursor()
    cursor.row_factory = None
    columns = {row[1] for row in connection.execute(f'pragma table_info("{table}")')}
    order = ", ".join(f'"{name}"' for name, _ in key_columns(connection, table)) or "rowid"
    cursor.execute(f'select * from "{table}" {only_released(columns)} order by {order}')
    while rows := cursor.fetchmany(CHUNK):
        digest.update(("\n".join(map(repr, rows)) + "\n").encode())


def logical_hash(connection: sqlite3.Connection) -> str:
    """Return the sha256 over the schema and every row of the release in key order.

    Equal for equal content, whatever the SQLite; local rows beside it do not change it.
    """
    digest = hashlib.sha256(repr(schema(connection)).encode())
    for table in own_tables(connection):
        if table in SELF_DESCRIBING:
            continue
        digest.update(f"\n{table}\n".encode())
        _hash_table(connection, table, digest)
    return digest.hexdigest()
