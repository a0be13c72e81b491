"""Time of one decode step and of a prompt: the bound that printed rates set, and the estimate below it.

Decode (MEMORY_MODEL section 7): bytes read / bandwidth reached, plus a fixed time per layer, plus what the split
costs. Stages of a layer split work one after the other for one token; ranks of tensor parallelism work together and
meet in two all-reduces per layer. Prefill: 2 x active parameters x tokens over the dense peak at the precision that
really computes, plus attention.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout
from rackfit.speed.domain import Chip, Chosen, Efficiency, Ranged
from rackfit.speed.efficiency import reached_gb_s
from rackfit.speed.traffic import Traffic

ALL_REDUCES_PER_LAYER = 2
GB = 1e9


@dataclass(frozen=True, slots=True)
class Step:
    """One decode step in milliseconds, by term, and the bound of the bytes alone."""

    bound_ms: float
    read_ms: float
    compute_ms: float
    """Arithmetic of the batch; the slower of it and reading counts."""
    layers_ms: float
    split_ms: float
    """Hand-overs and all-reduces."""
    cache_ms: float
    """Cache read by one block per head, where an engine does it so; else part of read_ms."""
    host_ms: float
    """What the host needs to launch the step; the slower of host and device counts."""

    @property
    def device_ms(self) -> float:
        """Time of the devices."""
        return max(self.read_ms, self.compute_ms) + self.layers_ms + self.split_ms + self.cache_ms

    @property
    def total_ms(self) -> float:
        """Time of the step."""
        return max(self.device_ms, self.host_ms, self.bound_ms)

    @property
    def bound_by(self) -> str:
        """The largest term: memory bandwidth, compute, fixed time per layer, split, cache per head, or host."""
        if self.host_ms >= self.device_ms:
            return "host"
        terms = {
            "memory bandwidth": self.read_ms,
            "compute": self.compute_ms,
            "fixed time per layer": self.layers_ms,
            "split": self.split_ms,
            "cache per head": self.cache_ms,
        }
        return max(terms, key=lambda name: terms[name])


def decode_step(
    anatomy: Anatomy,
    layout: Layout,
    traffic: Traffic,
    chips: tuple[Chip, ...],
    chosen: Chosen,
    context: float,
    sequences: int = 1,
    reduce_ms: float = 0.0,
    compute_ms: tuple[float, float] = (0.0, 0.0),
) -> Step:
    """Return the time of one decode step of one replica.

    Args:
        anatomy: the model.
        layout: degrees of parallelism.
        traffic: what one device of each stage reads.
        chips: the chip of each stage, or one for all.
        chosen: the efficiency.
        context: tokens in each sequence's cache.
        sequences: sequences of the replica.
        reduce_ms: what the bytes of all-reduces take over the link, all of the step; their latency is the record's.
        compute_ms: arithmetic of the step, at the dense peak and at the share of it that is reached.

    Raises:
        UnsupportedError: a device without a bandwidth on record.
    """
    one = chosen.efficiency
    stages = [chips[index if len(chips) > 1 else 0] for index in range(len(traffic.weights))]
    read = cache_read = bound = 0.0
    for chip, weights, cache in zip(stages, traffic.weights, traffic.cache, strict=True):
        reached = reached_gb_s(one, chip)
        read += weights / GB / reached
        cache_read += cache / GB / reached
        bound += (weights + cache) / GB / float(chip.bandwidth_gb_s or 1.0)
    by_head = head_cache_s(anatomy, context, sequences, one.head_cache_gb_s, stages[0].units)
    slow_cache = by_head > cache_read
    return Step(
        bound_ms=max(1000 * bound, compute_ms[0]),
        read_ms=1000 * (read if slow_cache else read + cache_read),
        compute_ms=compute_ms[1],
        layers_ms=_fixed_ms(anatomy, one),
        split_ms=_split_ms(sum(traffic.layers), layout, one, reduce_ms),
        cache_ms=1000 * by_head if slow_cache else 0.0,
        host_ms=sum(traffic.layers) * one.host_layer_ms,
    )


def _fixed_ms(anatomy: Anatomy, one: Efficiency) -> float:
    """Return the fixed time of all layers, routing included."""
    experts = sum(group.count for group in anatomy.model.groups if group.n_experts)
    return anatomy.model.n_layers * one.layer_ms + experts * (one.moe_layer_ms or 0.0)


def _split_ms(layers: int, layout: Layout, one: Efficiency, reduce_ms: float) -> float:
    """Return what the split of a model costs one step: hand-overs, and two all-reduces per layer."""
    split = one.handover_ms * (layout.pp - 1)
    if layout.tp > 1:
        each = one.all_reduce_ms + one.all_reduce_step_ms * 2 * (layout.tp - 1)
        split += ALL_REDUCES_PER_LAYER * layers * each + reduce_ms
    return split


def head_cache_s(anatomy: Anatomy, context: float, sequences: int, rate_gb_s: float | None, units: int | None) -> float:
    """Return the seconds in which the cache is read where one block reads a query head's keys and values; 0 elsewhere.

    Heads run side by side, one to a compute unit, so a layer takes as long as one of them, times the rounds that the
    heads of all sequences need: tokens x (d_k + d_v) x 2 bytes / rate.
    """
    if rate_gb_s is None:
        return 0.0
    total = 0.0
    for group in anatomy.model.groups:
        if group.n_heads and group.attention != "none":
            tokens = min(context, group.window) if group.window else context
            rounds = -(-group.n_heads * sequences // units) if units else sequences
            total += group.count * rounds * tokens * ((group.d_k or 0) + (group.d_v or 0)) * 2
    return total / GB / rate_gb_s


def tokens_per_s(step: Step, chosen: Chosen, sequences: int = 1) -> Ranged:
    """Return the tokens per second of all sequences together, with the range of the measured cases."""
    value = 1000 * sequences / step.total_ms
    bound = 1000 * sequences / step.bound_ms if step.bound_ms else float("inf")
    return Ranged(value, value * (1 - chosen.below), min(value * (1 + chosen.above), bound))


def prefill_flops(anatomy: Anatomy, tokens: int) -> float:
    """Return the FLOPs of a prompt: 2 per active parameter and token, and attention over the tokens before.

    Of the parameters, the input embedding is looked up and not multiplied; the head serves the last token alone.
    Attention: 2 FLOPs x (d_k + d_v) x heads per pair of tokens; causal, so half of all pairs, or tokens x window.
    """
    outer = anatomy.outer_roles
    looked_up = outer.get("embedding", 0) + outer.get("per_layer_embedding", 0) + outer.get("head", 0)
    if anatomy.model.tied_embeddings:
        looked_up = outer.get("embedding", 0) + outer.get("per_layer_embedding", 0)
    matrices = max(anatomy.model.params_active - looked_up, 0)
    total = 2.0 * matrices * tokens
    for group in anatomy.model.groups:
        if group.n_heads and group.attention != "none":
            pairs = tokens * tokens / 2
            if group.window and group.window < tokens:
                pairs = tokens * group.window - group.window * group.window / 2
            total += 2.0 * group.count * group.n_heads * ((group.d_k or 0) + (group.d_v or 0)) * pairs
    return total


def ridge_point(peak_tflops: float, bandwidth_gb_s: float) -> float:
    """Return the FLOPs per byte at which a device turns from bandwidth to compute (Williams et al., roofline model)."""
    return peak_tflops * 1000 / bandwidth_gb_s
