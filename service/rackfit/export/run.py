"""Take something away: query, stream to a temporary file, rename, and describe the file beside it."""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from rackfit.export.columns import Column, describe_columns
from rackfit.export.csv_file import Dialect, write_rows
from rackfit.export.package import check_folder, resource, write_package
from rackfit.export.selection import Selection

BATCH = 1000
"""Rows fetched at a time."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written."""

    path: Path | None
    package: Path | None
    rows: int
    catalog_version: str


class _Hashing(io.RawIOBase):
    """A binary file that counts and hashes what passes through."""

    def __init__(self, target: BinaryIO | IO[bytes]) -> None:
        self.target, self.digest, self.size = target, hashlib.sha256(), 0

    def writable(self) -> bool:
        """Say that this can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write, count and hash."""
        self.target.write(data)
        self.digest.update(data)
        self.size += len(data)
        return len(data)


def catalog_release(connection: sqlite3.Connection) -> tuple[str, str | None]:
    """Return the version of the catalog and its logical hash."""
    row = connection.execute("select version, logical_hash from releases order by date desc, version desc").fetchone()
    return (row[0], row[1]) if row else ("unknown", None)


def _fetch(cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
    while batch := cursor.fetchmany(BATCH):
        yield from batch


def write_stream(
    connection: sqlite3.Connection, selection: Selection, stream: BinaryIO | IO[bytes], dialect: Dialect
) -> tuple[list[Column], int, _Hashing]:
    """Write a selection as CSV to a binary stream; return its columns, the rows written, and size and hash."""
    cursor = connection.execute(selection.sql, dict(selection.values))
    columns = describe_columns(connection, [item[0] for item in cursor.description], selection.table)
    counted = _Hashing(stream)
    text = io.TextIOWrapper(io.BufferedWriter(counted, 1 << 16), encoding="utf-8", newline="")
    rows = write_rows(text, [column.header for column in columns], _fetch(cursor), dialect)
    text.flush()
    text.detach().detach()
    return columns, rows, counted


def export(
    connection: sqlite3.Connection,
    selection: Selection,
    target: Path,
    dialect: Dialect | None = None,
    package: bool = True,
) -> ExportReport:
    """Write a selection to a CSV file and, beside it, what it is; a file of that name is replaced whole or not at all.

    Raises:
        UsageError: the folder's datapackage.json belongs to somebody else.
        sqlite3.Error: the SQL does not run.
        OSError: the folder cannot be written.
    """
    chosen = dialect or Dialect()
    if package:
        check_folder(target.parent)
    version, digest = catalog_release(connection)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.writing")
    try:
        with temporary.open("wb") as stream:
            columns, rows, counted = write_stream(connection, selection, stream, chosen)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    if not package:
        return ExportReport(target, None, rows, version)
    facts = {
        "catalog_version": version,
        "catalog_hash": digest,
        "rows": rows,
        "bytes": counted.size,
        "hash": f"sha256:{counted.digest.hexdigest()}",
        "query": selection.sql,
        "parameters": dict(selection.values),
    }
    described = resource(target, selection.name, columns, chosen, facts, _sources(connection, selection))
    return ExportReport(target, write_package(target.parent, described), rows, version)


def _sources(connection: sqlite3.Connection, selection: Selection) -> list[dict[str, Any]]:
    """Return the sources behind a table's facts; behind a query or view, those of every table in its SQL."""
    named = connection.execute("select distinct table_name from provenance").fetchall()
    text = (
        selection.sql if selection.table is None else selection.table + " " + _definition(connection, selection.table)
    )
    tables = [name for (name,) in named if name in text]
    marks = ", ".join("?" * len(tables))
    sql = f"""
        select title, url as path, licence, share_alike from sources
        where source_id in (select source_id from provenance where table_name in ({marks}))
        order by source_id
    """
    rows = [
        dict(zip(("title", "path", "licence", "share_alike"), row, strict=True))
        for row in connection.execute(sql, tables)
    ]
    return [{name: value for name, value in row.items() if value not in (None, 0)} for row in rows]


def _definition(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("select sql from sqlite_master where name = ? and type = 'view'", (name,)).fetchone()
    return row[0] if row else ""
