"""Run what must hold in a finished catalog, all of it, and say every breach in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from rackfit.catalog.invariants import CHECKS, MUST_EXIST, Check

SHOWN = 5
"""Offending rows named per check; the rest is counted."""


def broken_checks(connection: sqlite3.Connection, must_exist: bool = True) -> list[str]:
    """Run every check and return what is wrong, a line each; an empty list means that the catalog is sound.

    `must_exist=False` leaves out the list of rows that a published catalog has.
    """
    present = {row[0] for row in connection.execute("select name from sqlite_master where type in ('table', 'view')")}
    found: list[str] = []
    for check in CHECKS:
        if set(check.tables) <= present:
            found.extend(_breaches(connection, check))
        else:
            found.append(f"{check.name}: no table {', '.join(sorted(set(check.tables) - present))} ({check.why})")
    found.extend(_dangling(connection))
    if must_exist:
        found.extend(_missing_rows(connection, present))
    return found


def _breaches(connection: sqlite3.Connection, check: Check) -> Iterator[str]:
    rows = connection.execute(check.sql).fetchall()
    for row in rows[:SHOWN]:
        yield f"{check.name}: {row[0]}: {row[1]} ({check.why})"
    if len(rows) > SHOWN:
        yield f"{check.name}: and {len(rows) - SHOWN} more"


def _dangling(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield one line per foreign key that leads nowhere, with the number of such rows and one of them."""
    counts: dict[tuple[str, str], list[int]] = {}
    for table, row, parent, _ in connection.execute("pragma foreign_key_check"):
        counts.setdefault((table, parent), []).append(row or 0)
    for (table, parent), rows in sorted(counts.items()):
        yield f"foreign-keys: {len(rows)} rows of {table}, such as row {rows[0]}, point to no row of {parent}"


def _missing_rows(connection: sqlite3.Connection, present: set[str]) -> Iterator[str]:
    for (table, column), values in MUST_EXIST.items():
        found: set[str] = set()
        if table in present:
            found = {row[0] for row in connection.execute(f'select "{column}" from "{table}"')}
        for value in values:
            if value not in found:
                yield f"must-exist: {table} has no {value}"
