"""The release that a catalog holds."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

NEWEST = "select version, date, logical_hash from releases order by date desc, version desc limit 1"


class Release(NamedTuple):
    """A release of the catalog. None: the catalog holds none, as one that is being built."""

    version: str | None = None
    date: str | None = None
    logical_hash: str | None = None
    """Hash of the contents, the same for the same data."""


def newest_release(connection: sqlite3.Connection) -> Release:
    """Return the newest release of a catalog."""
    row = connection.execute(NEWEST).fetchone()
    return Release(*row) if row else Release()
