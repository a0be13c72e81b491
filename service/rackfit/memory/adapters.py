"""Bytes of adapter slots: low-rank pairs that an engine allocates beside every linear layer.

vLLM reserves `slots` pairs at the largest rank before it profiles, whether adapters are loaded or not: per linear
layer slots x (rank x d_in + d_out x rank) values of 16 bits. Of a column-parallel layer (query, key, value, gate, up)
A is whole on every rank and B divides by TP; of a row-parallel one (output, down) A divides and B is whole.
Source: runtime_rules, term lora_slots (vllm/lora/layers of 0.33.0).
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Layout, Model
from rackfit.memory.roles import PROJECTED
from rackfit.memory.stages import stage_counts

BYTES = 2
"""Adapters are kept in the model's 16-bit type."""


@dataclass(frozen=True, slots=True)
class Linear:
    """One linear layer: values in, values out, and how tensor parallelism cuts it: column, row or whole."""

    d_in: int
    d_out: int
    cut: str

    def values(self, rank: int, tp: int) -> float:
        """Return the values of one low-rank pair on one device."""
        first, second = rank * self.d_in, rank * self.d_out
        if self.cut == "column":
            return first + second / tp
        if self.cut == "row":
            return first / tp + second
        return first + second


def linears(model: Model, group: LayerGroup) -> list[Linear]:
    """Return the linear layers of one layer that take adapters: attention, dense and shared feed-forward parts.

    Routed experts and the projections of recurrent layers are left out: not every engine version adapts them.
    """
    return [*_attention(model, group), *_feed_forward(model, group)]


def _attention(model: Model, group: LayerGroup) -> list[Linear]:
    d, heads = model.d_model, group.n_heads or 0
    if group.attention == "mla":
        latent, rope = model.kv_lora_rank or 0, model.qk_rope_head_dim or 0
        query = heads * (group.d_k or 0)
        low = model.q_lora_rank
        queries = [Linear(d, low, "whole"), Linear(low, query, "column")] if low else [Linear(d, query, "column")]
        up = heads * ((group.d_k or 0) - rope + (group.d_v or 0))
        keys = [Linear(d, latent + rope, "whole"), Linear(latent, up, "column")]
        return [*queries, *keys, Linear(heads * (group.d_v or 0), d, "row")]
    if group.attention not in PROJECTED:
        return []
    kv = group.n_kv_heads or 0
    keys = [Linear(d, kv * (group.d_k or 0), "column"), Linear(d, kv * (group.d_v or 0), "column")]
    return [
        Linear(d, heads * (group.d_k or 0), "column"),
        *(keys if group.owns_cache else []),
        Linear(heads * (group.d_v or 0), d, "row"),
    ]


def _feed_forward(model: Model, group: LayerGroup) -> list[Linear]:
    found = []
    for width in (group.d_ff or 0, (group.shared_d_ff or 0) if group.n_experts else 0):
        if width:
            found += [Linear(model.d_model, width, "column")] * (2 if model.gated_ffn else 1)
            found.append(Linear(width, model.d_model, "row"))
    return found


def slot_bytes(anatomy: Anatomy, layout: Layout, slots: int, rank: int) -> tuple[float, ...]:
    """Return the bytes of so many adapter slots of so high a rank on one device of each stage, first to last."""
    model = anatomy.model
    each = [
        slots * BYTES * sum(linear.values(rank, layout.tp) for linear in linears(model, group))
        for group in model.groups
    ]
    counts = stage_counts(anatomy.layer_order, len(each), layout.pp, layout.head_slot)
    return tuple(sum(n * size for n, size in zip(stage, each, strict=True)) for stage in counts)
