"""Rows to JSON, as one document in the form of every list of Rackfit, or as one object per line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import IO, Any

from rackfit.tabular.table import Table


def write_json(table: Table, stream: IO[bytes]) -> int:
    """Write `{"query": notes, "sources": [...], "results": [one object per row]}` and return the number of rows.

    Text is what the catalog holds, unguarded: JSON is for programs.
    """
    query = _dump({name: value for name, value in table.notes if value is not None})
    sources = _dump([dict(source) for source in table.sources])
    stream.write(f'{{"query": {query},\n"sources": {sources},\n"results": ['.encode())
    count = 0
    for count, row in enumerate(table.rows, start=1):
        stream.write((",\n" if count > 1 else "\n").encode() + _object(table, row).encode())
    stream.write(b"\n]}\n")
    return count


def write_jsonl(table: Table, stream: IO[bytes]) -> int:
    """Write one object per line and return the number of rows."""
    count = 0
    for count, row in enumerate(table.rows, start=1):  # noqa: B007
        stream.write(_object(table, row).encode() + b"\n")
    return count


def _object(table: Table, row: Sequence[Any]) -> str:
    return _dump({column.name: _plain(value) for column, value in zip(table.columns, row, strict=True)})


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
