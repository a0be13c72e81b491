"""Bytes that generation keeps: per token, per windowed token and per sequence.

General form (MEMORY_MODEL section 4): cache of one request = constant + sum over layer kinds of
slope x min(tokens, cap). Every attention kind of the catalog is a case of it:

- MHA, GQA, MQA: slope 2 (K and V) x KV heads x head size, divided by TP down to one head;
- MLA: slope (kv_lora + rope), whole on every TP rank (DeepSeek-V2, arXiv 2405.04434, section 2.1);
- sliding window and chunked attention: the same slope, capped at the window;
- cross-layer sharing: layers that read another layer's cache have slope 0;
- linear attention and state-space layers: a constant per sequence;
- sparse indexers: index keys beside the cache of the layer.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Layout
from rackfit.memory.elementwise import Number, ceil_div, choose, floor, maximum, minimum
from rackfit.memory.stages import stage_counts

WHOLE_ON_EVERY_RANK = frozenset({"mla", "compressed"})
INDEX_KEY_BITS = 8 * 132 / 128
"""Engines store an index key of 128 values as 128 fp8 bytes and one fp32 scale (vLLM 0.11.2+, SGLang 0.5.6+)."""
MLA_PADDED_HEAD = 256
MLA_PADDED_VALUES = 128
"""Values: 256 bytes at 16 bits."""
FULL = None
"""Cap of layers that keep every token."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """Cache bytes of one request as a function of its tokens: constant + sum of slope x min(tokens, cap)."""

    constant: float
    slopes: tuple[tuple[float, int | None], ...]

    def bytes(self, tokens: Number) -> Number:
        """Return the bytes that one request of so many tokens needs."""
        total: Number = self.constant
        for slope, cap in self.slopes:
            total = total + slope * (tokens if cap is FULL else minimum(tokens, cap))
        return total

    @property
    def bytes_per_token(self) -> float:
        """Bytes that one more token adds while every layer still keeps it."""
        return sum(slope for slope, _ in self.slopes)

    def tokens_within(self, available: Number) -> Number:
        """Return the longest request whose cache needs at most `available` bytes.

        Infinite where nothing grows with tokens; 0 where not even the constant fits.
        """
        steps = sorted((cap for _, cap in self.slopes if cap is not FULL))
        used, start = self.constant, 0
        tokens: Number = choose(available >= self.constant, 0.0 * available, -1.0 + 0.0 * available)
        for end in [*dict.fromkeys(steps), FULL]:
            slope = sum(rate for rate, cap in self.slopes if cap is FULL or cap > start)
            if slope <= 0:
                reachable: Number = float("inf") if end is FULL else float(end)
            else:
                reachable = start + (available - used) / slope
            here = reachable if end is FULL else minimum(reachable, end)
            tokens = choose(available >= used, maximum(tokens, here), tokens)
            if end is FULL:
                break
            used, start = used + slope * (end - start), end
        return floor(maximum(tokens, 0))

    def plus(self, other: CacheShape) -> CacheShape:
        """Return the cache of two groups of layers on one device."""
        return merge(self.constant + other.constant, (*self.slopes, *other.slopes))

    def times(self, factor: float) -> CacheShape:
        """Return the cache of so many such layers."""
        return CacheShape(self.constant * factor, tuple((slope * factor, cap) for slope, cap in self.slopes))


def merge(constant: float, slopes: tuple[tuple[float, int | None], ...]) -> CacheShape:
    """Return a shape in which layers of one cap are a single slope, widest cap last."""
    by_cap: dict[int | None, float] = {}
    for slope, cap in slopes:
        if slope:
            by_cap[cap] = by_cap.get(cap, 0.0) + slope
    ordered = sorted(by_cap.items(), key=lambda item: (item[0] is FULL, item[0] or 0))
    return CacheShape(constant, tuple((slope, cap) for cap, slope in ordered))


def rank_share(group: LayerGroup, tp: int) -> float:
    """Return the part of a layer's cached values that one tensor-parallel rank keeps.

    KV heads divide by TP and replicate when TP exceeds them; an MLA latent is whole on every rank.
    """
    if group.attention in WHOLE_ON_EVERY_RANK or group.compress_ratio or not group.n_kv_heads:
        return 1.0
    heads = group.n_kv_heads
    return ceil_div(heads, min(tp, heads)) / heads


def layer_cache(
    group: LayerGroup,
    tp: int,
    kv_bits: float,
    state_bits: float,
    mla_cache: str = "latent",
    conv_bits: float = 16.0,
) -> CacheShape:
    """Return the cache of one layer on one device, as the architecture needs it.

    Args:
        group: the layer.
        tp: tensor-parallel degree.
        kv_bits: effective bits of a cached value (16, 8, 8.5 for q8_0, ...).
        state_bits: bits of a recurrent state value (32, or 16 where the runtime keeps it so).
        mla_cache: `latent`; engines of old stored it `padded` or as `full_heads`.
        conv_bits: bits of a convolution's last inputs: 16 as the activations have, 32 in llama.cpp.
    """
    share = rank_share(group, tp)
    state = (group.state_elems * state_bits + group.conv_elems * conv_bits) / 8 / tp
    slopes: list[tuple[float, int | None]] = []
    if group.owns_cache and group.kv_full_elems:
        values = group.kv_full_elems * share
        if group.attention == "mla" and mla_cache != "latent":
            values = stored_mla_values(group, tp, mla_cache)
        slopes.append((values * kv_bits / 8, FULL))
    if group.owns_cache and group.kv_windowed_elems:
        slopes.append((group.kv_windowed_elems * share * kv_bits / 8, group.window))
    if group.index_dim and not group.compress_ratio:
        slopes.append((group.index_dim * INDEX_KEY_BITS / 8, FULL))
    return merge(state, tuple(slopes))


def stored_mla_values(group: LayerGroup, tp: int, mla_cache: str) -> float:
    """Return the values per token and layer that old vLLM releases stored for MLA on one rank.

    To 0.6.6 full K and V heads of 192 padded to 256, divided by TP; in 0.7.x the latent of 576 padded to 640
    (a multiple of 256 bytes at 16 bits). Source: runtime_rules, term mla_cache_width.
    """
    if mla_cache == "full_heads":
        return 2 * (group.n_heads or 0) / tp * MLA_PADDED_HEAD
    return ceil_div(group.kv_full_elems, MLA_PADDED_VALUES) * MLA_PADDED_VALUES


def striped(cache: CacheShape, dcp: int) -> CacheShape:
    """Return the part of a layer's cache that one rank keeps where tokens go round so many ranks.

    "Rank r owns position p when p mod c = r, so each rank stores and reads roughly 1/c of the cache" (SGLang, decode
    context parallelism). States per request and windows stay as they are.
    """
    if dcp == 1:
        return cache
    return CacheShape(cache.constant, tuple((slope if cap else slope / dcp, cap) for slope, cap in cache.slopes))


def stage_caches(
    anatomy: Anatomy,
    layout: Layout,
    kv_bits: float,
    state_bits: float = 32.0,
    mla_cache: str = "latent",
    conv_bits: float = 16.0,
) -> tuple[CacheShape, ...]:
    """Return the cache of one request on one device of each pipeline stage, first to last."""
    layers = [
        striped(layer_cache(group, layout.tp, kv_bits, state_bits, mla_cache, conv_bits), layout.dcp)
        for group in anatomy.model.groups
    ]
    return stage_sums(anatomy, layers, layout)


def stage_sums(anatomy: Anatomy, layers: list[CacheShape], layout: Layout) -> tuple[CacheShape, ...]:
    """Return the cache of one request on each stage of a layout, given that of one layer of each group."""
    result = []
    for counts in stage_counts(anatomy.layer_order, len(layers), layout.pp, layout.head_slot):
        stage = CacheShape(0.0, ())
        for count, layer in zip(counts, layers, strict=True):
            if count:
                stage = stage.plus(layer.times(count))
        result.append(stage)
    return tuple(result)


def request_cache(anatomy: Anatomy, kv_bits: float, state_bits: float = 32.0, conv_bits: float = 16.0) -> CacheShape:
    """Return the cache of one request over the whole model, as if on one device."""
    return stage_caches(anatomy, Layout(), kv_bits, state_bits, conv_bits=conv_bits)[0]


def kv_bytes(anatomy: Anatomy, kv_bits: float, tokens: int, sequences: int = 1) -> int:
    """Return the bytes that the architecture needs to cache `sequences` requests of `tokens` tokens each.

    Index keys of sparse attention and recurrent state are included; nothing that an engine rounds up is.
    """
    return round(request_cache(anatomy, kv_bits).bytes(tokens) * sequences)
