"""What SGLang charges for a token: its pools are sized by tokens, not by what requests need.

Read from its released source by version (model_executor/pool_configurator.py and what came before it):

- windowed layers of listed models have a pool of a fixed share of the tokens of the full one, whatever the window;
- recurrent states and the cache of attention layers divide what is left in a fixed ratio;
- layers that share a cache get one of their own (Gemma 4 E4B: 86,016 bytes per token at 16 bits, all 42 layers);
- to 0.5.17 layers that reuse another layer's choice of tokens keep index keys all the same (GLM-5.2: 78, not 21);
- DeepSeek-V4 keeps for each token of the full pool the compressed rows, for each token of the window pool a row and
  the states of the compressors, and from 0.5.15 on the states of wide compressors for a number of requests. Its log
  prints the sum: `DSV4 memory calculation: bytes_per_full_token=7705.45` (V4-Flash, 0.5.15 to 0.5.20).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget_parts import TokenPools
from rackfit.memory.domain import Budget, LayerGroup, Layout, Model
from rackfit.memory.elementwise import Number, ceil_div, choose, floor, maximum, minimum
from rackfit.memory.kv_cache import CacheShape, layer_cache, merge, stage_sums, striped

ROW_SCALES = 8
"""Bytes of scales in a row of DeepSeek-V4's latent: fp8 values, 16-bit rotary part, scales."""
STATE_BYTES = 4
"""Compressor states are fp32."""
NARROW, WIDE = 4, 128
"""Compression ratios; the first overlaps its windows and keeps twice the state, beside that of its index."""
LATENT = "mla"
RINGS = {NARROW: 8, WIDE: 128}
"""Rows of a compressor's ring of states; twice as many where a draft runs."""
INDEX_BLOCK = 128
UNTIL_EVICTION = 128
"""Window tokens of a request that are kept until they are evicted together."""
TAILS_PER_REQUEST = 4
CHUNKS_IN_FLIGHT = 2
REUSE_PAGE = 256
"""Tokens of a page of DeepSeek-V4's pools."""


def has_window_pool(model: Model, pools: TokenPools | None) -> bool:
    """Return whether windowed layers of a model have a pool of their own."""
    if pools is None or pools.window_share is None:
        return False
    name = model.model_id.rpartition("/")[2]
    return any(name.startswith(start) for start in pools.window_models)


def is_compressed(model: Model, pools: TokenPools | None) -> bool:
    """Return whether a model keeps compressed rows beside windows, in pools that the rules describe."""
    return pools is not None and pools.compressed_share is not None and model.o_groups is not None


def charged_layer(
    group: LayerGroup, model: Model, tp: int, kv_bits: float, budget: Budget, draft: bool = False
) -> CacheShape:
    """Return the cache of one layer on one device as the engine stores it, per token of its full pool."""
    pools = budget.token_pools
    if pools is not None and is_compressed(model, pools):
        return CacheShape(0.0, ((_compressed_rate(group, model, pools, draft), None),))
    if pools is not None and pools.every_layer_caches and not group.owns_cache:
        values = (group.n_kv_heads or 0) * ((group.d_k or 0) + (group.d_v or 0))
        full, windowed = (0, values) if group.window else (values, 0)
        group = replace(group, owns_cache=True, kv_full_elems=full, kv_windowed_elems=windowed)
    if pools is not None and pools.every_layer_indexes and group.attention == LATENT:
        group = replace(group, index_dim=max(one.index_dim for one in model.groups))
    stored = layer_cache(group, tp, kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits)
    if pools is None or not has_window_pool(model, pools):
        return stored
    share = pools.window_share or 1.0
    return merge(stored.constant, tuple((rate if cap is None else share * rate, None) for rate, cap in stored.slopes))


def charged_layers(
    anatomy: Anatomy, layout: Layout, kv_bits: float, budget: Budget, draft: bool = False
) -> list[CacheShape]:
    """Return the cache of one request in one layer of each group, on one device, as the engine stores it.

    Args:
        anatomy: the model.
        layout: degrees of parallelism.
        kv_bits: effective bits of a cached value.
        budget: the engine's rules.
        draft: whether a draft runs, which doubles rings of compressor states.
    """
    return [
        striped(charged_layer(group, anatomy.model, layout.tp, kv_bits, budget, draft), layout.dcp)
        for group in anatomy.model.groups
    ]


def _row_bytes(group: LayerGroup, model: Model) -> float:
    """Return the bytes of one stored row: values without position in fp8, those with it in 16 bits, scales."""
    return (group.d_k or 0) + (model.qk_rope_head_dim or 0) + ROW_SCALES


def _index_bytes(group: LayerGroup) -> float:
    width = group.index_dim * (group.compress_ratio or 1)
    return width + 4 * width / INDEX_BLOCK


def _window_token_bytes(group: LayerGroup, model: Model, pools: TokenPools, draft: bool) -> float:
    """Return what one token of the window pool takes in a layer: its row, and its part of the compressor's ring."""
    size = _row_bytes(group, model)
    rings = (2 if draft else 1) / (pools.compressed_page or 1)
    if group.compress_ratio == NARROW:
        index = group.index_dim * NARROW
        size += RINGS[NARROW] * rings * 4 * ((group.d_k or 0) + index) * STATE_BYTES
    elif group.compress_ratio == WIDE and pools.compressed_requests is None:
        size += RINGS[WIDE] * rings * 2 * (group.d_k or 0) * STATE_BYTES
    return size


def _compressed_rate(group: LayerGroup, model: Model, pools: TokenPools, draft: bool) -> float:
    rate = 0.0
    if not pools.compressed_window_cap:
        rate = (pools.compressed_share or 0.0) * _window_token_bytes(group, model, pools, draft)
    if group.compress_ratio:
        rate += _row_bytes(group, model) / group.compress_ratio
    if group.compress_ratio == NARROW:
        rate += _index_bytes(group) / group.compress_ratio
    return rate


def window_cap(model: Model, requests: Number, chunk: Number, page: int = REUSE_PAGE) -> Number:
    """Return the tokens of a window pool that is sized by requests (compute_swa_request_cap, 0.5.21).

    Each request holds its window, what waits for eviction, and two pages; a chunk may be in flight twice; four tails
    per request stay for reuse.
    """
    window = max((group.window or 0) for group in model.groups)
    each = window + UNTIL_EVICTION + 2 * page
    return requests * (each + TAILS_PER_REQUEST * (window + page)) + CHUNKS_IN_FLIGHT * chunk + page


def fixed_pool_bytes(
    anatomy: Anatomy, layout: Layout, budget: Budget, chunk: Number, requests: int | None, draft: bool = False
) -> Number:
    """Return what pools of the fullest stage take before tokens are counted, bytes per device.

    Args:
        anatomy: the model.
        layout: degrees of parallelism.
        budget: the engine's rules.
        chunk: tokens of a prefill chunk; number or array.
        requests: limit of running requests, None for the engine's own.
        draft: whether a draft runs.
    """
    pools, model = budget.token_pools, anatomy.model
    if pools is None or not is_compressed(model, pools) or pools.compressed_requests is None:
        return 0 * chunk
    running = requests or pools.compressed_requests
    layers: list[CacheShape] = []
    for group in model.groups:
        held: Number = 0 * chunk
        if group.compress_ratio == WIDE:
            ring = RINGS[WIDE] * (2 if draft else 1)
            rows = ceil_div((running + 1) * ring + ring + 1, WIDE) * WIDE
            held = held + rows * 2 * (group.d_k or 0) * STATE_BYTES
        if pools.compressed_window_cap:
            held = held + window_cap(model, running, chunk) * _window_token_bytes(group, model, pools, draft)
        layers.append(CacheShape(held, ()))
    stages = [stage.constant for stage in stage_sums(anatomy, layers, layout)]
    largest = stages[0]
    for stage in stages[1:]:
        largest = choose(stage > largest, stage, largest)
    return largest


@dataclass(frozen=True, slots=True)
class SplitCache:
    """A cache whose recurrent states and tokens have pools of their own, states : tokens = `ratio` : 1.

    It answers as a CacheShape does: bytes are those of both pools together that a request makes necessary.
    """

    tokens: CacheShape
    state: float
    """Bytes of the states that one request takes."""
    ratio: float

    def bytes(self, tokens: Number) -> Number:
        """Return the bytes of both pools that one request of so many tokens needs."""
        by_state = self.state * (1 + self.ratio) / self.ratio
        by_tokens = self.tokens.bytes(tokens) * (1 + self.ratio)
        return choose(by_tokens > by_state, by_tokens, by_state)

    def tokens_within(self, available: Number) -> Number:
        """Return the longest request that pools of `available` bytes together hold; 0 where no state fits."""
        longest = self.tokens.tokens_within(available / (1 + self.ratio))
        return choose(available >= self.state * (1 + self.ratio) / self.ratio, longest, 0 * longest)


@dataclass(frozen=True, slots=True)
class WindowPool:
    """A cache whose windowed layers have a pool for a fixed share of the tokens of the full one.

    A request that is shorter than the window lies whole in both pools, so the smaller one binds: the full pool must
    have room for its tokens / share. It answers as a CacheShape does.
    """

    tokens: CacheShape
    """Bytes of both pools per token of the full one."""
    window: int
    share: float

    def bytes(self, tokens: Number) -> Number:
        """Return the bytes of both pools that one request of so many tokens makes necessary."""
        return self.tokens.bytes(maximum(tokens, minimum(tokens, self.window) / self.share))

    def tokens_within(self, available: Number) -> Number:
        """Return the longest request that pools of `available` bytes together hold."""
        longest = self.tokens.tokens_within(available)
        return choose(longest * self.share >= self.window, longest, floor(longest * self.share))


def with_window_pool(
    shape: CacheShape | SplitCache, model: Model, budget: Budget
) -> CacheShape | SplitCache | WindowPool:
    """Return a cache with the pool of its windowed layers as the limit that it is, where the engine has one."""
    pools = budget.token_pools
    if pools is None or not has_window_pool(model, pools) or isinstance(shape, SplitCache):
        return shape
    window = max((group.window or 0 for group in model.groups if group.kv_windowed_elems), default=0)
    return WindowPool(shape, window, pools.window_share or 1.0) if window else shape


def split_states(shape: CacheShape, pools: TokenPools | None) -> CacheShape | SplitCache:
    """Return a cache with its states apart where the engine divides them from the tokens."""
    if pools is None or pools.state_share is None or not shape.constant or not shape.slopes:
        return shape
    return SplitCache(
        CacheShape(0.0, shape.slopes), shape.constant * (pools.state_slots or 1), pools.state_share
    )  # fmt: skip


def draft_factor(anatomy: Anatomy, budget: Budget) -> float:
    """Return what a token costs with a draft of one layer over what it costs without: (n + 1) / n for n cached layers.

    The engine assumes that the draft's layer keeps as much as one of the target's (pool_configurator.py: EAGLE and MTP
    from 0.5.14 on, DeepSeek-V4 in every version).
    """
    pools = budget.token_pools
    if pools is None or not (pools.draft_layers_counted or is_compressed(anatomy.model, pools)):
        return 1.0
    layers = sum(group.count for group in anatomy.model.groups if group.kv_full_elems or group.kv_windowed_elems)
    return (layers + 1) / layers if layers else 1.0


def left_by_states(shape: CacheShape, size: float, requests: int) -> float:
    """Return the bytes for tokens where the states of so many requests are all that is kept: prefix reuse is off."""
    return max(size - (requests + 1) * shape.constant, 0.0)


def token_share(shape: CacheShape, pools: TokenPools | None) -> float:
    """Return the part of a pool that is left for tokens: all of it, or what the states leave."""
    if pools is None or pools.state_share is None or not shape.constant or not shape.slopes:
        return 1.0
    return 1 / (1 + pools.state_share)
