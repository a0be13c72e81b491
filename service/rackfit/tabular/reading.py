"""CSV as people send it: saved by a spreadsheet, with a byte order mark, semicolons, a decimal comma.

The header tells the delimiter. A file has one way of writing numbers: `1.234,50` (points between thousands, decimal
comma) or `1234.50`; both in one file is an error and never a guess.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from rackfit.errors import UsageError
from rackfit.tabular.csv_file import BOM, DELIMITERS

COMMA_NUMBER = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+")
"""A number with decimal comma, points between the thousands or none: 1.234,50 or 1234,50."""
POINT_NUMBER = re.compile(r"[-+]?\d+\.\d+")
GROUPED = re.compile(r"[-+]?\d{1,3}(\.\d{3})+")
"""A number that is grouped thousands where the comma is the decimal sign, and a fraction where the point is."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file taken apart: header, delimiter, and the lines below the header with their numbers in the file."""

    name: str
    header: tuple[str, ...]
    delimiter: str
    lines: tuple[tuple[int, tuple[str, ...]], ...]

    @property
    def ragged(self) -> list[int]:
        """Numbers of the lines that have more or fewer cells than the header."""
        return [number for number, cells in self.lines if len(cells) != len(self.header)]

    def records(self, numeric: Iterable[str] = ()) -> list[tuple[int, dict[str, str]]]:
        """Return (line, cells by column), numbers of the `numeric` columns with a decimal point.

        A ragged line has empty cells where it ends early; what it has too much of is left out.

        Raises:
            UsageError: the file has decimal commas and decimal points; a line of each is named.
        """
        rows = [
            (number, dict(zip_longest(self.header, cells[: len(self.header)], fillvalue="")))
            for number, cells in self.lines
        ]
        _with_points(self.name, rows, [column for column in numeric if column in self.header])
        return rows


def _with_points(name: str, rows: list[tuple[int, dict[str, str]]], numeric: list[str]) -> None:
    """Rewrite the numbers of a file with decimal commas; other files stay as they are."""
    cells = [(line, row, column, row[column]) for line, row in rows for column in numeric]
    comma = next((line for line, _, _, text in cells if COMMA_NUMBER.fullmatch(text)), None)
    if comma is None:
        return
    point = next(
        (line for line, _, _, text in cells if POINT_NUMBER.fullmatch(text) and not GROUPED.fullmatch(text)), None
    )
    if point is not None:
        raise UsageError(f"{name}: decimal comma in line {comma}, decimal point in line {point}: expected one of them")
    for _, row, column, text in cells:
        if COMMA_NUMBER.fullmatch(text) or GROUPED.fullmatch(text):
            row[column] = text.replace(".", "").replace(",", ".")


def delimiter_of(text: str) -> str:
    """Return the delimiter that the first line has most of; a comma where it has none."""
    first = text.partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def read_text(path: Path) -> str:
    """Return the text of a file, its byte order mark taken off.

    Raises:
        UsageError: the file cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected text in UTF-8 ({error.reason} at byte {error.start})") from error


def parse_csv(text: str, name: str) -> CsvFile:
    """Take a CSV text apart; empty lines are no rows.

    Raises:
        UsageError: no header, a column named twice or not at all, or what no CSV is.
    """
    body = text.removeprefix(BOM)
    delimiter = delimiter_of(body)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    lines: list[tuple[int, tuple[str, ...]]] = []
    try:
        header = tuple(cell.strip() for cell in next(reader, []))
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append((reader.line_num, tuple(cells)))
    except csv.Error as error:
        raise UsageError(f"{name}:{reader.line_num}: expected CSV ({error})") from error
    if not any(header):
        raise UsageError(f"{name}: no header")
    twice = next((column for column in header if header.count(column) > 1), None)
    if twice is not None:
        raise UsageError(f"{name}: {'an unnamed column' if not twice else f'column {twice!r}'} appears twice")
    return CsvFile(name, header, delimiter, tuple(lines))
