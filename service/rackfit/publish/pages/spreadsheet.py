"""Tables of pages as CSV that a spreadsheet opens without running anything."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

RUN_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters with which a spreadsheet takes text for a formula."""


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a header and one line per row; text that a spreadsheet would run carries an apostrophe."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([plain(value) for value in row] for row in rows)
    return out.getvalue()


def plain(value: Any) -> Any:
    """Return a value that no spreadsheet runs; numbers stay numbers.

    >>> plain("=1+1"), plain("-5.5"), plain(-5.5)
    ("'=1+1", '-5.5', -5.5)
    """
    if not isinstance(value, str) or not value.startswith(RUN_AS_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
