"""Answers as tables: the parts of one answer line by line, with bytes and GiB; a list of answers row by row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rackfit.ask.parts import sources_of
from rackfit.export.columns import answer_columns, describe_columns
from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_id, sources_by_offer
from rackfit.tabular.table import Kind, Table, cell_of

GIB = 2**30
BYTES = "_bytes"
NAME = "answer"
KINDS: dict[str, Kind] = {"part": "string", "item": "string", "bytes": "integer", "gib": "number", "value": "any"}
"""Columns of one answer part by part: name -> what its cells are."""
GIB_FORMULA = '=IF({bytes}="","",ROUND({bytes}/1073741824,6))'
"""GiB of the bytes beside it: in a workbook it follows when somebody changes them."""
RECORDS = (("models", "model"), ("accelerators", "accelerator"), ("recipes", "recipe"))
"""Table and field of an answer: the records that it rests on."""


def breakdown(connection: sqlite3.Connection, answer: Mapping[str, Any], name: str) -> Table:
    """Return one answer (a fit, a training run) as a table: what was asked, every part of the memory, the verdict.

    Assumptions and warnings stand among the notes, everything else in the lines.
    """
    columns = [
        replace(column, formula=GIB_FORMULA if column.name == "gib" else None) for column in answer_columns(NAME, KINDS)
    ]
    notes = [("assumed", text) for key in ("assumptions", "warnings") for text in answer.get(key) or ()]
    records = [(table, str(answer[field])) for table, field in RECORDS if answer.get(field)]
    records += [("systems", key) for key in _named(answer, "system_id")]
    keys = [source for record in records for source in sources_of(connection, *record)]
    return Table(
        name, columns, list(_lines(answer)), [*catalog_notes(connection), *notes],
        sources_by_id(connection, [*keys, *_named(answer, "source_id")]),
    )  # fmt: skip


def _named(value: Any, field: str) -> Iterator[str]:
    """Yield what stands under one name anywhere in an answer."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if name == field and one:
                yield str(one)
            else:
                yield from _named(one, field)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _named(one, field)


def _lines(answer: Mapping[str, Any], part: str = "answer") -> Iterator[list[Any]]:
    """Yield (part, item, bytes, GiB, value) of everything in an answer that is one value."""
    nested: list[tuple[str, Mapping[str, Any]]] = []
    for name, value in answer.items():
        if isinstance(value, Mapping):
            nested.append((name, value))
        elif isinstance(value, (list, tuple)):
            if name in ("assumptions", "warnings"):
                continue
            nested += [(f"{name} {place}", one) for place, one in enumerate(value, 1) if isinstance(one, Mapping)]
            if plain := [str(one) for one in value if not isinstance(one, Mapping)]:
                yield [part, name, None, None, ", ".join(plain)]
        elif name.endswith(BYTES):
            size = None if value is None else round(value)
            yield [part, name.removesuffix(BYTES), size, None if size is None else round(size / GIB, 6), None]
        elif value is not None:
            yield [part, name, None, None, cell_of(value)]
    for name, value in nested:
        yield from _lines(value, name if part == "answer" else f"{part}, {name}")


def listed(
    connection: sqlite3.Connection, rows: Sequence[Mapping[str, Any]], asked: Mapping[str, Any], name: str
) -> Table:
    """Return a list of answers as a table, with what was asked as notes."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    notes = [(f"asked: {key}", value) for key, value in asked.items() if value is not None]
    return Table(
        name, describe_columns(connection, names), [[row.get(key) for key in names] for row in rows],
        [*((key, str(value) if isinstance(value, (tuple, list)) else value) for key, value in notes),
         *catalog_notes(connection)],
        sources_by_offer(connection, rows),
    )  # fmt: skip
