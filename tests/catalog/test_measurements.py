"""Measurements in the catalog: every case, as published."""

from __future__ import annotations

import csv
import sqlite3

import pytest

from rackfit.paths import packaged
from rackfit.records.measurements import numeric

# Rows per kind as the case set's own description lists them.
KINDS = {"K1": 65, "K2": 121, "K3": 377, "K4": 66, "K5": 24, "K6": 363, "K7": 129, "K8": 12}


def test_every_case_is_there(connection: sqlite3.Connection) -> None:
    """All 1,157 public cases are in the catalog, by kind as described."""
    found = connection.execute(
        "select kind, count(*) from measurements where set_name = 'public-cases' group by kind"
    ).fetchall()
    assert {row[0]: row[1] for row in found} == KINDS
    assert sum(KINDS.values()) == 1157


def test_cells_are_kept(connection: sqlite3.Connection) -> None:
    """Each cell is the text of the file."""
    with (packaged("data") / "measurements/public-cases.csv").open(newline="") as handle:
        for case in csv.DictReader(handle):
            row = connection.execute("select * from measurements where case_id = ?", (case["case_id"],)).fetchone()
            for column, text in case.items():
                assert str(row[column] if row[column] is not None else "") == text, (case["case_id"], column)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("414.17", 414.17),
        ("-0.88", -0.88),
        ("true", 1.0),
        ("false", 0.0),
        ("6.2B", 6.2e9),
        ("7M", 7e6),
        ("34sbh", None),
    ],
)
def test_values_as_numbers(value: str, expected: float | None) -> None:
    """Numbers, truth values and sizes become numbers; a formula does not."""
    assert numeric(value) == expected


def test_every_value_is_kept_as_a_number_too(connection: sqlite3.Connection) -> None:
    """A value that reads as a number has its number beside it."""
    for row in connection.execute("select value, numeric_value from measurements"):
        assert row["numeric_value"] == numeric(row["value"])
