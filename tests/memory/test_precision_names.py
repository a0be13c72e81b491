"""What people write for number formats means one record, or nothing with near names."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.memory.precision_names import GGUF_FILE_TYPES, KV_NAMES, SHORT_NAMES, parse_kv, parse_precision
from rackfit.paths import packaged

RECORDS = {path.name.removesuffix(".toml")
           for path in (packaged("data") / "precisions").glob("*.toml")}  # fmt: skip
CASES = packaged("data") / "measurements" / "public-cases.csv"
NOT_A_FORMAT = {"", "(see source)"}
"""What the measured cases print where they name no format."""


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("BF16", "bf16"),
        ("FP16", "fp16"),
        ("F32", "fp32"),
        ("FP8", "fp8_e4m3_per_channel"),
        ("FP8 block", "fp8_e4m3_block128x128"),
        ("FP8 (Marlin weight-only)", "fp8_e4m3_per_channel"),
        ("int8", "int8_w8a8"),
        ("AWQ", "awq_int4_g128"),
        ("AWQ-INT4", "awq_int4_g128"),
        ("AWQ-int4 g128", "awq_int4_g128"),
        ("GPTQ-Int4", "gptq_int4_g128"),
        ("GPTQ-Int8", "gptq_int8_g128"),
        ("GPTQ-int4 g32 act-order=yes", "gptq_int4_g32"),
        ("int4 gptq", "gptq_int4_g128"),
        ("W4A16", "w4a16_ct_g128"),
        ("INT4 W4A16", "w4a16_ct_g128"),
        ("nf4", "bnb_nf4"),
        ("bnb.nf4", "bnb_nf4"),
        ("bnb.nf4-dq", "bnb_nf4_double"),
        ("bnb-4bit (dynamic)", "bnb_nf4_dynamic"),
        ("unsloth-bnb-4bit", "bnb_nf4_dynamic"),
        ("unsloth nf4", "bnb_nf4"),
        ("INT4 compressed-tensors", "w4a16_ct_g128"),
        ("GGUF Q4_K_L", "ggufmix_q4_k_l"),
        ("MXFP4", "mxfp4"),
        ("MXFP4 GGUF", "ggufmix_mxfp4_moe"),
        ("NVFP4 W4A4", "nvfp4"),
        ("FP4/FP8 mixed", "fp4_experts_fp8"),
        ("GGUF Q4_K_M", "ggufmix_q4_k_m"),
        ("q4_k_m", "ggufmix_q4_k_m"),
        ("GGUF F16", "ggufmix_f16"),
        ("GGUF IQ1_S dynamic", "ggufmix_iq1_s"),
        ("MLX 4bit", "mlx_4bit_g64"),
        ("gguf_q4_k", "gguf_q4_k"),
        ("mxfp4 routed experts + bf16", "mxfp4_experts_bf16"),
    ],
)
def test_spellings(text: str, slug: str) -> None:
    """Spellings of engines, hubs and benchmark tables, and whole slugs, name one record."""
    assert parse_precision(text).weight_id == slug


def test_everything_the_cases_print_is_understood() -> None:
    """Every format of the measured cases resolves to a record, but for the two that name none."""
    with CASES.open(encoding="utf-8", newline="") as handle:
        printed = {row["precision_or_quant"] for row in csv.DictReader(handle)}
    refused = {text for text in printed if parse_precision(text).weight_id is None}
    assert refused == printed & NOT_A_FORMAT
    assert {parse_precision(text).weight_id for text in printed - refused} <= RECORDS


def test_every_name_has_a_record() -> None:
    """Short names, cache names and file types point at records that exist."""
    assert set(SHORT_NAMES.values()) <= RECORDS
    assert set(KV_NAMES.values()) <= RECORDS
    assert {f"ggufmix_{name}" for name in GGUF_FILE_TYPES} <= RECORDS


def test_what_is_left_open_is_said() -> None:
    """A name that says less than a layout comes with the assumption."""
    for text in ("fp8", "int4", "int8", "awq", "gptq", "nf4", "AWQ-INT4", "W4A16"):
        assert "assumed" in (parse_precision(text).note or ""), text
    assert parse_precision("AWQ-int4 g128").note is None


@pytest.mark.parametrize("text", ["fp9", "q4km", "q5_banana", "AWQ-int3", "mlx_9bit", "(see source)", "GGUF Q9_Z", ""])
def test_unknown_formats_are_refused(text: str) -> None:
    """What is not a format is refused with a note, never guessed."""
    answer = parse_precision(text)
    assert answer.weight_id is None
    assert answer.note


def test_near_names() -> None:
    """A slip of the pen gets the names it may have meant."""
    assert "q4_k_m" in parse_precision("q4km").near
    assert "fp8" in parse_precision("fp9").near
    assert "q8_0" in parse_kv("q8-0").near


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("f16", "kv_bf16"),
        ("bf16", "kv_bf16"),
        ("auto", "kv_bf16"),
        ("fp8", "kv_fp8_e4m3"),
        ("fp8_e5m2", "kv_fp8_e5m2"),
        ("int8", "kv_int8"),
        ("q8_0", "kv_q8_0"),
        ("Q4_0", "kv_q4_0"),
        ("kv_q5_1", "kv_q5_1"),
        ("fp8_ds_mla", "kv_mla_fp8_ds"),
        ("kv_fp8_e4m3", "kv_fp8_e4m3"),
        ("banana", None),
    ],
)
def test_cache_formats(text: str, slug: str | None) -> None:
    """Cache formats by flag, short name and slug; unknown ones are refused."""
    assert parse_kv(text).weight_id == slug


@given(st.text(max_size=40))
def test_any_text_is_answered(text: str) -> None:
    """No text makes the parsers fail, and whatever they name has a record."""
    for answer in (parse_precision(text), parse_kv(text)):
        assert answer.weight_id is None or isinstance(answer.weight_id, str)


def test_records_are_found() -> None:
    """The folder of records is where the tests look."""
    assert isinstance(CASES, Path)
    assert {"bf16", "ternary_1.58"} <= RECORDS
