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
        ("8x h100-sxm5-80gb", {"offload": "optimizer"}, "offload"),
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
