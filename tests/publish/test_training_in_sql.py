"""Training in SQL: the table of ZeRO stages as a query, and whole answers as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rackfit.catalog.connect import open_catalog
from rackfit.publish.named_queries import FOLDER, parse
from rackfit.publish.sql_functions import register_functions

SLUG = "zero_stages_of_a_model"


@pytest.fixture
def opened(catalog: Path) -> Iterator[sqlite3.Connection]:
    """Return a read-only connection with the functions registered."""
    with closing(open_catalog(catalog)) as connection:
        register_functions(connection, catalog)
        yield connection


def stages(opened: sqlite3.Connection, **asked: str) -> list[tuple[object, ...]]:
    """Return the rows of the query."""
    query = parse(SLUG, (FOLDER / f"{SLUG}.sql").read_text(encoding="utf-8"))
    parameters = {"model": "", "devices": "", "recipe": ""} | asked
    return [tuple(row) for row in opened.execute(query.sql, parameters)]


def test_stages_of_mixed_adam(opened: sqlite3.Connection) -> None:
    """Over 64 devices 16, 4 + 12/64, 2 + 14/64 and 16/64 bytes per parameter; stage 3 sends half as much again."""
    rows = stages(opened, devices="64")

    assert [row[3] for row in rows] == [16, 4.1875, 2.2188, 0.25]
    assert [row[6] for row in rows] == [1.0, 1.0, 1.0, 1.5]
    assert rows[3][5] == 64


def test_a_model_of_seventy_billion(opened: sqlite3.Connection) -> None:
    """70.55B parameters make 1129 GB of states on one device, 14 devices hold 80.6 GB each at stage 3."""
    rows = stages(opened, model="llama-3.1-70b", devices="14")

    assert rows[0][4] == pytest.approx(70.55 * 16, rel=0.001)
    assert rows[3][4] == pytest.approx(70.55 * 16 / 14, rel=0.001)


def test_answers_as_json(opened: sqlite3.Connection) -> None:
    """train_json takes hardware as `rackfit train` does; a null model stays null."""
    found = json.loads(opened.execute("select train_json('qwen3-8b', '8x h100-sxm5-80gb', 'lora', 2048)").fetchone()[0])

    assert found["verdict"] == "fits"
    assert (found["method"], found["sequence_length"]) == ("lora", 2048)
    assert opened.execute("select train_json(null, 'h100-sxm5-80gb')").fetchone()[0] is None
