"""Recipes, losses and adapters: bytes by their definitions."""

from __future__ import annotations

from typing import Any

import pytest
from test_training_activations import block

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.training.domain import Recipe
from rackfit.memory.training.logits import LOSSES, Loss, loss_bytes
from rackfit.memory.training.lora import adapter_params, read_targets
from rackfit.memory.training.recipes import BF16_ADAM, MIXED_ADAM, special_optimizer, state_of, with_optimizer

LLAMA_2_7B = Anatomy(block(4096, 32, 32, 11008, gated=True)[0])


def row(**changes: Any) -> dict[str, Any]:
    """Return a row of `recipes`: mixed Adam unless changed."""
    plain = {
        "recipe_id": "adam_mixed_16", "section": "recipe", "weights_bytes": 2, "master_bytes": 4, "gradient_bytes": 2,
        "gradient_accumulation_bytes": 0, "optimizer_bytes": 8,
    }  # fmt: skip
    return plain | changes


def test_a_record_gives_its_components() -> None:
    """The 16 bytes of mixed Adam are 2 + 4 + 2 + 8."""
    state = state_of(row(), LLAMA_2_7B)

    assert state is not None
    assert (state.total, state.checkpoint) == (16, 14)


def test_a_rule_of_sharding_is_no_recipe_of_states() -> None:
    """A record of another section gives no bytes per parameter."""
    assert state_of(row(section="zero"), LLAMA_2_7B) is None
    assert state_of(row(weights_bytes=None), LLAMA_2_7B) is None


def test_factored_states_are_nearly_nothing() -> None:
    """Adafactor keeps row and column sums: below 0.01 bytes per parameter at width 4096."""
    assert special_optimizer("adafactor_no_momentum", LLAMA_2_7B) < 0.01


def test_muon_lies_between_one_and_two_moments() -> None:
    """Muon keeps 4 bytes on hidden matrices, 8 on embedding and head (12 and 16 bytes in all)."""
    assert 4 < special_optimizer("muon_bf16_fp32mom", LLAMA_2_7B) < 4.5


def test_paged_states_are_pageable() -> None:
    """States of a paged optimizer may leave the device."""
    state = state_of(row(recipe_id="paged_adamw_8bit", master_bytes=0, optimizer_bytes=None), LLAMA_2_7B)

    assert state is not None
    assert state.pageable == state.optimizer == 2.03125


def test_an_unknown_shape_rule_is_refused() -> None:
    """A recipe without figure and rule is an error, never zero bytes."""
    with pytest.raises(ValueError, match="strange"):
        special_optimizer("strange", LLAMA_2_7B)


def test_another_optimizer_replaces_the_states() -> None:
    """8-bit Adam on mixed weights: 2 + 4 + 2 + 2.03; Adam's states on pure bf16 stay 16-bit."""
    mixed = with_optimizer(Recipe("adam_mixed_16", "mixed", MIXED_ADAM), "adamw_8bit")
    pure = with_optimizer(Recipe("adamw_pure_bf16", "pure", BF16_ADAM), "adamw")

    assert mixed.state.total == pytest.approx(10.03125)
    assert pure.state.total == 8


def test_one_logits_tensor() -> None:
    """Batch 2 x 256 tokens x 151665 words: 155.3 MB in bf16, 310.6 MB in fp32 (trl issue 3678, arithmetic)."""
    assert loss_bytes(Loss(2.0), 2 * 256, 151665, 896) == pytest.approx(155.3e6, rel=0.001)
    assert loss_bytes(Loss(4.0), 2 * 256, 151665, 896) == pytest.approx(310.6e6, rel=0.001)


def test_fused_losses_keep_no_logits() -> None:
    """Gemma-2-2B at 8192 tokens: 24 GB of loss memory shrink to a small part (Cut Your Losses, arXiv 2411.09009)."""
    plain = loss_bytes(LOSSES["full"], 8192, 256000, 2304)
    cut = loss_bytes(LOSSES["cut"], 8192, 256000, 2304)

    assert plain == pytest.approx(24e9, rel=0.3)
    assert cut < 1.3e9
    assert cut < loss_bytes(LOSSES["chunked"], 8192, 256000, 2304) < plain


def test_a_fused_loss_that_widens_the_gradient_of_the_head() -> None:
    """Liger 0.6.2 to 0.7: a product of V x H and its fp32 copy, 750 MiB at 32000 x 4096 (issue 1323)."""
    shape = (8192, 32000, 4096)
    extra = loss_bytes(LOSSES["fused_linear"], *shape) - loss_bytes(LOSSES["fused_linear_addmm"], *shape)

    assert extra == 750 * 2**20


def test_vocabulary_divides_over_ranks() -> None:
    """Tensor parallel ranks hold their part of the vocabulary."""
    whole = loss_bytes(LOSSES["vocab_parallel"], 4096, 128256, 4096)

    assert loss_bytes(LOSSES["vocab_parallel"], 4096, 128256, 4096, ranks=8) == pytest.approx(whole / 8)


@pytest.mark.parametrize(
    ("rank", "targets", "trained"),
    [(8, "q+v", 4194304), (64, "all", 159907840)],
)
def test_adapters_of_llama_2_7b(rank: int, targets: str, trained: int) -> None:
    """litgpt prints 4,194,304 for rank 8 on q and v; QLoRA's rank 64 on all linear matrices makes 159,907,840."""
    assert adapter_params(LLAMA_2_7B, rank, read_targets(targets)) == trained


def test_targets_as_people_write_them() -> None:
    """Groups, suffixes and commas are read; unknown words are left out."""
    assert read_targets("q_proj,v_proj") == {"q", "v"}
    assert read_targets("attn+mlp") == read_targets("all_linear")
    assert read_targets("something") == frozenset()


def test_a_widened_head_for_every_chunk_saves_nothing() -> None:
    """TRL's chunked loss alone: 38.02 GB at 4096 tokens, out of memory on 80 GB at 16384 (pull request 6858, table)."""
    words, width = 248320, 2048
    held = {
        tokens: 4.0 * words * width + loss_bytes(LOSSES["chunked_256_copies"], tokens, words, width)
        for tokens in (4096, 16384)
    }

    assert held[4096] == pytest.approx(38.02e9, rel=0.1)
    assert held[16384] > 80e9


def test_kept_chunks_are_one_fp32_value_per_logit() -> None:
    """The same loss with a 16-bit product: 19.67 GB at 16384 tokens (TRL pull request 6858, table)."""
    held = 4.0 * 248320 * 2048 + loss_bytes(LOSSES["chunked_256_kept"], 16384, 248320, 2048)

    assert held == pytest.approx(19.67e9, rel=0.1)
