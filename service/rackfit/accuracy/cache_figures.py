"""Estimates of the cache: pools, tokens, what requests need."""

from __future__ import annotations

import re

from rackfit.accuracy.figures import Figure, around
from rackfit.accuracy.process_figures import request_caches, terms_of
from rackfit.accuracy.setting import CaseSetting
from rackfit.accuracy.weight_figures import weights_per_device
from rackfit.errors import UnsupportedError
from rackfit.fit.cell import RUNTIME_SPREAD_BYTES, WORKSPACE_SPREAD, Cell, engine_cache, weight_spread
from rackfit.memory.budget import GIB, Terms
from rackfit.memory.domain import Layout
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.kv_cache import CacheShape, merge

TOKENS_SPREAD = 0.02
WINDOW_POOL_SHARE = 0.8
"""Tokens of SGLang's pool for windowed layers over those of its full pool."""
COMPRESSED_POOL_SHARE = 0.1
"""The same with DeepSeek-V4's compressed attention."""


def pool_bytes(setting: CaseSetting) -> Figure:
    """Return the bytes of the KV pool on one device: what the case states, else what the engine's budget leaves."""
    stated = setting.case.number("kv_gib") or setting.case.number("kv_gib_per_gpu")
    if stated is not None:
        return around(stated * GIB, 0.005 * GIB)
    cell = setting.cell()
    half = weight_spread(setting.layout_precision) * float(cell.weights) + WORKSPACE_SPREAD * float(cell.workspace)
    half += RUNTIME_SPREAD_BYTES + setting.device.memory_spread * setting.total()
    terms = terms_of(setting)
    value = _room(cell, terms)
    if setting.mixed:
        value = float(min(row["kv_pool_bytes"] for row in setting.placed()[1]))
    return Figure(value, max(value - half - float(terms.doubt), 0.0), value + half)


def _room(cell: Cell, terms: Terms) -> float:
    return max(float(terms.limit - cell.weights - terms.workspace - terms.runtime), 0.0)


def _rank_cache(setting: CaseSetting) -> CacheShape:
    """Return the cache of one request on the stage that holds most of it, as the engine charges it.

    vLLM: windows grow by the batches in flight. SGLang: layers with a window have a pool of their own, 0.8 of the
    tokens of the full one whatever the window (runtime_rules, term swa_full_tokens_ratio).
    """
    caches = request_caches(setting, setting.layout())
    fullest = max(caches, key=lambda cache: cache.bytes(setting.question().context))
    if all(cap is None for _, cap in fullest.slopes):
        return fullest
    if setting.budget.runtime_id == "vllm":
        return engine_cache(fullest, setting.budget, float(terms_of(setting).batched_tokens))
    if setting.budget.runtime_id == "sglang":
        share = COMPRESSED_POOL_SHARE if setting.anatomy.model.o_groups else WINDOW_POOL_SHARE
        slopes = ((rate if cap is None else share * rate, None) for rate, cap in fullest.slopes)
        return merge(fullest.constant, tuple(slopes))
    return fullest


def pool_tokens(setting: CaseSetting) -> Figure:
    """Return the tokens that the pool holds, whole blocks.

    Where layers differ engines print concurrency x context; the same is done here. Layers that all keep the same, be
    it a window, are one group of blocks: what is printed is blocks x tokens of a block, whatever a request keeps.
    """
    pool, cache = pool_bytes(setting), _rank_cache(setting)
    context = setting.question().context
    uniform = len(cache.slopes) == 1 and not cache.constant
    rate = float(cache.slopes[0][0]) if uniform else float(cache.bytes(context)) / context
    if rate <= 0:
        raise UnsupportedError("this model keeps nothing per token")
    block = setting.budget.kv_block_tokens

    def blocks(size: float) -> float:
        return size / rate // block * block

    low, high = pool.low * (1 - TOKENS_SPREAD), pool.high * (1 + TOKENS_SPREAD)
    return Figure(blocks(pool.value), blocks(low), blocks(high))


def needed_per_device(setting: CaseSetting) -> Figure:
    """Return the cache bytes that the case's requests need on one device, as the engine charges them."""
    question = setting.question()
    caches = request_caches(setting, setting.layout())
    block = setting.budget.kv_block_tokens
    tokens = ceil_div(question.context, block) * block
    value = max(float(cache.bytes(tokens)) for cache in caches) * question.sequences
    return around(value, 0.02 * value)


def needed_total(setting: CaseSetting) -> Figure:
    """Return the cache bytes that the case's requests need over the whole model, once.

    llama.cpp prints what it sets aside, so that its windows hold the micro-batch too.
    """
    cache = request_caches(setting, Layout())[0]
    question = setting.question()
    if setting.budget.runtime_id == "llama.cpp":
        ubatch = setting.knobs().batched_tokens or setting.budget.tiers[0].batched_tokens
        cache = engine_cache(cache, setting.budget, ubatch)
    said = " ".join(setting.case.remarks).casefold()
    if "sliding-window layers" in said:
        cells = re.search(r"(\d+) cells", said)
        tokens = int(cells[1]) if cells else question.context
        value = sum(slope * (tokens if cells else min(tokens, cap)) for slope, cap in cache.slopes if cap is not None)
    elif "full-attention layers" in said:
        value = sum(slope * question.context for slope, cap in cache.slopes if cap is None)
    else:
        value = float(cache.bytes(question.context))
    value *= question.sequences
    return around(value, 0.02 * value)


def longest_context(setting: CaseSetting) -> Figure:
    """Return the longest context that one sequence gets from the pool, tokens: its share where stages have queues."""
    pool = pool_bytes(setting).scaled(setting.budget.queues(setting.layout().pp))
    held = _rank_cache(setting)
    value = float(held.tokens_within(pool.value))
    return Figure(value, float(held.tokens_within(pool.low)), float(held.tokens_within(pool.high)))


def least_static_fraction(setting: CaseSetting) -> Figure:
    """Return SGLang's smallest static fraction that holds weights and the case's cache."""
    total = setting.total() - setting.budget.context_bytes
    need = weights_per_device(setting).value + needed_per_device(setting).value
    return around(need / total, 0.02)


def kv_per_million_tokens(setting: CaseSetting) -> Figure:
    """Return the cache bytes of a million tokens of one sequence."""
    cache = request_caches(setting, Layout())[0]
    value = float(cache.bytes(10**6))
    return around(value, 0.02 * value)
