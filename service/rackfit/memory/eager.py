"""What eager PyTorch stacks hold beside weights and cache: terms that were found on measured peaks.

Each term is named after its cause as far as that is known; where the cause is not known the name says what it follows.
Constants are fields of the budget records, with their evidence there.
"""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Precision
from rackfit.memory.weights import role_bits


def prompt_logits(anatomy: Anatomy, budget: Budget, prompt_tokens: int, sequences: int) -> float:
    """Return the bytes of logits kept for every token of the prompt: fp16, their fp32 copy and what follows them.

    Stacks that ask for logits of the last position only have a factor of 0.
    """
    return budget.prompt_logit_bytes * anatomy.model.vocab_size * prompt_tokens * sequences


def widened_head(anatomy: Anatomy, precision: Precision, budget: Budget) -> float:
    """Return the change of the peak where the head is quantised too and widened at use, bytes.

    litgpt quantises every linear layer, the head included, and bitsandbytes makes a wide copy of a weight when it is
    multiplied: the head is the largest. Peaks of four models agree with 4 bytes per value within 0.1 GB.
    """
    if not budget.widened_head_bytes or precision.family != "bnb":
        return 0.0
    values = anatomy.model.vocab_size * anatomy.model.d_model
    kept = role_bits(precision, "head") / 8
    return values * (budget.widened_head_bytes - (kept - precision.bits / 8))


def second_tied_head(anatomy: Anatomy, precision: Precision, budget: Budget) -> float:
    """Return the bytes of a tied head that FP8 checkpoints store, and eager stacks load, as a second tensor."""
    if not budget.loads_second_head or precision.family != "fp8" or not anatomy.model.tied_embeddings:
        return 0.0
    return anatomy.model.vocab_size * anatomy.model.d_model * role_bits(precision, "head") / 8


def cache_surplus(precision: Precision, budget: Budget) -> float:
    """Return the share of the cache that peaks of AWQ models show on top of it.

    Unexplained: an eighth of the cache on four Qwen3 sizes at three lengths each, absent with 16-bit weights.
    """
    return budget.awq_cache_surplus if precision.precision_id.startswith("awq_") else 0.0


def eager_bytes(
    anatomy: Anatomy, precision: Precision, budget: Budget, prompt_tokens: int, sequences: int, cache_bytes: float
) -> float:
    """Return all of these terms together, bytes."""
    return (
        prompt_logits(anatomy, budget, prompt_tokens, sequences)
        + widened_head(anatomy, precision, budget)
        + second_tied_head(anatomy, precision, budget)
        + cache_surplus(precision, budget) * cache_bytes
    )
