"""Open a catalog, or say in one line why that is not possible."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from rackfit.errors import CatalogError
from rackfit.paths import packaged

APPLICATION_ID = 0x52_41_4B_46
"""`RAKF` in the file's header: what tells a catalog from any other SQLite file."""

HEADER_BYTES = 100
APPLICATION_ID_AT = 68
"""Length of the header of an SQLite file and the place of the id in it, https://www.sqlite.org/fileformat.html."""

MINIMUM_SQLITE = (3, 37, 0)
"""STRICT tables came with SQLite 3.37.0, https://www.sqlite.org/releaselog/3_37_0.html."""


def check_sqlite(found: tuple[int, ...] | None = None) -> None:
    """Refuse an SQLite library without STRICT tables.

    Raises:
        CatalogError: naming the version found and the one needed.
    """
    version = found or sqlite3.sqlite_version_info
    if version < MINIMUM_SQLITE:
        shown, needed = (".".join(str(part) for part in numbers) for numbers in (version, MINIMUM_SQLITE))
        raise CatalogError(f"SQLite {shown} is too old: {needed} or later is needed")


def check_target(path: Path) -> None:
    """Refuse to build over anything that is neither a catalog, however old or damaged, nor empty.

    Raises:
        CatalogError: the path is a folder or device, or the file is somebody else's.
    """
    try:
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return
        if not path.is_file():
            raise CatalogError(f"{path} is not a file: name one for the catalog")
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
    except OSError as error:
        raise CatalogError(f"{path} cannot be read ({error.strerror}): nothing was built") from error
    if head[APPLICATION_ID_AT : APPLICATION_ID_AT + 4] != APPLICATION_ID.to_bytes(4, "big"):
        raise CatalogError(f"{path} exists and is not a Rackfit catalog: nothing was built over it")


def migration_files() -> list[Path]:
    """Return the schema steps in order."""
    return sorted(packaged("migrations").glob("m[0-9][0-9][0-9][0-9]_*.py"))


def schema_version() -> int:
    """Return the number of the newest schema step, which a complete catalog carries as user_version."""
    files = migration_files()
    return int(files[-1].name[1:5]) if files else 0


class Reading(sqlite3.Connection):
    """A read-only connection, with what was read once and is asked for again and again."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.kept: dict[str, Any] = {}


def open_catalog(path: Path | str, writable: bool = False) -> sqlite3.Connection:
    """Open a finished catalog with foreign keys on and rows that answer to names.

    Raises:
        CatalogError: the file is missing, damaged, no catalog, or made by another version of Rackfit.
    """
    check_sqlite()
    path = Path(path)
    if path.exists() and not path.is_file():
        raise CatalogError(f"{path} is not a file: name a catalog")
    if not path.is_file():
        raise CatalogError(f"no catalog at {path}: run `rackfit build` first")
    uri = f"{path.resolve().as_uri()}?mode={'rw' if writable else 'ro'}"
    connection = None
    try:
        connection = sqlite3.connect(uri, uri=True, factory=sqlite3.Connection if writable else Reading)
        connection.row_factory = sqlite3.Row
        connection.execute("pragma foreign_keys = on")
        _check_header(connection, path)
    except (sqlite3.Error, CatalogError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, CatalogError):
            raise
        hint = "" if "not a database" in str(error) else ": run `rackfit build` again"
        raise CatalogError(f"{path} cannot be read as a catalog ({error}){hint}") from error
    return connection


def check_identity(path: Path) -> None:
    """Say whether a file is a catalog, of whatever schema.

    Raises:
        CatalogError: the file is missing, damaged, or no catalog.
    """
    if not path.is_file():
        raise CatalogError(f"no catalog at {path}")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = _pragma(connection, "application_id")
            connection.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise CatalogError(f"{path} cannot be read as a catalog ({error})") from error
    if found != APPLICATION_ID:
        raise CatalogError(f"{path} is not a Rackfit catalog")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"pragma {name}").fetchone()[0])


def _check_header(connection: sqlite3.Connection, path: Path) -> None:
    """Check identity, schema version and length of the file."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise CatalogError(f"{path} is not a Rackfit catalog")
    found, needed = _pragma(connection, "user_version"), schema_version()
    if found > needed:
        raise CatalogError(f"{path} has schema {found}, this Rackfit knows {needed}: update Rackfit")
    if found < needed:
        raise CatalogError(f"{path} has schema {found}, {needed} is needed: run `rackfit build` again")
    if path.stat().st_size < _pragma(connection, "page_count") * _pragma(connection, "page_size"):
        raise CatalogError(f"{path} is cut short: run `rackfit build` again")
    connection.execute("select count(*) from sqlite_master").fetchone()
