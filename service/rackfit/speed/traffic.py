"""Bytes that a pass over the model reads from device memory: weights once, cache by the context.

A decode step reads every weight that some sequence of the batch needs: of the input embedding one row, which
counts nothing; a tied matrix once, as the head; of routed experts those that the batch touches. The cache of each
sequence is read whole, windows up to their width (MEMORY_MODEL section 7). Sizes may be numbers, or arrays with one
entry per configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout, Precision
from rackfit.memory.elementwise import Number
from rackfit.memory.kv_cache import stage_caches
from rackfit.memory.stages import stage_counts
from rackfit.memory.weights import role_bits, tensor_share

ROUTED = "experts"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one device of each pipeline stage reads per decode step, bytes, first stage to last."""

    weights: tuple[Number, ...]
    cache: tuple[Number, ...]

    @property
    def total(self) -> Number:
        """Bytes that one device of every stage reads, all stages together."""
        return sum(self.weights) + sum(self.cache)


@dataclass(frozen=True, slots=True)
class Routed:
    """Routed experts of one kind: how many a layer has, how many a token visits, bytes of all on each stage."""

    experts: int
    active: int
    replicas: Number
    """Replicas whose tokens meet at the same experts: those of attention where experts spread over them."""
    sizes: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """What one device of each pipeline stage reads per decode step, as it follows from the batch. Bytes."""

    fixed: tuple[Number, ...]
    """Weights that every step reads."""
    routed: tuple[Routed, ...]
    """Weights of which a step reads what its batch touches."""
    cache: tuple[Number, ...]
    """Cache of one sequence."""

    def at(self, sequences: Number) -> Traffic:
        """Return what a step of so many sequences reads."""
        weights = list(self.fixed)
        for kind in self.routed:
            share = touched_share(kind.experts, kind.active, sequences * kind.replicas)
            weights = [own + share * size for own, size in zip(weights, kind.sizes, strict=True)]
        return Traffic(tuple(weights), tuple(one * sequences for one in self.cache))


def touched_share(experts: int, active: int, tokens: Number) -> Number:
    """Return the share of a layer's experts that a batch touches, with tokens routed evenly and independently.

    1 - (1 - k/E)^tokens: k/E for one token, towards 1 for many. Real routers are less even, so this is the most.
    """
    return 1.0 - (1.0 - active / experts) ** tokens


def layer_reads(anatomy: Anatomy, precision: Precision, layout: Layout) -> tuple[tuple[float, float], ...]:
    """Return the weight bytes of one layer of each group on one device: read at every step, and routed experts."""
    result = []
    for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True):
        bits = {True: 0.0, False: 0.0}
        for role, count in roles.items():
            share = tensor_share(role, layout, group.n_kv_heads, group.n_experts)
            routed = role == ROUTED and bool(group.n_experts and group.n_experts_active)
            bits[routed] += count * share * role_bits(precision, role)
        result.append((bits[False] / 8, bits[True] / 8))
    return tuple(result)


def head_reads(anatomy: Anatomy, precision: Precision, layout: Layout) -> float:
    """Return the bytes outside the layers that one device of the last stage reads: head, norms, shared blocks."""
    roles = anatomy.outer_roles
    table = "head" if roles.get("head") else "embedding"
    bits = roles.get(table, 0) * role_bits(precision, table) / layout.tp
    bits += sum(roles.get(name, 0) * role_bits(precision, name) for name in ("norms", "other"))
    return bits / 8


def decode_reads(
    anatomy: Anatomy, precision: Precision, layout: Layout, context: float, kv_bits: float, state_bits: float = 32.0
) -> Reads:
    """Return what a decode step reads.

    Args:
        anatomy: the model.
        precision: its weight layout, as fitted to the model.
        layout: degrees of parallelism; every replica of `dp` serves its share of the sequences.
        context: tokens that each sequence has in its cache at this step.
        kv_bits: effective bits of a cached value.
        state_bits: bits of a recurrent state value.
    """
    layers = layer_reads(anatomy, precision, layout)
    counts = stage_counts(anatomy.layer_order, len(layers), layout.pp)
    fixed = [sum(n * size for n, (size, _) in zip(stage, layers, strict=True)) for stage in counts]
    fixed[-1] += head_reads(anatomy, precision, layout)
    kinds: dict[tuple[int, int], list[float]] = {}
    for index, (group, (_, size)) in enumerate(zip(anatomy.model.groups, layers, strict=True)):
        if size:
            sizes = kinds.setdefault((group.n_experts or 0, group.n_experts_active or 0), [0.0] * layout.pp)
            for stage, own in enumerate(counts):
                sizes[stage] += own[index] * size
    caches = stage_caches(anatomy, layout, kv_bits, state_bits)
    return Reads(
        tuple(fixed),
        tuple(Routed(*kind, layout.dp if layout.ep > 1 else 1, tuple(sizes)) for kind, sizes in kinds.items()),
        tuple(float(shape.bytes(context)) for shape in caches),
    )


def decode_traffic(
    anatomy: Anatomy,
    precision: Precision,
    layout: Layout,
    context: float,
    sequences: int,
    kv_bits: float,
    state_bits: float = 32.0,
) -> Traffic:
    """Return what one decode step of so many sequences of one replica reads; the rest as for `decode_reads`."""
    return decode_reads(anatomy, precision, layout, context, kv_bits, state_bits).at(sequences)
