"""Tables, views and queries are taken away whole, or refused with the way that has no limit."""

from __future__ import annotations

import csv
import io
import sqlite3
from urllib.parse import urlencode

import openpyxl
import pytest

from rackfit.publish import whole


def lines(answer):
    """Return the rows of a CSV answer by header."""
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def count(connection: sqlite3.Connection, sql: str) -> int:
    """Return the rows of a query."""
    return connection.execute(f"select count(*) from ({sql})").fetchone()[0]


@pytest.mark.parametrize("ending", [".csv", ".csv?_size=max", ".xlsx"])
def test_more_rows_than_a_page(get, connection, ending):
    """Trial R119: a table of more than 1,000 rows comes with every row, from the link on its page."""
    expected = count(connection, "select 1 from sources")
    assert expected > 1000
    answer = get(f"/catalog/sources{ending}")
    assert answer.status_code == 200
    if "xlsx" in ending:
        assert openpyxl.load_workbook(io.BytesIO(answer.content))["data"].max_row == expected + 1
    else:
        assert len(lines(answer)) == expected


def test_a_query_is_whole_too(get, connection):
    """Trial R119: SELECT over inference_fits with more than max_returned_rows rows, as CSV and as workbook."""
    sql = "select model_id, verdict, total_bytes from inference_fits limit 4000"
    asked = urlencode({"sql": sql})
    page = get(f"/catalog?{asked}")
    assert "This page shows 1,000 rows" in page.text and "there may be more" in page.text
    assert ".xlsx?" in page.text
    assert len(lines(get(f"/catalog.csv?{asked}"))) == 4000
    assert get(f"/catalog.json?{asked}").json()["truncated"] is True
    book = openpyxl.load_workbook(io.BytesIO(get(f"/catalog.xlsx?{asked}").content))
    assert book["data"].max_row == 4001 and book["data"]["C2"].data_type == "n"


def test_a_query_of_few_rows_says_nothing_of_more(get):
    """The notice stands where an answer may be cut, and nowhere else."""
    assert "there may be more" not in get("/catalog?sql=select+1").text
    assert "there may be more" not in get("/catalog/link_speeds").text


def test_filters_and_order_are_those_of_the_page(get, connection):
    """What is filtered and sorted on the page is so in the file."""
    asked = "vendor__exact=AMD&memory_gb__gte=64&_sort_desc=memory_gb"
    found = lines(get(f"/catalog/accelerators.csv?{asked}"))
    assert len(found) == count(connection, "select 1 from accelerators where vendor = 'AMD' and memory_gb >= 64")
    sizes = [float(row["memory_gb"]) for row in found]
    assert sizes == sorted(sizes, reverse=True) and {row["vendor"] for row in found} == {"AMD"}
    sheet = openpyxl.load_workbook(io.BytesIO(get(f"/catalog/accelerators.xlsx?{asked}").content))["data"]
    assert sheet.max_row == len(found) + 1


def test_a_named_query_with_its_parameters(get):
    """A named query is taken with the values of its form."""
    asked = "model=qwen%2Fqwen3-32b"
    rows = get(f"/catalog/where_a_model_fits.json?{asked}&_shape=objects&_size=max").json()["rows"]
    assert len(lines(get(f"/catalog/where_a_model_fits.csv?{asked}"))) >= len(rows) > 0


def test_too_much_is_refused_and_never_cut(get, monkeypatch):
    """A view with more rows than one answer holds: 400 with the command; a table is streamed instead."""
    monkeypatch.setattr(whole, "MOST", 1000)
    for ending in ("csv", "xlsx"):
        answer = get(f"/catalog/inference_fits.{ending}")
        assert answer.status_code == 400 and "more than 1,000 rows" in answer.text and "rackfit export" in answer.text
    moved = get("/catalog/sources.csv?share_alike=0", follow=False)
    assert moved.status_code == 302 and moved.headers["location"] == "/catalog/sources.csv?share_alike=0&_stream=on"
    asked = urlencode({"sql": "select * from sources"})
    assert get(f"/catalog.csv?{asked}").status_code == 400


def test_a_page_of_rows_is_still_a_page(get):
    """Somebody who asks for ten rows gets ten."""
    assert len(lines(get("/catalog/accelerators.csv?_size=10"))) == 10


def test_no_query_result_is_a_formula(get):
    """Trial R109: text of a query that a spreadsheet would run is shown as text."""
    asked = urlencode({"sql": "select '=1+1' as a, -5 as b"})
    assert lines(get(f"/catalog.csv?{asked}")) == [{"a": "'=1+1", "b": "-5"}]
    sheet = openpyxl.load_workbook(io.BytesIO(get(f"/catalog.xlsx?{asked}").content))["data"]
    assert sheet["A2"].value == "=1+1" and sheet["A2"].data_type == "s"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/catalog/no_such_table.csv", 404), ("/catalog/no_such_table.xlsx", 404),
        ("/catalog.csv?sql=select+nothing", 400), ("/catalog/accelerators.csv?_sort=nothing", 400),
        ("/catalog.csv?sql=delete+from+offers", 400),
    ],
)  # fmt: skip
def test_what_datasette_refuses_stays_refused(get, path, status):
    """Unknown names, bad SQL and bad parameters answer as on the page."""
    assert get(path).status_code == status


def test_the_pages_of_rows_offer_no_workbook(get):
    """One row is no table."""
    assert ".xlsx" not in get("/catalog/accelerators/nvidia-l4").text
    assert "/catalog/accelerators.xlsx" in get("/catalog/accelerators").text
