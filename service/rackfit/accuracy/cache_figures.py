"""Estimates of the cache: pools, tokens, what requests need."""

from __future__ import annotations

import re

from rackfit.accuracy.figures import Figure, around
from rackfit.accuracy.process_figures import request_caches, terms_of
from rackfit.accuracy.setting import CaseSetting
from rackfit.accuracy.weight_figures import weights_per_device
from rackfit.errors import UnsupportedError
from rackfit.fit.cell import RUNTIME_SPREAD_BYTES, WORKSPACE_SPREAD, Cell, grown_windows, weight_spread
from rackfit.memory.budget import GIB, Terms, held_before_load
from rackfit.memory.domain import Budget, Layout
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.kv_cache import CacheShape, merge
from rackfit.memory.shared_pool import printed_token_bytes, stored_caches
from rackfit.memory.token_pools import (
    REUSE_PAGE,
    draft_factor,
    is_compressed,
    left_by_states,
    token_share,
)
from rackfit.memory.weights import prediction_bytes

TOKENS_SPREAD = 0.02


def pool_bytes(setting: CaseSetting) -> Figure:
    """Return the bytes of the KV pool on one device: what the case states, else what the engine's budget leaves."""
    stated = setting.case.number("kv_gib") or setting.case.number("kv_gib_per_gpu")
    if stated is not None:
        return around(stated * GIB, 0.005 * GIB)
    cell = setting.cell()
    half = weight_spread(setting.layout_precision) * float(cell.weights) + WORKSPACE_SPREAD * float(cell.workspace)
    half += RUNTIME_SPREAD_BYTES + setting.device.memory_spread * setting.total()
    terms = terms_of(setting)
    value = _room(cell, terms) - draft_weights(setting)
    if setting.mixed:
        value = float(min(row["kv_pool_bytes"] for row in setting.placed()[1]))
    low, high = value - half - float(terms.doubt), value + half
    likely, low, high = (_for_tokens(setting, max(size, 0.0)) for size in (value, low, high))
    return Figure(likely, low, high)


def _for_tokens(setting: CaseSetting, pool: float) -> float:
    """Return the part of a pool that tokens get beside the recurrent states, bytes."""
    cache, pools, requests = _rank_cache(setting), setting.budget.token_pools, setting.knobs().max_sequences
    share = token_share(cache, pools)
    if share < 1 and requests is not None and setting.case.switch("prefix_caching") is False:
        return left_by_states(cache, pool, requests)
    return pool * share


def _room(cell: Cell, terms: Terms) -> float:
    return float(terms.pool_share * (terms.limit - cell.weights - terms.workspace - terms.runtime))


def draft_weights(setting: CaseSetting) -> float:
    """Return the prediction heads on one device where the engine loads them before it sizes its pool, bytes."""
    pools = setting.budget.token_pools
    if not setting.drafting or pools is None or not pools.draft_layers_counted:
        return 0.0
    layout = setting.layout()
    return prediction_bytes(setting.anatomy, setting.layout_precision) / layout.tp


def _rank_cache(setting: CaseSetting) -> CacheShape:
    """Return the cache of one request on the stage that holds most of it, as the engine charges it.

    Windows grow by the batches in flight, or are kept whole. SGLang: pools by tokens (memory.token_pools), in which a
    window does not cap what a layer keeps.
    """
    budget = setting.budget
    caches = stored_caches(setting.anatomy, setting.layout(), setting.kv_bits, budget, setting.drafting)
    fullest = max(caches, key=lambda cache: cache.bytes(setting.question().context))
    factor = draft_factor(setting.anatomy, budget) if setting.drafting else 1.0
    if budget.equation == "share_of_free":
        return merge(fullest.constant, tuple((factor * rate, None) for rate, _ in fullest.slopes))
    if all(cap is None for _, cap in fullest.slopes):
        return fullest
    return grown_windows(fullest, budget, float(terms_of(setting).batched_tokens))


def _printed_rate(setting: CaseSetting, cache: CacheShape) -> float:
    """Return the bytes of the pool that stand for one printed token of a cache."""
    by_group = printed_token_bytes(setting.anatomy, setting.layout(), setting.kv_bits, setting.budget)
    if by_group is not None:
        return by_group
    context = setting.question().context
    uniform = len(cache.slopes) == 1 and not cache.constant
    return float(cache.slopes[0][0]) if uniform else float(cache.bytes(context)) / context


def pool_tokens(setting: CaseSetting) -> Figure:
    """Return the tokens that the pool holds, whole blocks.

    Where layers differ engines print concurrency x context, vLLM before 0.20 blocks / groups x tokens of a block.
    Layers that all keep the same, be it a window, are one group of blocks.
    DeepSeek-V4's pools differ by versions of SGLang: where none is stated, the newest one under which anything is left
    is likely (the case's engine did start), and the range holds what the others give.

    Raises:
        UnsupportedError: the model keeps nothing per token.
    """
    found = _pool_tokens(setting)
    if not is_compressed(setting.anatomy.model, setting.budget.token_pools):
        return found
    others = [_pool_tokens(setting.under(rules)) for rules in setting.engine.others if _compresses(setting, rules)]
    known = [one for one in (found, *others) if one.value > 0]
    if not known:
        return found
    low, high = min(one.low for one in known), max(one.high for one in known)
    return Figure(known[0].value, low, high, known[0].assumed)


def _compresses(setting: CaseSetting, rules: Budget) -> bool:
    return is_compressed(setting.anatomy.model, rules.token_pools)


def _pool_tokens(setting: CaseSetting) -> Figure:
    """Return the tokens that the pool holds under the rules of one version."""
    pool, cache = pool_bytes(setting), _rank_cache(setting)
    if setting.budget.equation == "share_of_free":
        cache = CacheShape(0.0, cache.slopes)
    rate = _printed_rate(setting, cache)
    if rate <= 0:
        raise UnsupportedError("this model keeps nothing per token")
    block = setting.budget.kv_block_tokens
    if is_compressed(setting.anatomy.model, setting.budget.token_pools):
        block = REUSE_PAGE

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
    if setting.budget.family == "llama.cpp":
        ubatch = setting.knobs().batched_tokens or setting.budget.tiers[0].batched_tokens
        cache = grown_windows(cache, setting.budget, ubatch)
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
    total = setting.total() - held_before_load(setting.budget, setting.layout(), setting.device)
    need = weights_per_device(setting).value + needed_per_device(setting).value
    return around(need / total, 0.02)


def kv_per_million_tokens(setting: CaseSetting) -> Figure:
    """Return the cache bytes of a million tokens of one sequence."""
    cache = request_caches(setting, Layout())[0]
    value = float(cache.bytes(10**6))
    return around(value, 0.02 * value)
