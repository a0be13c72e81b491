"""How long training takes: FLOPs per token over what published runs reach of the dense peak.

FLOPs per token = 6 x active parameters + 12 x layers x d x sequence length (forward and backward; attention halved
where an author counts causal). Each published run names its convention, so that its MFU is read with the FLOPs that it
was made with: 6 N alone gives 8.2 % where a run at 64K prints 28.6 % (MEMORY_MODEL section 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rackfit.memory.anatomy import Anatomy

ATTENTION_SHARE = {"6n_plus_attention": 1.0, "6n_plus_causal_attention": 0.5, "6n": 0.0}
"""Convention -> part of attention's FLOPs that it counts."""
DAY = 86400
TERA = 1e12
NEAREST = 5
"""Published runs whose median is taken: those nearest in sequence length, then in size."""
WIDER = 2.0
"""What the low end is divided by on a device without a run: generations differ by 1.5 at equal code (A100, H100)."""
EXPERTS = (0.3, 0.4)
"""Low and middle of what remains with routed experts: three measured cases of one model (torchtitan, 8 H100) come to
0.35 to 0.4 of a dense model's share."""
RECOMPUTED = {"none": 1.0, "selective": 0.9, "full": 0.75}
"""Model FLOPs per FLOP done: full recompute repeats the forward pass, 8 N instead of 6 N (Korthikanti et al., arXiv
2205.05198, section 5); selective recompute repeats part of it."""


@dataclass(frozen=True, slots=True)
class MfuRun:
    """One published run: device as it names it, and the share of the dense peak that its model FLOPs are."""

    device: str
    params: int
    sequence_length: int
    device_count: int
    mfu_percent: float
    flop_convention: str
    activation_checkpointing: int = 0

    @property
    def done(self) -> float:
        """Share of the peak that the run kept busy, recomputed FLOPs included."""
        return self.mfu_percent / 100 / RECOMPUTED["full" if self.activation_checkpointing else "none"]


@dataclass(frozen=True, slots=True)
class Utilisation:
    """The share of the dense peak that a training job reaches, with range, convention and evidence."""

    value: float
    low: float
    high: float
    convention: str
    basis: str


def flops_per_token(
    params_active: float, attention_width: float, sequence_length: int, convention: str = "6n_plus_attention"
) -> float:
    """Return the model FLOPs of one trained token.

    Args:
        params_active: parameters that one token meets.
        attention_width: sum over layers of heads x head size (layers x d where heads fill the width).
        sequence_length: tokens of a sequence.
        convention: what the author of an MFU counts.
    """
    return 6.0 * params_active + 12.0 * attention_width * sequence_length * ATTENTION_SHARE[convention]


def model_flops(anatomy: Anatomy, sequence_length: int, convention: str = "6n_plus_attention") -> float:
    """Return the model FLOPs of one trained token; an untied input embedding is looked up, not multiplied."""
    model = anatomy.model
    looked_up = 0 if model.tied_embeddings else anatomy.outer_roles.get("embedding", 0)
    width = sum(
        group.count * (group.n_heads or 0) * ((group.d_k or 0) + (group.d_v or 0)) / 2
        * (min(group.window, sequence_length) / sequence_length if group.window else 1.0)
        for group in model.groups
        if group.attention != "none"
    )  # fmt: skip
    return flops_per_token(model.params_active - looked_up, width, sequence_length, convention)


def choose_utilisation(
    runs: Sequence[MfuRun],
    accelerator_id: str,
    params: float,
    sequence_length: int,
    experts: bool = False,
    recompute: str = "none",
) -> Utilisation | None:
    """Return what published runs say of a job: the median of the nearest, the range of all on such a device.

    Recompute is charged: its FLOPs are done and not counted. Without a run on the device's generation, or of a model
    with experts, the range is wider and the basis says why. None where there are no runs.
    """
    if not runs:
        return None
    names = {run.device.split("_")[0] for run in runs}
    chip = next((name for name in sorted(names) if f"-{name}-" in f"{accelerator_id}-"), None)
    own = [run for run in runs if chip is None or run.device.startswith(chip)]
    own.sort(
        key=lambda run: (
            abs(math.log2(run.sequence_length / sequence_length)),
            abs(math.log2(run.params / params)),
        )
    )
    counted = RECOMPUTED[recompute]
    value = median(run.done for run in own[:NEAREST]) * counted
    low, high = min(run.mfu_percent / 100 for run in own), max(run.done for run in own) * counted
    basis = [f"{len(own)} published runs on {chip.upper() if chip else 'other devices'}, {recompute} recompute charged"]
    if chip is None:
        low /= WIDER
        value, basis = math.sqrt(low * high), [*basis, "none on this device: range wider, its middle taken"]
    if experts:
        low, value = low * EXPERTS[0], value * EXPERTS[1]
        basis.append("none of a model with experts: range wider")
    return Utilisation(value, min(low, value), high, own[0].flop_convention, "; ".join(basis))


def tokens_per_s(share: float, peak_tflops: float, flops: float) -> float:
    """Return the tokens per second that one device trains at a share of its peak."""
    return share * peak_tflops * TERA / flops


def days(tokens: float, devices: int, tokens_per_s_each: float) -> float:
    """Return the days of a run over so many tokens.

    >>> round(days(1e12, 512, 10000), 1)
    2.3
    """
    return tokens / (devices * tokens_per_s_each) / DAY
