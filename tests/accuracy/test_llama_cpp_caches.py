"""Caches that llama.cpp prints when it starts."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.engines import find_engine
from rackfit.accuracy.score import estimate_case
from rackfit.catalog.context import Context, read_context

SERVER = "llama.cpp server 2026-05"


def printed(connection: sqlite3.Connection, model: str, context: int, slots: int, engine: str = SERVER) -> float:
    """Return the estimate of what the engine prints for its whole cache, MiB."""
    row = {
        "case_id": "X", "kind": "K2", "model_id": model, "precision_or_quant": "GGUF Q8_0", "kv_dtype": "f16",
        "context_tokens": str(context), "batch": str(slots), "quantity": "kv_mib_total", "value": "1", "unit": "MiB",
        "engine_and_version": engine,
    }  # fmt: skip
    found = estimate_case(connection, read_context(connection), parse_case(row)).estimate
    assert found is not None
    return float(found)


@pytest.mark.parametrize(
    ("context", "slots", "mib"),
    [
        # llama-server against an estimator, unslothai/unsloth pull request 5225: total context 4096 and 8192
        (4096, 1, 27.0),
        (2048, 2, 42.0),
        (1024, 4, 72.0),
        (8192, 1, 39.0),
        (4096, 2, 54.0),
    ],
)
def test_windows_hold_the_micro_batch(connection: sqlite3.Connection, context: int, slots: int, mib: float) -> None:
    """Gemma-3-270m: a window of 512 and a micro-batch of 512 are 1024 cells in each slot, at most its context."""
    assert printed(connection, "google/gemma-3-270m-it", context, slots) == pytest.approx(mib, rel=1e-6)


def test_layers_without_windows_hold_the_context(connection: sqlite3.Connection) -> None:
    """Llama-2-13B at 512 tokens: the loader of 2023 prints "kv self size = 400.00 MB"."""
    assert printed(connection, "meta-llama/Llama-2-13b-hf", 512, 1, "llama.cpp 2023") == pytest.approx(400.0)


@pytest.mark.parametrize(
    ("engine", "rules"),
    [
        ("llama.cpp b4500", "llama.cpp-library"),
        ("llama.cpp b6100", "llama.cpp-server"),
        ("llama.cpp 2025-03", "llama.cpp-library"),
        ("llama.cpp 2025-11", "llama.cpp-server"),
        ("ollama 0.31", "ollama-0.30"),
        ("ollama 0.5 (2025-01)", "ollama-0.3"),
    ],
)
def test_builds_with_caches_for_windows(connection: sqlite3.Connection, engine: str, rules: str) -> None:
    """Pull request 13194 gave windowed layers a cache of their own in May 2025; before, they kept the whole context."""
    context: Context = read_context(connection)
    assert find_engine(engine, context.budgets, gguf=True, vendor=None).budget.budget_id == rules
