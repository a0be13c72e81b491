"""Rows to an Excel workbook: numbers as numbers, text as text, a sheet of notes and one of sources.

Text cells carry the text format and the quote prefix, so that `1-2` stays no date and `=1+1` no formula, also after
somebody edits the cell. Whole numbers above 15 digits are text: a spreadsheet keeps 15. Limits: Microsoft, Excel
specifications and limits
(https://support.microsoft.com/en-us/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3).
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import chain, islice
from typing import IO, Any

from rackfit.errors import UsageError
from rackfit.tabular.extras import load
from rackfit.tabular.table import Column, Table

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
MOST_CHARACTERS = 32_767
"""Limits of a sheet, and of the text of a cell."""
MOST_DIGITS = 15
"""Digits that a spreadsheet keeps of a number."""
SAMPLE = 200
"""Rows that decide how wide a column is."""
NARROWEST, WIDEST = 8, 60
"""Width of a column, in characters."""
EPOCH = datetime(2026, 1, 1)
"""Creation date that a workbook states: a fixed one, so that the same rows give the same bytes."""


def write_xlsx(table: Table, stream: IO[bytes]) -> int:
    """Write a table to a binary stream as a workbook and return the number of rows.

    Raises:
        MissingExtraError: XlsxWriter is not installed.
        UsageError: more rows, columns or characters than a sheet holds. Nothing is ever cut.
    """
    xlsxwriter = load("xlsxwriter", "xlsx", "an Excel workbook")
    if len(table.columns) > MOST_COLUMNS:
        raise UsageError(f"{len(table.columns):,} columns: an Excel sheet holds {MOST_COLUMNS:,}; take CSV or Parquet")
    held = io.BytesIO()
    workbook = xlsxwriter.Workbook(
        held,
        {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        },
    )
    workbook.set_properties({"title": table.name, "created": EPOCH})
    formats = _formats(workbook)
    count = _write_rows(workbook.add_worksheet("data"), table, formats)
    notes = [("rows", count), *table.notes]
    meanings = [(column.header, column.description) for column in table.columns if column.description]
    _write_pairs(workbook.add_worksheet("notes"), [*notes, ("", None), ("column", "meaning"), *meanings], formats)
    _write_sources(workbook.add_worksheet("sources"), table, formats)
    workbook.close()
    stream.write(held.getvalue())
    return count


def _formats(workbook: Any) -> dict[str, Any]:
    """Return the formats of cells by what they hold."""
    return {
        "head": workbook.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1, "num_format": "@"}),
        "string": workbook.add_format({"num_format": "@", "quote_prefix": True}),
        "integer": workbook.add_format({"num_format": "#,##0"}),
        "number": workbook.add_format({"num_format": "General"}),
        "date": workbook.add_format({"num_format": "yyyy-mm-dd"}),
        "name": workbook.add_format({"bold": True, "num_format": "@", "valign": "top"}),
        "wrapped": workbook.add_format({"num_format": "@", "text_wrap": True, "valign": "top", "quote_prefix": True}),
    }


def _write_rows(sheet: Any, table: Table, formats: dict[str, Any]) -> int:
    rows = iter(table.rows)
    sample = list(islice(rows, SAMPLE))
    for place, column in enumerate(table.columns):
        shown = [len(str(row[place])) for row in sample if row[place] is not None]
        longest_word = max(map(len, column.header.replace("_", " ").split()), default=0)
        sheet.set_column(place, place, min(WIDEST, max(NARROWEST, longest_word + 4, *shown, 0) + 1))
    sheet.freeze_panes(1, 1)
    sheet.set_row(0, 48)
    for place, name in enumerate(table.headers):
        sheet.write_string(0, place, name, formats["head"])
    letters = {column.name: _letters(place) for place, column in enumerate(table.columns)}
    count = 0
    for count, row in enumerate(chain(sample, rows), start=1):
        if count >= MOST_ROWS:
            raise UsageError(
                f"more than {MOST_ROWS - 1:,} rows: an Excel sheet holds no more; narrow them, or take CSV or Parquet"
            )
        for place, (column, value) in enumerate(zip(table.columns, row, strict=True)):
            if column.formula is not None:
                computed = "" if value is None else value
                sheet.write_formula(count, place, _formula(column.formula, letters, count), formats["number"], computed)
            else:
                write_cell(sheet, count, place, column, value, formats)
    if table.columns:
        sheet.autofilter(0, 0, count, len(table.columns) - 1)
        sheet.ignore_errors({"number_stored_as_text": f"A1:{_letters(len(table.columns) - 1)}{count + 1}"})
    return count


def _formula(formula: str, letters: dict[str, str], row: int) -> str:
    """Return a formula of one row."""
    return formula.format_map({name: f"{letter}{row + 1}" for name, letter in letters.items()})


def write_cell(sheet: Any, row: int, place: int, column: Column, value: Any, formats: dict[str, Any]) -> None:
    """Write one cell with its real type; what is unknown stays an empty cell.

    Raises:
        UsageError: text longer than a cell holds.
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float):
            sheet.write_number(row, place, value, formats["number"])
            return
        if len(str(abs(value))) <= MOST_DIGITS:
            sheet.write_number(row, place, value, formats["integer" if _counts(column) else "number"])
            return
    text = value.hex() if isinstance(value, bytes) else str(value)
    if column.kind == "date" and (day := _day(text)) is not None:
        sheet.write_datetime(row, place, day, formats["date"])
        return
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"row {row}, column {column.header}: {len(text):,} characters, an Excel cell holds {MOST_CHARACTERS:,}; "
            "take CSV or Parquet"
        )
    sheet.write_string(row, place, text, formats["string"])


def _counts(column: Column) -> bool:
    """Return whether the whole numbers of a column are amounts, which are shown with their thousands apart."""
    return column.unit is not None and column.kind in ("integer", "number", "any")


def _day(text: str) -> date | None:
    """Return a complete date; a partial one has no place in a calendar and stays text."""
    try:
        return date.fromisoformat(text) if len(text) == 10 and text >= "1900-03-01" else None
    except ValueError:
        return None


def _letters(place: int) -> str:
    """Return the letters of a column by its place from 0."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _write_pairs(sheet: Any, pairs: Iterable[tuple[str, Any]], formats: dict[str, Any]) -> None:
    sheet.set_column(0, 0, 30)
    sheet.set_column(1, 1, 110)
    for number, (name, value) in enumerate(_long(pairs)):
        sheet.write_string(number, 0, name, formats["name"])
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            sheet.write_number(number, 1, value)
        elif value is not None:
            sheet.write_string(number, 1, str(value), formats["wrapped"])


def _long(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield notes, those too long for a cell in parts."""
    for name, value in pairs:
        if not isinstance(value, str) or len(value) <= MOST_CHARACTERS:
            yield name, value
            continue
        for start in range(0, len(value), MOST_CHARACTERS):
            yield (name if start == 0 else f"{name} (continued)"), value[start : start + MOST_CHARACTERS]


def _write_sources(sheet: Any, table: Table, formats: dict[str, Any]) -> None:
    names: Sequence[str] = list(dict.fromkeys(chain.from_iterable(table.sources)))
    if not names:
        sheet.write_string(0, 0, "No facts of the catalog are in this file.", formats["name"])
        return
    for place, name in enumerate(names):
        longest = max(len(str(row.get(name) or "")) for row in table.sources)
        sheet.set_column(place, place, min(WIDEST, max(NARROWEST, longest, len(name)) + 2))
        sheet.write_string(0, place, name, formats["head"])
    sheet.freeze_panes(1, 0)
    for number, source in enumerate(table.sources, start=1):
        for place, name in enumerate(names):
            write_cell(sheet, number, place, Column(name, name), source.get(name), formats)
