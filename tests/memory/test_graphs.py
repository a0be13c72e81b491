"""Captured graphs against what engines print."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.context import read_context
from rackfit.catalog.read import read_model
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Budget, Layout
from rackfit.memory.graphs import captured_graphs, graph_bytes, released_bytes
from rackfit.memory.profile import forward_bytes

HALF = 0.5
"""GiB: how near graphs and library memory have to come."""


def rules(connection: sqlite3.Connection, budget_id: str) -> Budget:
    """Return an engine's rules by the id of their record."""
    return next(one for one in read_context(connection).budgets if one.budget_id == budget_id)


def anatomy(connection: sqlite3.Connection, model_id: str) -> Anatomy:
    """Return a model of the catalog."""
    return Anatomy(read_model(connection, model_id))


@pytest.mark.parametrize(
    ("budget_id", "tokens", "sequences", "graphs"),
    [
        # vllm#38895 prints "PIECEWISE=51 (largest=512), FULL=35 (largest=256)"; #46367 41 + 25 up to 384 and 192
        ("vllm-v1-0.20", 8192, 256, 51 + 35),
        # vllm#25848: progress bars of 67 sizes in pieces and 67 whole, 1024 sequences
        ("vllm-v1-0.11", 8192, 1024, 67 + 67 - 16),
        # WeClone#101: "Capturing CUDA graph shapes: 35/35" of V0 at 256 sequences
        ("vllm-v0-0.8", 2048, 256, 35),
        # vllm#16716 and others of 0.8: 67 sizes in pieces
        ("vllm-v1-0.8", 2048, 256, 67),
    ],
)
def test_how_many_are_captured(
    connection: sqlite3.Connection, budget_id: str, tokens: int, sequences: int, graphs: int
) -> None:
    """The sizes of each version, as its log lists them (whole graphs above 248 in steps of 16: 16 fewer at 512)."""
    assert captured_graphs(rules(connection, budget_id), tokens, sequences) == graphs


def test_graphs_of_a_large_model(connection: sqlite3.Connection) -> None:
    """Qwen3-235B-A22B on four H100 under 0.11: "Graph capturing finished in 38 secs, took 1.64 GiB" (vllm#25848)."""
    size = graph_bytes(
        anatomy(connection, "qwen/qwen3-235b-a22b"), rules(connection, "vllm-v1-0.11"), Layout(tp=4), 8192, 1024
    )
    assert size / GIB == pytest.approx(1.64, abs=HALF)


def test_graphs_of_a_hybrid(connection: sqlite3.Connection) -> None:
    """A 64-layer hybrid on an RTX 5090: a pool of 0.52 GiB at 2048, 3072 and 4096 batched tokens (vllm#52872)."""
    model, budget = anatomy(connection, "qwen/qwen3.5-27b"), rules(connection, "vllm-v1-0.26")
    for tokens in (2048, 3072, 4096):
        assert graph_bytes(model, budget, Layout(), tokens, 256) / GIB == pytest.approx(0.52, abs=HALF / 2)


@pytest.mark.parametrize(("tp", "printed"), [(1, -0.88), (2, -0.33)])
def test_a_printed_figure_can_be_negative(connection: sqlite3.Connection, tp: int, printed: float) -> None:
    """Qwen3-32B on H100 under 0.11.0 (llm-d planner table): the tuning pass's activations are given back."""
    model, budget, layout = anatomy(connection, "qwen/qwen3-32b"), rules(connection, "vllm-v1-0.11"), Layout(tp=tp)
    taken = graph_bytes(model, budget, layout, 8192, 1024)
    given = released_bytes(budget, "9.0", forward_bytes(model, budget, layout, 8192))
    assert (taken - given) / GIB == pytest.approx(printed, abs=HALF)
    assert released_bytes(budget, "8.6", 1.0) == 0


@pytest.mark.parametrize(
    ("model", "tp", "printed"),
    # llm-d planner sweep, H100, vLLM 0.19.0, 51 + 51 graphs (accuracy/accuracy_report.md)
    [("meta-llama/llama-3.1-8b", 1, 0.91), ("qwen/qwen3-30b-a3b", 1, 1.41)],
)
def test_graphs_on_servers(connection: sqlite3.Connection, model: str, tp: int, printed: float) -> None:
    """Graphs of 0.17 and later on a server card are larger than on others, and none are given back."""
    budget = rules(connection, "vllm-v1-0.18")
    found = graph_bytes(anatomy(connection, model), budget, Layout(tp=tp), 8192, 1024, server=True)

    assert found / GIB == pytest.approx(printed, abs=HALF / 2)
    assert released_bytes(budget, "9.0", 1.0) == 0
