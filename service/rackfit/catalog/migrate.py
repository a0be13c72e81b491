"""Schema steps: SQL files by number, applied in order, each in one transaction together with its record."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from rackfit.catalog.connect import APPLICATION_ID, migration_files

SET_NAME = "rackfit"


def _load(path: Path) -> Callable[[Any], None]:
    """Return the `apply` function of one schema step, read by path because the folder is no package."""
    spec = importlib.util.spec_from_file_location(f"rackfit_migration_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    apply: Callable[[Any], None] = module.apply
    return apply


def load_migrations() -> Migrations:
    """Return every schema step as one sqlite-utils migration set, named after the files."""
    migrations = Migrations(SET_NAME)
    for path in migration_files():
        migrations(name=path.stem)(_load(path))
    return migrations


def migrate(connection: sqlite3.Connection, stop_before: str | None = None) -> list[str]:
    """Apply the pending steps and return their names.

    `stop_before` is a step's name (`m0003_offers`): it and the later ones stay pending.
    """
    migrations, database = load_migrations(), Database(connection)
    before = set(applied(connection))
    migrations.apply(database, stop_before=stop_before)
    after = applied(connection)
    newest = int(after[-1][1:5]) if after else 0
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.execute(f"pragma user_version = {newest}")
    return [name for name in after if name not in before]


def pending(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the steps that this database lacks."""
    return [step.name for step in load_migrations().pending(Database(connection))]


def applied(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the steps that this database has, in the order they were applied."""
    return [step.name for step in Migrations(SET_NAME).applied(Database(connection))]


def stamp(connection: sqlite3.Connection, moment: str) -> None:
    """Date every applied step `moment`, so that two builds of one release are the same bytes."""
    connection.execute("update _sqlite_migrations set applied_at = ?", (moment,))
