"""Public reports of what went wrong for people who size models: verdicts, layouts and facts about hardware.

Tests are named after the report (trials.csv); the docstring names the kind of fault. Figures are the answers that the
list of reports gives, with its tolerances.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from rackfit.catalog.read import read_device
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError
from rackfit.fit.cell import Question
from rackfit.fit.mixed import evaluate_mixed
from rackfit.fit.verdicts import NO
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import Knobs, engine_terms
from rackfit.memory.domain import Layout
from rackfit.memory.kv_cache import kv_bytes, stage_caches
from rackfit.memory.layouts import refusal
from rackfit.memory.weights import layer_bytes
from reference.architectures import (
    ANATOMIES,
    BF16,
    DEEPSEEK_V3,
    GIB,
    LLAMA_CPP,
    MIB,
    QWEN3_32B,
    device,
    gqa,
    gqa_params,
    layer,
    model,
)
from reference.asking import anatomy_of, ask

SINGLE = Layout()


# fit


def test_r030_all_experts_are_resident(connection: sqlite3.Connection) -> None:
    """A mixture sized by its active parameters: 122B do not fit a 48 GB machine, whatever is active."""
    answer = ask(connection, "qwen3.5-122b-a10b", "Apple M4 Pro 48GB", precision="q4_k_m")

    assert answer["verdict"] == "no"
    assert answer["per_device"]["weights_bytes"] / 1e9 == pytest.approx(74.3, rel=0.05)
    assert answer["per_device"]["device_bytes"] / GIB == pytest.approx(37, abs=1.5)


def test_r032_two_makers_one_card_busy(connection: sqlite3.Connection) -> None:
    """Free memory of two cards added up, and one of them busy: each is checked alone, tensors do not cross makers."""
    anatomy = anatomy_of(connection, "qwen3-32b")
    precision = replace(BF16, precision_id="q4", family="gguf", bits=4.82)
    xt = replace(read_device(connection, "amd-rx-7900-xt"), memory_bytes=(20464 - 16417) * MIB)
    rtx = replace(read_device(connection, "nvidia-rtx-2080"), memory_bytes=7967 * MIB)
    busy, _, _ = evaluate_mixed(anatomy, precision, LLAMA_CPP, [(xt, 1), (rtx, 1)], Question(32768, 1, 16.0))
    empty = ask(connection, "qwen3-32b", "1x rx-7900-xt + 1x rtx-2080", precision="q4_k_m", context=32768)
    tensor = ask(connection, "qwen3-32b", "1x rx-7900-xt + 1x rtx-2080", runtime="vllm", precision="bf16")

    assert busy is not None
    assert busy.verdict == NO
    assert empty["verdict"] in ("tight", "no")
    assert len(empty["placement"]) == 2
    assert tensor["verdict"] == "cannot_run"


def test_r034_logits_on_a_small_card() -> None:
    """A proportional split that looks at weights only: the last card also makes the logits, 297 MiB of them."""
    qwen = model(
        "32B of the report", 5120, 152064,
        [gqa(64, 40, 8, 128, gqa_params(5120, 40, 8, 128, 27648), d_ff=27648)],
    )  # fmt: skip
    small = device("GeForce GT 1030", 2048, capability="6.1", segment="consumer")
    old = replace(LLAMA_CPP, forward_bytes=0.0)
    terms = engine_terms(Anatomy(qwen), old, Layout(pp=2), small, 2048 * MIB, 4096, Knobs())

    assert terms.workspace / MIB == pytest.approx(297, abs=0.5)
    assert kv_bytes(Anatomy(qwen), 16, 4096) / MIB == 960 + 64
    assert 1800 + 64 + terms.workspace / MIB == pytest.approx(2161, rel=0.05)
    assert 1800 * MIB + 64 * MIB + terms.workspace > terms.limit


def test_r034_each_card_alone() -> None:
    """Whole layers over a 24 GB and a 2 GB card: no card is given more than it has room for and called a fit."""
    big = device("Radeon RX 7900 XTX", 24560, "AMD", "gfx1100")
    small = device("GeForce GT 1030", 2048, capability="6.1", segment="consumer")
    precision = replace(BF16, precision_id="q4", family="gguf", bits=4.82)
    cell, _, placed = evaluate_mixed(
        ANATOMIES[QWEN3_32B.name], precision, LLAMA_CPP, [(big, 1), (small, 1)], Question(4096, 1, 16.0)
    )

    assert cell is not None
    for one in placed:
        assert (one["verdict"] == "no") == (one["total_bytes"] > one["usable_bytes"])
    assert placed[1]["layers"] <= 6


@pytest.mark.parametrize(("count", "said"), [(2, "25 attention heads"), (5, "50304")])
def test_r036_odd_heads(connection: sqlite3.Connection, count: int, said: str) -> None:
    """A degree that passes the heads and fails later on the vocabulary: both are refused beforehand."""
    refused = ask(connection, "gpt2-xl", f"{count}x a100-sxm4-80gb", tp=count)
    alone = ask(connection, "gpt2-xl", "1x a100-sxm4-80gb", precision="fp16")

    assert refused["verdict"] == "cannot_run"
    assert said in refused["reason"]
    assert alone["verdict"] == "fits"
    assert alone["per_device"]["weights_bytes"] / 1e9 == pytest.approx(3.1, rel=0.02)


def test_r038_layers_move_whole(connection: sqlite3.Connection) -> None:
    """Cards counted by a pooled sum: an expert layer of 11.39 GiB moves whole, so six fit on 80 GB and seven do not."""
    anatomy = anatomy_of(connection, "deepseek-ai/DeepSeek-R1")
    q8_0 = replace(BF16, precision_id="q8_0", family="gguf", bits=8.5)
    expert_layer = max(layer_bytes(anatomy, q8_0, SINGLE))

    assert expert_layer / GIB == pytest.approx(11.39, rel=0.005)
    assert 6 * expert_layer < 79 * GIB < 7 * expert_layer
    for count, verdicts in ((8, ("no",)), (9, ("no",)), (11, ("fits", "tight"))):
        answer = ask(connection, "deepseek-r1", f"{count}x h100-sxm5-80gb", precision="q8_0", runtime="llama.cpp")
        assert answer["verdict"] in verdicts, count


def test_r040_the_limit_is_not_the_memory(connection: sqlite3.Connection) -> None:
    """A guard on host memory: the GPU limit of a 128 GB Mac is 107.52 GiB, until the user raises it."""
    found = connection.execute(
        "select distinct usable_bytes from usable_memory where ram_gb = 128 and os = 'macOS' "
        "and setting like 'default%' and os_version like '26%'"
    ).fetchall()
    raised = ask(connection, "qwen3-8b", "Apple M4 Max 128GB", usable_gib=112.0)["per_device"]["device_bytes"]

    assert max(row[0] for row in found) / GIB == pytest.approx(107.52, abs=0.01)
    assert max(row[0] for row in found) < 108.01 * GIB < raised == 112 * GIB


def test_r042_keys_narrow_values_wide() -> None:
    """A narrow cache that fails to load though memory is free: 6120 MiB of keys and 7680 of values, exactly."""
    keys = layer(60, 1, attention="gqa", n_heads=128, n_kv_heads=128, d_k=192, d_v=128, kv_full_elems=128 * 192)
    values = replace(keys, kv_full_elems=128 * 128)
    one, other = (Anatomy(model("full heads", 5120, 102400, [group])) for group in (keys, values))

    assert kv_bytes(one, 8.5, 4096) / MIB == pytest.approx(6120, rel=0.001)
    assert kv_bytes(other, 16, 4096) / MIB == pytest.approx(7680, rel=0.001)
    assert (kv_bytes(one, 16, 4096) + kv_bytes(other, 16, 4096)) / MIB == pytest.approx(19200, rel=0.001)


def test_r044_old_cards_on_a_new_engine(connection: sqlite3.Connection) -> None:
    """Nothing loads and no reason is given: vLLM refuses cards before capability 7.0, today before 7.5."""
    refused = ask(connection, "qwen3-1.7b", "1x p100-pcie-16gb", precision="fp16", runtime="vllm")
    runs = ask(connection, "qwen3-1.7b", "1x p100-pcie-16gb", precision="q4_k_m")

    assert refused["verdict"] == "cannot_run"
    assert "vllm does not run on Tesla P100" in refused["reason"] and "compute capability" in refused["reason"]
    assert (runs["verdict"], runs["runtime"]) == ("fits", "llama.cpp")


# hardware facts


def test_r047_bandwidth_of_another_chip(connection: sqlite3.Connection) -> None:
    """A chip taken for its predecessor: the H200 has 4800 GB/s, and a ridge point of 206 operations per byte."""
    speed, dense = connection.execute(
        "select memory_bandwidth_gb_s, dense_tflops from accelerators join accelerator_rates using (accelerator_id) "
        "where accelerator_id = 'nvidia-h200-sxm-141gb' and precision_name = 'bf16'"
    ).fetchone()

    assert speed == pytest.approx(4800, rel=0.005)
    assert 1000 * dense / speed == pytest.approx(206.0, rel=0.005)


@pytest.mark.parametrize(
    ("name", "desktop"),
    [
        ("NVIDIA GeForce RTX 5070 Laptop GPU", "nvidia-rtx-5070"),
        ("RTX 3080 Ti Laptop", "nvidia-rtx-3080-ti"),
        ("NVIDIA RTX 2000 Ada Generation Laptop GPU", "nvidia-rtx-2000-ada"),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", "nvidia-rtx-5090"),
    ],
)
def test_r049_laptop_parts(connection: sqlite3.Connection, name: str, desktop: str) -> None:
    """A laptop card inherits the desktop's figures: it has its own record or is unknown, never the desktop's."""
    try:
        found = resolve(connection, "accelerator", name, allow_class=True)
    except UnknownNameError as error:
        assert name in str(error)
        return
    assert desktop not in found.ids
    assert all("laptop" in one for one in found.ids)


@pytest.mark.parametrize(
    ("ram", "likely", "low"), [("Apple M3 16GB", 11.84, 10.66), ("M1 Max 32GB", 24.0, 21845 / 1024)]
)
def test_r051_usable_share_of_a_mac(connection: sqlite3.Connection, ram: str, likely: float, low: float) -> None:
    """All memory of a Mac taken for the GPU: the default limit is the system's, and older systems' lie in the range."""
    answer = ask(connection, "qwen3-1.7b", ram)
    row = connection.execute(
        "select memory_bytes_per_device, memory_spread from configurations where configuration_id = ?",
        (answer["hardware"].replace(" ", "-"),),
    ).fetchone()

    assert answer["per_device"]["device_bytes"] / GIB == pytest.approx(likely, rel=0.05)
    if row:
        assert row[0] * (1 - row[1]) / GIB <= low * 1.01


def test_r051_limit_that_the_user_set(connection: sqlite3.Connection) -> None:
    """The limit follows the user's setting exactly."""
    for mib in (12000, 14000):
        answer = ask(connection, "qwen3-1.7b", "Apple M3 16GB", usable_gib=mib / 1024)
        assert answer["per_device"]["device_bytes"] == mib * MIB


def test_r053_sparse_is_not_the_peak(connection: sqlite3.Connection) -> None:
    """A sparse figure taken for the peak: the H800 SXM5 computes 989 TFLOPS dense and has 3.35 TB/s."""
    speed, dense = connection.execute(
        "select memory_bandwidth_gb_s, dense_tflops from accelerators join accelerator_rates using (accelerator_id) "
        "where accelerator_id = 'nvidia-h800-sxm5-80gb' and precision_name = 'bf16'"
    ).fetchone()

    assert speed == pytest.approx(3350, rel=0.005)
    assert dense == pytest.approx(989.5, rel=0.005)


def test_r038_even_stages_hide_the_fault() -> None:
    """Ten stages of 61 layers leave seven on one card: the layout's own stages are checked, not an average."""
    loads = stage_caches(ANATOMIES[DEEPSEEK_V3.name], Layout(pp=10), 16)

    assert refusal(ANATOMIES[DEEPSEEK_V3.name], BF16, Layout(pp=10), LLAMA_CPP) is None
    assert max(part.bytes_per_token for part in loads) == 7 * 576 * 2
