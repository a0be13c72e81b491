"""Properties that hold for every question: no change that needs more memory turns a `no` into `fits`, nothing is lost.

Questions are drawn over the whole catalog, odd ones included; hypothesis shrinks what breaks a property to its core.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.errors import RackfitError

ORDER = ("no", "tight", "fits")
NUMBER = st.integers(0, 10**6)
QUESTIONS = st.fixed_dictionaries(
    {
        "model": NUMBER,
        "on": NUMBER,
        "precision": st.sampled_from([None, "bf16", "fp8", "int8", "int4", "awq", "nvfp4", "q4_k_m", "q8_0", "fp32"]),
        "kv_precision": st.sampled_from([None, "bf16", "fp8", "q8_0"]),
        "runtime": st.sampled_from([None, "vllm", "sglang", "llama.cpp", "transformers", "vllm 0.6.3", "vllm 0.11.0"]),
        "context": st.sampled_from([None, 1, 17, 4096, 32768, 32769, 131072]),
        "sequences": st.sampled_from([None, 1, 2, 7, 64, 1000]),
        "utilization": st.sampled_from([None, None, 0.5, 0.9]),
        "max_batched_tokens": st.sampled_from([None, None, 1, 2048, 65536]),
        "reserve_gib": st.sampled_from([None, None, 2.0, 500.0]),
    }
)
COSTLIER: list[dict[str, Any]] = [
    {"sequences": 2.0},
    {"context": 2.0},
    {"reserve_gib": 1.0},
    {"mtp": True},
    {"lora_slots": 2},
    {"images": 2},
    {"draft": "qwen3-0.6b"},
]


def _named(connection: sqlite3.Connection, drawn: dict[str, Any]) -> dict[str, Any]:
    """Return a drawn question with numbers turned into names of the catalog."""
    models = [row[0] for row in connection.execute("select model_id from models order by model_id")]
    shapes = [
        row[0] for row in connection.execute("select configuration_id from configurations order by configuration_id")
    ]
    return {**drawn, "model": models[drawn["model"] % len(models)], "on": shapes[drawn["on"] % len(shapes)]}


def _ask(connection: sqlite3.Connection, said: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer; None where the question is refused or nothing can run."""
    try:
        answer = fit_one(connection, FitQuestion(**said), suggest=False)
    except RackfitError:
        return None
    return answer if answer["per_device"] else None


@settings(max_examples=150)
@given(drawn=QUESTIONS)
def test_an_answer_agrees_with_itself(connection: sqlite3.Connection, drawn: dict[str, Any]) -> None:
    """Bytes add up, none is negative, and the extents say the same as the verdict."""
    said = _named(connection, drawn)
    answer = _ask(connection, said)
    assume(answer is not None)
    assert answer is not None
    held, most = answer["per_device"], answer["most_sequences"]

    json.dumps(answer, allow_nan=False)
    assert held["low_bytes"] <= held["total_bytes"] <= held["high_bytes"]
    for name in ("weights", "kv", "kv_reserved", "kv_pool", "workspace", "usable", "outside", "device"):
        assert held[f"{name}_bytes"] >= 0, name
    assert (held["total_bytes"] > held["usable_bytes"]) == (answer["verdict"] == "no")
    if most["likely"] is not None:
        assert (most["likely"] >= answer["sequences"]) == (answer["verdict"] != "no")
    if answer["verdict"] == "fits" and most["sure"] is not None:
        assert most["sure"] >= answer["sequences"]


@settings(max_examples=150)
@given(drawn=QUESTIONS, change=st.sampled_from(COSTLIER))
def test_more_work_never_fits_better(
    connection: sqlite3.Connection, drawn: dict[str, Any], change: dict[str, Any]
) -> None:
    """More tokens, sequences, adapters, images, a draft or memory kept free: the verdict is never better for it.

    But for vLLM V0, which profiles a chunk instead of the context above 32768 tokens (issue 10517).
    """
    said = _named(connection, drawn)
    answer = _ask(connection, said)
    assume(answer is not None)
    assert answer is not None
    ((name, value),) = change.items()
    before = answer[name] if name in answer else (said.get(name) or 0)
    more = before * 2 + 1 if isinstance(value, float) and name != "reserve_gib" else value
    more = before + value if name == "reserve_gib" else more
    assume(not (name == "context" and (said["runtime"] or "").startswith("vllm 0.6")))
    other = _ask(connection, {**said, name: more})
    assume(other is not None)
    assert other is not None

    assert ORDER.index(other["verdict"]) <= ORDER.index(answer["verdict"])


@settings(max_examples=100)
@given(drawn=QUESTIONS)
def test_more_of_a_device_never_fits_worse(connection: sqlite3.Connection, drawn: dict[str, Any]) -> None:
    """A larger share of a device, and a smaller cache format, never turn what fits into a `no`.

    They may make it tight: a share near 1 leaves graphs and driver too little.
    """
    said = _named(connection, drawn)
    answer = _ask(connection, said)
    assume(answer is not None)
    assert answer is not None
    share = min(1.0, (said["utilization"] or 1.0) + 0.1)
    small = "q8_0" if answer["runtime"] == "llama.cpp" else "fp8"
    for changes in ({"utilization": share}, {"kv_precision": small}):
        if "kv_precision" in changes and answer["kv_precision"] != "kv_bf16":
            continue
        other = _ask(connection, {**said, **changes})
        assert other is None or (other["verdict"] == "no") <= (answer["verdict"] == "no"), changes


@settings(max_examples=60)
@given(drawn=QUESTIONS, counts=st.sampled_from([(2, 3), (4, 5), (6, 7), (7, 8), (4, 6), (12, 13)]))
def test_one_more_card_never_fits_worse(
    connection: sqlite3.Connection, drawn: dict[str, Any], counts: tuple[int, int]
) -> None:
    """Who buys a fifth card keeps what four cards hold: the fifth may stay idle, and the answer says so."""
    said = _named(connection, drawn)
    device = connection.execute(
        "select accelerator_id from configurations where configuration_id = ?", (said["on"],)
    ).fetchone()[0]
    fewer, more = (_ask(connection, {**said, "on": f"{count}x {device}"}) for count in counts)
    assume(fewer is not None)
    assert fewer is not None and more is not None

    assert ORDER.index(more["verdict"]) >= ORDER.index(fewer["verdict"])


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_more_devices_of_one_layout_hold_no_more_each(connection: sqlite3.Connection, tp: int) -> None:
    """Stages and replicas added to one tensor parallel degree never raise the weights of a device."""
    loads = []
    for pp in (1, 2, 4):
        answer = _ask(connection, {"model": "llama-3.1-70b", "on": "32x h100-sxm5-80gb", "tp": tp, "pp": pp})
        assert answer is not None
        loads.append(answer["per_device"]["weights_bytes"])

    assert loads == sorted(loads, reverse=True)


def test_the_idle_card_is_named(connection: sqlite3.Connection) -> None:
    """Gemma-3-12B over five cards of 8 GB: whole layers over five leave less room than tensors over four."""
    said = {"model": "gemma-3-12b-pt", "precision": "nvfp4", "sequences": 2}
    four, five = (_ask(connection, {**said, "on": f"{count}x rtx-3070"}) for count in (4, 5))

    assert four is not None and five is not None
    assert four["verdict"] == five["verdict"] == "fits"
    assert four["layout"] == five["layout"]
    assert "layout: uses 4 of 5 devices, the others stay idle" in five["assumptions"]


@pytest.mark.parametrize("sequences", [1, 64])
@pytest.mark.parametrize("context", [1024, 8192, 9000, 11000, 65536])
def test_an_engine_never_charges_less_than_is_needed(
    connection: sqlite3.Connection, context: int, sequences: int
) -> None:
    """SGLang's pool of windowed layers is 0.8 of the other: requests inside a window of 8192 tokens need it whole."""
    said = {"model": "llama-4-scout", "on": "8x h200-sxm-141gb", "runtime": "sglang", "precision": "int4"}
    answer = _ask(connection, {**said, "context": context, "sequences": sequences})
    assert answer is not None
    held, longest = answer["per_device"], answer["max_context_memory"]

    assert held["kv_reserved_bytes"] >= held["kv_bytes"]
    assert held["low_bytes"] <= held["total_bytes"] <= held["high_bytes"]
    assert (answer["verdict"] != "no") == (answer["most_sequences"]["likely"] >= sequences)
    if sequences == 1:
        assert (longest >= context) == (answer["verdict"] != "no")


@settings(max_examples=60)
@given(number=NUMBER, devices=st.sampled_from([1, 2, 3]), precision=st.sampled_from(["q4_k_m", "q8_0", "bf16"]))
def test_all_layers_on_devices_is_no_offload(
    connection: sqlite3.Connection, number: int, devices: int, precision: str
) -> None:
    """With every layer and the head on devices, the bytes are those of an answer that knows of no RAM.

    Gemma 3n's embeddings per layer (1.8 GiB) were counted on the card by one and in RAM by the other.
    """
    models = [row[0] for row in connection.execute("select model_id from models order by model_id")]
    tables = [
        row[0] for row in connection.execute("select model_id from models where per_layer_embedding_dim is not null")
    ]
    names = models + tables * (len(models) // (2 * len(tables)))
    said = {"model": names[number % len(names)], "on": f"{devices}x rtx-4090", "precision": precision}
    plain = _ask(connection, {**said, "runtime": "llama.cpp"})
    whole = _ask(connection, {**said, "runtime": "llama.cpp", "gpu_layers": 2**20, "host_ram_gib": 4096.0})
    assume(plain is not None and whole is not None)
    assert plain is not None and whole is not None

    for name, size in plain["per_device"].items():
        assert whole["per_device"][name] == pytest.approx(size, abs=2), name
    assert (whole["verdict"], whole["max_context"]) == (plain["verdict"], plain["max_context"])
