"""Engines whose pipeline stages schedule requests of their own: a request gets its queue's share of the blocks.

vLLM V0 refuses a context of more than `block_size * (num_gpu_blocks // pipeline_parallel_size)` tokens (0.8.5,
worker.py, raise_if_cache_size_invalid), and every scheduler owns as many blocks (scheduler.py).
"""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.fit.cell import Cell, Question, evaluate
from rackfit.memory.domain import Budget, Layout
from reference.architectures import ANATOMIES, BF16, GIB, H100, LLAMA_8B, VLLM, VLLM_V0

STAGES = st.sampled_from([1, 2, 4])


def cell(budget: Budget, stages: int, context: int, sequences: int = 1) -> Cell:
    """Return the cell of Llama-3.1-8B on so many stages of 80 GB."""
    asked = Question(context, sequences, 16.0)
    return evaluate(ANATOMIES[LLAMA_8B.name], BF16, budget, Layout(pp=stages), H100, asked, 79.18 * GIB, 0.0)


@given(STAGES)
def test_longest_request_is_the_engines_own_figure(stages: int) -> None:
    """Tokens of block_size * (blocks // stages): 32 layers of 2 x 8 x 128 values in 16 bits over the stages."""
    found = cell(VLLM_V0, stages, 40_000)
    blocks = found.kv_pool // (16 * 2 * 8 * 128 * 2 * 32 // stages)

    assert found.max_context // 16 == pytest.approx(blocks // stages, abs=1)


@given(STAGES, st.integers(1, 40))
def test_requests_fill_every_queue(stages: int, sequences: int) -> None:
    """Requests are charged as if each queue held as many as the fullest, and verdict and count agree."""
    found, fullest = cell(VLLM_V0, stages, 40_000, sequences), -(-sequences // stages) * stages

    assert found.kv_reserved == cell(VLLM_V0, stages, 40_000, fullest).kv_reserved
    assert (found.total <= found.usable) == (found.most_sequences >= fullest)


@given(STAGES, st.integers(1, 40))
def test_one_scheduler_shares_all_blocks(stages: int, sequences: int) -> None:
    """V1 has one scheduler: what requests need does not depend on how many stages could take turns."""
    found = cell(VLLM, stages, 40_000, sequences)

    assert found.kv_reserved == pytest.approx(cell(VLLM, stages, 40_000).kv_reserved * sequences)


@pytest.mark.parametrize(
    ("said", "stages", "rules", "queues"),
    [
        ("vllm 0.6.4", 2, "vllm-v0-0.5.3", 2),
        ("vllm 0.8.5", 2, "vllm-v0-0.8", 2),
        ("vllm 0.8.5", 1, "vllm-v1-0.8.5", 1),
        ("vllm 0.9.0", 2, "vllm-v0-0.8", 2),
        ("vllm 0.9.1", 2, "vllm-v1-0.9.1", 1),
        ("vllm", 2, "vllm-v1-0.33", 1),
    ],
)
def test_versions_that_fall_back(
    connection: sqlite3.Connection, said: str, stages: int, rules: str, queues: int
) -> None:
    """0.8.0 to 0.9.0 run a pipeline on V0 (arg_utils 0.8.5, vllm#18915); the answer names the rules and says why."""
    question = FitQuestion("llama-3.1-8b", f"{stages}x-rtx-3090", context=8192, runtime=said, tp=1, pp=stages)
    answer = fit_one(connection, question, suggest=False)

    assert answer["runtime_budget"] == rules
    assert any(f"1/{queues} of the cache" in line for line in answer["warnings"]) is (queues > 1)
    assert any("rules of vllm-v0-0.8" in line for line in answer["assumptions"]) is (
        stages > 1 and said in ("vllm 0.8.5", "vllm 0.9.0")
    )
