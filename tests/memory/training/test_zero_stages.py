"""Model states by ZeRO stage: the paper's table, the chapter's formulas, and the counts that follow."""

from __future__ import annotations

import pytest

from rackfit.memory.training.domain import StateBytes
from rackfit.memory.training.recipes import FP32_ADAM, MIXED_ADAM
from rackfit.memory.training.sharding import (
    COMMUNICATION,
    bucket_bytes,
    bytes_per_parameter,
    explained,
    gathered_bytes,
    reduction,
    replicated_bytes,
    smallest_count,
    state_shares,
)

# Rajbhandari et al., ZeRO (arXiv 1910.02054), Table 1: GB per device by (model, ranks) for stages 1, 2 and 3.
TABLE_1 = {
    (7.5e9, 1): (120, 120, 120),
    (7.5e9, 4): (52.5, 41.3, 30),
    (7.5e9, 16): (35.6, 21.6, 7.5),
    (7.5e9, 64): (31.4, 16.6, 1.88),
    (7.5e9, 256): (30.4, 15.4, 0.47),
    (7.5e9, 1024): (30.1, 15.1, 0.12),
    (128e9, 1): (2048, 2048, 2048),
    (128e9, 4): (896, 704, 512),
    (128e9, 16): (608, 368, 128),
    (128e9, 64): (536, 284, 32),
    (128e9, 256): (518, 263, 8),
    (128e9, 1024): (513, 257, 2),
    (1e12, 1): (16000, 16000, 16000),
    (1e12, 4): (7000, 5500, 4000),
    (1e12, 16): (4750, 2875, 1000),
    (1e12, 64): (4187, 2218, 250),
    (1e12, 256): (4046, 2054, 62.5),
    (1e12, 1024): (4011, 2013, 15.6),
}


@pytest.mark.parametrize(("model", "printed"), list(TABLE_1.items()))
def test_the_papers_table_comes_out(model: tuple[float, int], printed: tuple[float, float, float]) -> None:
    """Each figure of Table 1 is met to the digits that it prints."""
    params, ranks = model
    for stage, figure in zip((1, 2, 3), printed, strict=True):
        found = params * bytes_per_parameter(MIXED_ADAM, stage, ranks) / 1e9

        assert found == pytest.approx(figure, abs=1.0 if figure > 100 else 0.06)


@pytest.mark.parametrize("ranks", [1, 2, 8, 64, 1024])
def test_stage_formulas(ranks: int) -> None:
    """16, 4 + 12/N, 2 + 14/N and 16/N bytes per parameter (ZeRO paper, section 5; the chapter on training)."""
    found = [bytes_per_parameter(MIXED_ADAM, stage, ranks) for stage in range(4)]

    assert found == pytest.approx([16, 4 + 12 / ranks, 2 + 14 / ranks, 16 / ranks])


def test_reductions_near_their_limits() -> None:
    """Stage 1 nears 4 times, stage 2 8 times, stage 3 is N times smaller (ZeRO paper, section 1)."""
    assert reduction(MIXED_ADAM, 1, 4096) == pytest.approx(4, rel=0.001)
    assert reduction(MIXED_ADAM, 2, 4096) == pytest.approx(8, rel=0.002)
    assert reduction(MIXED_ADAM, 3, 64) == 64


def test_seed_figures() -> None:
    """7B x 16 bytes = 112 GB does not fit one 80 GB card; 70B needs 1.12 TB and 14 cards fully sharded."""
    assert 7e9 * MIXED_ADAM.total == 112e9
    assert 70e9 * MIXED_ADAM.total == 1.12e12
    assert smallest_count(7e9, MIXED_ADAM, 0, 80e9) is None
    assert smallest_count(70e9, MIXED_ADAM, 3, 80e9) == 14


def test_a_checkpoint_keeps_fourteen_bytes() -> None:
    """Mixed Adam saves 16-bit weights, fp32 copy and moments: 14 bytes per parameter (MEMORY_MODEL section 6)."""
    assert MIXED_ADAM.checkpoint == 14


def test_communication_grows_at_stage_three_alone() -> None:
    """Stage 3 sends half as much again (ZeRO paper, section 7.2.2)."""
    assert COMMUNICATION == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.5}


def test_the_table_of_stages_is_complete() -> None:
    """One row per stage, each with what is divided and how many bytes are left."""
    rows = explained(7e9, MIXED_ADAM, 8)

    assert [row["stage"] for row in rows] == [0, 1, 2, 3]
    assert rows[3]["bytes_per_device"] == pytest.approx(14e9)
    assert rows[0]["partitioned"] == "nothing"


def test_the_general_form_splits_every_state() -> None:
    """Replicated part + divided part / N is the whole, for any state."""
    state = StateBytes(1, 4, 0, 4, 4)

    for stage in range(4):
        whole = replicated_bytes(state, stage)
        assert bytes_per_parameter(state, stage, 5) == pytest.approx(whole + (state.total - whole) / 5)
    assert sum(state_shares(FP32_ADAM, 3, 16).values()) == 1.0


def test_gathered_units_and_buckets() -> None:
    """The larger of two layers and the outer unit is gathered; buckets are no larger than the model."""
    assert gathered_bytes(100, 50, 2, 2) == 400
    assert gathered_bytes(100, 900, 2, 2) == 2000
    assert bucket_bytes(5e8, 7e9) == 2e9
    assert bucket_bytes(5e8, 1e6) == 4e6
