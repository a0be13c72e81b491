"""Rows to Parquet: typed columns with unit and meaning as metadata, in groups of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any

from rackfit.errors import UsageError
from rackfit.tabular.extras import load
from rackfit.tabular.table import Table

GROUP = 65_536
"""Rows of a row group, and the most that are in memory."""


def write_parquet(table: Table, stream: IO[bytes]) -> int:
    """Write a table to a binary stream and return the number of rows; notes and sources stand in the file's metadata.

    Raises:
        MissingExtraError: pyarrow is not installed.
        UsageError: a cell that is not what its column says.
    """
    arrow = load("pyarrow", "parquet", "Parquet")
    parquet = load("pyarrow.parquet", "parquet", "Parquet")
    kinds = {"integer": arrow.int64(), "number": arrow.float64()}
    fields = [
        arrow.field(
            column.header,
            kinds.get(column.kind, arrow.string()),
            metadata={key: text for key, text in (("unit", column.unit), ("description", column.description)) if text},
        )
        for column in table.columns
    ]
    facts = {"name": table.name, "notes": dict(table.notes), "sources": [dict(source) for source in table.sources]}
    schema = arrow.schema(fields, metadata={"rackfit": json.dumps(facts, default=str)})
    count = 0
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for group in _groups(table):
            arrays = []
            for place, entry in enumerate(schema):
                text = arrow.types.is_string(entry.type)
                cells = [_text(row[place]) if text else row[place] for row in group]
                try:
                    arrays.append(arrow.array(cells, entry.type))
                except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError) as error:
                    raise UsageError(f"column {entry.name}: not all cells are {entry.type} ({error})") from error
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            count += len(group)
    return count


def _groups(table: Table) -> Iterator[list[Sequence[Any]]]:
    rows = iter(table.rows)
    while group := list(islice(rows, GROUP)):
        yield group


def _text(value: Any) -> str | None:
    """Return a cell of a column of text."""
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)
