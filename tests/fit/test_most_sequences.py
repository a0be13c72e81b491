"""How many sequences memory allows at the context that is asked for: the count and the verdict agree."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion

CASES = [
    ("llama-3.1-8b", "1x rtx-4090", "fp8", 8192),
    ("llama-3.1-70b", "8x h100-sxm5-80gb", None, 5000),
    ("gemma-3-27b-it", "2x l40s", None, 30000),
    ("qwen3-30b-a3b", "1x rtx-3090", "q4_k_m", 16384),
    ("deepseek-v3", "8x h200", None, 16000),
    ("qwen3-8b", "4x rtx-3090", "q8_0", 4096),
]


@pytest.mark.parametrize(("model", "on", "precision", "context"), CASES)
def test_counts_and_verdicts_agree(
    connection: sqlite3.Connection, model: str, on: str, precision: str | None, context: int
) -> None:
    """As many as are sure fit; one more than is likely does not."""

    def verdict(sequences: int) -> str:
        question = FitQuestion(model=model, on=on, precision=precision, context=context, sequences=sequences, **layout)
        return str(fit_one(connection, question, suggest=False)["verdict"])

    first = fit_one(connection, FitQuestion(model=model, on=on, precision=precision, context=context), suggest=False)
    layout, most = first["layout"], first["most_sequences"]

    assert 0 < most["sure"] <= most["likely"]
    assert verdict(most["sure"]) == "fits"
    assert verdict(most["sure"] + layout["dp"]) != "fits"
    assert verdict(most["likely"]) in ("fits", "tight")
    assert verdict(most["likely"] + layout["dp"]) == "no"


def test_a_standard_context_has_one_figure(connection: sqlite3.Connection) -> None:
    """The count at 8192 tokens is the count of the standard context."""
    answer = fit_one(connection, FitQuestion(model="llama-3.1-8b", on="1x h100-sxm5-80gb", context=8192))

    assert answer["most_sequences"]["likely"] == answer["max_sequences"]["8192"]


def test_what_is_in_doubt_is_never_sure(connection: sqlite3.Connection) -> None:
    """Beyond the model's own context no verdict is `fits`, so no sequence is sure."""
    answer = fit_one(connection, FitQuestion(model="llama-2-7b", on="1x h100-sxm5-80gb", context=8192))

    assert answer["verdict"] == "tight"
    assert answer["most_sequences"]["sure"] == 0 < answer["most_sequences"]["likely"]
