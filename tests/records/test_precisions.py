"""Records of formats, engines, recipes, workloads and MFU runs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rackfit.errors import BadRecordsError
from rackfit.memory.precision_names import parse_precision
from rackfit.paths import packaged
from rackfit.records.load import Library, read_library
from rackfit.records.mfu import MfuRun
from rackfit.records.precisions import Precision
from rackfit.records.recipes import Recipe
from rackfit.records.runtimes import Runtime
from rackfit.records.workloads import Workload

PRECISION: dict[str, Any] = {
    "slug": "mxfp4",
    "name": "MXFP4",
    "category": "mx",
    "family": "fp4",
    "use": "weight",
    "nominal_bits": 4,
    "effective_bits": 4.25,
    "effective_bits_basis": "block",
    "block_size": 32,
    "block_bytes": 17,
    "confidence": "high",
    "provenance": {"*": ["a-source"]},
}
RULE: dict[str, Any] = {
    "term": "block_size_default",
    "value": "16",
    "version_from": "1.0",
    "sources": ["a-source"],
    "confidence": "high",
}
RUNTIME: dict[str, Any] = {
    "slug": "engine",
    "name": "Engine",
    "maker": "Maker",
    "engine_kind": "server",
    "newest_version": "2.0",
    "versions": ["1.0", "2.0"],
    "rules": [RULE],
    "confidence": "high",
    "provenance": {"*": ["a-source"]},
}
CONSTANT = {
    "term": "non_torch_single",
    "value": 0.13,
    "unit": "GiB",
    "kind": "measured",
    "evidence": "four runs",
    "sources": ["a-source"],
    "confidence": "high",
}


@pytest.fixture(scope="module")
def library() -> Library:
    """The real data folder, read without cross-record rules."""
    return read_library([packaged("data")], check=False)


def test_good_records_load() -> None:
    """The examples of this file are valid, so that each bad one fails for its own reason."""
    assert Precision.model_validate(PRECISION).block_bits == 4.25
    assert Runtime.model_validate(RUNTIME).rules[0].term == "block_size_default"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"effective_bits": 4.5}, "effective_bits must be 4.25"),
        ({"effective_bits_basis": None}, "come together"),
        ({"effective_bits": None, "effective_bits_basis": None}, "unknown must list it"),
        ({"nominal_bits": "4"}, "valid number"),
        ({"nominal_bits": -4}, "greater than 0"),
        ({"use": "storage"}, "'weight', 'kv' or 'compute'"),
        ({"bits": 4}, "Extra inputs"),
        ({"high_precision_roles": ["lm_head"]}, "'embedding', 'head'"),
        ({"high_precision_roles": ["head"]}, "needs high_precision_bits"),
        ({"high_precision_roles": ["head"], "high_precision_bits": 16, "role_bits": {"head": 8.5}}, "either in"),
        ({"provenance": {}}, "lacks a source"),
        ({"formula": "=4+8/32"}, "pattern"),
    ],
)
def test_bad_precision_is_refused(change: dict[str, Any], expected: str) -> None:
    """A format with a wrong unit, an unknown role or bits that its block contradicts is not a record."""
    with pytest.raises(ValidationError, match=expected):
        Precision.model_validate(PRECISION | change)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rules": [RULE | {"version_from": "0.9"}]}, "names version '0.9'"),
        ({"rules": [RULE | {"version_from": "2.0", "version_to": "1.0"}]}, "ends with 1.0 before 2.0"),
        ({"rules": [RULE | {"sources": []}]}, "at least 1 item"),
        ({"rules": [RULE | {"value": 16}]}, "valid string"),
        ({"newest_version": "1.0"}, "the last of versions"),
        ({"versions": ["1.0", "1.0"], "newest_version": "1.0"}, "lists one twice"),
        ({"constants": [CONSTANT | {"low": 0.2}]}, "low <= value <= high"),
        ({"constants": [CONSTANT | {"kind": "guessed"}]}, "'exact', 'derived' or 'measured'"),
        ({"engine_kind": "library "}, "'server', 'library' or 'application'"),
    ],
)
def test_bad_runtime_is_refused(change: dict[str, Any], expected: str) -> None:
    """A rule without source, a version that is not listed or a constant outside its range is not a record."""
    with pytest.raises(ValidationError, match=expected):
        Runtime.model_validate(RUNTIME | change)


def test_bad_recipe_is_refused() -> None:
    """Bytes per parameter that their parts contradict are not a recipe."""
    data = {
        "slug": "adam",
        "section": "recipe",
        "name": "Adam",
        "weights_bytes": 2,
        "master_bytes": 4,
        "gradient_bytes": 2,
        "gradient_accumulation_bytes": 0,
        "optimizer_bytes": 8,
        "total_bytes_per_param": 18,
        "formula": "P*18",
        "confidence": "high",
        "provenance": {"*": ["a-source"]},
    }
    with pytest.raises(ValidationError, match="must be 16"):
        Recipe.model_validate(data)
    assert Recipe.model_validate(data | {"total_bytes_per_param": 16}).total_bytes_per_param == 16


def test_bad_workload_and_run_are_refused() -> None:
    """A context of no tokens and a utilisation above 100 % are refused."""
    with pytest.raises(ValidationError, match="greater than 0"):
        Workload.model_validate(
            {"slug": "w", "name": "W", "context": 0, "sequences": 1, "description": "W", "confidence": "high"}
        )
    run = {
        "file": "a", "origin": "release", "model": "M", "params": "1000", "precision": "bf16", "device": "h100",
        "device_count": "8", "sharding": "FULL_SHARD", "sequence_length": "2048", "micro_batch": "1",
        "mfu_percent": "41.1", "tokens_per_s_per_device": "10", "activation_checkpointing": "true",
        "flop_convention": "6n", "source": "a-source",
    }  # fmt: skip
    assert MfuRun.model_validate(run).activation_checkpointing is True
    with pytest.raises(ValidationError, match="less than or equal to 100"):
        MfuRun.model_validate(run | {"mfu_percent": "141"})


def test_a_support_row_for_an_unknown_format_stops_the_build(small_data: Path) -> None:
    """The build names the file, the row and the format that no record describes."""
    path = small_data / "runtimes/vllm.toml"
    text = path.read_text(encoding="utf-8").replace('precision = "nvfp4"', 'precision = "nvfp5"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadRecordsError, match=r"runtimes/vllm\.toml: precision_support\.\d+ = 'nvfp5'"):
        read_library([small_data])


def test_every_stored_record_reads(library: Library) -> None:
    """The facts are entered whole: formats, engine rules, support rows, recipes, workloads and runs."""
    runtimes = library.kind("runtimes").values()
    assert len(library.kind("precisions")) >= 114
    assert sum(len(runtime.rules) for runtime in runtimes) == 301
    assert sum(len(runtime.precision_support) for runtime in runtimes) >= 209
    assert len(library.kind("recipes")) == 68
    assert {w.context for w in library.kind("workloads").values()} == {8192, 32768, 131072}
    assert len(library.rows["mfu"]) == 53


@pytest.mark.parametrize(
    ("slug", "bits", "source"),
    [
        ("bnb_nf4", 4.5, "MEMORY_MODEL: NF4 in blocks of 64 with 32-bit scales"),
        ("bnb_nf4_double", 4.127, "QLoRA paper: 0.373 bit per parameter saved by double quantisation"),
        ("nvfp4", 4.5, "one FP8 scale per 16 values"),
        ("mxfp4", 4.25, "OCP MX: one 8-bit scale per 32 values"),
        ("fp8_e4m3_block128x128", 8.001953, "DeepSeek-V3: one fp32 scale per 128 x 128 block"),
        ("gguf_q4_k", 4.5, "ggml-common.h: 144 bytes per 256 values"),
        ("gguf_q6_k", 6.5625, "ggml-common.h: 210 bytes per 256 values"),
        ("kv_q8_0", 8.5, "34 bytes per 32 values"),
        ("kv_q4_0", 4.5, "18 bytes per 32 values"),
        ("kv_mla_fp8_ds", 656 * 8 / 576, "656 bytes per token and layer for 576 values"),
        ("bf16", 16, "seed chapter: 2 bytes per parameter"),
        ("fp32", 32, "seed chapter: 4 bytes per parameter"),
    ],
)
def test_effective_bits(library: Library, slug: str, bits: float, source: str) -> None:
    """Effective bits are those of the published layouts."""
    assert library.kind("precisions")[slug].effective_bits == pytest.approx(bits, abs=5e-4), source


def test_nominal_bytes_of_the_seed_table(library: Library) -> None:
    """The chapter's table: FP32 4, BF16 and FP16 2, FP8 and INT8 1, INT4, NF4 and FP4 about 0.5 bytes."""
    table = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8_e4m3_per_channel": 1, "int8_w8a8": 1, "awq_int4_g128": 0.5,
             "bnb_nf4": 0.5, "nvfp4": 0.5}  # fmt: skip
    assert {slug: library.kind("precisions")[slug].nominal_bits / 8 for slug in table} == table


def test_native_formats_of_checkpoints_have_records(library: Library) -> None:
    """Every native format and every artifact's format of the model records is described here."""
    known = library.kind("precisions")
    named: set[str] = set()
    for path in (packaged("data") / "models").rglob("*.toml"):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        parts = [*data.get("checkpoints", []), *data.get("artifacts", [])]
        named |= {value for part in parts for key, value in part.items() if key in ("native_precision", "precision")}
    assert sorted(named - set(known)) == []


def test_aliases_and_parser_agree(library: Library) -> None:
    """Slugs parse as themselves, and what the parser makes of an alias is the record that carries it."""
    wrong = []
    for slug, record in library.kind("precisions").items():
        if record.use != "weight":
            continue
        for name in [slug, *record.aliases]:
            parsed = parse_precision(name).weight_id
            if parsed != slug and (parsed is not None or name == slug):
                wrong.append((slug, name, parsed))
    assert wrong == []


def test_parts_of_composite_formats(library: Library) -> None:
    """What the layouts of mixed checkpoints keep in 16 bits is what their makers say: experts alone are small."""
    precisions = library.kind("precisions")
    for slug in ("mxfp4_experts_bf16", "int4_g32_experts_bf16", "fp8_experts_bf16"):
        record = precisions[slug]
        assert "experts" not in record.high_precision_roles
        assert {"attention_qo", "attention_kv", "embedding", "head", "shared_experts"} <= set(
            record.high_precision_roles
        )
    assert precisions["fp4_experts_fp8"].role_bits["attention_mla_up"] == pytest.approx(8.002, abs=1e-3)
