"""The formats of files: known by their endings, written by one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO

from rackfit.errors import UsageError
from rackfit.tabular.csv_file import Dialect
from rackfit.tabular.table import Table

Writer = Callable[[Table, IO[bytes]], int]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: endings of its files, media type, where its writer is, and whether it can go down a pipe."""

    name: str
    endings: tuple[str, ...]
    mediatype: str
    writer: str
    streams: bool = True


FORMATS = {
    one.name: one
    for one in (
        Format("csv", (".csv", ".tsv"), "text/csv", "csv_file:write_csv"),
        Format(
            "xlsx",
            (".xlsx",),
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "xlsx_file:write_xlsx",
            streams=False,
        ),
        Format("parquet", (".parquet", ".pq"), "application/vnd.apache.parquet", "parquet_file:write_parquet", False),
        Format("json", (".json",), "application/json", "json_file:write_json"),
        Format("jsonl", (".jsonl", ".ndjson"), "application/x-ndjson", "json_file:write_jsonl"),
    )
}
"""Every format by name."""

ENDINGS = {ending: one for one in FORMATS.values() for ending in one.endings}


def format_of(path: Path | None, asked: str | None) -> Format:
    """Return the format that is asked for, else that of a file's ending; without a file CSV.

    Raises:
        UsageError: an unknown format or ending, or one that needs a file.
    """
    if asked is not None:
        if asked not in FORMATS:
            raise UsageError(f"format {asked!r}: expected one of {', '.join(FORMATS)}")
        found = FORMATS[asked]
    elif path is None:
        found = FORMATS["csv"]
    elif path.suffix.lower() in ENDINGS:
        found = ENDINGS[path.suffix.lower()]
    else:
        raise UsageError(f"{path.name}: expected a name that ends in {', '.join(ENDINGS)}, or --format")
    if path is None and not found.streams:
        raise UsageError(f"{found.name} needs a file: name one with -o")
    return found


def writer_of(chosen: Format, dialect: Dialect | None = None) -> Writer:
    """Return the call that writes a table in a format; a dialect is for CSV alone.

    Raises:
        UsageError: a dialect for another format.
    """
    if dialect is not None and chosen.name != "csv":
        raise UsageError(f"delimiter, Excel mark and decimal comma are for CSV, not for {chosen.name}")
    module, name = chosen.writer.split(":")
    writer: Writer = getattr(import_module(f"rackfit.tabular.{module}"), name)
    return partial(writer, dialect=dialect) if dialect is not None else writer  # type: ignore[call-arg]
