"""Bytes that a pass over the model reads from device memory: weights once, cache by the context.

A decode step reads every weight that some sequence of the batch needs: of the input embedding one row, which
counts nothing; a tied matrix once, as the head; of routed experts those that the batch touches. The cache of each
sequence is read whole, windows up to their width (MEMORY_MODEL section 7).
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Layout, Precision
from rackfit.memory.kv_cache import stage_caches
from rackfit.memory.stages import stage_counts
from rackfit.memory.weights import role_bits, tensor_share

ROUTED = "experts"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one device of each pipeline stage reads per decode step, bytes, first stage to last."""

    weights: tuple[float, ...]
    cache: tuple[float, ...]
    layers: tuple[int, ...]
    """Layers of each stage."""

    @property
    def total(self) -> float:
        """Bytes that one device of every stage reads, all stages together."""
        return sum(self.weights) + sum(self.cache)


def touched_share(experts: int, active: int, tokens: int) -> float:
    """Return the share of a layer's experts that a batch touches, with tokens routed evenly and independently.

    1 - (1 - k/E)^tokens: k/E for one token, towards 1 for many. Real routers are less even, so this is the most.
    """
    return 1.0 - (1.0 - active / experts) ** tokens


def experts_read(group: LayerGroup, tokens: int) -> float:
    """Return the share of a layer's routed experts that a step of so many tokens reads (0 to 1]."""
    if not group.n_experts or not group.n_experts_active:
        return 1.0
    return touched_share(group.n_experts, group.n_experts_active, tokens)


def layer_reads(anatomy: Anatomy, precision: Precision, layout: Layout, tokens: int) -> tuple[float, ...]:
    """Return the weight bytes of one layer of each group that one device reads for a step of so many tokens."""
    result = []
    for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True):
        bits = 0.0
        for role, count in roles.items():
            share = tensor_share(role, layout, group.n_kv_heads, group.n_experts)
            if role == ROUTED:
                share *= experts_read(group, tokens)
            bits += count * share * role_bits(precision, role)
        result.append(bits / 8)
    return tuple(result)


def head_reads(anatomy: Anatomy, precision: Precision, layout: Layout) -> float:
    """Return the bytes outside the layers that one device of the last stage reads: head, norms, shared blocks."""
    roles = anatomy.outer_roles
    table = "head" if roles.get("head") else "embedding"
    bits = roles.get(table, 0) * role_bits(precision, table) / layout.tp
    bits += sum(roles.get(name, 0) * role_bits(precision, name) for name in ("norms", "other"))
    return bits / 8


def decode_traffic(
    anatomy: Anatomy,
    precision: Precision,
    layout: Layout,
    context: float,
    sequences: int,
    kv_bits: float,
    state_bits: float = 32.0,
) -> Traffic:
    """Return what one decode step reads.

    Args:
        anatomy: the model.
        precision: its weight layout, as fitted to the model.
        layout: degrees of parallelism; every replica of `dp` serves its share of the sequences.
        context: tokens that each sequence has in its cache at this step.
        sequences: sequences of one replica.
        kv_bits: effective bits of a cached value.
        state_bits: bits of a recurrent state value.
    """
    reads = layer_reads(anatomy, precision, layout, sequences)
    counts = stage_counts(anatomy.layer_order, len(reads), layout.pp)
    weights = [sum(n * size for n, size in zip(stage, reads, strict=True)) for stage in counts]
    weights[-1] += head_reads(anatomy, precision, layout)
    caches = stage_caches(anatomy, layout, kv_bits, state_bits)
    cache = tuple(float(shape.bytes(context)) * sequences for shape in caches)
    return Traffic(tuple(weights), cache, tuple(sum(stage) for stage in counts))
