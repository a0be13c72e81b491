"""Datasette metadata, generated from the schema and the field guide: nothing about a column is written twice."""

from __future__ import annotations

import sqlite3
from typing import Any

from rackfit.catalog.release import newest_release
from rackfit.publish.settings import DATABASE
from rackfit.publish.tables import HIDDEN, TABLES, TableGuide
from rackfit.records.fieldguide import guide

TITLE = "Rackfit"
ROWS, WIDE = 50, 40
"""Rows of a page, and the columns beyond which it has half of them: drawing a cell takes 20 microseconds."""
LICENCE = {"license": "Data CC BY 4.0, code MIT", "license_url": "https://creativecommons.org/licenses/by/4.0/"}
SOURCE = {"source": "Every fact carries its own source: see the table provenance"}
DESCRIPTION = (
    "Does this language model fit this hardware? Models, accelerators, systems, formats and prices with their sources, "
    "and the verdict of every model on every configuration with the bytes behind it."
)


class Settled(dict[str, Any]):
    """What nobody changes, so that a copy is the same object.

    Datasette 0.65 copies all metadata for each table whose permission it asks for: half the time of the page that lists
    the tables.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Settled:
        """Return this object."""
        return self


def column_text(table: str, column: str) -> str:
    """Return what a column means, its unit at the end.

    Raises:
        KeyError: no entry of the field guide describes the column.
    """
    entries = guide()
    entry = entries.get(f"{table}.{column}") or entries.get(column)
    if entry is None:
        raise KeyError(f"{table}.{column} has no entry in records/fields")
    return f"{entry.description} ({entry.unit})" if entry.unit else entry.description


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table or view in order."""
    quoted = table.replace('"', '""')
    return [row[1] for row in connection.execute(f'pragma table_info("{quoted}")')]


def tables_of(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all tables and views."""
    rows = connection.execute("select name from sqlite_master where type in ('table', 'view') order by name")
    return [row[0] for row in rows]


def table_metadata(connection: sqlite3.Connection, table: str) -> dict[str, Any]:
    """Return what Datasette shows of one table; columns without a description are left out."""
    if table in HIDDEN or table.startswith("sqlite_"):
        return {"hidden": True}
    columns = columns_of(connection, table)
    described = Settled()
    for column in columns:
        try:
            described[column] = column_text(table, column)
        except KeyError:
            continue
    words = TABLES.get(table, TableGuide(""))
    shown: dict[str, Any] = {"columns": described, "size": ROWS if len(columns) <= WIDE else ROWS // 2}
    if words.description:
        shown["description"] = words.description
    if words.label in columns:
        shown["label_column"] = words.label
    facets = [name for name in words.facets if name in columns]
    if facets:
        shown["facets"] = facets
    if words.sort.removeprefix("-") in columns:
        shown["sort_desc" if words.sort.startswith("-") else "sort"] = words.sort.removeprefix("-")
    sortable = [name for name in words.sortable if name in columns]
    if sortable:
        shown["sortable_columns"] = sortable
    return shown


def build_metadata(connection: sqlite3.Connection, database: str = DATABASE) -> dict[str, Any]:
    """Return the metadata of a catalog as Datasette takes it, for both of its lines."""
    release = newest_release(connection)
    about = f"Rackfit catalog {release.version} of {release.date}" if release.version else "Rackfit catalog"
    return {
        "title": TITLE,
        "description": DESCRIPTION,
        "about": about,
        "about_url": "/-/rackfit",
        **LICENCE,
        **SOURCE,
        "databases": {
            database: {
                "description": DESCRIPTION,
                "tables": Settled((table, table_metadata(connection, table)) for table in tables_of(connection)),
            }
        },
    }
