"""How an engine holds bitsandbytes weights: what it keeps of a checkpoint's double quantisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rackfit.memory.domain import Budget, Precision
from rackfit.memory.versions import version_key

FIRST_WIDENED: Final = {"vllm": (0, 9, 2)}
"""Engines that widen the 8-bit block constants to 32 bits when they load, and the first version that does: vLLM's pull
request 19742 of June 2025, `dequantize_dq`, "at the cost of increased memory usage"."""
DOUBLE_QUANTISED: Final = frozenset({"bnb_nf4_double", "bnb_fp4_double", "bnb_nf4_dynamic"})
BLOCK: Final = 64
CONSTANT_BITS: Final = 32 / BLOCK
"""Bits per weight of one 32-bit constant for a block (QLoRA, section 3)."""
NESTED_BITS: Final = 8 / BLOCK + 32 / (BLOCK * 256)
"""The same where constants are quantised to 8 bits in blocks of 256: 0.127, "saves 0.373 bits per parameter"."""
DOUBLE_BITS: Final = 4 + NESTED_BITS


def as_held(precision: Precision, budget: Budget) -> Precision:
    """Return the layout as an engine holds it: double quantised, or with its constants at full width.

    Of a format that keeps some matrices wide, the quantised share alone grows.
    """
    first = FIRST_WIDENED.get(budget.runtime_id)
    if precision.precision_id not in DOUBLE_QUANTISED or first is None or version_key(budget.version_from) < first:
        return precision
    quantised = (precision.high_bits - precision.bits) / (precision.high_bits - DOUBLE_BITS)
    return replace(precision, bits=precision.bits + quantised * (CONSTANT_BITS - NESTED_BITS))
