"""Questions that are refused, and layouts that cannot run: one line that names the place."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.errors import RackfitError, UnknownNameError, UnsupportedError, UsageError
from reference.asking import ask

H100 = "1x h100-sxm5-80gb"


@pytest.mark.parametrize(
    ("said", "near"),
    [
        ({"model": "lama-3.1-70b"}, "Llama-3.1-70B"),
        ({"model": "qwen3-32"}, "Qwen3-32B"),
        ({"on": "h100-sxm5-80"}, "H100"),
        ({"on": "8x dgx-h10"}, "H100"),
        ({"precision": "q4_k_mm"}, "q4_k_m"),
    ],
)
def test_unknown_names(connection: sqlite3.Connection, said: dict[str, str], near: str) -> None:
    """A name that resolves to nothing is refused in one line, with the name meant among the near ones."""
    with pytest.raises(UnknownNameError) as raised:
        fit_one(connection, FitQuestion(**{"model": "qwen3-8b", "on": H100, **said}))  # type: ignore[arg-type]

    assert "\n" not in str(raised.value)
    assert any(near.casefold().replace("-", "") in name.casefold().replace("-", "") for name in raised.value.near)
    assert len(set(raised.value.near)) == len(raised.value.near)


@pytest.mark.parametrize(
    ("said", "error", "named"),
    [
        ({"model": ""}, UsageError, "model"),
        ({"model": "no such model at all, nowhere"}, UnknownNameError, "no such model"),
        ({"on": ""}, UsageError, "hardware"),
        ({"on": "0x h100-sxm5-80gb"}, UsageError, "0 devices"),
        ({"on": "99999999x h100-sxm5-80gb"}, UsageError, "devices"),
        ({"context": 0}, UsageError, "context = 0"),
        ({"context": -5}, UsageError, "context = -5"),
        ({"context": 2**60}, UsageError, "context"),
        ({"sequences": 0}, UsageError, "sequences"),
        ({"tp": 0}, UsageError, "tp = 0"),
        ({"pp": -1}, UsageError, "pp = -1"),
        ({"utilization": 0.0}, UsageError, "utilization"),
        ({"utilization": 1.5}, UsageError, "utilization"),
        ({"utilization": float("nan")}, UsageError, "utilization"),
        ({"usable_gib": -1.0}, UsageError, "usable_gib"),
        ({"usable_gib": float("inf")}, UsageError, "usable_gib"),
        ({"reserve_gib": -1.0}, UsageError, "reserve_gib"),
        ({"reserve_gib": float("nan")}, UsageError, "reserve_gib"),
        ({"max_batched_tokens": 0}, UsageError, "max_batched_tokens"),
        ({"kv_precision": "q7"}, UnknownNameError, "q7"),
        ({"precision": "int3x"}, UnknownNameError, "int3x"),
        ({"runtime": "nope"}, UnknownNameError, "nope"),
        ({"runtime": "ktransformers"}, UnsupportedError, "ktransformers"),
        ({"on": "a100-sxm4-80gb/9g.99gb"}, RackfitError, "9g.99gb"),
        ({"on": None}, UsageError, "hardware"),
        ({"model": None}, UsageError, "model"),
    ],
)
def test_bad_questions(
    connection: sqlite3.Connection, said: dict[str, Any], error: type[RackfitError], named: str
) -> None:
    """A figure or name that means nothing gives one line that names it, whatever else was asked."""
    with pytest.raises(error) as raised:
        fit_one(connection, FitQuestion(**{"model": "qwen3-8b", "on": H100, **said}))

    assert "\n" not in str(raised.value)
    assert named in str(raised.value)


@pytest.mark.parametrize(
    ("model", "on", "said", "reason"),
    [
        ("llama-3.1-70b", "3x a100-sxm4-80gb", {"tp": 3}, "TP 3 does not divide 64 attention heads"),
        ("llama-3.1-8b", "40x h100-sxm5-80gb", {"tp": 1, "pp": 40}, "the model has 32"),
        ("llama-3.1-8b", "2x rtx-4090", {"tp": 2, "runtime": "llama.cpp"}, "splits whole layers"),
        ("llama-3.1-8b", "2x rtx-4090", {"tp": 4}, "TP 4"),
        ("llama-3.1-8b", "8x h100-sxm5-80gb", {"tp": 8, "ep": 8}, "needs experts"),
    ],
)
def test_cannot_run(connection: sqlite3.Connection, model: str, on: str, said: dict[str, Any], reason: str) -> None:
    """What cannot run has no bytes, no longest context, and a reason that names the number."""
    answer = ask(connection, model, on, **said)

    assert answer["verdict"] == "cannot_run"
    assert answer["per_device"] is None
    assert answer["layout"] is None
    assert answer["max_context"] is None
    assert reason in answer["reason"]


@pytest.mark.parametrize(
    ("model", "on", "tp", "said"),
    [
        # 28 heads, 4 KV heads: https://github.com/vllm-project/vllm/issues/2652
        ("qwen2-57b-a14b", "8x a100-sxm4-80gb", 8, "TP can be 1, 2, 4"),
        # 25 heads: https://github.com/vllm-project/vllm/issues/1705
        ("gpt2-xl", "2x a100-sxm4-80gb", 2, "no TP above 1 can run"),
    ],
)
def test_a_refused_degree_names_those_that_run(
    connection: sqlite3.Connection, model: str, on: str, tp: int, said: str
) -> None:
    """A tensor parallel degree that cannot run is refused with the degrees that can."""
    assert said in ask(connection, model, on, tp=tp)["reason"]


def test_the_layout_that_would_be_chosen_is_named(connection: sqlite3.Connection) -> None:
    """To let the layout be chosen is suggested with the layout that comes of it: TP 4 divides 28 heads."""
    answer = fit_one(connection, FitQuestion(model="qwen2-57b-a14b", on="8x a100-sxm4-80gb", tp=8))

    layout = answer["suggestions"][0]["layout"]
    assert (layout["tp"], layout["pp"]) == (4, 2)
