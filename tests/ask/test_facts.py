"""What is known, asked from the real catalog: figures from data sheets and papers, with their source beside them."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.facts import hardware, models, show
from rackfit.errors import UnknownNameError


def fact(answer: dict[str, Any], field: str) -> dict[str, Any]:
    """Return one fact of a record."""
    return next(item for item in answer["facts"] if item["field"] == field)


@pytest.mark.parametrize(
    ("name", "field", "value", "unit"),
    [
        # NVIDIA H100 Tensor Core GPU datasheet, SXM column: 3.35 TB/s, 700 W
        ("h100-sxm5-80gb", "memory_bandwidth_gb_s", 3350, "GB/s"),
        ("NVIDIA H100 80GB HBM3", "tdp_w", 700, "W"),
        # Llama 3 Herd of Models, arXiv 2407.21783, table 3: 8B has 32 layers, d 4096, 8 KV heads, FFN 14336
        ("meta-llama/Llama-3.1-8B", "n_layers", 32, None),
        ("Llama-3.1-8B", "n_kv_heads", 8, None),
        ("llama 3.1 8b", "d_ff", 14336, "values"),
        # DeepSeek-V2, arXiv 2405.04434, section 2.1.2: KV compression dimension 512, rotary 64
        ("deepseek-ai/DeepSeek-V2", "kv_lora_rank", 512, "values"),
    ],
)
def test_facts_are_found_under_every_name(
    connection: sqlite3.Connection, name: str, field: str, value: float, unit: str | None
) -> None:
    """A fact has its published value, its unit, a meaning and a source."""
    found = fact(show(connection, name), field)
    assert found["value"] == value
    assert found["unit"] == unit
    assert found["description"]
    assert found["sources"]


def test_every_source_of_a_record_is_listed(connection: sqlite3.Connection) -> None:
    """The sources that facts name are given with title and address."""
    answer = show(connection, "h100-sxm5-80gb")
    named = {key for item in answer["facts"] for key in item["sources"]}
    assert named <= {source["source_id"] for source in answer["sources"]}
    assert all(source["title"] for source in answer["sources"])


def test_derived_facts_say_so(connection: sqlite3.Connection) -> None:
    """What no source states is derived by a rule and marked."""
    assert fact(show(connection, "h100-sxm5-80gb"), "fit_memory_bytes")["origin"] == "derived"


def test_doubts_are_shown(connection: sqlite3.Connection) -> None:
    """Question N18: a disputed and a second-hand fact carry their mark, and the dispute its reason."""
    row = connection.execute(
        "select key, field from provenance where second_hand and table_name = 'accelerators' order by key, field"
    ).fetchone()
    assert "second-hand" in fact(show(connection, row["key"]), row["field"])["marks"]
    disputed = connection.execute("select key from disputes where table_name = 'accelerators' order by key").fetchone()
    answer = show(connection, disputed["key"])
    assert answer["disputes"][0]["reason"]


def test_gaps_are_shown(connection: sqlite3.Connection) -> None:
    """What was looked for and not found is listed and has no value."""
    row = connection.execute(
        "select key, field from unknown_fields where table_name = 'accelerators' order by key, field"
    ).fetchone()
    answer = show(connection, row["key"])
    assert row["field"] in answer["unknown"]
    assert row["field"] not in [item["field"] for item in answer["facts"]]


def test_class_names_are_never_one_record(connection: sqlite3.Connection) -> None:
    """A100 is four boards: 40 and 80 GB, SXM and PCIe (NVIDIA A100 datasheets)."""
    answer = show(connection, "A100")
    assert answer["class"] is True
    assert {row["id"] for row in answer["candidates"]} >= {"nvidia-a100-sxm4-40gb", "nvidia-a100-sxm4-80gb"}
    assert "facts" not in answer


def test_checkpoint_brings_its_architecture(connection: sqlite3.Connection) -> None:
    """A checkpoint is shown with the architecture that it has."""
    answer = show(connection, "Qwen/Qwen3-8B-FP8")
    assert answer["id"] == "qwen/qwen3-8b"
    assert answer["checkpoint"]["checkpoint_id"] == "qwen/qwen3-8b-fp8"


def test_unknown_name_has_near_names(connection: sqlite3.Connection) -> None:
    """A slip is answered with names like it."""
    with pytest.raises(UnknownNameError) as raised:
        show(connection, "h100-sxm5-80")
    assert any("H100" in name.upper() for name in raised.value.near)


@pytest.mark.parametrize(
    ("asked", "inside", "outside"),
    [
        ({"vendor": "amd", "min_memory": 192}, "amd-mi300x", "nvidia-h200-sxm-141gb"),
        ({"text": "hopper"}, "nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-80gb"),
        ({"segment": "consumer", "min_bandwidth": 1000}, "nvidia-rtx-4090", "nvidia-h100-sxm5-80gb"),
        ({"text": "NVIDIA A100-SXM4-80GB"}, "nvidia-a100-sxm4-80gb", "nvidia-a100-pcie-40gb"),
    ],
)
def test_hardware_filters(connection: sqlite3.Connection, asked: dict[str, Any], inside: str, outside: str) -> None:
    """Filters keep what they say: MI300X has 192 GB, an RTX 4090 1008 GB/s (vendors' data sheets)."""
    found = {row["accelerator_id"] for row in hardware(connection, **asked)}
    assert inside in found
    assert outside not in found


def test_hardware_that_is_only_announced(connection: sqlite3.Connection) -> None:
    """Announced parts are shown on request only."""
    assert {row["status"] for row in hardware(connection)} == {"released"}
    assert {row["status"] for row in hardware(connection, announced=True)} == {"released", "announced"}


@pytest.mark.parametrize("text", ["%", "'", "' or 1=1 --", '"', "\\", "nothing like this"])
def test_filters_are_text_and_not_sql(connection: sqlite3.Connection, text: str) -> None:
    """A filter is looked for as it is written."""
    assert all(text in str(row.values()) for row in hardware(connection, text=text))
    assert all(text in str(row.values()) for row in models(connection, text=text))


def test_model_filters(connection: sqlite3.Connection) -> None:
    """DeepSeek-V3 has 671B parameters and MLA (arXiv 2412.19437, abstract); a 7B is not in that list."""
    found = {row["model_id"] for row in models(connection, attention="mla", min_params=600)}
    assert "deepseek-ai/deepseek-v3" in found
    assert all(row["attention_kind"] == "mla" for row in models(connection, attention="mla"))
    small = models(connection, max_params=8.1, min_context=100_000)
    assert small
    assert all(row["params_total"] <= 8.1e9 and row["max_context"] >= 100_000 for row in small)


def test_cache_per_token(connection: sqlite3.Connection) -> None:
    """Llama-3.1-8B caches 2 x 32 layers x 8 heads x 128 values x 2 bytes = 131072 bytes a token (table 3 as above)."""
    rows = {row["model_id"]: row for row in models(connection, text="llama-3.1-8b")}
    assert rows["meta-llama/llama-3.1-8b"]["kv_bytes_per_token"] == 131072
