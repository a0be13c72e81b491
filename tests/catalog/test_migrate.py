"""Schema steps: order, records, and stopping."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.connect import APPLICATION_ID, migration_files, schema_version
from rackfit.catalog.migrate import applied, migrate, pending, stamp


@pytest.fixture
def empty() -> sqlite3.Connection:
    """An empty database in memory."""
    return sqlite3.connect(":memory:", isolation_level=None)


def test_all_steps_in_order(empty: sqlite3.Connection) -> None:
    """Every step is applied in the order of its number and none is left."""
    names = [path.stem for path in migration_files()]
    assert migrate(empty) == names
    assert applied(empty) == names
    assert pending(empty) == []


def test_steps_are_numbered_without_gaps() -> None:
    """Numbers start at 1 and none is missing or taken twice."""
    assert [int(path.name[1:5]) for path in migration_files()] == list(range(1, schema_version() + 1))


def test_stopping_before_a_step(empty: sqlite3.Connection) -> None:
    """What stands before the named step is applied, the rest stays pending and follows later."""
    names = [path.stem for path in migration_files()]
    assert migrate(empty, stop_before=names[2]) == names[:2]
    assert pending(empty) == names[2:]
    assert empty.execute("pragma user_version").fetchone()[0] == 2
    assert migrate(empty) == names[2:]


def test_applying_twice_changes_nothing(empty: sqlite3.Connection) -> None:
    """A second run applies nothing."""
    migrate(empty)
    assert migrate(empty) == []


def test_header_says_what_the_file_is(empty: sqlite3.Connection) -> None:
    """The file carries the application's number and the newest step's."""
    migrate(empty)
    assert empty.execute("pragma application_id").fetchone()[0] == APPLICATION_ID
    assert empty.execute("pragma user_version").fetchone()[0] == schema_version()


def test_stamp_replaces_the_clock(empty: sqlite3.Connection) -> None:
    """Every step gets the release's date in place of the time of day."""
    migrate(empty)
    stamp(empty, "2026-11-29 00:00:00+00:00")
    assert {row[0] for row in empty.execute("select applied_at from _sqlite_migrations")} == {
        "2026-11-29 00:00:00+00:00"
    }


def test_every_table_is_strict(empty: sqlite3.Connection) -> None:
    """No table takes a value of another type than its column's."""
    migrate(empty)
    loose = empty.execute(
        "select name from pragma_table_list where schema = 'main' and type = 'table' and strict = 0 "
        "and name not like 'sqlite%' and name not like '\\_sqlite%' escape '\\'"
    ).fetchall()
    assert loose == []


def test_every_foreign_key_leads_to_a_key(empty: sqlite3.Connection) -> None:
    """A foreign key names a table that exists and its primary key or a unique column."""
    migrate(empty)
    tables = [row[0] for row in empty.execute("select name from sqlite_master where type = 'table'")]
    for table in tables:
        for key in empty.execute(f'pragma foreign_key_list("{table}")').fetchall():
            parent = {row[1] for row in empty.execute(f'pragma table_info("{key[2]}")')}
            assert key[4] in parent, f"{table}.{key[3]} -> {key[2]}.{key[4]}"
