"""CSV as spreadsheets save it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rackfit.errors import UsageError
from rackfit.tabular.reading import parse_csv, read_text

TRIALS = Path(__file__).parents[1] / "reference" / "trials"


def test_price_list_saved_by_excel() -> None:
    """Trial R125: columns slug, count, price_eur; two rows; 1234.50 and 89.00; the mark is gone."""
    found = parse_csv(read_text(TRIALS / "R125.csv"), "R125.csv")
    assert found.header[:3] == ("slug", "count", "price_eur") and found.delimiter == ";"
    rows = [row for _, row in found.records({"count", "price_eur"})]
    assert [(row["slug"], row["count"], row["price_eur"]) for row in rows] == [
        ("h100-sxm-80gb", "8", "1234.50"),
        ("l4-24gb", "1", "89.00"),
    ]


def test_thousands_follow_the_decimal_sign() -> None:
    """1.234 is a thousand where another cell has a decimal comma, and a fraction where none has."""
    german = parse_csv("a;b\n1.234;x\n1,5;y\n", "g.csv").records({"a"})
    assert [row["a"] for _, row in german] == ["1234", "1.5"]
    assert parse_csv("a;b\n1.234;x\n", "e.csv").records({"a"})[0][1]["a"] == "1.234"


def test_text_columns_are_left_alone() -> None:
    """Only columns of numbers are read as numbers."""
    rows = parse_csv("name;price\nA 1,5;2,5\n1,5;3,5\n", "t.csv").records({"price"})
    assert [row["name"] for _, row in rows] == ["A 1,5", "1,5"]


def test_both_ways_of_writing_numbers_are_refused() -> None:
    """Trial R111, never mixed: a line of each is named."""
    with pytest.raises(UsageError, match="comma in line 2, decimal point in line 3"):
        parse_csv('price\n"1,5"\n2.5\n', "m.csv").records({"price"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no header"),
        ("\n\n", "no header"),
        ("a,a\n1,2\n", "'a' appears twice"),
        ("a,,\n1,2,3\n", "unnamed column"),
        ('a,b\n"1,2\n', "expected CSV"),
    ],
)
def test_files_that_are_no_table(text: str, said: str) -> None:
    """One line says what is wrong and where."""
    with pytest.raises(UsageError, match=said):
        parse_csv(text, "x.csv")


def test_ragged_lines_are_numbered() -> None:
    """Lines with too few or too many cells are known by number; empty lines are none."""
    found = parse_csv("a,b\n1,2\n\n3\n4,5,6\n", "r.csv")
    assert found.ragged == [4, 5]
    assert [row for _, row in found.records()] == [{"a": "1", "b": "2"}, {"a": "3", "b": ""}, {"a": "4", "b": "5"}]


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, and a file that is not there."""
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        read_text(tmp_path / "b.csv")
    with pytest.raises(UsageError, match="cannot be read"):
        read_text(tmp_path / "none.csv")
