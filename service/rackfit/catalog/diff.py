"""Two catalogs beside each other: facts that changed, and verdicts that flipped.

The older catalog may have an older schema: tables and columns that both have are compared, the others are named.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rackfit.catalog.connect import check_identity
from rackfit.catalog.release import Release, newest_release
from rackfit.catalog.reproducible import key_columns, only_released, own_tables

DERIVED = frozenset({
    "aliases", "best_fits", "best_training", "changes", "configuration_prices", "configuration_systems",
    "configurations", "device_prices", "estimates", "fit_budgets", "fit_models", "fit_precisions", "inference_cells",
    "provenance", "releases", "training_accelerators", "training_cells", "training_recipes", "unknown_fields",
})  # fmt: skip
"""Tables that follow from the facts, or say where they come from."""
RECORDS = (
    "accelerators", "artifacts", "checkpoints", "interconnects", "models", "precisions", "recipes", "runtime_budgets",
    "runtimes", "systems",
)  # fmt: skip
"""Tables whose rows people name: one that is gone breaks what somebody relies on."""
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
KEY_JOINT = "/"


@dataclass(frozen=True, slots=True)
class Change:
    """One row that is new or gone, or one field of a row that says something else."""

    change: str
    table: str
    key: str
    field: str | None = None
    old: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class Flip:
    """One fit whose verdict is another."""

    model: str
    precision: str
    configuration: str
    old: str
    new: str


@dataclass(frozen=True)
class Difference:
    """What lies between two catalogs."""

    old: Release
    new: Release
    changes: tuple[Change, ...]
    flips: tuple[Flip, ...]
    """As many as were asked for, by model, precision and configuration."""
    flip_counts: Mapping[tuple[str, str], int]
    """(old verdict, new verdict) -> fits."""
    not_compared: tuple[str, ...] = field(default_factory=tuple)
    """Tables and columns that only one of them has."""


def compare(old: Path, new: Path, flips: int | None) -> Difference:
    """Return what changed from one catalog to another; of the flipped verdicts at most `flips`, None for all.

    Raises:
        CatalogError: a file is missing, damaged, or no catalog.
    """
    for path in (old, new):
        check_identity(path)
    with closing(sqlite3.connect(f"{new.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("attach ? as old", (f"{old.resolve().as_uri()}?mode=ro",))
        with closing(sqlite3.connect(f"{old.resolve().as_uri()}?mode=ro", uri=True)) as before:
            releases = newest_release(before), newest_release(connection)
        tables, apart = _common(connection)
        changes = tuple(change for table in tables for change in _table_changes(connection, table, apart))
        counts = _flip_counts(connection)
        listed = tuple(islice(_flips(connection), flips)) if counts else ()
        return Difference(*releases, changes, listed, counts, tuple(sorted(apart)))


def lost_records(old: Path, new: Path) -> dict[str, list[str]]:
    """Return the records of an old catalog that a new one has no more: table -> keys. Empty where nothing is gone."""
    with closing(sqlite3.connect(f"{new.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("attach ? as old", (f"{old.resolve().as_uri()}?mode=ro",))
        known = set(_columns(connection, "old")) & set(_columns(connection, "main"))
        gone = {table: _gone(connection, table) for table in RECORDS if table in known}
        return {table: keys for table, keys in gone.items() if keys}


def _gone(connection: sqlite3.Connection, table: str) -> list[str]:
    key = _key(connection, table)[0]
    rows = connection.execute(
        f'select "{key}" from old."{table}" where "{key}" not in (select "{key}" from main."{table}") order by 1'
    )
    return [str(row[0]) for row in rows]


def _columns(connection: sqlite3.Connection, schema: str) -> dict[str, list[str]]:
    """Return the columns of every table of facts in one of the two files."""
    return {
        name: [row[1] for row in connection.execute(f'pragma {schema}.table_info("{name}")')]
        for name in own_tables(connection, schema)
        if name not in DERIVED
    }


def _common(connection: sqlite3.Connection) -> tuple[list[str], set[str]]:
    """Return the tables of facts that both files have, and the tables and columns that only one has."""
    old, new = _columns(connection, "old"), _columns(connection, "main")
    apart = set(old.keys() ^ new.keys())
    both = sorted(old.keys() & new.keys())
    apart |= {f"{table}.{column}" for table in both for column in set(old[table]) ^ set(new[table])}
    return both, apart


def _key(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns that name a row; empty where the key is a number of the file's own."""
    key = key_columns(connection, table)
    counted = len(key) == 1 and key[0][1].upper() == "INTEGER"
    return [] if counted else [name for name, _ in key]


def _table_changes(connection: sqlite3.Connection, table: str, apart: set[str]) -> Iterator[Change]:
    """Yield the changes of one table: rows by key, or by all that they say where they have no lasting key."""
    info = [row[1] for row in connection.execute(f'pragma main.table_info("{table}")')]
    shared = [name for name in info if f"{table}.{name}" not in apart]
    key = _key(connection, table)
    if key and not set(key) <= set(shared):
        return
    if not key:
        counter = key_columns(connection, table)[0][0]
        yield from _whole_rows(connection, table, [name for name in shared if name != counter])
        return
    order = ", ".join(f'"{name}"' for name in key)
    chosen = ", ".join(f'"{name}"' for name in shared)
    where = only_released(shared)
    sides = []
    for schema in ("old", "main"):
        rows = connection.execute(f'select {chosen} from {schema}."{table}" {where} order by {order}')
        places = [shared.index(name) for name in key]
        sides.append({tuple(row[place] for place in places): row for row in rows})
    before, after = sides
    for name in sorted(before.keys() | after.keys(), key=repr):
        shown = KEY_JOINT.join(map(str, name))
        if name not in after:
            yield Change(REMOVED, table, shown)
        elif name not in before:
            yield Change(ADDED, table, shown)
        else:
            for column, old, new in zip(shared, before[name], after[name], strict=True):
                if old != new:
                    yield Change(CHANGED, table, shown, column, old, new)


def _whole_rows(connection: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[Change]:
    chosen = ", ".join(f'"{name}"' for name in columns)
    where = only_released(columns)
    before, after = (
        Counter(connection.execute(f'select {chosen} from {schema}."{table}" {where}').fetchall())
        for schema in ("old", "main")
    )
    for change, rows in ((REMOVED, before - after), (ADDED, after - before)):
        for row in sorted(rows.elements(), key=repr):
            said = [f"{name}={value}" for name, value in zip(columns, row, strict=True) if value is not None]
            yield Change(change, table, ", ".join(said))


FLIPS = """
    from main.inference_cells as new
    join temp.models as models on models.new_key = new.model_key
    join temp.precisions as precisions on precisions.new_key = new.precision_key
    join temp.configurations as configurations on configurations.new_key = new.configuration_key
    join old.inference_cells as old
      on old.model_key = models.old_key and old.precision_key = precisions.old_key
     and old.configuration_key = configurations.old_key
    where old.verdict <> new.verdict
"""


def _flip_counts(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Return how many fits of both files went from one verdict to another; none where a file has no fits."""
    if not all(_has_fits(connection, schema) for schema in ("old", "main")):
        return {}
    for name, table, column in (
        ("models", "fit_models", "model"),
        ("precisions", "fit_precisions", "precision"),
        ("configurations", "configurations", "configuration"),
    ):
        connection.execute(f"drop table if exists temp.{name}")
        connection.execute(
            f"create temp table {name} as select new.{column}_key as new_key, old.{column}_key as old_key, "
            f"new.{column}_id as name from main.{table} as new join old.{table} as old using ({column}_id)"
        )
        connection.execute(f"create unique index temp.{name}_key on {name}(new_key)")
    rows = connection.execute(f"select old.verdict, new.verdict, count(*) {FLIPS} group by 1, 2 order by 3 desc")
    return {(before, after): count for before, after, count in rows}


def _has_fits(connection: sqlite3.Connection, schema: str) -> bool:
    found = connection.execute(f"select 1 from {schema}.sqlite_master where name = 'inference_cells'").fetchone()
    return found is not None


def _flips(connection: sqlite3.Connection) -> Iterator[Flip]:
    rows = connection.execute(
        f"select models.name, precisions.name, configurations.name, old.verdict, new.verdict {FLIPS} order by 1, 2, 3"
    )
    return (Flip(*row) for row in rows)
