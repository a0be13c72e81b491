"""Several models on one machine: needs add up per device, and each engine's share is enough."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.ask.together import fit_together
from rackfit.errors import RackfitError, UnknownNameError, UsageError


def ask(connection: sqlite3.Connection, models: list[str], on: str, **said: Any) -> dict[str, Any]:
    """Return the answer for several models; it is one JSON object."""
    answer = fit_together(connection, models, FitQuestion(on=on, **said))
    json.dumps(answer, allow_nan=False)
    return answer


def test_needs_add_up(connection: sqlite3.Connection) -> None:
    """The sum over models is what each needs alone with what its process takes outside the engine's budget."""
    answer = ask(connection, ["qwen3-8b", "llama-3.1-8b"], "1x h100-sxm5-80gb")
    alone = [
        fit_one(connection, FitQuestion(model=name, on="1x h100-sxm5-80gb"), suggest=False)["per_device"]
        for name in ("qwen3-8b", "llama-3.1-8b")
    ]

    assert answer["verdict"] == "fits"
    assert [row["total_bytes"] for row in answer["models"]] == [one["total_bytes"] for one in alone]
    assert answer["per_device"]["total_bytes"] == sum(one["total_bytes"] + one["outside_bytes"] for one in alone)


def test_shares_are_enough(connection: sqlite3.Connection) -> None:
    """With the share named, each engine alone says that its model fits; the shares together stay below the device."""
    answer = ask(connection, ["qwen3-8b", "llama-3.1-8b"], "1x h100-sxm5-80gb")

    assert sum(answer["utilization"].values()) < 1
    for row in answer["models"]:
        said = FitQuestion(model=row["model"], on="1x h100-sxm5-80gb", utilization=row["utilization"])
        assert fit_one(connection, said, suggest=False)["verdict"] == "fits"


def test_two_that_fit_alone_need_not_fit_together(connection: sqlite3.Connection) -> None:
    """Qwen3-8B and Llama-3.1-8B in 16 bits are 16.4 + 16.1 GB of weights: each fits 24 GB alone, both do not."""
    answer = ask(connection, ["qwen3-8b", "llama-3.1-8b"], "rtx-3090", context=2048)

    assert {row["verdict_alone"] for row in answer["models"]} <= {"fits", "tight"}
    assert answer["verdict"] == "no"
    assert answer["per_device"]["margin_bytes"] < 0


def test_three_files_on_one_card(connection: sqlite3.Connection) -> None:
    """llama.cpp takes what it needs and no share: nothing is to be set."""
    answer = ask(connection, ["qwen3-8b", "qwen3-4b", "qwen3-0.6b"], "rtx-3090", precision="q4_k_m")

    assert answer["verdict"] == "fits"
    assert answer["utilization"] == {}
    assert len(answer["models"]) == 3


def test_one_that_cannot_run(connection: sqlite3.Connection) -> None:
    """Where one of them cannot run there, nothing is summed, and the reason names it."""
    answer = ask(connection, ["qwen3-8b", "llama-3.1-70b"], "3x a100-sxm4-80gb", tp=3)

    assert answer["verdict"] == "cannot_run"
    assert "llama-3.1-70b: TP 3" in answer["reason"]
    assert answer["per_device"] is None


@pytest.mark.parametrize(
    ("models", "said", "error", "named"),
    [
        (["qwen3-8b"], {"on": "rtx-4090"}, UsageError, "several models"),
        (["qwen3-8b", "qwen3-4b"], {"on": None}, UsageError, "--on"),
        (["qwen3-8b", "qwen3-nope"], {"on": "rtx-4090"}, UnknownNameError, "qwen3-nope"),
        (["qwen3-8b", "qwen3-4b"], {"on": "h100"}, UsageError, "class"),
        (["qwen3-8b", "qwen3-4b"], {"on": "rtx-4090", "gpu_layers": 3}, UsageError, "in RAM"),
        (["qwen3-8b", "qwen3-4b"], {"on": "1x rtx-3090 + 1x rtx-3070"}, UsageError, "unlike"),
    ],
)
def test_bad_questions(
    connection: sqlite3.Connection, models: list[str], said: dict[str, Any], error: type[RackfitError], named: str
) -> None:
    """What cannot be asked of several models at once is refused in one line."""
    with pytest.raises(error) as raised:
        fit_together(connection, models, FitQuestion(**said))

    assert named in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_more_model_makes_none_better(connection: sqlite3.Connection) -> None:
    """Alone it is a `no` at the engine's share, and the other is asked beyond its limit: together at most tight."""
    said = FitQuestion(on="h100-sxm5-80gb", context=40960)
    answer = fit_together(connection, ["qwen3-32b", "all-minilm-l6-v2"], said)

    assert {row["verdict_alone"] for row in answer["models"]} == {"no", "tight"}
    assert answer["verdict"] == "tight"
    assert not [line for line in answer["assumptions"] if line.startswith("utilization")]
