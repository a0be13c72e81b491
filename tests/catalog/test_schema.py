"""The schema is the same however one comes to it: built, migrated step by step, or declared in Python."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rackfit.catalog.build import build
from rackfit.catalog.connect import migration_files
from rackfit.catalog.migrate import migrate
from rackfit.catalog.reproducible import schema
from rackfit.catalog.tables import table_models
from rackfit.export.answer_tables import ANSWER_TABLES
from rackfit.records.fieldguide import describe, guide, read_guide
from rackfit.records.kinds import CSV_KINDS, RECORD_KINDS
from rackfit.records.sources import Source

PART = "(part)"
"""Stands for the table of fields in nested parts, whose rows go to tables of other names."""


def _migrated(step_by_step: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if step_by_step:
        for path in migration_files()[1:]:
            migrate(connection, stop_before=path.stem)
    migrate(connection)
    return connection


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [name for kind, name, _ in schema(connection) if kind == "table" and not name.startswith("_sqlite")]


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, tuple[str, bool, int]]:
    """Return column -> (type, not null, place in the primary key)."""
    rows = connection.execute(f'pragma table_info("{table}")').fetchall()
    return {row[1]: (row[2].upper(), bool(row[3]) or bool(row[5]), row[5]) for row in rows}


def _foreign_keys(connection: sqlite3.Connection, table: str) -> set[tuple[str, str, str]]:
    rows = connection.execute(f'pragma foreign_key_list("{table}")').fetchall()
    return {(row[3], row[2], row[4]) for row in rows}


@pytest.fixture(scope="module")
def declared() -> sqlite3.Connection:
    """A database made from the SQLModel classes."""
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.schema import CreateTable

    connection = sqlite3.connect(":memory:")
    for model in table_models().values():
        connection.execute(str(CreateTable(model.__table__).compile(dialect=sqlite.dialect())))
    return connection


def test_step_by_step_equals_at_once() -> None:
    """Migrations run one by one make the schema that they make together."""
    assert schema(_migrated(step_by_step=True)) == schema(_migrated())


def test_build_equals_migrations(small_data: Path, tmp_path: Path) -> None:
    """A fresh build has the schema of the migrations, indexes and views included."""
    target = tmp_path / "catalog.db"
    build(target, [small_data], must_exist=False)
    assert schema(sqlite3.connect(target)) == schema(_migrated())


def test_every_table_is_declared() -> None:
    """The SQLModel classes are for the tables of the migrations, no more and no less."""
    assert sorted(table_models()) == sorted(_tables(_migrated()))


@pytest.mark.parametrize("table", sorted(table_models()))
def test_declared_as_migrated(declared: sqlite3.Connection, table: str) -> None:
    """A class has the columns, types, nullability, primary key and foreign keys of its table."""
    migrated = _migrated()
    assert _columns(declared, table) == _columns(migrated, table)
    assert _foreign_keys(declared, table) == _foreign_keys(migrated, table)


def _has_guide(table: str, field: str) -> bool:
    if table == PART:
        return field in guide() or any(entry.endswith(f".{field}") for entry in guide())
    try:
        return bool(describe(field, table).description)
    except KeyError:
        return False


def _named_fields() -> set[tuple[str, str]]:
    """Return (table or kind, field) of everything that needs a description."""
    connection = _migrated()
    found = {(table, column) for table in _tables(connection) for column in _columns(connection, table)}
    views = [name for kind, name, _ in schema(connection) if kind == "view"]
    found |= {(view, row[1]) for view in views for row in connection.execute(f'pragma table_info("{view}")')}
    for kind in (*RECORD_KINDS, *CSV_KINDS):
        parts = _fields_of(kind.model) - set(kind.model.model_fields)
        found |= {(kind.name, field) for field in kind.model.model_fields} | {(PART, field) for field in parts}
    found |= {(table, column) for table, columns in ANSWER_TABLES.items() for column in columns}
    return found | {("sources", field) for field in Source.model_fields}


def _fields_of(model: Any) -> set[str]:
    """Return the field names of a record and of its parts."""
    from pydantic import BaseModel

    found: set[str] = set()
    for name, info in model.model_fields.items():
        found.add(name)
        for part in _inside(info.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                found |= _fields_of(part)
    return found


def _inside(annotation: Any) -> list[Any]:
    inner = getattr(annotation, "__args__", ())
    return [annotation, *(item for part in inner for item in _inside(part))]


def test_every_field_is_described() -> None:
    """Each column and each record field has a description; the missing ones are named."""
    missing = sorted(f"{table}.{field}" for table, field in _named_fields() if not _has_guide(table, field))
    assert missing == []


def test_every_description_is_used() -> None:
    """No description is left of a field that is gone."""
    tables, fields = ({names[place] for names in _named_fields()} for place in (0, 1))
    split = [(entry, *entry.rpartition(".")[::2]) for entry in guide()]
    assert [entry for entry, table, field in split if field not in fields or (table and table not in tables)] == []


def test_a_field_described_twice_is_an_error(tmp_path: Path) -> None:
    """Two files may not describe one field."""
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('[width]\ndescription = "Width"\n')
    with pytest.raises(ValueError, match=r"b\.toml: width is described in another file"):
        read_guide(tmp_path)


def test_a_field_with_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    """An entry has a description and at most a unit."""
    (tmp_path / "a.toml").write_text('[width]\ndescription = "Width"\nunits = "m"\n')
    with pytest.raises(ValueError, match=r"a\.toml: width"):
        read_guide(tmp_path)
