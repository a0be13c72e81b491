"""Take something away: query, stream to a temporary file, rename, and describe the file beside it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from rackfit.catalog.release import newest_release
from rackfit.export.columns import describe_columns, settle_kinds
from rackfit.export.package import IMPORT_AS_TEXT, LICENCE, check_folder, resource, write_package
from rackfit.export.selection import Selection
from rackfit.export.sources import sources_of
from rackfit.tabular.csv_file import Dialect, write_csv
from rackfit.tabular.formats import FORMATS, Format, writer_of
from rackfit.tabular.table import Table

BATCH = 1000
"""Rows fetched at a time."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written."""

    path: Path
    package: Path | None
    rows: int
    catalog_version: str | None


def catalog_notes(connection: sqlite3.Connection) -> list[tuple[str, Any]]:
    """Return what every file says of the catalog that it comes from, and of itself."""
    release = newest_release(connection)
    return [
        ("catalog version", release.version),
        ("catalog hash", release.logical_hash),
        ("licence", f"{LICENCE['title']} ({LICENCE['path']}); sources keep theirs"),
        ("empty cell", "unknown or not applicable; never zero"),
        ("text", IMPORT_AS_TEXT),
    ]


def _fetch(cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
    while batch := cursor.fetchmany(BATCH):
        yield from batch


def table_of(connection: sqlite3.Connection, selection: Selection, typed: bool = False) -> Table:
    """Return a selection as a table whose rows are read as they are asked for.

    Args:
        connection: an open catalog.
        selection: what is taken.
        typed: give each column the type of its values where none is declared; the query runs twice then.
    """
    values = dict(selection.values)
    cursor = connection.execute(selection.sql, values)
    columns = describe_columns(connection, [item[0] for item in cursor.description], selection.table)
    if typed:
        columns = settle_kinds(connection, columns, selection.sql, values)
    asked = [("taken", selection.name), ("query", selection.sql), *((f"parameter {n}", v) for n, v in values.items())]
    notes = [*asked, *catalog_notes(connection)]
    return Table(selection.name, columns, _fetch(cursor), notes, sources_of(connection, selection))


def write_stream(connection: sqlite3.Connection, selection: Selection, stream: IO[bytes]) -> int:
    """Write a selection to a binary stream as CSV and return its rows."""
    return write_csv(table_of(connection, selection), stream)


def export(
    connection: sqlite3.Connection,
    selection: Selection,
    target: Path,
    dialect: Dialect | None = None,
    package: bool = True,
    chosen: Format = FORMATS["csv"],
) -> ExportReport:
    """Write a selection to a file and, beside it, what it is; a file of that name is replaced whole or not at all.

    Raises:
        UsageError: the folder's datapackage.json belongs to somebody else, or the format cannot hold the rows.
        MissingExtraError: the format needs a library that is not installed.
        sqlite3.Error: the SQL does not run.
        OSError: the folder cannot be written.
    """
    table = table_of(connection, selection, typed=chosen.name == "parquet")
    facts = {"query": selection.sql, "parameters": dict(selection.values)}
    return export_table(connection, table, target, facts, dialect, package, chosen)


def export_table(
    connection: sqlite3.Connection,
    table: Table,
    target: Path,
    facts: Mapping[str, Any],
    dialect: Dialect | None = None,
    package: bool = True,
    chosen: Format = FORMATS["csv"],
) -> ExportReport:
    """Write a table to a file as `export` does; `facts` say in the side-car what was asked."""
    if package:
        check_folder(target.parent)
    release = newest_release(connection)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.writing")
    try:
        with temporary.open("w+b") as stream:
            rows = writer_of(chosen, dialect)(table, stream)
            stream.flush()
            os.fsync(stream.fileno())
            stream.seek(0)
            checksum, size = hashlib.file_digest(stream, "sha256").hexdigest(), temporary.stat().st_size
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    if not package:
        return ExportReport(target, None, rows, release.version)
    described = resource(
        target, replace(table, rows=()), chosen, dialect or Dialect(),
        {"catalog_version": release.version, "catalog_hash": release.logical_hash, "rows": rows, "bytes": size,
         "hash": f"sha256:{checksum}", **facts},
    )  # fmt: skip
    return ExportReport(target, write_package(target.parent, described), rows, release.version)
