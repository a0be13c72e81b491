"""Exports of the catalog: complete, described, and replaced whole or not at all."""

from __future__ import annotations

import csv
import hashlib
import json
import sqlite3
from pathlib import Path

import pytest

from rackfit.errors import UnknownNameError, UsageError
from rackfit.export.run import export
from rackfit.export.selection import Selection, relations, select
from rackfit.tabular.csv_file import Dialect
from rackfit.tabular.table import header


def read(path: Path) -> list[dict[str, str]]:
    """Read a CSV file by header."""
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return list(csv.DictReader(handle))


def package(folder: Path) -> dict:
    """Read the side-car of a folder."""
    return json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))


def test_table(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """A table arrives with every row and column, and the side-car says so."""
    report = export(connection, select(connection, "accelerators"), tmp_path / "a.csv")
    rows = read(tmp_path / "a.csv")
    count = connection.execute("select count(*) from accelerators").fetchone()[0]
    assert len(rows) == report.rows == count
    described = package(tmp_path)["resources"][0]
    assert [field["name"] for field in described["schema"]["fields"]] == list(rows[0])
    assert described["rows"] == count
    assert described["catalog_version"] == report.catalog_version
    assert described["hash"] == "sha256:" + hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
    assert described["bytes"] == (tmp_path / "a.csv").stat().st_size
    assert package(tmp_path)["licenses"][0]["name"] == "CC-BY-4.0"


def test_more_rows_than_a_page_holds(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """Trial R119: nothing is cut, and how many rows there are is written down."""
    selection = select(connection, "select model_key from inference_cells limit 5000")
    report = export(connection, selection, tmp_path / "cells.csv")
    assert report.rows == len(read(tmp_path / "cells.csv")) == 5000
    assert package(tmp_path)["resources"][0]["rows"] == 5000


def test_sources_are_listed(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The side-car lists the sources behind a table with their licence."""
    export(connection, select(connection, "interconnects"), tmp_path / "links.csv")
    sources = package(tmp_path)["resources"][0]["sources"]
    assert sources
    assert all(source["title"] for source in sources)


def test_every_column_of_the_facts_is_described(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """A described field has a meaning; physical sizes have a unit."""
    export(connection, select(connection, "accelerators"), tmp_path / "a.csv")
    fields = {field["name"]: field for field in package(tmp_path)["resources"][0]["schema"]["fields"]}
    assert [name for name, field in fields.items() if "description" not in field] == []
    assert fields["memory_bandwidth_gb_s"]["unit"] == "GB/s"
    assert fields["memory_bandwidth_gb_s"]["type"] == "number"


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("memory_bandwidth_gb_s", "GB/s", "memory_bandwidth_gb_s"),
        ("tdp_w", "W", "tdp_w"),
        ("max_context", "tokens", "max_context_tokens"),
        ("weights_bytes", "byte", "weights_bytes"),
        ("bytes", "byte", "bytes"),
        ("effective_bits", "bit", "effective_bits"),
        ("name", None, "name"),
    ],
)
def test_units_stand_in_headers(name: str, unit: str | None, expected: str) -> None:
    """A header says the unit once."""
    assert header(name, unit) == expected


def test_two_files_in_one_folder(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """A second export adds to the side-car, the same again replaces its entry."""
    for name in ("sources", "runtimes", "sources"):
        export(connection, select(connection, name), tmp_path / f"{name}.csv")
    assert [item["path"] for item in package(tmp_path)["resources"]] == ["runtimes.csv", "sources.csv"]


def test_a_foreign_side_car_is_left_alone(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """Somebody else's datapackage.json is not written over, and no file is left beside it."""
    (tmp_path / "datapackage.json").write_text('{"name": "mine"}', encoding="utf-8")
    with pytest.raises(UsageError, match="not by Rackfit"):
        export(connection, select(connection, "sources"), tmp_path / "s.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["datapackage.json"]


def test_a_failure_keeps_the_old_file(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """An export that breaks half-way leaves the old file and no rest."""
    target = tmp_path / "a.csv"
    target.write_text("old", encoding="utf-8")
    broken = Selection("broken", "select abs(-9223372036854775808) from sources")
    with pytest.raises(sqlite3.Error):
        export(connection, broken, target)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert target.read_text(encoding="utf-8") == "old"


def test_excel(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The Excel variant begins with the mark of UTF-8 and says so."""
    export(connection, select(connection, "workloads"), tmp_path / "w.csv", Dialect(";", True, True))
    assert (tmp_path / "w.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert package(tmp_path)["resources"][0]["dialect"]["delimiter"] == ";"


def test_where_and_parameters(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """A condition narrows a table; parameters are values and never SQL."""
    chosen = select(connection, "accelerators", "vendor = :vendor", values={"vendor": "AMD' or 1=1 --"})
    assert export(connection, chosen, tmp_path / "none.csv").rows == 0
    chosen = select(connection, "accelerators", "vendor = :vendor", values={"vendor": "AMD"})
    export(connection, chosen, tmp_path / "amd.csv")
    assert {row["vendor"] for row in read(tmp_path / "amd.csv")} == {"AMD"}


def test_named_query_with_an_empty_parameter(connection: sqlite3.Connection) -> None:
    """A prepared query may leave parameters empty, as its page may."""
    chosen = select(connection, "mine", queries={"mine": "select :vendor as vendor"})
    assert chosen.values == {"vendor": ""}


def test_unknown_table(connection: sqlite3.Connection) -> None:
    """A wrong name names those like it."""
    with pytest.raises(UnknownNameError, match="accelerators"):
        select(connection, "acelerators")


@pytest.mark.parametrize("where", ["1=1; drop table sources", "1=1) or (1=1", "1=1 -- x"])
def test_conditions_that_are_more_than_one(connection: sqlite3.Connection, where: str) -> None:
    """A condition cannot end the statement or leave its brackets."""
    with pytest.raises((UsageError, sqlite3.Error)):
        connection.execute(select(connection, "sources", where).sql).fetchall()


def test_every_relation_can_be_taken(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """Each table and view exports, views cut to some rows."""
    for name in relations(connection):
        selection = select(connection, name)
        few = Selection(name, f"{selection.sql} limit 5", table=name)
        report = export(connection, few, tmp_path / f"{name}.csv", package=False)
        assert report.rows <= 5 and report.path.read_text(encoding="utf-8").count(","), name
