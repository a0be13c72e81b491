"""Unlike layers in one pool of blocks, against what engines print."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from rackfit.catalog.context import read_context
from rackfit.catalog.read import read_model
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Budget, Layout
from rackfit.memory.shared_pool import block_tokens, pool_of, printed_token_bytes, stored_caches


def rules(connection: sqlite3.Connection, budget_id: str) -> Budget:
    """Return an engine's rules by the id of their record."""
    return next(one for one in read_context(connection).budgets if one.budget_id == budget_id)


def anatomy(connection: sqlite3.Connection, model_id: str) -> Anatomy:
    """Return a model of the catalog."""
    return Anatomy(read_model(connection, model_id))


def test_padding_layers(connection: sqlite3.Connection) -> None:
    """gemma-3-27b on H100, 0.19.0: 19.53 GiB hold 36,560 tokens (llm-d planner sweep): 70 layers are paid for, not 62.

    52 windowed and 10 full layers lie in groups of 10: "Add 8 padding layers".
    """
    model, budget = anatomy(connection, "google/gemma-3-27b-pt"), rules(connection, "vllm-v1-0.18")
    pool = pool_of(model, budget)
    rate = printed_token_bytes(model, Layout(), 16, budget)

    assert pool is not None and (pool.groups, pool.layers_per_group) == (7, 10)
    assert rate is not None and 19.53 * GIB / rate == pytest.approx(36_560, rel=0.003)


@pytest.mark.parametrize(
    ("model", "budget_id", "tp", "tokens"),
    [
        # vLLM 0.10.2, TP 2 on H200, states in 16 bits: "Setting attention block size to 544 tokens"
        ("qwen/qwen3-next-80b-a3b-instruct", "vllm-v1-0.9.2", 2, 544),
        # vLLM 0.19.0 on L40S, states in 32 bits: "Setting attention block size to 528 tokens"
        ("qwen/qwen3.5-9b", "vllm-v1-0.18", 1, 528),
        ("qwen/qwen3-14b", "vllm-v1-0.18", 1, 16),
    ],
)
def test_blocks_hold_a_state(connection: sqlite3.Connection, model: str, budget_id: str, tp: int, tokens: int) -> None:
    """A block of attention grows by 16 tokens until it holds one state; a model without states keeps the engine's."""
    assert block_tokens(anatomy(connection, model), Layout(tp=tp), 16, rules(connection, budget_id)) == tokens


def test_printed_tokens_and_requests(connection: sqlite3.Connection) -> None:
    """Qwen3-Next-80B, TP 2 on H200, 0.10.2: 44.59 GiB print 973,760 tokens and 14.77 requests of 262,144."""
    model, budget = anatomy(connection, "qwen/qwen3-next-80b-a3b-instruct"), rules(connection, "vllm-v1-0.9.2")
    layout = Layout(tp=2)
    rate = printed_token_bytes(model, layout, 16, budget)
    request = float(stored_caches(model, layout, 16, budget)[0].bytes(262_144))

    assert rate is not None and 44.59 * GIB / rate == pytest.approx(973_760, rel=0.003)
    assert 44.59 * GIB / request == pytest.approx(14.77, rel=0.02)


def test_printed_tokens_of_a_small_hybrid(connection: sqlite3.Connection) -> None:
    """Qwen3.5-9B on L40S, 0.19.0: 20.27 GiB print 165,792 tokens."""
    rate = printed_token_bytes(anatomy(connection, "qwen/qwen3.5-9b"), Layout(), 16, rules(connection, "vllm-v1-0.18"))

    assert rate is not None and 20.27 * GIB / rate == pytest.approx(165_792, rel=0.005)


def test_alike_layers_are_not_grouped(connection: sqlite3.Connection) -> None:
    """One kind of layers, or an engine without groups: every layer is stored as it is."""
    dense, budget = anatomy(connection, "qwen/qwen3-14b"), rules(connection, "vllm-v1-0.18")
    mixed = anatomy(connection, "google/gemma-3-27b-pt")

    assert pool_of(dense, budget) is None and printed_token_bytes(dense, Layout(), 16, budget) is None
    assert pool_of(mixed, replace(budget, group_join_ratio=None)) is None
    assert stored_caches(dense, Layout(), 16, budget)[0].bytes(1000) == 1000 * 2 * 2 * 8 * 128 * 40


def test_kinds_of_about_as_many_layers_are_joined(connection: sqlite3.Connection) -> None:
    """12 windowed and 13 full layers make two groups of 13, not 12 and more (kv_cache_utils.py, the ratio of 1.5)."""
    model, budget = anatomy(connection, "google/gemma-3-27b-pt"), rules(connection, "vllm-v1-0.18")
    windowed, full = (
        next(group for group in model.model.groups if bool(group.window) is wanted) for wanted in (True, False)
    )
    near = Anatomy(replace(model.model, groups=(replace(windowed, count=12), replace(full, count=13))))
    pool = pool_of(near, budget)

    assert pool is not None and (pool.groups, pool.layers_per_group) == (2, 13)
