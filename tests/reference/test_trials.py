"""Public reports of what went wrong for people who size models, as tests named after the report (trials.csv).

Each report is an example of a kind of fault; the docstring names the kind. Figures are the answers that the list of
reports gives, with its tolerances.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.catalog.read import read_device, read_model
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UnsupportedError
from rackfit.fit.cell import NO, Question, evaluate
from rackfit.fit.mixed import evaluate_mixed
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import Knobs, engine_terms
from rackfit.memory.domain import Layout, Model
from rackfit.memory.kv_cache import kv_bytes, request_cache, stage_caches
from rackfit.memory.layouts import refusal
from rackfit.memory.weights import layer_bytes, stage_weights
from reference.architectures import (
    ANATOMIES,
    BF16,
    DEEPSEEK_V3,
    GIB,
    GPT_OSS_120B,
    H100,
    LLAMA_CPP,
    MIB,
    QWEN3_30B,
    QWEN3_32B,
    SGLANG,
    VLLM,
    VLLM_V0,
    device,
    gqa,
    gqa_params,
    layer,
    model,
)

HERE = Path(__file__).parent
SINGLE = Layout()


def anatomy_of(connection: sqlite3.Connection, name: str) -> Anatomy:
    """Return the catalog's architecture for a name."""
    return Anatomy(read_model(connection, resolve(connection, "model", name).id))


def ask(connection: sqlite3.Connection, name: str, on: str, **said: Any) -> dict[str, Any]:
    """Return the answer for a model on hardware."""
    return fit_one(connection, FitQuestion(model=name, on=on, **said), suggest=False)


def test_the_list_is_here() -> None:
    """Every test of this file is named after a report of the list."""
    with (HERE / "trials.csv").open(encoding="utf-8", newline="") as handle:
        known = {row["trial_id"] for row in csv.DictReader(handle)}
    named = {name.upper() for name in re.findall(r"def test_(r\d+)", Path(__file__).read_text(encoding="utf-8"))}

    assert len(named) > 20
    assert named <= known


# inference memory


def test_r001_all_layers_or_needed() -> None:
    """Windowed layers left out of the cache: both what is needed and what an older engine charges must be visible."""
    anatomy = ANATOMIES[GPT_OSS_120B.name]
    everything = request_cache(anatomy, 16).bytes_per_token

    assert everything == 73728
    assert 5.38 * GIB / everything == pytest.approx(78352, rel=0.002)
    assert kv_bytes(anatomy, 16, 131072) / GIB == pytest.approx(4.504, abs=0.0005)
    needed = evaluate(anatomy, BF16, VLLM_V0, SINGLE, H100, Question(131072, 1, 16.0))
    assert needed.kv < needed.kv_reserved == 73728 * 131072


def test_r003_hybrid_charged_to_all_blocks(connection: sqlite3.Connection) -> None:
    """A hybrid model's cache charged to all its layers: 10 of 40 keep one, the others a constant state in fp32."""
    cache = request_cache(anatomy_of(connection, "qwen/qwen3.6-35b-a3b"), 16, 32, 32)

    assert cache.bytes_per_token == 20480
    assert cache.bytes_per_token * 131072 / GIB == pytest.approx(2.5, rel=0.01)
    assert cache.bytes_per_token * 262144 / GIB == pytest.approx(5.0, rel=0.01)
    assert cache.constant / MIB == pytest.approx(62.8, rel=0.01)


def test_r005_latent_cache_in_q8_0(connection: sqlite3.Connection) -> None:
    """Estimates that stop at weights and cache: the cache is exact, and an engine without rules gives no figure."""
    anatomy = anatomy_of(connection, "deepseek-ai/DeepSeek-R1")

    assert kv_bytes(anatomy, 8.5, 32768) / MIB == pytest.approx(1166.6, rel=0.001)
    with pytest.raises(UnsupportedError, match=r"ik_llama\.cpp"):
        ask(connection, "deepseek-ai/DeepSeek-R1", "1x rtx-4090", runtime="ik_llama.cpp")


def test_r007_encoder_without_cache(connection: sqlite3.Connection) -> None:
    """A reranker priced like a chat model: an encoder has no cache, and its token table stays on the host."""
    device_bytes = ask(
        connection, "bge-reranker-v2-m3", "1x rtx-4090", precision="f16", runtime="llama.cpp", context=8192
    )["per_device"]

    assert device_bytes["kv_bytes"] == 0
    # 926 MiB measured for the process, driver context included
    assert device_bytes["reserved_bytes"] / MIB == pytest.approx(926, rel=0.20)


def test_r011_activations_are_per_device() -> None:
    """Activations subtracted once from a pooled total: each rank needs its own, and so does the budget."""
    anatomy = ANATOMIES[QWEN3_32B.name]
    one, four = (
        engine_terms(anatomy, VLLM, Layout(tp=tp), H100, 21 * GIB, 8192, Knobs(batched_tokens=2048, max_sequences=256))
        for tp in (1, 4)
    )
    cell = evaluate(anatomy, BF16, VLLM, Layout(tp=4), H100, Question(8192, 1, 16.0), 21 * GIB, 0.0)

    assert four.workspace == one.workspace
    # 0.9 x 21 - weights / 4 - activations, each device alone, as the report's 0.9 x 21 - 16 / 4 - 5 = 9.9
    assert cell.kv_pool == pytest.approx(max(0.9 * 21 * GIB - cell.weights - cell.workspace - four.runtime, 0))
    assert pytest.approx(9.9) == 0.9 * 21 - 16 / 4 - 5


def test_r013_pool_of_a_large_card() -> None:
    """A pool sized without the attention workspace: weights and cache are exact, the reserve is taken from the card."""
    anatomy = ANATOMIES[QWEN3_30B.name]
    cell = evaluate(
        anatomy, BF16, SGLANG, SINGLE, device("AMD card", 287 * 1024, "AMD", "gfx950"), Question(8192, 1, 16.0),
        287 * GIB, 0.0,
    )  # fmt: skip

    assert max(stage_weights(anatomy, BF16, SINGLE)) / GIB == pytest.approx(56.98, rel=0.005)
    assert request_cache(anatomy, 16).bytes_per_token == 98304
    assert pytest.approx(2 * 76.44, rel=0.005) == 1_669_816 * 98304 / GIB
    assert cell.usable <= (287 - 10) * GIB


@pytest.mark.parametrize("name", ["tiiuae/Falcon-H1-7B-Instruct", "tiiuae/Falcon-H1-3B-Instruct"])
def test_r015_narrow_cache_of_a_hybrid(connection: sqlite3.Connection, name: str) -> None:
    """An 8-bit cache promised to double the tokens of every model: recurrent state is not quantised."""
    plain = anatomy_of(connection, "Qwen/Qwen2.5-3B")
    hybrid = anatomy_of(connection, name)

    def gain(anatomy: Anatomy, tokens: int) -> float:
        wide, narrow = (float(request_cache(anatomy, bits).bytes(tokens)) for bits in (16, 8))
        return wide / narrow

    assert gain(plain, 32768) == 2
    assert gain(hybrid, 32768) == pytest.approx(1.84, abs=0.1)
    assert gain(hybrid, 128) == pytest.approx(1.0, abs=0.1)


def test_r017_full_offload_with_q8_0(connection: sqlite3.Connection) -> None:
    """A plan that splits to the CPU although the card holds everything."""
    answer = ask(
        connection, "Mistral-Small-Instruct-2409", "1x rtx-4090", precision="q6_k", kv_precision="q8_0", context=49152
    )
    device_bytes = answer["per_device"]

    assert device_bytes["kv_bytes"] / MIB == pytest.approx(5712, rel=0.001)
    assert device_bytes["weights_bytes"] / MIB == pytest.approx(17295, rel=0.01)
    assert device_bytes["total_bytes"] / MIB == pytest.approx(17295 + 5712 + 192, rel=0.02)
    assert answer["verdict"] in ("fits", "tight")


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
    """Nothing loads and no reason is given: vLLM refuses cards before capability 7.0."""
    refused = ask(connection, "qwen3-1.7b", "1x p100-pcie-16gb", precision="fp16", runtime="vllm")
    runs = ask(connection, "qwen3-1.7b", "1x p100-pcie-16gb", precision="q4_k_m")

    assert refused["verdict"] == "cannot_run"
    assert "vllm does not run fp16" in refused["reason"]
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


# model configurations


def test_r066_dimensions_two_levels_down() -> None:
    """Dimensions nested two levels down read as nothing: 28 layers, 4 KV heads of 3584 / 28, a window that is off."""
    text = json.loads((HERE / "trials/R066.json").read_text())["thinker_config"]["text_config"]
    heads, kv_heads = text["num_attention_heads"], text["num_key_value_heads"]
    size = text["hidden_size"] // heads
    layers = gqa(text["num_hidden_layers"], heads, kv_heads, size, 1)

    assert not text["use_sliding_window"]
    assert request_cache(Anatomy(model("omni", 3584, 152064, [layers])), 16).bytes_per_token == 57344


@pytest.mark.parametrize(
    ("name", "layers", "kv_heads", "size"),
    # config.json of each: head_dim is a field of its own, not hidden size / heads (160, 45, 240)
    [
        ("mistralai/Mistral-Small-24B-Instruct-2501", 40, 8, 128),
        ("openai/gpt-oss-20b", 24, 8, 64),
        ("google/gemma-3-12b-it", 48, 8, 256),
    ],
)
def test_r068_head_size_is_a_field(
    connection: sqlite3.Connection, name: str, layers: int, kv_heads: int, size: int
) -> None:
    """A head size derived from the width: the file's own figure wins."""
    cache = request_cache(anatomy_of(connection, name), 16)

    assert cache.bytes_per_token == layers * 2 * kv_heads * size * 2
    if layers == 40:
        assert cache.bytes_per_token == 163840


def openelm() -> Model:
    """Return the model of trials/R070.json: heads and widths differ on every layer.

    The width of a layer is its multiplier times the model's, rounded to the nearest multiple of 256, never more than
    a tenth below (the model's own code).
    """
    config = json.loads((HERE / "trials/R070.json").read_text())
    d, size, divisor = config["model_dim"], config["head_dim"], config["ffn_dim_divisor"]
    groups = []
    for heads, kv_heads, factor in zip(
        config["num_query_heads"], config["num_kv_heads"], config["ffn_multipliers"], strict=True
    ):
        width = max(divisor, int(factor * d + divisor / 2) // divisor * divisor)
        width += divisor if width < 0.9 * factor * d else 0
        params = gqa_params(d, heads, kv_heads, size, width, qk_norm=True)
        groups.append(gqa(1, heads, kv_heads, size, params, d_ff=width))
    return model("openelm", d, config["vocab_size"], groups, tied_embeddings=True, qk_norm="per_head")


def test_r070_layers_that_differ() -> None:
    """One layer's numbers taken for the whole stack: 169 KV heads over 28 layers, and a tied head counted once."""
    one = openelm()

    assert sum(group.n_kv_heads or 0 for group in one.groups) == 169
    assert request_cache(Anatomy(one), 16).bytes_per_token == 43264
    assert one.params_total == pytest.approx(1_079_891_456, rel=0.001)


def test_r076_never_plain_attention(connection: sqlite3.Connection) -> None:
    """A latent-attention model without the usual field priced as plain attention: never 84 KB per token."""
    for name in ("deepseek-ai/DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Pro"):
        cache = request_cache(anatomy_of(connection, name), 16)
        assert cache.bytes(200_000) - cache.bytes(199_000) < 1000 * 15.57e3 * 1.1


# GGUF


def test_r077_layers_without_attention(connection: sqlite3.Connection) -> None:
    """Head counts per layer with zeros in them: zero means no attention on that layer."""
    text = (HERE / "trials/R077.txt").read_text()
    found = re.search(r"head_count_kv arr\[i32,80\] = \[([^\]]*)\]", text)
    assert found
    kv_heads = [int(number) for number in found[1].split(",")]
    cache = request_cache(anatomy_of(connection, "nvidia/Llama-3_3-Nemotron-Super-49B-v1"), 16)

    assert sum(count > 0 for count in kv_heads) == 49
    assert sum(kv_heads) * 2 * 128 * 2 == 200704 == cache.bytes_per_token


def test_r079_layers_that_share_a_cache(connection: sqlite3.Connection) -> None:
    """A shared cache counted for every layer: 15 of 35 own one, 3 of them global."""
    owners = connection.execute(
        "select sum(count), sum(case when kv_full_elems > 0 then count else 0 end) from layer_groups "
        "where model_id = 'google/gemma-4-e2b-it' and kv_full_elems + kv_windowed_elems > 0 "
        "and kv_shared_with != 'shares'"
    ).fetchone()
    cache = request_cache(anatomy_of(connection, "google/gemma-4-E2B-it"), 16)

    assert tuple(owners) == (15, 3)
    assert cache.bytes(10_001) - cache.bytes(10_000) == 6144
    assert [cap for _, cap in cache.slopes if cap] == [512]


# logs and versions: the arithmetic behind them


def test_r086_a_pool_over_tokens_is_no_rate(connection: sqlite3.Connection) -> None:
    """Pool divided by printed tokens taken for the cache rate: attention of ten layers costs 10240 bytes at fp8."""
    assert request_cache(anatomy_of(connection, "qwen/qwen3.6-35b-a3b"), 8).bytes_per_token == 10240


def test_r092_recurrent_state(connection: sqlite3.Connection) -> None:
    """State of a hybrid model for three sequences: 432.00 MiB of matrices and 16.88 of convolutions, fp32."""
    cache = request_cache(anatomy_of(connection, "qwen/qwen3.5-27b"), 16, 32, 32)

    assert 3 * cache.constant / MIB == pytest.approx(448.88, rel=0.001)
    assert 3 * 48 * 48 * 128 * 128 * 4 / MIB == 432.00


def test_r095_gb_in_a_log_is_gib() -> None:
    """GB in an engine's log is 2^30: 1669816 tokens at half of 98304 bytes are 76.44 of them for keys."""
    rate = request_cache(ANATOMIES[QWEN3_30B.name], 16).bytes_per_token

    assert 1_669_816 * rate / 2 / GIB == pytest.approx(76.44, abs=0.005)
    assert 1_669_816 * rate / 2 / 1e9 != pytest.approx(76.44, rel=0.05)


def test_r127_laptop_names(connection: sqlite3.Connection) -> None:
    """The top laptop card taken for the desktop card, by its driver's or its bus name: 24 GB, never 32."""
    for name in ("NVIDIA GeForce RTX 5090 Laptop GPU", "GeForce RTX 5090 Max-Q / Mobile"):
        assert resolve(connection, "accelerator", name).ids == ("nvidia-rtx-5090-laptop",)
    assert read_device(connection, "nvidia-rtx-5090-laptop").memory_bytes == 24463 * MIB


def test_r135_graphs_outside_the_budget() -> None:
    """The same flags on the next version run out: graphs lie outside the budget that the pool is computed from."""
    # log at 0.90 of 15.77 GiB: weights 7.51, non-torch 0.39, activations 2.53, pool 3.76 GiB, 3852 blocks of 16
    pool = 0.9 * 15.77 - 7.51 - 0.39 - 2.53

    assert pool == pytest.approx(3.76, abs=0.01)
    assert 3852 * VLLM_V0.kv_block_tokens == 61632
    assert pytest.approx(1.54, abs=0.005) == 61632 / 40000
    assert not VLLM_V0.graphs_in_budget
    assert VLLM_V0.graph_bytes / GIB < (0.95 - 0.90) * 15.77
    assert 2.3 * VLLM_V0.graph_bytes / GIB > (1 - 0.95) * 15.77


def test_r038_even_stages_hide_the_fault() -> None:
    """Ten stages of 61 layers leave seven on one card: the layout's own stages are checked, not an average."""
    loads = stage_caches(ANATOMIES[DEEPSEEK_V3.name], Layout(pp=10), 16)

    assert refusal(ANATOMIES[DEEPSEEK_V3.name], BF16, Layout(pp=10), LLAMA_CPP) is None
    assert max(part.bytes_per_token for part in loads) == 7 * 576 * 2
