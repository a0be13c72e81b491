"""What comes beside the model, and part of it in RAM: named bytes that add up, and refusals with their reason."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.errors import RackfitError, UnknownNameError, UsageError

GIB = 2**30
PARTS = ("weights_bytes", "kv_bytes", "workspace_bytes", "runtime_bytes")


def ask(connection: sqlite3.Connection, model: str, on: str, **said: Any) -> dict[str, Any]:
    """Return the answer for a model on hardware; whatever was asked, it is one JSON object whose bytes add up."""
    answer = fit_one(connection, FitQuestion(model=model, on=on, **said), suggest=False)
    json.dumps(answer, allow_nan=False)
    device = answer["per_device"]
    if device is not None:
        assert device["total_bytes"] == sum(device[part] for part in PARTS)
        assert device["low_bytes"] <= device["total_bytes"] <= device["high_bytes"]
    return answer


def added(connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], **both: Any) -> tuple[int, dict]:
    """Return how much a setting adds to the runtime's bytes, and the named terms."""
    plain, more = ask(connection, model, on, **both), ask(connection, model, on, **both, **said)
    assert more["per_device"]["weights_bytes"] == plain["per_device"]["weights_bytes"]
    difference = more["per_device"]["runtime_bytes"] - plain["per_device"]["runtime_bytes"]
    return difference, more["per_device"]["extras"]


def test_draft_model(connection: sqlite3.Connection) -> None:
    """A draft adds its 8,030,261,248 parameters and its 131072 B of cache per token, both divided by TP 4.

    Its table of 131072 rotary positions x 128 values x 2 B is whole on every device.
    """
    both, draft = {"tp": 4, "context": 4096}, {"draft": "llama-3.1-8b"}
    more, extras = added(connection, "llama-3.1-70b", "4x h100-sxm5-80gb", draft, **both)

    assert extras["draft_weights_bytes"] == pytest.approx(8_030_261_248 * 2 / 4 + 131072 * 128 * 2, rel=0.001)
    assert extras["draft_kv_bytes"] == 131072 // 4 * 4096
    assert more == pytest.approx(sum(extras.values()), abs=2)


def test_draft_shortens_the_context(connection: sqlite3.Connection) -> None:
    """Cache of the draft comes out of the same pool: 327680 B of Llama-3.1-70B become 458752 B per token."""
    plain, drafted = (
        ask(connection, "llama-3.1-70b", "4x a100-sxm4-80gb", sequences=1, draft=draft)
        for draft in (None, "llama-3.1-8b")
    )

    assert drafted["max_context_memory"] < plain["max_context_memory"] * 327680 / 458752


def test_prediction_heads(connection: sqlite3.Connection) -> None:
    """DeepSeek-V3's heads are 11.6 B parameters at 8 bits, most of them experts over 8 ranks, and one layer's cache."""
    said = {"mtp": True}
    more, extras = added(connection, "deepseek-v3", "8x h200-sxm-141gb", said, tp=8, ep=8, context=8192)

    assert 11.61e9 / 8 < extras["mtp_weights_bytes"] < 1.1 * 11.61e9 / 8
    assert extras["mtp_kv_bytes"] == 576 * 2 * 8192
    assert more >= sum(extras.values())


def test_adapter_slots(connection: sqlite3.Connection) -> None:
    """Rank 16 on Llama-3.1-8B is 41,943,040 parameters (PEFT prints the figure for its seven linear layers)."""
    said = {"lora_slots": 8, "lora_rank": 32}
    more, extras = added(connection, "llama-3.1-8b", "1x h100-sxm5-80gb", said)

    assert extras == {"lora_bytes": 8 * 2 * 2 * 41_943_040}
    assert more == pytest.approx(extras["lora_bytes"], abs=1)


def test_images(connection: sqlite3.Connection) -> None:
    """Gemma-3-27B makes 256 tokens of an image (its technical report): four lengthen a prompt of 4096 by 1024."""
    plain = ask(connection, "gemma-3-27b-it", "1x h100-sxm5-80gb", context=4096 + 1024)
    seen = ask(connection, "gemma-3-27b-it", "1x h100-sxm5-80gb", context=4096, images=4)

    assert seen["context"] == 5120
    assert seen["per_device"]["kv_bytes"] == plain["per_device"]["kv_bytes"]
    assert seen["per_device"]["high_bytes"] - seen["per_device"]["total_bytes"] > (
        plain["per_device"]["high_bytes"] - plain["per_device"]["total_bytes"]
    )
    assert any("range is widened" in line for line in seen["assumptions"])


def test_experts_in_ram(connection: sqlite3.Connection) -> None:
    """Qwen3-30B-A3B in Q4_K_M does not fit 12 GB whole; with experts of the fewest layers in RAM it does."""
    said = {"precision": "q4_k_m", "runtime": "llama.cpp"}
    whole = ask(connection, "qwen3-30b-a3b", "rtx-3060-12gb", **said)
    split = ask(connection, "qwen3-30b-a3b", "rtx-3060-12gb", cpu_experts="auto", host_ram_gib=32.0, **said)
    fewer = ask(connection, "qwen3-30b-a3b", "rtx-3060-12gb", cpu_experts=split["offload"]["cpu_experts"] - 1, **said)

    assert whole["verdict"] == "no"
    assert (split["verdict"], split["offloaded"]) == ("fits", True)
    assert fewer["verdict"] != "fits"
    assert split["offload"]["layers_on_device"] == 48
    assert split["offload"]["tiers"][1]["kv_bytes"] == 0


def test_layers_in_ram(connection: sqlite3.Connection) -> None:
    """`auto` keeps the most layers that fit; both tiers together hold the cache of all of them."""
    said = {"precision": "q4_k_m", "context": 8192, "host_ram_gib": 64.0}
    found = ask(connection, "llama-3.1-70b", "rtx-3090", gpu_layers="auto", **said)
    count = found["offload"]["gpu_layers"]
    more = ask(connection, "llama-3.1-70b", "rtx-3090", gpu_layers=count + 1, **said)

    assert found["verdict"] == "fits"
    assert more["verdict"] != "fits"
    assert sum(tier["kv_bytes"] for tier in found["offload"]["tiers"]) == 327680 * 8192


def test_unknown_ram(connection: sqlite3.Connection) -> None:
    """Where the RAM of the host is not known, nothing fits for certain: the answer says what is needed."""
    answer = ask(connection, "llama-3.1-70b", "rtx-3090", gpu_layers="auto", precision="q4_k_m")

    assert (answer["verdict"], answer["limit"]) == ("tight", "host_ram")
    assert "--host-ram" in answer["reason"]
    assert answer["offload"]["host_verdict"] is None


@pytest.mark.parametrize(("gib", "verdict"), [(8.0, "no"), (24.0, "fits")])
def test_ram_is_checked(connection: sqlite3.Connection, gib: float, verdict: str) -> None:
    """Experts of Qwen3-30B-A3B in Q4_K_M take 16.5 GiB of RAM: 8 are too few, whatever the device has free."""
    answer = ask(
        connection, "qwen3-30b-a3b", "rtx-4090", precision="q4_k_m", cpu_experts="all", host_ram_gib=gib
    )  # fmt: skip

    assert answer["verdict"] == verdict
    assert (answer["limit"] == "host_ram") is (verdict == "no")


def test_ram_and_speed_of_a_system(connection: sqlite3.Connection) -> None:
    """A named system brings its RAM and bandwidth: Dell XE9680, 4096 GB over 16 channels of 5600 MT/s = 716.8 GB/s."""
    answer = ask(connection, "qwen3-235b-a22b", "dell-xe9680-h100-8", precision="q4_k_m", cpu_experts="all")
    device, host = answer["offload"]["tiers"]

    assert host["bandwidth_gb_s"] == 16 * 5600 * 8 / 1000
    assert answer["offload"]["host_ram_bytes"] == 4096 * GIB
    seconds = device["read_bytes_per_token"] / (device["bandwidth_gb_s"] * 1e9) + (
        host["read_bytes_per_token"] / (host["bandwidth_gb_s"] * 1e9)
    )
    assert answer["offload"]["most_tokens_per_s"] == pytest.approx(1 / seconds, abs=0.01)


@pytest.mark.parametrize(
    ("model", "on", "said", "reason"),
    [
        ("llama-3.1-8b", "m4-max-64gb", {"gpu_layers": 10}, "one pool of memory"),
        ("llama-3.1-8b", "rtx-4090", {"gpu_layers": 10, "runtime": "vllm"}, "answered for llama.cpp"),
        ("llama-3.1-8b", "rtx-4090", {"cpu_experts": "all"}, "no routed experts"),
        ("llama-3.1-8b", "cpu", {"gpu_layers": 10, "host_ram_gib": 64.0}, "no device"),
        ("llama-3.1-8b", "1x rtx-3090 + 1x rtx-3070", {"gpu_layers": 10}, "unlike devices"),
    ],
)
def test_offload_that_cannot_be(
    connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], reason: str
) -> None:
    """Unified memory, other engines, dense models and hosts alone have nothing to offload, and say why."""
    answer = ask(connection, model, on, **said)

    assert answer["verdict"] == "cannot_run"
    assert reason in answer["reason"]


def test_host_alone(connection: sqlite3.Connection) -> None:
    """On a machine without accelerators all of Qwen3-8B lies in RAM: 8,190,735,360 parameters, embedding included."""
    answer = ask(connection, "qwen3-8b", "cpu", host_ram_gib=64.0)

    assert answer["verdict"] == "fits"
    assert answer["runtime"] == "llama.cpp"
    assert answer["per_device"]["weights_bytes"] == pytest.approx(2 * 8_190_735_360, rel=1e-4)
    assert answer["per_device"]["outside_bytes"] == 0
    assert ask(connection, "qwen3-8b", "cpu", host_ram_gib=8.0)["verdict"] == "no"


@pytest.mark.parametrize(
    ("said", "error", "named"),
    [
        ({"draft": "no-such-model"}, UnknownNameError, "no-such-model"),
        ({"mtp": True}, UsageError, "multi-token"),
        ({"images": 2}, UsageError, "takes no images"),
        ({"images": 0}, UsageError, "images = 0"),
        ({"lora_slots": 0}, UsageError, "lora_slots = 0"),
        ({"lora_rank": -1}, UsageError, "lora_rank = -1"),
        ({"gpu_layers": -1}, UsageError, "gpu_layers = -1"),
        ({"gpu_layers": "all"}, UsageError, "gpu_layers = all"),
        ({"cpu_experts": "some"}, UsageError, "cpu_experts = some"),
        ({"host_ram_gib": 0.0}, UsageError, "host_ram_gib = 0"),
        ({"split": ()}, UsageError, "split"),
        ({"on": "cpu"}, UsageError, "--host-ram"),
    ],
)
def test_bad_knobs(connection: sqlite3.Connection, said: dict[str, Any], error: type[RackfitError], named: str) -> None:
    """A setting that means nothing is refused in one line that names it."""
    with pytest.raises(error) as raised:
        fit_one(connection, FitQuestion(**{"model": "qwen3-8b", "on": "rtx-4090", **said}))

    assert "\n" not in str(raised.value)
    assert named in str(raised.value)


@pytest.mark.parametrize(
    ("model", "on", "said", "warning"),
    [
        ("llama-3.1-8b", "2x rtx-4090", {"tp": 2}, "TP 2 over PCIe"),
        ("llama-3.1-8b", "2 nodes x 8x h100-sxm5-80gb", {"tp": 16, "pp": 1}, "spans nodes"),
        ("llama-3.1-8b", "4x h100-sxm5-80gb", {"tp": 2, "pp": 2}, "one after another"),
        ("llama-3.1-8b", "8x h100-sxm5-80gb", {"tp": 8}, None),
        ("llama-3.1-8b", "4x h100-sxm5-80gb", {"tp": 2, "pp": 2, "sequences": 8}, None),
    ],
)
def test_what_runs_badly(
    connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], warning: str | None
) -> None:
    """TP without a scale-up link, TP over nodes and stages for one sequence are warned of; the rest is not."""
    found = ask(connection, model, on, **said)["warnings"]

    assert any(warning in line for line in found) if warning else found == []


def test_attention_on_every_device(connection: sqlite3.Connection) -> None:
    """DP attention: each of 8 ranks caches 8 of 64 requests of DeepSeek-V3 at 70272 B per token, not all of them."""
    said = {"sequences": 64, "context": 16384}
    tensor = ask(connection, "deepseek-v3", "8x h200-sxm-141gb", tp=8, **said)
    spread = ask(connection, "deepseek-v3", "8x h200-sxm-141gb", dp=8, **said)

    assert spread["layout"] == {"tp": 1, "pp": 1, "ep": 8, "dp": 8}
    assert tensor["per_device"]["kv_bytes"] == 64 * 16384 * 70272
    assert spread["per_device"]["kv_bytes"] == 8 * 16384 * 70272
    assert spread["per_device"]["weights_bytes"] > tensor["per_device"]["weights_bytes"]


def test_offload_is_suggested(connection: sqlite3.Connection) -> None:
    """What does not fit a card whole is offered with part of it in RAM, with the counts that fit."""
    question = FitQuestion(model="qwen3-30b-a3b", on="rtx-3060-12gb")
    found = [one for one in fit_one(connection, question)["suggestions"] if "offload" in one]

    assert {"cpu_experts", "gpu_layers"} <= {name for one in found for name in one}
    for one in found:
        layers, experts = one["offload"]["gpu_layers"], one["offload"]["cpu_experts"]
        again = ask(
            connection, "qwen3-30b-a3b", "rtx-3060-12gb", precision=one["precision"], runtime="llama.cpp",
            gpu_layers=layers, cpu_experts=experts,
        )  # fmt: skip
        assert again["verdict"] == one["verdict"] == "tight"
        assert again["per_device"]["margin_bytes"] == one["margin_bytes"]
