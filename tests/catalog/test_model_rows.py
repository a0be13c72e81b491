"""Rows of models, checkpoints, layer groups, towers and artifacts as they follow from the records."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from rackfit.catalog.migrate import migrate
from rackfit.catalog.rows.model_names import short_forms
from rackfit.catalog.rows.models import relative_error, rows, verification
from rackfit.paths import packaged
from rackfit.records.load import read_library
from rackfit.records.models import Checkpoint


@pytest.fixture(scope="module")
def models_db() -> Iterator[sqlite3.Connection]:
    """The model tables alone, filled from the real records."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    connection.execute("pragma foreign_keys = off")
    connection.execute("begin")
    for table, row in rows(read_library([packaged("data")], check=False)):
        marks = ", ".join("?" * len(row))
        connection.execute(f'insert into "{table}" ({", ".join(row)}) values ({marks})', list(row.values()))
    connection.execute("commit")
    yield connection
    connection.close()


def one(connection: sqlite3.Connection, sql: str, *values: object) -> object:
    """The first value of a query."""
    return connection.execute(sql, values).fetchone()[0]


def test_references_between_model_tables_hold(models_db: sqlite3.Connection) -> None:
    """Every checkpoint, group, tower and artifact points to rows that exist."""
    for table in ("checkpoints", "layer_groups", "towers", "artifacts"):
        broken = [row for row in models_db.execute(f"pragma foreign_key_check({table})") if row[2] != "precisions"]
        assert broken == []


def test_breadth(models_db: sqlite3.Connection) -> None:
    """Issue 2: at least 410 architectures carrying 630 named checkpoints."""
    assert one(models_db, "select count(*) from models") >= 410  # type: ignore[operator]
    assert one(models_db, "select count(*) from checkpoints") >= 630  # type: ignore[operator]


@pytest.mark.parametrize(
    ("model_id", "bytes_per_token"),
    [
        # Two bytes per value: Llama 3.1 8B 128 KiB, 70B 320 KiB; DeepSeek-V3 61 layers of 576
        ("meta-llama/llama-3.1-8b", 131_072),
        ("meta-llama/llama-3.1-70b", 327_680),
        ("deepseek-ai/deepseek-v3", 70_272),
    ],
)
def test_cache_per_token(models_db: sqlite3.Connection, model_id: str, bytes_per_token: int) -> None:
    """Cached values per token at 16 bits come out to the byte."""
    sql = "select 2 * sum(count * kv_full_elems) from layer_groups where model_id = ?"
    assert one(models_db, sql, model_id) == bytes_per_token


@pytest.mark.parametrize(
    ("model_id", "tokens", "gib"),
    [
        # Windowed layers stop at their window: 52 of 62 at 1024, half of 36 at 128, 36 of 48 at 8192
        ("google/gemma-3-27b-pt", 131_072, 10.4),
        ("openai/gpt-oss-120b", 131_072, 4.50),
        ("meta-llama/llama-4-scout-17b-16e", 131_072, 7.1),
        ("qwen/qwen3-30b-a3b", 32_768, 3.0),
    ],
)
def test_cache_of_a_long_request(models_db: sqlite3.Connection, model_id: str, tokens: int, gib: float) -> None:
    """Reference sizes of caches at 16 bits, windows taken into account, to the printed digit."""
    sql = """
        select 2.0 * sum(count * (kv_full_elems * :t + kv_windowed_elems * min(:t, coalesce(window, :t)))) / (1 << 30)
        from layer_groups where model_id = :m
    """
    size = models_db.execute(sql, {"t": tokens, "m": model_id}).fetchone()[0]
    assert round(size, 2 if gib == 4.50 else 1) == gib


def test_unknown_formats_stay_unknown(models_db: sqlite3.Connection) -> None:
    """A release whose format nobody read has no format, and the gap is listed."""
    sql = "select checkpoint_id from checkpoints where native_precision_id is null"
    unknown = {row[0] for row in models_db.execute(sql)}
    sql = "select key from unknown_fields where table_name = 'checkpoints' and field = 'native_precision_id'"
    listed = {row[0] for row in models_db.execute(sql)}
    assert unknown and unknown == listed


def test_every_part_has_a_source(models_db: sqlite3.Connection) -> None:
    """Each release, layer group, tower and file is cited at least once."""
    for table, key in (
        ("checkpoints", "checkpoint_id"),
        ("layer_groups", "model_id || ',' || group_index"),
        ("towers", "model_id || ',' || tower_index"),
        ("artifacts", "artifact_id"),
    ):
        sql = f"""select count(*) from {table} where not exists
            (select 1 from provenance where table_name = '{table}' and key = {key})"""
        assert one(models_db, sql) == 0, table


@pytest.mark.parametrize(
    ("name", "checkpoint"),
    [
        ("qwen/qwen3 8b awq", "qwen/qwen3-8b-awq"),
        ("deepseek r1 distill qwen 7b", "deepseek-ai/deepseek-r1-distill-qwen-7b"),
        ("llama 33b", "huggyllama/llama-30b"),
        ("muse glimmer 30b", "meta-models/muse-glimmer-30b"),
    ],
)
def test_names_of_releases(models_db: sqlite3.Connection, name: str, checkpoint: str) -> None:
    """Hub ids, names without organisation and other names lead to the release."""
    sql = "select target_id from aliases where kind = 'checkpoint' and alias_key = ?"
    assert [row[0] for row in models_db.execute(sql, (name,))] == [checkpoint]


def test_quantized_releases_keep_their_architecture(models_db: sqlite3.Connection) -> None:
    """A quantized release has the architecture of the release that it was made from."""
    sql = """select count(*) from checkpoints c join checkpoints b on b.checkpoint_id = c.quantized_from
        where b.model_id <> c.model_id"""
    assert one(models_db, sql) == 0


def _release(**fields: object) -> Checkpoint:
    base = {"hf_id": "a/b", "sources": ["s"], "confidence": "high", "published_scope": "unique weights"}
    return Checkpoint.model_validate(base | fields)


def test_verification_levels() -> None:
    """Exact below 1e-6, near above, unverified without an independent count or with a stated mismatch."""
    exact = _release(published_params=8_030_261_248, computed_params=8_030_261_248)
    near = _release(published_params=1_000_000, computed_params=1_000_050)
    circular = _release(published_params=10, computed_params=10, published_is_input=True)
    differs = _release(published_params=100, computed_params=90, mismatch_reason="holds another layer")
    assert [verification(item) for item in (exact, near, circular, differs, _release())] == [
        "exact", "near", "unverified", "unverified", "unverified",
    ]  # fmt: skip
    assert relative_error(near) == pytest.approx(5e-5)
    assert relative_error(circular) is None


@pytest.mark.parametrize(
    ("tail", "forms"),
    [
        ("Meta-Llama-3-8B-Instruct", ["Llama-3-8B-Instruct", "Llama-3-8B"]),
        ("gemma-3-12b-it", ["gemma-3-12b"]),
        ("Qwen3-VL-235B-A22B-Instruct", ["Qwen3-VL-235B-A22B", "Qwen3-VL-235B"]),
        ("DeepSeek-V3", []),
    ],
)
def test_short_forms(tail: str, forms: list[str]) -> None:
    """Tuning, version and active parameters fall away, a number always stays."""
    assert list(short_forms(tail)) == forms


def test_a_short_name_of_unlike_architectures_is_a_class(models_db: sqlite3.Connection) -> None:
    """Mistral-7B stands for shapes with and without a window; Gemma-3-12B for two releases of one shape."""
    sql = "select distinct kind, is_class from aliases where alias_key = ?"
    assert models_db.execute(sql, ("mistral 7b",)).fetchall() == [("checkpoint", 1)]
    assert models_db.execute(sql, ("gemma 3 12b",)).fetchall() == [("model", 0)]
