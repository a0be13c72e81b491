"""Cases that run the head and the loss of a model alone: weights, hidden states and logits, forward and backward."""

from __future__ import annotations

from rackfit.accuracy.cases import Case
from rackfit.accuracy.figures import GB, Figure, around
from rackfit.errors import UnsupportedError
from rackfit.fit.training import usable_bytes
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Device
from rackfit.memory.training.logits import LOSSES, loss_bytes
from rackfit.memory.training.overheads import TRANSFORMERS

HEAD_ONLY = "lm_head_and_ce_only"
"""Method of such cases."""
BENCH_LOSSES = (
    ("full_logits_bf16", "bf16"), ("full", "full_fp32_ce"), ("liger", "fused_linear"), ("cce", "cut"), ("cut", "cut"),
    ("chunk1024", "chunked_1024"), ("chunked_nll_fixed", "chunked_256_kept"), ("chunked_nll", "chunked_256_copies"),
    ("chunked", "chunked"),
)  # fmt: skip
"""Word that a loss begins with -> key of `LOSSES`."""
SPREAD = 0.3
"""Relative half-width: kernels differ in their work space, which is all there is beside the loss."""


def head_only(case: Case, device: Device | None) -> Figure:
    """Return the peak in the case's unit, or whether it fits the device.

    Raises:
        UnsupportedError: width, vocabulary or tokens are not stated, or a verdict is asked without a device.
    """
    width, words, tokens = (case.number(name) for name in ("d", "vocab", "tokens"))
    if not width or not words or not tokens:
        raise UnsupportedError(f"{HEAD_ONLY} needs d, vocab and tokens in other_config")
    said = case.settings.get("loss", "")
    name = next((key for word, key in BENCH_LOSSES if said.startswith(word)), "full_fp32_ce")
    loss = loss_bytes(LOSSES[name], tokens, words, int(width))
    value = 2 * 2.0 * words * width + 2 * 2.0 * tokens * width + loss  # head and hidden states with their gradients
    if case.quantity != "fits":
        unit = GIB if "gib" in case.quantity else GB
        return around(value / unit, SPREAD * value / unit)
    if device is None:
        raise UnsupportedError("the case names no device")
    room = usable_bytes(device) - TRANSFORMERS.context_bytes
    ends = [float(value * factor <= room) for factor in (1.0, 1 + SPREAD, 1 - SPREAD)]
    return Figure(ends[0], ends[1], ends[2])
