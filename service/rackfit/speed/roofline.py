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
from rackfit.memory.elementwise import Number, choose, maximum, minimum
from rackfit.speed.domain import Chip, Chosen, Efficiency, Ranged
from rackfit.speed.efficiency import reached_gb_s
from rackfit.speed.traffic import Traffic

ALL_REDUCES_PER_LAYER = 2
GB = 1e9


@dataclass(frozen=True, slots=True)
class Step:
    """One decode step in milliseconds, by term, and the bound of the bytes alone. Numbers or arrays."""

    bound_ms: Number
    read_ms: Number
    compute_ms: Number
    """Arithmetic of the batch; the slower of it and reading counts."""
    layers_ms: Number
    split_ms: Number
    """Hand-overs and all-reduces."""
    cache_ms: Number
    """Cache read by one block per head, where an engine does it so; else part of read_ms."""
    host_ms: Number
    """What the host needs to launch the step; the slower of host and device counts."""

    @property
    def device_ms(self) -> Number:
        """Time of the devices."""
        return maximum(self.read_ms, self.compute_ms) + self.layers_ms + self.split_ms + self.cache_ms

    @property
    def total_ms(self) -> Number:
        """Time of the step."""
        return maximum(maximum(self.device_ms, self.host_ms), self.bound_ms)

    @property
    def bound_by(self) -> str:
        """The largest term of one step: memory bandwidth, compute, fixed time per layer, split, cache, or host."""
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


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast devices are with one model, by one efficiency record. Numbers, or arrays as `Step` has them."""

    printed_gb_s: tuple[Number, ...]
    """Bandwidth of the device of each stage, or of all: as printed."""
    reached_gb_s: tuple[Number, ...]
    """What is reached of it."""
    head_gb_s: Number
    """Rate at which one block reads one head's cache; infinite where an engine does not read it so."""
    units: Number
    """Compute units of a device, 0 where they are not on record."""
    layers_ms: Number
    """Fixed time of all layers, routing included."""
    handover_ms: Number
    """From one stage to the next."""
    all_reduce_ms: Number
    all_reduce_step_ms: Number
    """Latency of an all-reduce, and of each of its steps; what its bytes take comes on top."""
    host_ms: Number
    """What the host needs to launch a step."""


def pace_of(anatomy: Anatomy, chips: tuple[Chip, ...], one: Efficiency) -> Pace:
    """Return the pace of devices.

    Args:
        anatomy: the model.
        chips: the chip of each stage, or one for all.
        one: the efficiency record.

    Raises:
        UnsupportedError: a device without a bandwidth on record.
    """
    return Pace(
        reached_gb_s=tuple(reached_gb_s(one, chip) for chip in chips),
        printed_gb_s=tuple(float(chip.bandwidth_gb_s or 1.0) for chip in chips),
        head_gb_s=float("inf") if one.head_cache_gb_s is None else one.head_cache_gb_s,
        units=chips[0].units or 0,
        layers_ms=anatomy.n_layers * one.layer_ms + anatomy.expert_layers * (one.moe_layer_ms or 0.0),
        handover_ms=one.handover_ms,
        all_reduce_ms=one.all_reduce_ms,
        all_reduce_step_ms=one.all_reduce_step_ms,
        host_ms=anatomy.n_layers * one.host_layer_ms,
    )


def paced_step(
    anatomy: Anatomy,
    layout: Layout,
    traffic: Traffic,
    pace: Pace,
    context: float,
    sequences: Number,
    reduce_ms: Number = 0.0,
    compute_ms: tuple[Number, Number] = (0.0, 0.0),
) -> Step:
    """Return the time of one decode step of one replica; numbers or arrays.

    Args:
        anatomy: the model.
        layout: degrees of parallelism.
        traffic: what one device of each stage reads.
        pace: how fast the devices are.
        context: tokens in each sequence's cache.
        sequences: sequences of the replica.
        reduce_ms: what the bytes of all-reduces take over the link, all of the step; their latency is the pace's.
        compute_ms: arithmetic of the step, at the dense peak and at the share of it that is reached.
    """
    read = cache_read = bound = 0.0
    times = len(traffic.weights) // len(pace.reached_gb_s)
    stages = zip(pace.printed_gb_s * times, pace.reached_gb_s * times, traffic.weights, traffic.cache, strict=True)
    for printed, reached, weights, cache in stages:
        read += weights / GB / reached
        cache_read += cache / GB / reached
        bound += (weights + cache) / GB / printed
    by_head = head_cache_s(anatomy, context, sequences, pace.head_gb_s, pace.units)
    slow_cache = by_head > cache_read
    return Step(
        bound_ms=maximum(1000 * bound, compute_ms[0]),
        read_ms=1000 * choose(slow_cache, read, read + cache_read),
        compute_ms=compute_ms[1],
        layers_ms=pace.layers_ms,
        split_ms=_split_ms(anatomy, layout, pace) + reduce_ms,
        cache_ms=choose(slow_cache, 1000 * by_head, 0.0),
        host_ms=pace.host_ms,
    )


def decode_step(
    anatomy: Anatomy,
    layout: Layout,
    traffic: Traffic,
    chips: tuple[Chip, ...],
    chosen: Chosen,
    context: float,
    sequences: int = 1,
) -> Step:
    """Return the time of one decode step of one replica, without what all-reduces send and without arithmetic.

    Raises:
        UnsupportedError: a device without a bandwidth on record.
    """
    return paced_step(anatomy, layout, traffic, pace_of(anatomy, chips, chosen.efficiency), context, sequences)


def _split_ms(anatomy: Anatomy, layout: Layout, pace: Pace) -> Number:
    """Return what the split of a model costs one step beside bytes: hand-overs, and two all-reduces per layer."""
    each = pace.all_reduce_ms + pace.all_reduce_step_ms * 2 * (layout.tp - 1)
    reduces = choose(layout.tp > 1, ALL_REDUCES_PER_LAYER * anatomy.n_layers * each, 0.0)
    return pace.handover_ms * (layout.pp - 1) + reduces


def head_cache_s(anatomy: Anatomy, context: float, sequences: Number, rate_gb_s: Number, units: Number) -> Number:
    """Return the seconds in which the cache is read where one block reads a query head's keys and values.

    Heads run side by side, one to a compute unit, so a layer takes as long as one of them, times the rounds that the
    heads of all sequences need: tokens x (d_k + d_v) x 2 bytes / rate. An infinite rate takes no time.
    """
    total: Number = 0.0
    for group in anatomy.model.groups:
        if group.n_heads and group.attention != "none":
            tokens = min(context, group.window) if group.window else context
            in_rounds = -(-group.n_heads * sequences // maximum(units, 1))
            rounds = choose(units > 0, in_rounds, sequences)
            total = total + group.count * rounds * tokens * ((group.d_k or 0) + (group.d_v or 0)) * 2
    return total / GB / rate_gb_s


def tokens_per_s(step: Step, chosen: Chosen, sequences: Number = 1) -> Ranged:
    """Return the tokens per second of all sequences together, with the range of the measured cases."""
    value = 1000 * sequences / step.total_ms
    bound = 1000 * sequences / step.bound_ms
    return Ranged(value, value * (1 - chosen.below), minimum(value * (1 + chosen.above), bound))


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
