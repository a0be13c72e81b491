"""Unlike devices in one machine: each checked alone, nothing pooled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.fit.cell import Question, device_weights, evaluate
from rackfit.fit.mixed import Wish, evaluate_mixed, shares
from rackfit.fit.verdicts import FITS, NO
from rackfit.memory.domain import Layout
from reference.architectures import (
    ANATOMIES,
    AWQ,
    BF16,
    GEMMA3_27B,
    LLAMA_8B,
    LLAMA_70B,
    LLAMA_CPP,
    QWEN3_32B,
    RTX_3090,
    VLLM,
    device,
)

RTX_3070 = device("NVIDIA GeForce RTX 3070", 8192, capability="8.6", segment="consumer")
XTX = device("AMD Radeon RX 7900 XTX", 24560, "AMD", "gfx1100", segment="consumer")
QUESTION = Question(8192, 1, 16.0)


def test_smallest_binds_under_tensor_parallelism() -> None:
    """Equal shares over a 24 GB and an 8 GB card: the 8 GB card decides."""
    cell, text, placed = evaluate_mixed(ANATOMIES[LLAMA_8B.name], AWQ, VLLM, [(RTX_3090, 1), (RTX_3070, 1)], QUESTION)
    alone = evaluate(ANATOMIES[LLAMA_8B.name], AWQ, VLLM, Layout(tp=2), RTX_3070, QUESTION)

    assert cell == alone
    assert "RTX 3070 binds" in text
    assert [one["accelerator"] for one in placed] == [RTX_3090.accelerator_id, RTX_3070.accelerator_id]
    assert placed[0]["usable_bytes"] > placed[1]["usable_bytes"]


def test_layers_in_proportion() -> None:
    """llama.cpp gives each card whole layers by its memory; the cell shown is that of the card that binds."""
    cell, text, placed = evaluate_mixed(
        ANATOMIES[QWEN3_32B.name], AWQ, LLAMA_CPP, [(RTX_3090, 1), (RTX_3070, 1)], QUESTION
    )

    assert cell is not None
    assert [one["accelerator"] for one in placed] == [RTX_3090.accelerator_id, RTX_3070.accelerator_id]
    assert sum(one["layers"] for one in placed) == 64
    assert placed[0]["layers"] > 2 * placed[1]["layers"]
    assert "binds" in text
    assert any(one["total_bytes"] == round(cell.total) for one in placed)


def test_verdict_is_that_of_the_worst_card() -> None:
    """A card that holds too much makes the answer no, whatever is free on the other one."""
    cell, _, placed = evaluate_mixed(
        ANATOMIES[LLAMA_70B.name], AWQ, LLAMA_CPP, [(RTX_3090, 1), (RTX_3070, 1)], QUESTION
    )

    assert cell is not None
    assert cell.verdict == NO
    assert cell.total > cell.usable
    assert "no" in {one["verdict"] for one in placed}


def test_cards_of_two_makers() -> None:
    """An engine that splits tensors does not run over cards of two makers; llama.cpp splits layers over them."""
    both = [(RTX_3090, 1), (XTX, 1)]
    none, reason, _ = evaluate_mixed(ANATOMIES[LLAMA_8B.name], BF16, VLLM, both, QUESTION)
    some, _, _ = evaluate_mixed(ANATOMIES[LLAMA_8B.name], BF16, LLAMA_CPP, both, QUESTION)

    assert none is None
    assert "AMD and NVIDIA" in reason
    assert some is not None
    assert some.verdict == FITS


def test_placement_keeps_every_byte() -> None:
    """Over alike cards, layers by memory hold what pipeline stages hold: the model once."""
    pair = [(RTX_3090, 2)]
    cell, _, placed = evaluate_mixed(ANATOMIES[GEMMA3_27B.name], AWQ, LLAMA_CPP, pair, QUESTION)
    loads = device_weights(ANATOMIES[GEMMA3_27B.name], AWQ, LLAMA_CPP, Layout(pp=2))

    assert cell is not None
    assert cell.weights == pytest.approx(max(loads), rel=0.06)
    assert sum(one["layers"] for one in placed) == 62


def test_more_cards_than_layers() -> None:
    """Forty cards for 32 layers are refused with the number of layers."""
    cell, reason, _ = evaluate_mixed(
        ANATOMIES[LLAMA_8B.name], BF16, LLAMA_CPP, [(RTX_3090, 39), (RTX_3070, 1)], QUESTION
    )

    assert cell is None
    assert "the model has 32" in reason


def test_unsure_memory_of_one_card() -> None:
    """Where the memory of one card is uncertain, the answer cannot be better than tight on its edge."""
    unsure = replace(RTX_3070, memory_spread=0.9)
    cell, _, placed = evaluate_mixed(ANATOMIES[QWEN3_32B.name], AWQ, LLAMA_CPP, [(RTX_3090, 1), (unsure, 1)], QUESTION)

    assert cell is not None
    assert cell.verdict != FITS
    assert placed[1]["verdict"] == "tight"


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=12), st.integers(1, 200))
def test_shares_add_up(rooms: list[float], layers: int) -> None:
    """Every layer lies on one card, and no card without room gets one while others have room."""
    found = shares(rooms, layers)

    assert sum(found) == layers
    assert min(found) >= 0
    if sum(rooms) > 0:
        assert all(abs(count - layers * room / sum(rooms)) < 1 + 1e-6 for count, room in zip(found, rooms, strict=True))


def test_split_of_the_user() -> None:
    """A split is kept, each card with its own layers, weights, cache and memory; one that miscounts is refused."""
    both = [(RTX_3070, 1), (RTX_3090, 1)]
    cell, text, placed = evaluate_mixed(
        ANATOMIES[LLAMA_8B.name], BF16, LLAMA_CPP, both, QUESTION, Wish(counts=(8, 24), shares="layers")
    )
    layer = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)

    assert cell is not None
    assert "as asked (8, 24)" in text
    assert placed[0]["weights_bytes"] == 8 * layer
    assert placed[1]["weights_bytes"] == 24 * layer + 2 * (128256 * 4096 + 4096)
    assert [one["kv_bytes"] for one in placed] == [8192 * 131072 * 8 // 32, 8192 * 131072 * 24 // 32]
    for counts, reason in (((8, 25), "the model has 32"), ((8, 8, 16), "there are 2")):
        none, why, _ = evaluate_mixed(
            ANATOMIES[LLAMA_8B.name], BF16, LLAMA_CPP, both, QUESTION, Wish(counts=counts, shares="layers")
        )
        assert none is None
        assert reason in why


def test_terms_of_each_card_add_up() -> None:
    """On every card the total is weights, cache, workspace and runtime, against that card's own usable memory."""
    _, _, placed = evaluate_mixed(ANATOMIES[QWEN3_32B.name], AWQ, LLAMA_CPP, [(RTX_3090, 1), (RTX_3070, 1)], QUESTION)

    for one in placed:
        parts = sum(one[f"{name}_bytes"] for name in ("weights", "kv", "workspace", "runtime"))
        assert one["total_bytes"] == pytest.approx(parts, abs=3)
    assert placed[0]["usable_bytes"] > 2.5 * placed[1]["usable_bytes"]
