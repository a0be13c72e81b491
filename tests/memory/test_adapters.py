"""Adapter slots: low-rank pairs at the largest rank, cut as the linear layers are."""

from __future__ import annotations

import pytest

from rackfit.memory.adapters import slot_bytes
from rackfit.memory.domain import Layout
from reference.architectures import ANATOMIES, DEEPSEEK_V3, LLAMA_8B, QWEN3_30B

LLAMA = ANATOMIES[LLAMA_8B.name]
# Llama-3.1-8B (config.json): q, o 4096 x 4096; k, v 4096 x 1024; gate, up 4096 x 14336; down 14336 x 4096; 32 layers
PAIRS = [(4096, 4096), (4096, 4096), (4096, 1024), (4096, 1024), (4096, 14336), (4096, 14336), (14336, 4096)]


@pytest.mark.parametrize(("slots", "rank"), [(1, 16), (4, 64), (32, 8)])
def test_llama_on_one_device(slots: int, rank: int) -> None:
    """Rank 16 over the seven linear layers of Llama-3.1-8B is the 41.9 million parameters that PEFT prints."""
    values = 32 * sum(rank * (d_in + d_out) for d_in, d_out in PAIRS)

    assert slot_bytes(LLAMA, Layout(), slots, rank) == (2 * slots * values,)
    assert values == 41_943_040 * rank / 16


def test_tensor_parallel_ranks() -> None:
    """At TP 4, A of q, k, v, gate and up stays whole and B divides; A of o and down divides and B stays whole."""
    column = [(4096, 4096), (4096, 1024), (4096, 1024), (4096, 14336), (4096, 14336)]
    row = [(4096, 4096), (14336, 4096)]
    values = sum(16 * (a + b / 4) for a, b in column) + sum(16 * (a / 4 + b) for a, b in row)

    assert slot_bytes(LLAMA, Layout(tp=4), 1, 16) == (2 * 32 * values,)


def test_stages_hold_their_own_layers() -> None:
    """Four stages of 8 layers hold a quarter each."""
    whole = slot_bytes(LLAMA, Layout(), 2, 16)[0]

    assert slot_bytes(LLAMA, Layout(pp=4), 2, 16) == (whole / 4,) * 4


def test_latent_attention() -> None:
    """DeepSeek-V3: q 7168-1536-24576, kv 7168-576 and 512-32768, o 16384-7168, dense 18432 or shared 2048 wide."""
    attention = 7168 + 1536 + 1536 + 24576 + 7168 + 576 + 512 + 32768 + 16384 + 7168
    values = 61 * attention + 3 * 3 * (7168 + 18432) + 58 * 3 * (7168 + 2048)

    assert slot_bytes(ANATOMIES[DEEPSEEK_V3.name], Layout(), 1, 8) == (2 * 8 * values,)


def test_routed_experts_are_left_out() -> None:
    """Qwen3-30B-A3B has attention to adapt: q 2048-4096, k and v 2048-512, o 4096-2048, in 48 layers."""
    values = 48 * (2 * (2048 + 4096) + 2 * (2048 + 512))

    assert slot_bytes(ANATOMIES[QWEN3_30B.name], Layout(), 1, 16) == (2 * 16 * values,)
