"""One question, one answer: its shape, its defaults, its refusals, and suggestions that keep their promise."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.other_hardware import more_devices
from rackfit.ask.question import FitQuestion
from rackfit.fit.hardware_expression import parse_hardware

KEYS = {
    "model", "hardware", "precision", "kv_precision", "runtime", "context", "sequences", "layout", "per_device",
    "verdict", "limit", "reason", "max_context", "max_context_memory", "max_sequences", "suggestions",
}  # fmt: skip
"""What every answer has."""
BYTES = {
    "weights_bytes", "kv_bytes", "kv_reserved_bytes", "workspace_bytes", "runtime_bytes", "total_bytes", "low_bytes",
    "high_bytes", "usable_bytes",
}  # fmt: skip
H100 = "1x h100-sxm5-80gb"


def ask(connection: sqlite3.Connection, model: str, on: str, suggest: bool = False, **said: Any) -> dict[str, Any]:
    """Return the answer for a model on hardware, without suggestions unless they are wanted."""
    return fit_one(connection, FitQuestion(model=model, on=on, **said), suggest=suggest)


ANSWERS = [
    ("qwen3-8b", H100, {}, "fits"),
    ("llama-3.1-70b", H100, {}, "no"),
    ("llama-3.1-70b", "3x a100-sxm4-80gb", {"tp": 3}, "cannot_run"),
    ("qwen3-8b", "1x rtx-4090 (20 GiB usable)", {}, None),
    ("qwen3-32b", "1x rtx-3090 + 1x rtx-3070", {"precision": "q4_k_m"}, None),
    ("deepseek-v3", "2 nodes x 8x h100-sxm5-80gb", {}, "fits"),
    ("gemma-3-27b-it", "dgx-h100", {}, "fits"),
    ("falcon-h1-34b-instruct", "8x h100-sxm5-80gb", {}, "fits"),
    ("bge-reranker-v2-m3", "1x rtx-4090", {}, "fits"),
    ("qwen3-8b", "apple-m3-max-40c", {"precision": "q4_k_m"}, None),
]


@pytest.mark.parametrize(("model", "on", "said", "verdict"), ANSWERS, ids=lambda value: str(value)[:40])
def test_shape(connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], verdict: str | None) -> None:
    """Every answer is one JSON object with all the keys, whole bytes that add up, and a verdict of the four."""
    answer = ask(connection, model, on, **said)
    again = json.loads(json.dumps(answer, allow_nan=False))

    assert again == answer
    assert answer.keys() >= KEYS
    assert answer["verdict"] in ("fits", "tight", "no", "cannot_run")
    assert verdict is None or answer["verdict"] == verdict
    assert answer["reason"]
    assert "\n" not in answer["reason"]
    if answer["verdict"] == "cannot_run":
        assert answer["per_device"] is None
        return
    device = answer["per_device"]
    assert device.keys() >= BYTES
    assert all(isinstance(value, int) for value in device.values())
    assert answer["layout"].keys() == {"tp", "pp", "ep", "dp"}
    parts = sum(device[f"{name}_bytes"] for name in ("weights", "kv", "workspace", "runtime"))
    assert device["total_bytes"] == parts
    assert device["low_bytes"] <= device["total_bytes"] <= device["high_bytes"]


@pytest.mark.parametrize(("model", "on", "said", "verdict"), ANSWERS, ids=lambda value: str(value)[:40])
def test_verdict_agrees_with_bytes(
    connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], verdict: str | None
) -> None:
    """What fits leaves room for the high estimate, what is tight for the likely one, what does not has none."""
    answer = ask(connection, model, on, **said)
    if answer["verdict"] == "cannot_run":
        return
    device = answer["per_device"]
    likely, high = device["total_bytes"] <= device["usable_bytes"], device["high_bytes"] <= device["usable_bytes"]

    if answer["verdict"] == "fits":
        assert high
    elif answer["verdict"] == "tight":
        assert likely
    else:
        assert not likely


def test_defaults_are_echoed(connection: sqlite3.Connection) -> None:
    """What the user did not say is answered with the value that was taken, and named as assumed."""
    answer = ask(connection, "qwen3-8b", H100)
    said = " ".join(answer["assumptions"])

    assert (answer["context"], answer["sequences"], answer["kv_precision"]) == (8192, 1, "kv_bf16")
    assert answer["precision"] == "bf16"
    assert answer["runtime"] == "vllm"
    for word in ("8192 tokens", "16 bits", "sequences: 1", "vllm"):
        assert word in said


def test_what_is_said_is_not_assumed(connection: sqlite3.Connection) -> None:
    """What the user said is echoed and not among the assumptions."""
    answer = ask(
        connection, "qwen3-8b", H100, precision="bf16", kv_precision="fp8", context=4096, sequences=4, runtime="vllm",
        utilization=0.9, max_batched_tokens=8192, max_sequences=256,
    )  # fmt: skip

    assert (answer["context"], answer["sequences"], answer["kv_precision"]) == (4096, 4, "kv_fp8_e4m3")
    assert answer["assumptions"] == []


def test_default_context_ends_at_the_model(connection: sqlite3.Connection) -> None:
    """A model with a shorter limit is asked at its limit: gpt2-xl has 1024 positions."""
    assert ask(connection, "gpt2-xl", H100)["context"] == 1024


def test_longest_context(connection: sqlite3.Connection) -> None:
    """`max_context` ends at the model's own 40960 positions (config.json of Qwen3-8B), the memory's figure does not."""
    answer = ask(connection, "qwen3-8b", H100)

    assert answer["max_context"] == 40960
    assert answer["max_context_memory"] > 40960


@pytest.mark.parametrize(
    "model", ["qwen3-8b", "llama-3.1-70b", "gemma-3-27b-it", "gpt-oss-120b", "falcon-h1-34b-instruct"]
)
@pytest.mark.parametrize("on", ["1x rtx-4090", H100, "8x h100-sxm5-80gb"])
def test_longest_context_never_exceeds_the_model(connection: sqlite3.Connection, model: str, on: str) -> None:
    """The context offered is the smaller of the model's limit and what memory holds."""
    answer = ask(connection, model, on)
    row = connection.execute("select max_context from models where model_id = ?", (answer["model"],)).fetchone()

    if answer["max_context"] is not None:
        assert answer["max_context"] <= row[0]
        if answer["max_context_memory"] is not None:
            assert answer["max_context"] <= answer["max_context_memory"]


def test_class_is_answered_over_its_candidates(connection: sqlite3.Connection) -> None:
    """ "H100" is several cards: all are answered, the worst verdict is shown, and the answer says so."""
    answer = ask(connection, "qwen3-32b", "h100")
    order = ["cannot_run", "no", "tight", "fits"]

    assert len(answer["candidates"]) >= 3
    assert answer["verdict"] == min((one["verdict"] for one in answer["candidates"]), key=order.index)
    assert any("class" in line for line in answer["assumptions"])


def test_qwen3_235b_fp8_at_tp_8(connection: sqlite3.Connection) -> None:
    """The model card of Qwen3-235B-A22B-FP8 refuses TP 8 (192 is no multiple of 128) and offers TP 4 or experts."""
    plain = ask(connection, "qwen/qwen3-235b-a22b-fp8", "8x h100-sxm5-80gb", tp=8, ep=1)
    experts = ask(connection, "qwen/qwen3-235b-a22b-fp8", "8x h100-sxm5-80gb", tp=8, ep=8)
    chosen = ask(connection, "qwen/qwen3-235b-a22b-fp8", "8x h100-sxm5-80gb")

    assert plain["verdict"] == "cannot_run"
    assert "192" in plain["reason"]
    assert experts["verdict"] != "cannot_run"
    assert chosen["layout"]["tp"] != 8 or chosen["layout"]["ep"] == 8


@pytest.mark.parametrize(
    ("model", "on", "said"),
    [
        ("llama-3.1-70b", "1x a100-sxm4-80gb", {}),
        ("qwen3-8b", "1x rtx-4090", {"context": 40960}),
        ("qwen3-32b", H100, {"context": 32768}),
        ("llama-3.1-70b", "3x a100-sxm4-80gb", {"tp": 3}),
        ("llama-3.1-70b", "1x rtx-4090", {"runtime": "llama.cpp"}),
        ("gpt-oss-120b", "1x rtx-5090", {}),
        ("qwen3-8b", "a100-sxm4-80gb/1g.10gb", {}),
        ("qwen3-32b", "5x rtx-3090", {"sequences": 50, "precision": "fp8"}),
        ("deepseek-v3", "dgx-h100", {}),
    ],
)
def test_suggestions_flip_the_verdict(
    connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any]
) -> None:
    """Asked with the change it suggests, the question gets the better verdict and margin that it promises."""
    answer = ask(connection, model, on, suggest=True, **said)
    fields = FitQuestion.__dataclass_fields__

    assert answer["verdict"] != "fits"
    assert answer["suggestions"]
    for one in answer["suggestions"]:
        changes = {name: value for name, value in one.items() if name in fields}
        other = ask(connection, **{"model": model, "on": on, **said, **changes})
        assert other["verdict"] == one["verdict"]
        assert other["verdict"] in ("fits", "tight")
        assert other["per_device"]["margin_bytes"] == one["margin_bytes"]


@pytest.mark.parametrize(
    ("on", "more"),
    [
        ("1x rtx-4090", "2x rtx-4090"),
        ("2x rtx-4090 (20 GiB usable)", "4x rtx-4090 (20 GiB usable)"),
        ("2 nodes x 8x h100-sxm5-80gb", "4 nodes x 8x h100-sxm5-80gb"),
        ("a100-sxm4-80gb/2g.20gb", "2x a100-sxm4-80gb/2g.20gb"),
        ("1x rtx-3090 + 1x rtx-3070", "2x rtx-3090 + 2x rtx-3070"),
    ],
)
def test_more_of_the_same_hardware(on: str, more: str) -> None:
    """Twice the devices is twice all of them, slices as slices and with the usable memory that was stated."""
    assert parse_hardware(more_devices(on, 2)) == parse_hardware(more)


@pytest.mark.parametrize(
    ("model", "on", "said", "changes"),
    [
        ("qwen3-32b", "1x h100-sxm5-80gb", {"context": 40960}, {"a share of 0.9", "one more device", "another card: "}),
        ("deepseek-v3", "dgx-h100", {}, {"one more machine", "another card: "}),
        ("qwen3-8b", "a100-sxm4-80gb/1g.10gb", {}, {"a larger slice: "}),
        ("qwen3-8b", "rtx-4090", {"sequences": 40}, {" sequences at a time", "another card: "}),
        ("llama-3.1-70b", "m2-max-32gb", {"precision": "q4_k_m"}, {"another card: "}),
    ],
)
def test_every_way_to_flip_a_verdict(
    connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], changes: set[str]
) -> None:
    """Fewer sequences, one more card, another card, a larger slice: whatever of them flips the verdict is named."""
    found = [one["change"] for one in ask(connection, model, on, suggest=True, **said)["suggestions"]]

    for change in changes:
        assert any(change in one for one in found), (change, found)


def test_suggestions_are_changes(connection: sqlite3.Connection) -> None:
    """A model released in 4 bits is not told to take 4 bits; nobody is told to use RAM that would stay empty."""
    released = ask(connection, "gpt-oss-120b", H100, suggest=True)
    widened = ask(connection, "llama-3.3-70b", H100, suggest=True)

    assert released["suggestions"]
    assert not any("precision" in one for one in released["suggestions"])
    assert any(one.get("precision") == "q4_k_m" for one in widened["suggestions"])
    assert all(one.get("offload") for one in widened["suggestions"] if "RAM" in one["change"])


def test_what_fits_needs_no_suggestion(connection: sqlite3.Connection) -> None:
    """Nothing is suggested where the high estimate fits."""
    assert ask(connection, "qwen3-8b", H100, suggest=True)["suggestions"] == []


@pytest.mark.parametrize(("kv", "bits"), [("fp8", 8), ("bf16", 16), ("fp8_e5m2", 8)])
def test_cache_formats(connection: sqlite3.Connection, kv: str, bits: float) -> None:
    """Qwen3-8B keeps 36 x 2 x 8 x 128 values per token (config.json), at the bits of the cache format."""
    answer = ask(connection, "qwen3-8b", H100, kv_precision=kv)

    assert answer["per_device"]["kv_bytes"] == 36 * 2 * 8 * 128 * 8192 * bits / 8


def test_q8_0_cache(connection: sqlite3.Connection) -> None:
    """A q8_0 cache has 34 bytes for 32 values (ggml-common.h, block_q8_0), under llama.cpp."""
    answer = ask(connection, "qwen3-8b", "1x rtx-4090", kv_precision="q8_0", runtime="llama.cpp")

    assert answer["per_device"]["kv_bytes"] == 36 * 2 * 8 * 128 * 8192 * 34 // 32


def test_sequences_multiply(connection: sqlite3.Connection) -> None:
    """Four sequences need four times the cache of one."""
    one, four = (ask(connection, "qwen3-8b", H100, sequences=count)["per_device"]["kv_bytes"] for count in (1, 4))

    assert four == 4 * one


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "llama.cpp", "transformers"])
def test_runtime_choice(connection: sqlite3.Connection, runtime: str) -> None:
    """The engine asked for is the one whose rules are applied."""
    answer = ask(connection, "qwen3-8b", H100, runtime=runtime, precision="bf16")

    assert answer["runtime"] == runtime
    assert answer["runtime_budget"].startswith(runtime)
    assert answer["verdict"] == "fits"


def test_usable_overrides(connection: sqlite3.Connection) -> None:
    """A figure for usable memory replaces the record's, from the option or from the expression."""
    option = ask(connection, "qwen3-8b", "1x rtx-4090", usable_gib=20.0)
    remark = ask(connection, "qwen3-8b", "1x rtx-4090 (20 GiB usable)")

    assert option["per_device"]["device_bytes"] == remark["per_device"]["device_bytes"] == 20 * 2**30
    assert option["per_device"]["usable_bytes"] == remark["per_device"]["usable_bytes"]


def test_utilization_and_reserve(connection: sqlite3.Connection) -> None:
    """A share applies to the card, a reserve is taken from what is usable."""
    plain = ask(connection, "qwen3-8b", H100, utilization=0.8)["per_device"]
    kept = ask(connection, "qwen3-8b", H100, utilization=0.8, reserve_gib=4.0)["per_device"]

    assert plain["usable_bytes"] == pytest.approx(0.8 * plain["device_bytes"], abs=1)
    assert plain["usable_bytes"] - kept["usable_bytes"] == 4 * 2**30


def test_batched_tokens_set_the_workspace(connection: sqlite3.Connection) -> None:
    """A larger token budget makes the profiled forward pass larger: 2 B x tokens x (3 d_ff / TP + 4 d).

    The fourth hidden state is what newer profiles hold beside the three (memory.profile, extra_hidden_states).
    """
    small = ask(connection, "llama-3.1-8b", "1x rtx-4090", max_batched_tokens=16384, max_sequences=1)["per_device"]
    large = ask(connection, "llama-3.1-8b", "1x rtx-4090", max_batched_tokens=32768, max_sequences=1)["per_device"]

    assert small["workspace_bytes"] == 2 * 16384 * (3 * 14336 + 4 * 4096)
    assert large["workspace_bytes"] == 2 * small["workspace_bytes"]


def test_several_nodes(connection: sqlite3.Connection) -> None:
    """Two nodes of eight: TP stays inside a node, stages span them; a system by name counts its own devices."""
    answer = ask(connection, "llama-3.1-405b", "2 nodes x 8x h100-sxm5-80gb")
    named = ask(connection, "llama-3.1-405b", "2 nodes x dgx-h100")

    assert answer["layout"] == {"tp": 8, "pp": 2, "ep": 1, "dp": 1}
    assert named["per_device"] == answer["per_device"]


def test_mig_slice(connection: sqlite3.Connection) -> None:
    """A MIG profile is a device with its own bytes, never those of its parent, and has no peer-to-peer link."""
    whole = ask(connection, "qwen3-8b", "a100-sxm4-80gb")["per_device"]["device_bytes"]
    answer = ask(connection, "qwen3-8b", "a100-sxm4-80gb/3g.40gb")

    assert answer["per_device"]["device_bytes"] == pytest.approx(whole / 2, rel=0.04)
    assert any("peer-to-peer" in line for line in answer["assumptions"])


def test_unlike_cards_are_not_added_up(connection: sqlite3.Connection) -> None:
    """Two unlike cards are answered for the one that binds, with the layers that each holds."""
    answer = ask(connection, "qwen3-32b", "1x rtx-3090 + 1x rtx-3070", precision="q4_k_m")

    assert {one["accelerator"] for one in answer["placement"]} == {"nvidia-rtx-3090", "nvidia-rtx-3070"}
    assert answer["per_device"]["device_bytes"] < 25 * 2**30


def test_bf16_on_a_card_without_it(connection: sqlite3.Connection) -> None:
    """A T4 has no bfloat16: without a word about precision, fp16 of the same size is taken, and the answer says so."""
    answer = ask(connection, "qwen3-1.7b", "1x t4")

    assert answer["precision"] == "fp16"
    assert any("bf16 does not run" in line for line in answer["assumptions"])


def test_below_8_bits_quality_is_mentioned(connection: sqlite3.Connection) -> None:
    """Every answer below 8 bits says that quality depends on method and task."""
    low = ask(connection, "qwen3-8b", "1x rtx-4090", precision="q4_k_m")
    wide = ask(connection, "qwen3-8b", "1x rtx-4090", precision="bf16")

    assert any("evaluate on your own" in line for line in low["assumptions"])
    assert not any("evaluate on your own" in line for line in wide["assumptions"])


def test_derived_memory_is_mentioned(connection: sqlite3.Connection) -> None:
    """Where no driver print is known, the rule by which memory was derived is among the assumptions."""
    found = connection.execute(
        "select accelerator_id from accelerators where fit_memory_rule != 'printed' and fit_memory_bytes > 4e10 "
        "and vendor = 'NVIDIA' limit 1"
    ).fetchone()
    answer = ask(connection, "qwen3-8b", found[0])

    assert any("derived" in line for line in answer["assumptions"])


def test_checkpoint_brings_its_precision(connection: sqlite3.Connection) -> None:
    """A checkpoint's name says its format: Qwen3-8B-AWQ is AWQ without being told."""
    answer = ask(connection, "Qwen/Qwen3-8B-AWQ", "1x rtx-4090")

    assert answer["model"] == "qwen/qwen3-8b"
    assert answer["precision"] == "awq_int4_g128"


def test_stored_matrix_is_the_same_arithmetic(connection: sqlite3.Connection) -> None:
    """Rows of `inference_fits` and live answers to the same question are equal, byte by byte."""
    rows = connection.execute(
        "select model_id, configuration_id, precision_id, verdict, tp, pp, weights_bytes, kv_bytes, workspace_bytes, "
        "runtime_bytes, usable_bytes, low_bytes, high_bytes from inference_fits "
        "where configuration_id in ('1x-nvidia-rtx-4090', '8x-nvidia-h100-sxm5-80gb') and precision_id in ('bf16') "
        "and model_id in ('qwen/qwen3-8b', 'meta-llama/llama-3.1-70b', 'openai/gpt-oss-120b', "
        "'deepseek-ai/deepseek-v3')"
    ).fetchall()

    assert len(rows) >= 6
    for row in rows:
        live = ask(connection, row[0], row[1], precision=row[2])
        device = live["per_device"]
        names = ("weights", "kv", "workspace", "runtime", "usable", "low", "high")
        assert live["verdict"] == row[3], row[:3]
        assert (live["layout"]["tp"], live["layout"]["pp"]) == tuple(row[4:6])
        assert [device[f"{name}_bytes"] for name in names] == pytest.approx(list(row[6:]), abs=2)
