"""How vLLM stores the caches of unlike layers in one pool of equal blocks (v1/core/kv_cache_utils.py).

Layers of one kind - full attention, a window, a recurrent state - form groups of equally many layers; the last group of
a kind is filled up with layers that do not exist ("Add 3 padding layers, may waste at most ... KV cache memory"). All
groups take blocks from one pool, so a block is as large for a state as for attention: the tokens of an attention block
are raised until its bytes hold one state ("Setting attention block size to 544 tokens to ensure that attention page
size is >= mamba page size").

Read off public logs: gemma-3-27b on H100, 0.19.0 (llm-d planner sweep): 19.53 GiB hold 36,560 tokens, which is 70
layers, not 62; Qwen3-Next-80B, TP 2 on H200, 0.10.2: blocks of 544 tokens, 44.59 GiB print 973,760 tokens and 14.77
requests of 262,144.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, LayerGroup, Layout
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.kv_cache import CacheShape, layer_cache, merge, stage_sums, striped
from rackfit.memory.token_pools import charged_layers

BLOCK_STEP = 16
"""Tokens by which a block of attention grows."""


@dataclass(frozen=True, slots=True)
class Pool:
    """How the layers of a model lie in one pool.

    `filled` is, by layer group of the model, how many layers are paid for each one that exists.
    """

    filled: tuple[float, ...]
    groups: int
    layers_per_group: int


def _kind(group: LayerGroup) -> tuple[object, ...] | None:
    """Return what distinguishes a layer's blocks from others', None where it has none of its own."""
    if not group.owns_cache and not group.state_elems:
        return None
    if group.state_elems or group.conv_elems:
        return ("state", group.state_elems, group.conv_elems)
    if group.kv_windowed_elems:
        return ("window", group.window, group.kv_windowed_elems)
    return ("full", group.kv_full_elems) if group.kv_full_elems else None


def pool_of(anatomy: Anatomy, budget: Budget) -> Pool | None:
    """Return how an engine groups the layers of a model; None where all are alike or the engine does not group.

    Layers with compressed caches and those that hold attention and state at once have pools of their own rules.
    """
    groups = anatomy.model.groups
    if budget.group_join_ratio is None or any(group.compress_ratio for group in groups):
        return None
    if any(group.state_elems and (group.kv_full_elems or group.kv_windowed_elems) for group in groups):
        return None
    counts: dict[tuple[object, ...], int] = {}
    for group in groups:
        kind = _kind(group)
        if kind is not None:
            counts[kind] = counts.get(kind, 0) + group.count
    if len({kind[0] for kind in counts}) < 2:
        return None
    return _pool(tuple(_kind(group) for group in groups), tuple(counts.items()), budget.group_join_ratio)


@lru_cache(maxsize=4096)
def _pool(
    kinds: tuple[tuple[object, ...] | None, ...], counts: tuple[tuple[tuple[object, ...], int], ...], join: float
) -> Pool:
    fewest, most = min(count for _, count in counts), max(count for _, count in counts)
    size = most if most < fewest * join else fewest
    split = {kind: ceil_div(count, size) for kind, count in counts}
    ratios = {kind: split[kind] * size / count for kind, count in counts}
    filled = tuple(1.0 if kind is None else ratios[kind] for kind in kinds)
    return Pool(filled, sum(split.values()), size)


def block_tokens(anatomy: Anatomy, layout: Layout, kv_bits: float, budget: Budget) -> int:
    """Return the tokens of one block of attention: the engine's own, or as many as one state fills."""
    state = max((_state_bytes(group, layout, budget) for group in anatomy.model.groups), default=0.0)
    rate = _widest_rate(anatomy, layout, kv_bits, budget)
    if not state or not rate:
        return budget.kv_block_tokens
    return max(ceil_div(round(state), round(rate * BLOCK_STEP)) * BLOCK_STEP, budget.kv_block_tokens)


def _state_bytes(group: LayerGroup, layout: Layout, budget: Budget) -> float:
    return (group.state_elems * budget.state_bits + group.conv_elems * budget.conv_bits) / 8 / layout.tp


def _widest_rate(anatomy: Anatomy, layout: Layout, kv_bits: float, budget: Budget) -> float:
    """Return the bytes per token of the layer whose attention is cached widest, on one device."""
    return max(
        (
            layer_cache(group, layout.tp, kv_bits, budget.state_bits, budget.mla_cache).bytes_per_token
            for group in anatomy.model.groups
            if group.owns_cache
        ),
        default=0.0,
    )


def stored_caches(
    anatomy: Anatomy, layout: Layout, kv_bits: float, budget: Budget, draft: bool = False
) -> tuple[CacheShape, ...]:
    """Return the cache of one request on one device of each pipeline stage as the engine stores it, first to last."""
    return stage_sums(anatomy, stored_layers(anatomy, layout, kv_bits, budget, draft), layout)


def stored_layers(
    anatomy: Anatomy, layout: Layout, kv_bits: float, budget: Budget, draft: bool = False
) -> list[CacheShape]:
    """Return the cache of one request in one layer of each group, on one device, as the engine stores it.

    Where kinds of layers share a pool, missing layers of a group are paid for and a state fills a block; other pools
    are charged as `token_pools` says.
    """
    pool = pool_of(anatomy, budget)
    if pool is None:
        return charged_layers(anatomy, layout, kv_bits, budget, draft)
    page = block_tokens(anatomy, layout, kv_bits, budget) * _widest_rate(anatomy, layout, kv_bits, budget)
    layers = []
    for group, filled in zip(anatomy.model.groups, pool.filled, strict=True):
        layer = layer_cache(group, layout.tp, kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits)
        layer = merge(page, ()) if group.state_elems and page else layer
        layers.append(striped(layer.times(filled), layout.dcp))
    return layers


def printed_token_bytes(anatomy: Anatomy, layout: Layout, kv_bits: float, budget: Budget) -> float | None:
    """Return the pool's bytes per token as engines printed it that count blocks by group; None where they do not.

    Tokens printed = blocks / groups x tokens of a block, however few of them a window or a state needs.
    """
    pool = pool_of(anatomy, budget) if budget.prints_blocks_per_group else None
    if pool is None:
        return None
    return pool.groups * pool.layers_per_group * _widest_rate(anatomy, layout, kv_bits, budget)
