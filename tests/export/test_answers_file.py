"""Answers taken away: the breakdown of one, the rows of a list."""

from __future__ import annotations

import io
import sqlite3

import openpyxl
import pytest

from rackfit.ask.cost import cost_one, cost_question
from rackfit.ask.fit import fit_one
from rackfit.ask.lists import where_it_runs
from rackfit.ask.plan.answer import plan
from rackfit.ask.plan.question import PlanQuestion
from rackfit.ask.question import FitQuestion
from rackfit.ask.train import TrainQuestion, train_one
from rackfit.export.answers import breakdown, listed
from rackfit.export.cost_table import cost_table
from rackfit.export.plan_table import plan_table
from rackfit.tabular.formats import FORMATS, writer_of
from rackfit.tabular.table import Table


def workbook(table: Table):
    """Return a table as an open workbook."""
    held = io.BytesIO()
    writer_of(FORMATS["xlsx"])(table, held)
    return openpyxl.load_workbook(held)


def test_the_breakdown_of_a_training_run(connection: sqlite3.Connection) -> None:
    """Question Q227: inputs, bytes per GPU by component with GiB as a formula, assumptions and sources as sheets."""
    answer = train_one(connection, TrainQuestion(model="Llama-3.1-8B", on="8x h100-sxm5-80gb"))
    table = breakdown(connection, answer, "training")
    lines = {(row[0], row[1]): row for row in table.rows}
    assert lines["answer", "sequence_length"][4] == 4096 and lines["strategy", "zero"][4] == answer["strategy"]["zero"]
    for name, size in answer["per_device"].items():
        if name.endswith("_bytes"):
            assert lines["per_device", name.removesuffix("_bytes")][2] == size
    book = workbook(table)
    row = next(
        row for row in book["data"].iter_rows(min_row=2) if (row[0].value, row[1].value) == ("per_device", "driver")
    )
    assert row[2].value == answer["per_device"]["driver_bytes"]
    assert row[3].value == f'=IF(C{row[0].row}="","",ROUND(C{row[0].row}/1073741824,6))'
    assert any(cell.value == "assumed" for (cell, *_) in book["notes"].iter_rows()) and book["sources"].max_row > 3


def test_nothing_of_an_answer_is_left_out(connection: sqlite3.Connection) -> None:
    """Every single value of the JSON has a line, those in lists too; unknown sizes are blank."""
    answer = fit_one(connection, FitQuestion(model="Qwen3-32B", on="rtx-4090"))
    table = breakdown(connection, answer, "fit")
    texts = {str(cell) for row in table.rows for cell in row if cell is not None}
    for item in answer["suggestions"]:
        assert item["change"] in texts and str(item["margin_bytes"]) in texts
    assert str(answer["per_device"]["total_bytes"]) in texts and answer["reason"] in texts


def test_a_list_of_answers(connection: sqlite3.Connection) -> None:
    """Rows as in the JSON, units in the headers, sources of the prices."""
    rows = where_it_runs(connection, FitQuestion(model="Qwen3-32B", max_price=10, limit=5))
    table = listed(connection, rows, {"model": "Qwen3-32B"}, "fits")
    assert len(table.rows) == 5 and "max_context_tokens" in table.headers
    assert {source["source_id"] for source in table.sources}


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_an_empty_list(connection: sqlite3.Connection, ending: str) -> None:
    """No answer is a file without rows."""
    held = io.BytesIO()
    assert writer_of(FORMATS[ending])(listed(connection, [], {}, "fits"), held) == 0


def test_a_plan(connection: sqlite3.Connection) -> None:
    """Every column is described, with its unit in the header, and the sources of the prices come along."""
    answer = plan(connection, PlanQuestion(model="Qwen3-8B", limit=3))
    table = plan_table(connection, answer)
    assert len(list(table.rows)) == 3 and all(column.description for column in table.columns)
    assert "memory_bytes_summed" in table.headers and dict(table.notes)["asked: model"] == "qwen/qwen3-8b"
    priced = [row for row in answer["results"] if row["offer_id"] is not None]
    assert bool(table.sources) == bool(priced)


def test_a_cost(connection: sqlite3.Connection) -> None:
    """A line per offer and kind of work; the term is the offer's, and the sources are those of the prices."""
    answer = cost_one(connection, cost_question(model="Qwen3-8B", on="rtx-4090", kwh_price=0.3))
    table = cost_table(connection, answer)
    lines = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    works = len(answer["speeds"])
    assert len(lines) == works * (len(answer["offers"]) + len(answer["owned"])) > 0
    meanings = {column.name: column.description or "" for column in table.columns}
    assert meanings["term"].startswith("Term of the offer") and all(meanings.values())
    assert {line["source_id"] for line in lines} == {source["source_id"] for source in table.sources}
