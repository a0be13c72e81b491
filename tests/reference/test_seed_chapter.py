"""The figures of the chapter that Rackfit grew from, "GPU Memory and Hardware Basics" (last reviewed 2026-09)."""

from __future__ import annotations

import sqlite3

import pytest

import rackfit
from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.errors import UsageError
from rackfit.memory.quick import NOMINAL_BYTES, estimate_vram, weights_only_count
from rackfit.publish.pages.glossary import sections


@pytest.mark.parametrize(("billions", "gigabytes"), [(7, 14), (13, 26), (70, 140), (405, 810)])
def test_bf16_weights(billions: float, gigabytes: float) -> None:
    """ "Quick mental math (BF16)": parameters times two bytes."""
    assert estimate_vram(billions, "bf16")["weights"] == gigabytes


@pytest.mark.parametrize(
    ("precision", "size"),
    [("fp32", 4), ("bf16", 2), ("fp16", 2), ("fp8", 1), ("int8", 1), ("int4", 0.5), ("fp4", 0.5), ("nf4", 0.5)],
)
def test_bytes_per_precision(precision: str, size: float) -> None:
    """The table "Lower-Precision Weights": bytes per parameter."""
    assert NOMINAL_BYTES[precision] == size
    assert estimate_vram(1, precision)["weights"] == size


@pytest.mark.parametrize(
    ("precision_id", "size"),
    [("fp32", 4), ("bf16", 2), ("fp16", 2), ("fp8_e4m3_per_tensor", 1), ("int8_w8a8", 1), ("gptq_int4_g128", 0.5),
     ("awq_int4_g128", 0.5), ("mxfp4", 0.5), ("nvfp4", 0.5), ("bnb_nf4", 0.5)],
)  # fmt: skip
def test_catalog_shows_nominal_and_effective(connection: sqlite3.Connection, precision_id: str, size: float) -> None:
    """The catalog has the chapter's nominal figure, and beside it the real one, which is never below it."""
    row = connection.execute(
        "select nominal_bits, effective_bits from precisions where precision_id = ?", (precision_id,)
    ).fetchone()

    assert row[0] == 8 * size
    assert row[1] >= row[0]
    # "4-bit formats store a scale per group of weights, so real sizes are a little above 0.5 bytes per parameter"
    assert (row[1] > row[0]) == (size == 0.5 or precision_id == "int8_w8a8")


def test_70b_on_an_a100_in_16_bits(connection: sqlite3.Connection) -> None:
    """ "70B x 2 bytes (BF16) = 140 GB, needs 2x A100-80GB minimum"."""
    one = fit_one(connection, FitQuestion(model="llama-3.1-70b", on="1x a100-sxm4-80gb", precision="bf16"))
    two = fit_one(connection, FitQuestion(model="llama-3.1-70b", on="2x a100-sxm4-80gb", precision="bf16"))

    assert one["verdict"] == "no"
    assert one["limit"] == "weights"
    # 70553706496 parameters of two bytes: the published count of Llama-3.1-70B; and vLLM's table of rotary positions,
    # cos and sin of half a head of 128 for each of 131072 positions, of two bytes
    assert one["per_device"]["weights_bytes"] == 2 * 70553706496 + 2 * 131072 * 128
    assert two["verdict"] == "fits"


def test_70b_on_an_a100_in_4_bits(connection: sqlite3.Connection) -> None:
    """ "With 4-bit weights 35 GB: the weights fit on 1x A100-80GB, leaving about 40 GB"."""
    answer = fit_one(connection, FitQuestion(model="llama-3.1-70b", on="1x a100-sxm4-80gb", precision="int4"))

    assert answer["verdict"] == "fits"
    assert 35e9 < answer["per_device"]["weights_bytes"] < 41e9
    assert answer["per_device"]["kv_pool_bytes"] == pytest.approx(40e9, rel=0.15)


def test_405b_is_eleven_cards_of_weights_and_no_layout() -> None:
    """ "405B: 810 GB, at least 11 x 80 GB GPUs for weights alone" is shown as a pooled sum, never as a layout."""
    answer = weights_only_count(405, "bf16", 80)

    assert answer == {"weights": 810.0, "devices": 11, "remark": "weights only, not a layout"}


def test_405b_in_practice(connection: sqlite3.Connection) -> None:
    """ "In practice two 8-GPU nodes, or FP8 on one node"; eleven cards are no layout of 16-bit weights."""

    def verdict(on: str, precision: str) -> str:
        asked = FitQuestion(model="llama-3.1-405b", on=on, precision=precision)
        return str(fit_one(connection, asked, suggest=False)["verdict"])

    assert verdict("2 nodes x 8x h100-sxm5-80gb", "bf16") == "fits"
    assert verdict("8x h100-sxm5-80gb", "fp8") == "fits"
    assert verdict("8x h100-sxm5-80gb", "bf16") == "no"
    assert verdict("11x h100-sxm5-80gb", "bf16") in ("no", "cannot_run")


@pytest.mark.parametrize(
    ("name", "family", "column", "figure"),
    [
        ("PCIe 4.0 x16", "PCIe", "per_direction_gb_s", 32),
        ("PCIe 5.0 x16", "PCIe", "per_direction_gb_s", 64),
        ("NVLink 3", "NVLink", "total_gb_s", 600),
        ("NVLink 4", "NVLink", "total_gb_s", 900),
        ("NVLink 5", "NVLink", "total_gb_s", 1800),
    ],
)
def test_interconnects(connection: sqlite3.Connection, name: str, family: str, column: str, figure: float) -> None:
    """The table "PCIe vs NVLink": PCIe per direction, NVLink in total per GPU, kept in separate columns."""
    row = connection.execute(
        f"select {column}, per_direction_gb_s, total_gb_s from interconnects where name = ? and family = ?",
        (name, family),
    ).fetchone()

    # the chapter writes "~32" and "~64": 16 GT/s x 16 lanes x 128/130 / 8 = 31.5 GB/s
    assert row[0] == pytest.approx(figure, rel=0.016)
    assert row[1] < row[2]


def test_nvswitch_gives_full_bandwidth(connection: sqlite3.Connection) -> None:
    """ "NVSwitch: full NVLink bandwidth between every pair of GPUs": each generation equals its NVLink."""
    speeds = dict(
        connection.execute("select name, total_gb_s from interconnects where family in ('NVLink', 'NVSwitch')")
    )

    for switch, link in (("gen 2", 3), ("gen 3", 4), ("gen 4 (NVLink 5)", 5)):
        assert speeds[f"NVSwitch {switch}"] == speeds[f"NVLink {link}"]


@pytest.mark.parametrize(
    ("accelerator", "bandwidth", "l1_kib"),
    [("nvidia-a100-sxm4-80gb", 2000, 192), ("nvidia-h100-sxm5-80gb", 3350, 256)],
)
def test_memory_hierarchy(connection: sqlite3.Connection, accelerator: str, bandwidth: float, l1_kib: int) -> None:
    """ "HBM: ~2 TB/s (H100: 3.35 TB/s)"; registers 256 KB per SM and L1/shared 192 KB on A100 (H100: 228 of 256 KB)."""
    found = connection.execute(
        "select memory_bandwidth_gb_s from accelerators where accelerator_id = ?", (accelerator,)
    ).fetchone()
    levels = dict(
        connection.execute("select level, capacity_bytes from memory_levels where accelerator_id = ?", (accelerator,))
    )

    assert found[0] == pytest.approx(bandwidth, rel=0.025)
    assert levels["register"] == 256 * 1024
    assert levels["l1_shared"] == l1_kib * 1024


def test_example_8b() -> None:
    """ "LLaMA-3 8B inference (BF16, 4K context)": 32 x 4096 x 2 x 8 x 128 x 2 bytes of cache."""
    answer = estimate_vram(8, "bf16", "inference")

    assert answer["weights"] == 16.0
    assert answer["kv_cache"] == 0.536870912
    assert answer["total_approx"] == 16.536870912


def test_example_70b() -> None:
    """ "LLaMA-3 70B inference (INT4, 4K context)": the layer count is not asked for, so 32 is assumed and said."""
    answer = estimate_vram(70, "int4", "inference")

    assert (answer["weights"], answer["kv_cache"]) == (35.0, 0.536870912)
    assert answer["total_approx"] == 35.0 + 0.536870912
    assert answer["assumed"]["n_layers"] == 32
    assert "larger" in answer["assumed"]["scales"]


def test_example_training() -> None:
    """ "A 7B model, mixed-precision training": 112 GB of model state, activations excluded, and it says so."""
    answer = estimate_vram(7, "bf16", "training")

    assert answer["weights"] == 14.0
    assert answer["model_state_excl_activations"] == 112
    assert answer["assumed"]["activations"] == "excluded"


def test_70b_training_state() -> None:
    """ "70B x 16 = 1.12 TB: 14 GPUs of 80 GB or more just for model state"."""
    assert estimate_vram(70, "bf16", "training")["model_state_excl_activations"] == 1120
    assert 1120 / 80 == 14


def test_every_default_is_assumed_and_no_more() -> None:
    """What the caller gives is not among the assumptions, what he leaves out is, with its value."""
    given = estimate_vram(70, "bf16", "inference", 8192, 80, 8, 128, 2)
    left = estimate_vram(70)

    assert given["assumed"] == {"kv_bytes_per_value": 2}
    # 327680 bytes per token of a 70B (80 layers), 8192 tokens, two sequences
    assert given["kv_cache"] == 327680 * 8192 * 2 / 1e9
    assert left["assumed"] == {
        "kv_cache_tokens": 4096, "n_layers": 32, "n_kv_heads": 8, "d_head": 128, "batch_size": 1,
        "kv_bytes_per_value": 2,
    }  # fmt: skip


def test_exported_at_the_top() -> None:
    """The chapter's function is `rackfit.estimate_vram`."""
    assert rackfit.estimate_vram(7)["weights"] == 14.0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"precision": "int3"}, "int3"),
        ({"mode": "finetune"}, "finetune"),
        ({"num_params_billions": 0}, "num_params_billions"),
        ({"num_params_billions": -7}, "num_params_billions"),
        ({"num_params_billions": float("nan")}, "num_params_billions"),
        ({"num_params_billions": float("inf")}, "num_params_billions"),
        ({"n_layers": 0}, "n_layers"),
        ({"batch_size": -1}, "batch_size"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], named: str) -> None:
    """A figure that means nothing is refused in one line that names it."""
    with pytest.raises(UsageError, match=named) as raised:
        estimate_vram(**{"num_params_billions": 7, **arguments})  # type: ignore[arg-type]

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("size", [0, -80, float("nan"), float("inf")])
def test_bad_device_size(size: float) -> None:
    """Cards without memory hold nothing, so no number of them is an answer."""
    with pytest.raises(UsageError, match="device_gb"):
        weights_only_count(405, "bf16", size)


@pytest.mark.parametrize(
    "subject",
    ["FP32", "BF16", "FP16", "FP8", "NF4", "INT4", "MXFP4", "GPTQ", "AWQ", "KV cache", "Activations", "Checkpointing",
     "Adam", "8-bit Adam", "Adafactor", "moments", "ZeRO", "FSDP", "ZeRO-Infinity", "NVMe", "all-reduce", "QLoRA",
     "FlashAttention", "softmax", "Registers", "shared memory", "HBM", "PCIe", "NVLink", "NVSwitch",
     "Tensor parallelism", "Pipeline parallelism", "Context parallelism", "evaluate on your own set",
     "max_memory_allocated", "memory bandwidth"],
)  # fmt: skip
def test_the_glossary_explains_the_subjects_of_the_chapter(subject: str) -> None:
    """Each subject of the chapter is explained in words; its figures are claims of docs/basics.toml."""
    texts = [f"{term['name']} {term['text']}" for section in sections() for term in section["term"]]
    assert any(subject.casefold() in text.casefold() for text in texts)
