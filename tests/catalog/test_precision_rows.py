"""Formats, engines, recipes and workloads in the catalog: keys, conditions, and what readers rely on."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rackfit.catalog.migrate import migrate
from rackfit.catalog.read import precision_of
from rackfit.catalog.rows.precisions import plain_number, precision_row, rows
from rackfit.memory.weights import role_bits
from rackfit.paths import packaged
from rackfit.records.load import Library, read_library


@pytest.fixture(scope="module")
def library() -> Library:
    """The real data folder, read without cross-record rules."""
    return read_library([packaged("data")], check=False)


@pytest.fixture
def empty() -> sqlite3.Connection:
    """A catalog without rows, foreign keys on."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    connection.execute("pragma foreign_keys = on")
    return connection


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))


def test_rows_load_in_the_order_they_come(empty: sqlite3.Connection, library: Library) -> None:
    """Parents come before children: with foreign keys on, every row goes in as it is yielded."""
    for key in library.sources:
        _insert(empty, "sources", {"source_id": key, "title": key, "kind": "page", "source_class": "vendor"})
    for table, row in rows(library):
        _insert(empty, table, row)
    wanted = Counter(table for table, _ in rows(library))
    assert {table: empty.execute(f"select count(*) from {table}").fetchone()[0] for table in wanted} == wanted
    assert empty.execute("select count(*) from precisions").fetchone()[0] >= 114


def test_rows_are_the_same_every_time(library: Library) -> None:
    """The same records make the same rows in the same order."""
    assert list(rows(library)) == list(rows(library))


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("precisions", {"use": "storage"}),
        ("precisions", {"effective_bits": -1}),
        ("precisions", {"confidence": "certain"}),
        ("precisions", {"support_as": "nothing"}),
        ("precisions", {"block_size": "32 values"}),
    ],
)
def test_bad_rows_are_refused(empty: sqlite3.Connection, library: Library, table: str, change: dict[str, Any]) -> None:
    """The schema refuses unknown words, bits below zero, and references to nothing."""
    row = precision_row(library.kind("precisions")["bf16"])
    with pytest.raises(sqlite3.IntegrityError):
        _insert(empty, table, row | change)


def test_rules_are_placed_in_their_engine_order(connection: sqlite3.Connection) -> None:
    """vLLM 0.9.2 comes before 0.10.2, and llama.cpp's commits are in the order of their dates."""

    def place(runtime: str, version: str) -> int:
        sql = "select position from runtime_versions where runtime_id = ? and version = ?"
        return int(connection.execute(sql, (runtime, version)).fetchone()[0])

    assert place("vllm", "0.6.6") < place("vllm", "0.9.2") < place("vllm", "0.10.2") < place("vllm", "0.33.0")
    assert place("vllm", "0.9.0") < place("vllm", "0.9.0.1")
    assert place("llama.cpp", "8733e0cf6") < place("llama.cpp", "9e3b928fd") < place("llama.cpp", "0c1e57098")


def test_utilisation_by_version(connection: sqlite3.Connection) -> None:
    """vLLM's default share is 0.90 up to 0.19.1 and 0.92 from 0.20.0 (vllm/config/cache.py at both tags)."""
    found = connection.execute(
        "select version_from, value_number from runtime_rules where runtime_id = 'vllm'"
        " and term = 'gpu_memory_utilization_default' order by from_position"
    ).fetchall()
    assert [tuple(row) for row in found] == [("0.6.6", 0.90), ("0.20.0", 0.92)]


def test_measured_constants_say_what_they_rest_on(connection: sqlite3.Connection) -> None:
    """Every constant has evidence and a source; measured ones have a range around the value."""
    rows_found = connection.execute("select kind, low, value, high, evidence from runtime_constants").fetchall()
    assert len(rows_found) >= 25
    assert all(evidence for *_, evidence in rows_found)
    sampler = connection.execute(
        "select value from runtime_constants where term = 'sampler_bytes_per_logit' and version_from = '0.8.0'"
    ).fetchone()[0]
    # Qwen3-0.6B on H100, vLLM 0.11.0: 5.56 GiB for 1024 rows of 151936 logits (llm-d planner table)
    assert sampler == pytest.approx(5.56 * 2**30 / (1024 * 151936), rel=0.02)


def test_roles_reach_the_arithmetic(connection: sqlite3.Connection) -> None:
    """gpt-oss: experts 4.25 bits, everything else 16; DeepSeek-V4: experts 4.25, attention 8.002, head 16."""

    def layout(precision_id: str) -> Any:
        cursor = connection.execute("select * from precisions where precision_id = ?", (precision_id,))
        row = dict(zip((column[0] for column in cursor.description), cursor.fetchone(), strict=True))
        roles = connection.execute(
            "select role, bits, role_source from precision_roles where precision_id = ?", (precision_id,)
        ).fetchall()
        return precision_of(row, [tuple(role) for role in roles])

    oss, v4 = layout("mxfp4_experts_bf16"), layout("fp4_experts_fp8")
    assert [role_bits(oss, role) for role in ("experts", "attention_qo", "router", "head")] == [4.25, 16, 16, 16]
    assert [role_bits(v4, role) for role in ("experts", "attention_mla_up", "head")] == [4.25, 8.001953, 16]


def test_every_support_row_is_reachable(connection: sqlite3.Connection) -> None:
    """A format without support rows of its own points at one that has them, if any of its kind does."""
    orphans = connection.execute(
        "select precision_id from precisions where category in ('composite', 'gguf_mix') and support_as is null"
    ).fetchall()
    assert orphans == []


@pytest.mark.parametrize(("text", "number"), [("0.90", 0.9), ("1024", 1024.0), ("576 (x2)", None), ("auto", None)])
def test_plain_numbers(text: str, number: float | None) -> None:
    """Only a value that is one number becomes a number."""
    assert plain_number(text) == number


def test_an_unknown_source_stops_the_build(small_data: Path) -> None:
    """A rule that cites a source nobody defined is reported with its place."""
    path = small_data / "runtimes/sglang.toml"
    text = path.read_text(encoding="utf-8").replace("sources = [", 'sources = ["no-such-source", ', 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Exception, match=r"runtimes/sglang\.toml.*no-such-source"):
        read_library([small_data])
