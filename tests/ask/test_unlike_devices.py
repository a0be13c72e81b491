"""Unlike cards asked about by name: every card against its own memory, and a published case of a refused split."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.accuracy.engines import find_engine
from rackfit.ask.fit import fit_one
from rackfit.ask.machines import find_machines
from rackfit.ask.question import FitQuestion, find_model
from rackfit.catalog.context import read_context
from rackfit.fit.cell import Question
from rackfit.fit.mixed import Wish, evaluate_mixed
from rackfit.memory.budget import Knobs

GIB = 2**30
PAIR = "1x rtx-5070-ti + 1x rtx-5090-d"


def ask(connection: sqlite3.Connection, model: str, on: str, **said: Any) -> dict[str, Any]:
    """Return the answer for a model on hardware."""
    return fit_one(connection, FitQuestion(model=model, on=on, **said), suggest=False)


def test_published_split(connection: sqlite3.Connection) -> None:
    """vLLM issue 34076: Qwen3-Coder-30B FP8 over 16 + 32 layers needs 24.0 GiB of cache, is refused."""
    answer = ask(
        connection, "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", PAIR, split=(16, 32), context=262144, utilization=0.9,
        runtime="vllm",
    )  # fmt: skip
    small, large = answer["placement"]

    assert answer["verdict"] == "no"
    assert small["kv_bytes"] + large["kv_bytes"] == 24 * GIB == 98304 * 262144
    assert (small["layers"], large["layers"]) == (16, 32)
    assert small["verdict"] == "no"


def test_published_pool(connection: sqlite3.Connection) -> None:
    """The same report prints 3.18 GiB for the cache on the 16 GB card, under vLLM 0.15; 4 % of the card is the margin.

    Shared cases K2-0215, K2-0216 and K6-0398.
    """
    context = read_context(connection)
    budget = find_engine("vLLM 0.15.2rc1", context.budgets, False, "NVIDIA").budget
    subject = find_model(connection, "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8")
    machine = find_machines(connection, PAIR)[0]
    precision = context.precisions[str(subject.precision_id)]
    question = Question(262144, 1, 16.0, Knobs(utilization=0.9))
    devices = [(machine.device, 1), *machine.others]
    wish = Wish("layers", (16, 32))
    _, _, placed = evaluate_mixed(subject.anatomy, precision, budget, devices, question, wish)

    assert placed[0]["kv_pool_bytes"] == pytest.approx(3.18 * GIB, abs=0.04 * 16 * GIB)


def test_the_same_split_at_a_length_that_fits(connection: sqlite3.Connection) -> None:
    """A pool of 3 GiB on the first 16 layers is room for 32768 B per token, some 90,000 tokens."""
    answer = ask(connection, "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", PAIR, split=(16, 32), context=65536)

    assert answer["verdict"] in ("fits", "tight")
    assert 65536 < answer["max_context_memory"] < 110_000


def test_never_a_pooled_sum(connection: sqlite3.Connection) -> None:
    """24 + 8 GB do not hold in equal shares what 32 GB would: the 8 GB card decides under TP."""
    answer = ask(connection, "qwen3-8b", "1x rtx-3090 + 1x rtx-3070", tp=2, context=8192)

    assert answer["layout"]["tp"] == 2
    assert answer["verdict"] == "no"
    bound = next(one for one in answer["placement"] if one["binds"])
    assert bound["accelerator"] == "nvidia-rtx-3070"
    assert answer["per_device"]["device_bytes"] == bound["device_bytes"] < 8 * GIB
    assert "TP 2 over the host's bus" in answer["warnings"][0]


def test_stated_memory_holds_for_every_card(connection: sqlite3.Connection) -> None:
    """Usable memory that the user states is taken as it is on every card."""
    answer = ask(connection, "qwen3-8b", "1x rtx-3090 + 1x rtx-3070", split=(24, 12), usable_gib=7.0)

    assert [one["device_bytes"] for one in answer["placement"]] == [7 * GIB, 7 * GIB]


@pytest.mark.parametrize(
    ("on", "said", "reason"),
    [
        (PAIR, {"split": (16, 16)}, "the model has 36"),
        (PAIR, {"split": (36,)}, "there are 2"),
        ("1x rtx-3090 + 2x rtx-3070", {"tp": 2}, "3 unlike devices"),
        ("1x rtx-3090 + 2x rtx-3070", {"tp": 3}, "does not divide"),
    ],
)
def test_refusals(connection: sqlite3.Connection, on: str, said: dict[str, Any], reason: str) -> None:
    """A split that miscounts, or a degree that leaves cards out, is refused with the number."""
    answer = ask(connection, "qwen3-8b", on, **said)

    assert answer["verdict"] == "cannot_run"
    assert reason in answer["reason"]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("qwen3-8b", {}),
        ("qwen3-8b", {"precision": "fp8"}),
        ("gpt-oss-20b", {}),
        ("gpt-oss-20b", {"runtime": "sglang"}),
        ("deepseek-v2-lite", {"runtime": "vllm 0.6.3"}),
        ("qwen3.5-9b", {"runtime": "sglang"}),
        ("qwen3-30b-a3b", {"precision": "int4"}),
    ],
)
def test_a_split_holds_what_stages_hold(connection: sqlite3.Connection, model: str, said: dict[str, Any]) -> None:
    """Whole layers placed one by one, and stages: the same layers are the same bytes.

    Padded MXFP4 experts, latents stored as full heads, pools of windowed layers, widened constants.
    """
    layers = connection.execute(
        "select n_layers from models where model_id = ?", (find_model(connection, model).shown,)
    ).fetchone()[0]
    counts = (layers - layers // 2, layers // 2)
    stages = ask(connection, model, "2x h100-sxm5-80gb", tp=1, pp=2, **said)
    split = ask(connection, model, "2x h100-sxm5-80gb", split=counts, **said)
    held = stages["per_device"]

    assert split["kv_precision"] == stages["kv_precision"]
    assert any(
        abs(one["weights_bytes"] - held["weights_bytes"]) <= 2 and abs(one["kv_bytes"] - held["kv_bytes"]) <= 2
        for one in split["placement"]
    )
    assert split["per_device"]["kv_reserved_bytes"] == pytest.approx(held["kv_reserved_bytes"], rel=0.15)
