"""The arithmetic side of the roofline: which peak a format really computes at, and the share of it that is reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Precision
from rackfit.speed.domain import Chip
from rackfit.speed.training_time import EXPERTS

NATIVE_RATES = {"fp8": ("fp8",), "int8": ("int8",), "fp4": ("fp4",), "nvfp4": ("fp4",), "mxfp4": ("fp4",)}
"""Family of a format -> rate at which it computes where the hardware and the engine do so natively."""
WIDE_RATES = ("bf16", "fp16", "fp32")
"""Rates of everything else, best first: weights are widened to 16 bits before they are multiplied."""
SIXTEEN_BIT_RATES = ("bf16", "fp16")
NARROW = {"fp8": 1 / 2, "int8": 1 / 2, "fp4": 1 / 4}
"""Rate of fewer bits -> the part of it that a 16-bit rate is where none is on record: twice the bits, half the rate."""
TERA = 1e12


@dataclass(frozen=True, slots=True)
class Peak:
    """The dense peak that a format computes at on a device, and the share of it that training runs reached."""

    rate_name: str
    tflops: float
    share: float
    low: float
    high: float
    basis: str


def rate_of(chip: Chip, precision: Precision, support: str) -> tuple[str, float] | None:
    """Return the name and dense TFLOPS of the rate a format computes at; None where none is on record.

    Weight-only and emulated formats compute in 16 bits: it loads, but it does not compute in that format.
    """
    native = NATIVE_RATES.get(precision.family, ()) if support == "native" else ()
    if precision.family == "fp" and precision.bits > 16:
        native = ("fp32",)
    for name in (*native, *WIDE_RATES):
        if name in chip.rates:
            return name, chip.rates[name]
    return None


def reached_share(runs: Sequence[tuple[str, float]], chip: Chip) -> tuple[float, float, float, str]:
    """Return median, least and most of the share of peak that published training runs reached on such a device.

    Args:
        runs: (device as the run names it, MFU in percent) of 16-bit runs.
        chip: the device; its generation's runs are taken, all of them where it has none.
    """
    known = {name.split("_")[0] for name, _ in runs}
    own = next((name for name in sorted(known) if f"-{name}-" in f"{chip.accelerator_id}-"), None)
    shares = [percent / 100 for name, percent in runs if own is None or name.startswith(own)]
    if own is None:
        return median(shares), min(shares) / 2, 1.0, f"{len(shares)} training runs of other devices: range wider"
    return median(shares), min(shares), max(max(shares), 0.8), f"{len(shares)} published training runs on {own.upper()}"


def reached_peak(chip: Chip, rate: tuple[str, float], shares: tuple[float, float, float, str], experts: bool) -> Peak:
    """Return a peak with the share of it that inference may count on.

    Published runs train dense models in 16 bits. Of a narrower rate the low end therefore counts no more than those
    runs would reach in 16 bits; a model with experts reaches less, as it does in training (`EXPERTS`).

    Args:
        chip: the device.
        rate: name and dense TFLOPS of the rate that is computed at.
        shares: from `reached_share`.
        experts: whether the model routes tokens to experts.
    """
    (name, tflops), (value, low, high, basis) = rate, shares
    if name in NARROW:
        sixteen = max((chip.rates[other] for other in SIXTEEN_BIT_RATES if other in chip.rates), default=0.0)
        low *= min(sixteen / tflops, 1.0) if sixteen else NARROW[name]
        basis += f"; none of them in {name}: the low end counts 16-bit rates"
    if experts:
        low, value = low * EXPERTS[0], value * EXPERTS[1]
        basis += "; none of a model with experts: range wider"
    return Peak(name, tflops, value, low, high, basis)


def decode_flops(anatomy: Anatomy, context: float, sequences: int) -> float:
    """Return the FLOPs of one decode step: 2 per active parameter and sequence, and attention over the cache."""
    outer = anatomy.outer_roles
    unread = outer.get("per_layer_embedding", 0) + (0 if anatomy.model.tied_embeddings else outer.get("embedding", 0))
    total = 2.0 * max(anatomy.model.params_active - unread, 0)
    for group in anatomy.model.groups:
        if group.n_heads and group.attention != "none":
            tokens = min(context, group.window) if group.window else context
            total += 2.0 * group.count * group.n_heads * ((group.d_k or 0) + (group.d_v or 0)) * tokens
    return total * sequences
