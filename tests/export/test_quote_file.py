"""A purchase list as a file: typed, traced, with room for the vendor."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as parquet
import pytest

from rackfit.ask.quote import QuoteQuestion, quote
from rackfit.ask.quote_rows import PRICE_KINDS
from rackfit.export.quote_table import FOR_THE_VENDOR, ITEM, PER_MODEL, PRICE, TRACE, model_key, quote_table
from rackfit.export.run import export_table
from rackfit.tabular.formats import FORMATS

ASKED = QuoteQuestion(models=("Qwen3-8B", "gpt-oss-20b"), on=("nvidia-dgx-h100", "2x rtx-4090"), context=16384)


@pytest.fixture(scope="module")
def found(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return one quote for all tests of this file."""
    return quote(connection, ASKED)


@pytest.fixture(scope="module")
def folder(connection: sqlite3.Connection, found: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the quote in every format."""
    place = tmp_path_factory.mktemp("quote")
    for name in FORMATS:
        table = quote_table(connection, found)
        export_table(connection, table, place / f"q.{name}", {"asked": found["query"]}, chosen=FORMATS[name])
    return place


def test_every_column_has_a_meaning(connection: sqlite3.Connection, found: dict[str, Any]) -> None:
    """Each column is described, those of a model with its name; no two headers are alike."""
    table = quote_table(connection, found)
    assert all(column.description for column in table.columns)
    assert len(set(table.headers)) == len(table.headers)
    assert {"qwen3_8b_verdict", "gpt_oss_20b_margin_gib", "quantity", "purchase_price_total"} <= set(table.headers)
    assert "qwen3_8b_max_context_tokens" in table.headers


def test_rows_and_checksum_stand_in_the_side_car(folder: Path) -> None:
    """Every format is a resource with its rows, checksum, what was asked, catalog version and sources."""
    resources = {item["path"]: item for item in json.loads((folder / "datapackage.json").read_text())["resources"]}
    assert set(resources) == {f"q.{name}" for name in FORMATS}
    for item in resources.values():
        assert item["rows"] == 2 and item["hash"].startswith("sha256:") and item["catalog_hash"]
        assert item["asked"]["context"] == 16384 and item["sources"]


def test_formats_agree(folder: Path) -> None:
    """Workbook, Parquet, JSON lines and CSV have the same figures, unknown ones in none of them."""
    with (folder / "q.csv").open(encoding="utf-8", newline="") as handle:
        plain = list(csv.DictReader(handle))
    typed = parquet.read_table(folder / "q.parquet").to_pylist()
    sheet = openpyxl.load_workbook(folder / "q.xlsx")["data"]
    heads = [cell.value for cell in sheet[1]]
    for place, row in enumerate(plain):
        cells = dict(zip(heads, (cell.value for cell in sheet[place + 2]), strict=True))
        for name, text in row.items():
            if name in FOR_THE_VENDOR:
                continue
            value = typed[place][name]
            assert (value is None) == (text == "") == (cells[name] is None), name
            if isinstance(value, (int, float)):
                assert float(text) == value == cells[name], name


def test_unknown_is_blank_and_named(folder: Path) -> None:
    """A pair of cards has no rack units; a server without a rent has no hourly price, and the line says so."""
    with (folder / "q.csv").open(encoding="utf-8", newline="") as handle:
        server, cards = csv.DictReader(handle)
    assert cards["rack_units"] == "" and server["rack_units"] == "8"
    assert server["hourly_price_total"] == "" and "hourly_price_total" in server["unknown"]


def test_room_for_the_vendor(folder: Path) -> None:
    """Columns of the vendor are blank; the vendor's total is a formula over unit price and quantity."""
    sheet = openpyxl.load_workbook(folder / "q.xlsx")["data"]
    heads = {cell.value: cell.column_letter for cell in sheet[1]}
    for name in FOR_THE_VENDOR:
        value = sheet[f"{heads[name]}2"].value
        if name == "vendor_total_price":
            price, quantity = heads["vendor_unit_price"], heads["quantity"]
            assert value == f'=IF({price}2="","",{price}2*{quantity}2)'
        else:
            assert value is None


def test_notes_say_what_was_asked_and_assumed(folder: Path, found: dict[str, Any]) -> None:
    """The notes sheet has question, release, hash, rows, licence and assumptions; the sources sheet every source."""
    book = openpyxl.load_workbook(folder / "q.xlsx")
    notes = [(row[0].value, row[1].value) for row in book["notes"]]
    named = dict(notes)
    assert named["rows"] == 2 and named["asked: models"] == "Qwen3-8B, gpt-oss-20b"
    assert named["catalog version"] and named["catalog hash"] and "/licenses/by/4.0/" in named["licence"]
    assert any(name == "assumed" for name, _ in notes)
    listed = {row[0].value for row in book["sources"]}
    assert {key for item in found["results"] for key in item["source_ids"]} <= listed


def test_names_of_models_in_headers() -> None:
    """Two models of one name keep their organisation."""
    assert model_key("a/x-1", ["a/x-1", "b/x-1"]) == "a_x_1"
    assert model_key("qwen/qwen3-0.6b", ["qwen/qwen3-0.6b"]) == "qwen3_0_6b"


def test_an_empty_list_has_its_columns(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """No item: a header, no rows, and a side-car that says 0."""
    nothing = quote(connection, QuoteQuestion(models=("Qwen3-8B",), max_price=0.000001))
    table = quote_table(connection, nothing)
    report = export_table(connection, table, tmp_path / "n.csv", {})
    some = quote_table(connection, quote(connection, QuoteQuestion(models=("Qwen3-8B",), on=("rtx-4090",))))
    assert report.rows == 0 and table.headers == some.headers


def test_no_fact_of_an_item_is_left_out(found: dict[str, Any]) -> None:
    """Every column that an answer has stands in the file."""
    prices = {f"{kind}_{name}" for kind in PRICE_KINDS for name in PRICE}
    assert set(found["results"][0]) == {*ITEM, *prices, *TRACE, "fits"}
    assert set(found["results"][0]["fits"][0]) == {*PER_MODEL, "model", "hardware"}
