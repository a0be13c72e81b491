"""CSV that reads back exactly, and that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.errors import UsageError
from rackfit.tabular.csv_file import BOM, Dialect, cell, write_rows
from rackfit.tabular.guard import DANGEROUS, guard
from rackfit.tabular.reading import parse_csv

TRIALS = Path(__file__).parents[1] / "reference" / "trials"

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)


def written(header: list[str], rows: list[list[object]], dialect: Dialect) -> str:
    """Return rows as the text of a file."""
    handle = io.StringIO(newline="")
    write_rows(handle, header, rows, dialect)
    return handle.getvalue()


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), max_size=5), st.sampled_from(",;\t|"))
def test_round_trip(rows: list[list[object]], delimiter: str) -> None:
    """What any reader of RFC 4180 gets back is what went in, apostrophes of the guard taken off."""
    text = written(["a", "b", "c"], rows, Dialect(delimiter))
    back = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert back[0] == ["a", "b", "c"]
    for row, cells in zip(rows, back[1:], strict=True):
        for value, shown in zip(row, cells, strict=True):
            if value is None:
                assert shown == ""
            elif isinstance(value, float):
                assert float(shown) == value
            elif isinstance(value, int):
                assert int(shown) == value
            else:
                assert shown == guard(str(value))


@given(st.text())
def test_no_text_starts_a_formula(text: str) -> None:
    """No text cell but a number begins with what spreadsheets take for a formula (OWASP, CSV Injection)."""
    shown = cell(text, Dialect())
    try:
        float(shown)
    except ValueError:
        assert shown[:1] not in DANGEROUS or text == ""


@pytest.mark.parametrize("number", [-4.25, -1, 1e-7, 0, 123456789012345678, 2.5e300])
def test_numbers_are_never_guarded(number: float) -> None:
    """A negative number stays a number."""
    assert type(number)(cell(number, Dialect())) == number


def test_lines_end_as_the_standard_says() -> None:
    """RFC 4180, section 2: lines end in CRLF, a quote is doubled, fields with comma, quote or break are quoted."""
    text = written(["name", "note"], [['say "hi"', "a,b"], ["x\ny", None]], Dialect())
    assert text == 'name,note\r\n"say ""hi""","a,b"\r\n"x\ny",\r\n'


def test_hostile_record() -> None:
    """Trial R109: text that spreadsheets would run is shown as text; the negative number is a number."""
    record = json.loads((TRIALS / "R109.json").read_text(encoding="utf-8"))
    header, row = list(csv.reader(io.StringIO(written(list(record), [list(record.values())], Dialect()))))
    cells = dict(zip(header, row, strict=True))
    assert all(cells[name] == f"'{record[name]}" for name in ("name", "vendor", "note", "comment"))
    assert cells["margin_gib"] == "-4.25"
    assert cells["list_price_eur"] == "1.234,50"


def test_decimal_comma() -> None:
    """Trial R111: semicolon, decimal comma and mark go together; 22.5 never stands as 22.5 in such a file."""
    text = written(["gib", "price"], [[22.5, 4.5], [-1234.5, 2]], Dialect(";", excel=True, decimal_comma=True))
    assert text == f"{BOM}gib;price\r\n22,5;4,5\r\n-1234,5;2\r\n"


def test_decimal_comma_between_commas_is_refused() -> None:
    """Trial R111: never mixed."""
    with pytest.raises(UsageError, match="decimal comma"):
        Dialect(",", decimal_comma=True)


@pytest.mark.parametrize("text", ["1-2", "3/4", "MAR-7B", "5.4", "2x8", "468712345678901234"])
def test_short_text_is_unchanged(text: str) -> None:
    """Trial R113: in the file, text with a slash or hyphen and long digits are exactly what the catalog says."""
    assert cell(text, Dialect()) == text


def test_file_saved_by_excel() -> None:
    """Trial R125: the mark is no part of the first name and the separator is found."""
    file = parse_csv((TRIALS / "R125.csv").read_text(encoding="utf-8"), "R125.csv")
    assert file.header == ("slug", "count", "price_eur", "valid_from") and file.delimiter == ";"
    assert [cells[0] for _, cells in file.lines] == ["h100-sxm-80gb", "l4-24gb"]


@pytest.mark.parametrize("delimiter", ["", "x", ",,", '"', "\n"])
def test_delimiters_that_cannot_be_read_back(delimiter: str) -> None:
    """A delimiter is one of four characters."""
    with pytest.raises(UsageError, match="delimiter"):
        Dialect(delimiter)
