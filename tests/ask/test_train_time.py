"""Time in a training answer: days follow from the speed, and what no published run is like has no figure."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.train import TrainQuestion, train_one

DAY_S = 86_400


def test_days_follow_from_the_speed(connection: sqlite3.Connection) -> None:
    """Days are tokens over tokens per second, and the slow end of the range takes the most days."""
    question = TrainQuestion(model="Llama-3.1-8B", on="8x h100-sxm5-80gb", sequence_length=8192, tokens=1e10)
    time = train_one(connection, question)["time"]

    assert time["days"] == pytest.approx(1e10 / time["tokens_per_s"] / DAY_S, rel=1e-3)
    assert time["days_low"] < time["days"] < time["days_high"]


@pytest.mark.parametrize(
    ("on", "said", "word"),
    [
        ("1x rtx-4090", {"recipe": "qlora"}, "adapters"),
        ("8x h100-sxm5-80gb", {"job": "grpo", "offload": "none"}, "alone"),
        ("8x h100-sxm5-80gb", {"offload": "optimizer=nvme", "zero": 3}, "NVMe"),
        ("1x rtx-4090", {"offload": "none"}, "does not run"),
    ],
)
def test_no_figure_where_no_run_is_like_it(
    connection: sqlite3.Connection, on: str, said: dict[str, str], word: str
) -> None:
    """What published runs do not cover has a reason instead of a figure."""
    time = train_one(connection, TrainQuestion(model="Llama-3.1-8B", on=on, **said))["time"]

    assert time["tokens_per_s"] is None
    assert word in time["reason"]


def test_states_on_the_host_cost_time(connection: sqlite3.Connection) -> None:
    """Gradients go out and weights come back over PCIe each step; hidden at best, so the fast end stays."""
    asked = {"recipe": "full", "recompute": "full", "sequence_length": 4096, "zero": 3}
    times = [
        train_one(connection, TrainQuestion(model="Llama-3.1-8B", on="dgx-h100", offload=offload, **asked))["time"]
        for offload in ("none", "optimizer", "all")
    ]
    values = [time["tokens_per_s"] for time in times]

    assert values[0] > values[1] > values[2]
    assert times[0]["high"] == times[1]["high"]
    assert "host" in times[1]["basis"]


def test_more_micro_batches_fill_a_pipeline(connection: sqlite3.Connection) -> None:
    """With 8 micro-batches 4 stages work 73 % of a step, with 64 they work 96 % (Narayanan et al., 2104.04473)."""
    asked = {"recompute": "full", "offload": "none", "sequence_length": 4096}
    few, many, one = (
        train_one(connection, TrainQuestion(model="Llama-3.1-8B", on="dgx-h100", pp=pp, accumulation=count, **asked))
        for pp, count in ((4, 8), (4, 64), (1, 8))
    )

    assert few["time"]["utilisation"] / one["time"]["utilisation"] == pytest.approx(8 / 11, rel=0.01)
    assert many["time"]["utilisation"] / one["time"]["utilisation"] == pytest.approx(64 / 67, rel=0.01)
