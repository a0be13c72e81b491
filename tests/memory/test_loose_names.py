"""Formats that say less than a layout, or more than one: read with a note, or not at all."""

from __future__ import annotations

import pytest

from rackfit.memory.precision_names import parse_kv, parse_precision


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Q4_K - Medium", "ggufmix_q4_k_m"),
        ("Q4_K_M (unsloth)", "ggufmix_q4_k_m"),
        ("IQ4_XS (imatrix)", "ggufmix_iq4_xs"),
        ("UD-Q4_K_XL", "ggufmix_q4_k_m"),
        ("UD-Q2_K_XL", "ggufmix_q2_k"),
        ("Q8_K_XL", "ggufmix_q8_0"),
        ("q8", "ggufmix_q8_0"),
        ("4-bit (MLX)", "mlx_4bit_g64"),
        ("native FP8", "fp8_e4m3_per_channel"),
        ("AutoRound int4", "gptq_int4_g128"),
        ("int8 weight-only", "int8_w8a8"),
        ("W4A8", "w4a16_ct_g128"),
        ("FP4", "nvfp4"),
        ("BF16 (native)", "bf16"),
        ("4-bit (G=32)", "gptq_int4_g32"),
        ("4bit DWQ", "awq_int4_g128"),
        ("MLX-4bit-DWQ", "mlx_4bit_g64"),
        ("MLX bf16", "bf16"),
        ("6bit", "mlx_6bit_g64"),
        ("GGML Q4_0", "ggufmix_q4_0"),
        ("Q4_0 QAT", "ggufmix_q4_0"),
        ("Q4_K", "ggufmix_q4_k_m"),
        ("Q2_K - Medium", "ggufmix_q2_k"),
        ("IQ2_XXS - 2.0625 bpw", "ggufmix_iq2_xxs"),
        ("Q4_0_4_8", "ggufmix_q4_0"),
        ("UD-TQ1_0", "gguf_tq1_0"),
        ("4.0bpw", "exl2"),
        ("q0f16", "fp16"),
        ("QLoRA 4-bit", "bnb_nf4_double"),
        ("ModelOpt FP8", "fp8_e4m3_per_channel"),
        ("INT8 SQ", "int8_w8a8"),
        ("32-true", "fp32"),
    ],
)
def test_loose_formats(text: str, slug: str) -> None:
    """Names with remarks, makers and widths alone."""
    assert parse_precision(text).weight_id == slug


@pytest.mark.parametrize("text", ["UD-Q4_K_XL", "AutoRound int4", "q4", "W4A8", "FP4", "6-bit"])
def test_what_is_assumed_is_said(text: str) -> None:
    """A name that leaves the layout open never comes back without a note."""
    assert parse_precision(text).note


@pytest.mark.parametrize(
    "text",
    [
        "banana",
        "q5_banana",
        "GGUF",
        "mixed",
        "12bpw",
        "4.0",
        "Q4_0_3_3",
        "(",
        "()",
        "q9",
        "gguf",
        "K q8_0 / V q4_0 weights",
    ],
)
def test_what_is_no_format(text: str) -> None:
    """Nothing is guessed from words that name no format."""
    assert parse_precision(text).weight_id is None


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("FP8 E4M3", "kv_fp8_e4m3"),
        ("q8_0/q8_0", "kv_q8_0"),
        ("K=q8_0/V=q8_0", "kv_q8_0"),
        ("fp16 (default)", "kv_bf16"),
        ("8-bit", "kv_int8"),
        ("mlx 8bit", "kv_mlx_8bit_g64"),
        ("fp8_inc", "kv_fp8_e4m3"),
        ("q8_0/q4_0", None),
    ],
)
def test_cache_formats(text: str, slug: str | None) -> None:
    """Keys and values named apart are one format where they are the same; unlike ones are no format on record."""
    assert parse_kv(text).weight_id == slug


@pytest.mark.parametrize(("text", "slug", "bits"), [("exl2 4.5bpw", "exl2", 4.5), ("EXL3 3.0 bpw", "exl3", 3.0)])
def test_bits_that_a_name_states(text: str, slug: str, bits: float) -> None:
    """ExLlama files have the bits that their name says."""
    found = parse_precision(text)
    assert (found.weight_id, found.bits) == (slug, bits)
    assert parse_precision("exl2 45bpw").weight_id is None
