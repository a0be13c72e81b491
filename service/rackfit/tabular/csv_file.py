"""Rows to CSV as RFC 4180 says: CRLF, quotes doubled, one header; streamed, so that memory does not grow with rows."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Any, TextIO

from rackfit.errors import UsageError
from rackfit.tabular.guard import guard
from rackfit.tabular.table import Table

BOM = "\ufeff"
"""Byte order mark: what makes Excel read UTF-8 as UTF-8."""

DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file is written; the default is RFC 4180 in UTF-8."""

    delimiter: str = ","
    excel: bool = False
    decimal_comma: bool = False

    def __post_init__(self) -> None:
        """Refuse what could not be read back.

        Raises:
            UsageError: a delimiter other than one of `,;|` and TAB, or a decimal comma between commas.
        """
        if len(self.delimiter) != 1 or self.delimiter not in DELIMITERS:
            raise UsageError(f"delimiter {self.delimiter!r}: expected one of , ; | or a tab")
        if self.decimal_comma and self.delimiter == ",":
            raise UsageError("a decimal comma needs another delimiter, such as ;")


COMMA_LOCALE = Dialect(";", excel=True, decimal_comma=True)
"""What a spreadsheet with a decimal comma opens in columns: semicolons, decimal comma and byte order mark together."""


def cell(value: Any, dialect: Dialect) -> str:
    """Return a value as the text of a cell: unknown is empty, numbers are exact and never guarded.

    A float is written with the fewest digits that give it back.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        if not math.isfinite(value):
            return ""
        text = repr(value)
        if text.endswith(".0"):
            text = text[:-2]
        return text.replace(".", ",") if dialect.decimal_comma else text
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, bytes):
        return value.hex()
    return guard(str(value))


def write_rows(handle: TextIO, header: Sequence[str], rows: Iterable[Sequence[Any]], dialect: Dialect) -> int:
    """Write header and rows to a text file opened with newline="" and return the number of rows."""
    if dialect.excel:
        handle.write(BOM)
    writer = csv.writer(handle, delimiter=dialect.delimiter, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow([cell(name, dialect) for name in header])
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007
        writer.writerow([cell(value, dialect) for value in row])
    return count


def write_csv(table: Table, stream: IO[bytes], dialect: Dialect | None = None) -> int:
    """Write a table to a binary stream, which stays open, and return the number of rows."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
    try:
        return write_rows(text, table.headers, table.rows, dialect or Dialect())
    finally:
        text.detach()


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], dialect: Dialect | None = None) -> str:
    """Return a header and one line per row as the text of a file."""
    out = io.StringIO(newline="")
    write_rows(out, columns, rows, dialect or Dialect())
    return out.getvalue()
