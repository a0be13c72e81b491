"""One release, one hash: what a catalog says, apart from how SQLite laid it out."""

from __future__ import annotations

import hashlib
import re
import sqlite3
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


def _primary_key(connection: sqlite3.Connection, table: str) -> str:
    columns = [row for row in connection.execute(f'pragma table_info("{table}")') if row[5]]
    return ", ".join(f'"{row[1]}"' for row in sorted(columns, key=lambda row: row[5])) or "rowid"


def _hash_table(connection: sqlite3.Connection, table: str, digest: Any) -> None:
    cursor = connection.cursor()
    cursor.row_factory = None
    columns = {row[1] for row in connection.execute(f'pragma table_info("{table}")')}
    released = f"where {ORIGIN} <> 'local'" if ORIGIN in columns else ""
    cursor.execute(f'select * from "{table}" {released} order by {_primary_key(connection, table)}')
    while rows := cursor.fetchmany(CHUNK):
        digest.update(("\n".join(map(repr, rows)) + "\n").encode())


def logical_hash(connection: sqlite3.Connection) -> str:
    """Return the sha256 over the schema and every row of the release in key order.

    Equal for equal content, whatever the SQLite; local rows beside it do not change it.
    """
    digest = hashlib.sha256(repr(schema(connection)).encode())
    tables = connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall()
    for (table,) in (tuple(row) for row in tables):
        if table in SELF_DESCRIBING or table.startswith(("sqlite_", "_sqlite")):
            continue
        digest.update(f"\n{table}\n".encode())
        _hash_table(connection, table, digest)
    return digest.hexdigest()
