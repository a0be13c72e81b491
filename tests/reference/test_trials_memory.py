"""Public reports of what went wrong for people who size models: weights, cache, configurations and the figures of logs.

Tests are named after the report (trials.csv); the docstring names the kind of fault. Figures are the answers that the
list of reports gives, with its tolerances.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from pathlib import Path

import pytest

from rackfit.catalog.read import read_device
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnsupportedError
from rackfit.fit.cell import Question, evaluate
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import Knobs, engine_terms
from rackfit.memory.domain import Layout, Model
from rackfit.memory.kv_cache import kv_bytes, request_cache
from rackfit.memory.weights import stage_weights
from reference.architectures import (
    ANATOMIES,
    BF16,
    GIB,
    GPT_OSS_120B,
    H100,
    MIB,
    QWEN3_30B,
    QWEN3_32B,
    SGLANG,
    VLLM,
    VLLM_V0,
    device,
    gqa,
    gqa_params,
    model,
)
from reference.asking import anatomy_of, ask

HERE = Path(__file__).parent
SINGLE = Layout()


def test_the_list_is_here() -> None:
    """Every test here is named after a report of the list."""
    with (HERE / "trials.csv").open(encoding="utf-8", newline="") as handle:
        known = {row["trial_id"] for row in csv.DictReader(handle)}
    text = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_trials_*.py"))
    named = {name.upper() for name in re.findall(r"def test_(r\d+)", text)}

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
