"""Workbook, Parquet and JSON: real types, nothing cut, nothing evaluated."""

from __future__ import annotations

import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as parquet
import pytest

from rackfit.errors import MissingExtraError, UsageError
from rackfit.tabular import extras, xlsx_file
from rackfit.tabular.csv_file import COMMA_LOCALE, Dialect
from rackfit.tabular.formats import FORMATS, format_of, writer_of
from rackfit.tabular.table import Column, Table

TRIALS = Path(__file__).parents[1] / "reference" / "trials"

COLUMNS = (
    Column("layout", "layout", "How devices are arranged", kind="string"),
    Column("bytes", "size_bytes", "A size", "byte", "integer"),
    Column("share", "share", "A share", kind="number"),
    Column("when", "when", "A date", kind="date"),
)
ROWS = [("1-2", 12345, 22.5, "2026-05-04"), ("3/4", None, None, "2026-05"), (None, 10**18, -4.25, None)]


def written(table: Table, name: str) -> bytes:
    """Return a table as the bytes of a file."""
    held = io.BytesIO()
    writer_of(FORMATS[name])(table, held)
    return held.getvalue()


def sheets(table: Table) -> Any:
    """Return a table as an open workbook."""
    return openpyxl.load_workbook(io.BytesIO(written(table, "xlsx")))


def small(**more: Any) -> Table:
    """Return a table with every kind of cell."""
    return Table("small", COLUMNS, ROWS, **more)


def test_numbers_are_numbers_and_text_is_text() -> None:
    """Trial R111: 22.5 is a number in every locale; a date is a date, a partial one text; unknown is an empty cell."""
    data = sheets(small())["data"]
    assert [cell.value for cell in data[1]] == ["layout", "size_bytes", "share", "when"]
    assert [cell.value for cell in data[2]] == ["1-2", 12345, 22.5, datetime(2026, 5, 4)]
    assert [cell.data_type for cell in data[2]] == ["s", "n", "n", "d"]
    assert [cell.value for cell in data[3]] == ["3/4", None, None, "2026-05"]


@pytest.mark.parametrize("text", ["1-2", "3/4", "MAR-7B", "5.4", "2x8", "468712345678901234", "0012"])
def test_short_text_is_marked_as_text(text: str) -> None:
    """Trial R113: what looks like a date or a number is text, by type and by format."""
    cell = sheets(Table("t", [Column("a", "a", kind="string")], [(text,)]))["data"]["A2"]
    assert (cell.value, cell.data_type, cell.number_format) == (text, "s", "@")


@pytest.mark.parametrize(
    ("number", "kind"), [(10**15 - 1, "n"), (-(10**15) + 1, "n"), (10**15, "s"), (468712345678901234, "s")]
)
def test_whole_numbers_keep_their_digits(number: int, kind: str) -> None:
    """Trial R113: up to 15 digits are a number, longer ones text with every digit."""
    cell = sheets(Table("t", [Column("a", "a", kind="integer")], [(number,)]))["data"]["A2"]
    assert cell.data_type == kind and int(cell.value) == number


def test_nothing_is_a_formula() -> None:
    """Trial R109: no cell of a workbook evaluates, and the text is shown as it is; JSON keeps the raw text."""
    record = json.loads((TRIALS / "R109.json").read_text(encoding="utf-8"))
    table = Table(
        "hostile", [Column(name, name) for name in record], [tuple(record.values())],
        notes=[("asked", "=1+1")], sources=[{"title": "@SUM(1)"}],
    )  # fmt: skip
    book = sheets(table)
    assert [cell.value for cell in book["data"][2]] == list(record.values())
    cells = [cell for sheet in book for row in sheet for cell in row if cell.value is not None]
    assert all(cell.data_type != "f" for cell in cells)
    assert all(cell.quotePrefix for cell in cells if str(cell.value).startswith(("=", "@", "+")))
    assert json.loads(written(table, "json"))["results"] == [record]


def test_what_a_buyer_expects_of_a_sheet() -> None:
    """Header frozen, filter on, columns wide enough, notes with rows and meanings, sources."""
    book = sheets(small(notes=[("catalog version", "2026.11")], sources=[{"source_id": "a", "licence": "CC0"}]))
    data = book["data"]
    assert data.freeze_panes == "B2" and data.auto_filter.ref == "A1:D4"
    assert all(data.column_dimensions[letter].width > 8 for letter in "ABCD")
    notes = {row[0].value: row[1].value for row in book["notes"]}
    assert notes["rows"] == 3 and notes["catalog version"] == "2026.11" and notes["size_bytes"] == "A size"
    assert [cell.value for cell in book["sources"][2]] == ["a", "CC0"]


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet holds 1,048,576 rows (Microsoft, Excel specifications and limits): more is an error, never a cut."""
    assert xlsx_file.MOST_ROWS == 1_048_576
    monkeypatch.setattr(xlsx_file, "MOST_ROWS", 10)
    one = [Column("a", "a", kind="integer")]
    assert sheets(Table("t", one, [(n,) for n in range(9)]))["data"].max_row == 10
    with pytest.raises(UsageError, match="more than 9 rows"):
        written(Table("t", one, [(n,) for n in range(10)]), "xlsx")


def test_text_longer_than_a_cell_is_refused() -> None:
    """A cell holds 32,767 characters (the same page): row and column are named."""
    table = Table("t", [Column("a", "note", kind="string")], [("x" * 32_767,), ("x" * 32_768,)])
    with pytest.raises(UsageError, match="row 2, column note"):
        written(table, "xlsx")


def test_the_same_rows_give_the_same_bytes() -> None:
    """A checksum says something: nothing in a file depends on the hour."""
    for name in FORMATS:
        assert written(small(), name) == written(small(), name)


def test_parquet_keeps_types_and_meaning() -> None:
    """Columns are typed, unknown is null, unit and description stand beside each."""
    table = parquet.read_table(io.BytesIO(written(small(notes=[("asked", "x")]), "parquet")))
    assert table.column("size_bytes").to_pylist() == [12345, None, 10**18]
    assert table.column("share").to_pylist() == [22.5, None, -4.25]
    assert table.schema.field("size_bytes").metadata[b"unit"] == b"byte"
    assert json.loads(table.schema.metadata[b"rackfit"])["notes"] == {"asked": "x"}


def test_parquet_names_a_column_that_is_not_what_it_says() -> None:
    """Text in a column of numbers is an error that names the column."""
    with pytest.raises(UsageError, match="column a"):
        written(Table("t", [Column("a", "a", kind="integer")], [("x",)]), "parquet")


def test_lines_of_json() -> None:
    """One object per line, with the names of the columns as SQL has them."""
    lines = written(small(), "jsonl").decode().splitlines()
    assert [json.loads(line)["bytes"] for line in lines] == [12345, None, 10**18]


@pytest.mark.parametrize(
    ("path", "asked", "name"),
    [
        ("a.csv", None, "csv"), ("a.XLSX", None, "xlsx"), ("a.pq", None, "parquet"), ("a.ndjson", None, "jsonl"),
        ("a.txt", "csv", "csv"), (None, None, "csv"), (None, "json", "json"),
    ],
)  # fmt: skip
def test_the_ending_chooses(path: str | None, asked: str | None, name: str) -> None:
    """A format is what is asked for, else what the file's ending says."""
    assert format_of(Path(path) if path else None, asked).name == name


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [("a.txt", None, "--format"), ("a.csv", "excel", "xlsx"), (None, "xlsx", "needs a file"), (None, "parquet", "-o")],
)
def test_formats_that_cannot_be(path: str | None, asked: str | None, said: str) -> None:
    """An unknown ending or format, and a workbook on a pipe, are refused with what to do."""
    with pytest.raises(UsageError, match=said):
        format_of(Path(path) if path else None, asked)


def test_a_dialect_is_for_csv() -> None:
    """A decimal comma in a workbook means nothing: cells are typed."""
    with pytest.raises(UsageError, match="for CSV"):
        writer_of(FORMATS["xlsx"], COMMA_LOCALE)
    writer_of(FORMATS["csv"], Dialect(";"))


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is named with the command that installs it."""

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(extras, "import_module", absent)
    for name, extra in (("xlsx", "xlsx"), ("parquet", "parquet")):
        with pytest.raises(MissingExtraError, match=rf"pip install 'rackfit\[{extra}\]'"):
            written(small(), name)
