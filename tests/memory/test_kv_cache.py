"""Cache of a request: monotone, invertible, divided and replicated over ranks and stages."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.memory.domain import Layout, Model
from rackfit.memory.kv_cache import (
    INDEX_KEY_BITS,
    CacheShape,
    kv_bytes,
    layer_cache,
    merge,
    request_cache,
    stage_caches,
)
from reference.architectures import (
    ALL,
    ANATOMIES,
    DEEPSEEK_V3,
    GEMMA3_27B,
    GPT_OSS_120B,
    HYBRID,
    LLAMA_8B,
    LLAMA_70B,
    MIB,
)

MODELS = st.sampled_from(ALL)
BITS = st.sampled_from([16.0, 8.5, 8.0, 4.5])
TOKENS = st.integers(0, 1_000_000)
SHAPES = st.builds(
    merge,
    st.floats(0, 1e10),
    st.lists(
        st.tuples(st.integers(1, 400_000).map(float), st.one_of(st.none(), st.integers(1, 200_000))), max_size=4
    ).map(tuple),
)


@given(MODELS, BITS, TOKENS, TOKENS, st.integers(1, 64))
def test_more_tokens_and_sequences_never_need_less(
    model: Model, bits: float, first: int, second: int, sequences: int
) -> None:
    """The cache grows with tokens and with sequences, whatever the attention."""
    anatomy = ANATOMIES[model.name]
    fewer, more = sorted((first, second))

    assert kv_bytes(anatomy, bits, fewer) <= kv_bytes(anatomy, bits, more)
    assert kv_bytes(anatomy, bits, fewer, sequences) <= kv_bytes(anatomy, bits, fewer, sequences + 1)


@given(SHAPES, st.floats(0, 1e12))
def test_tokens_within_inverts_bytes(shape: CacheShape, available: float) -> None:
    """The longest request that fits is the largest whole number of tokens whose bytes do not exceed what is there."""
    tokens = shape.tokens_within(available)
    slack = 1e-9 * (available + 1)

    if available < shape.constant:
        assert tokens == 0
    elif math.isinf(tokens):
        assert all(cap is not None for _, cap in shape.slopes)
        assert shape.bytes(10**12) <= available + slack
    else:
        assert shape.bytes(tokens) <= available + slack
        assert shape.bytes(tokens + 1) > available - slack


@given(SHAPES, st.integers(1, 500_000))
def test_what_was_paid_for_fits(shape: CacheShape, tokens: int) -> None:
    """With the bytes of a request at hand, the longest request is at least that one (within one token of rounding)."""
    assert shape.tokens_within(shape.bytes(tokens)) >= tokens - 1


@given(SHAPES, st.lists(st.floats(0, 1e12), min_size=1, max_size=6))
def test_arrays_equal_scalars(shape: CacheShape, sizes: list[float]) -> None:
    """An array of memories gives what each memory gives alone."""
    together = numpy.broadcast_to(shape.tokens_within(numpy.array(sizes)), (len(sizes),))

    assert together.tolist() == [shape.tokens_within(size) for size in sizes]


@pytest.mark.parametrize("available", [0, 61.4 * MIB])
def test_no_room_for_the_state(available: float) -> None:
    """Where not even the constant of a sequence fits, no token does."""
    assert request_cache(ANATOMIES[HYBRID.name], 16).tokens_within(available) == 0


@given(MODELS, BITS, st.integers(1, 8), TOKENS)
def test_stages_share_the_cache(model: Model, bits: float, stages: int, tokens: int) -> None:
    """Pipeline stages hold every layer's cache exactly once."""
    anatomy = ANATOMIES[model.name]
    parts = stage_caches(anatomy, Layout(pp=stages), bits)

    assert len(parts) == stages
    assert sum(part.bytes(tokens) for part in parts) == pytest.approx(
        request_cache(anatomy, bits).bytes(tokens), rel=1e-12
    )


@given(MODELS, st.sampled_from([1, 2, 4, 8, 16]), TOKENS)
def test_ranks_hold_at_least_the_whole(model: Model, tp: int, tokens: int) -> None:
    """Ranks together hold the cache at least once; more only where heads or a latent replicate."""
    anatomy = ANATOMIES[model.name]
    rank = stage_caches(anatomy, Layout(tp=tp), 16)[0].bytes(tokens)
    whole = request_cache(anatomy, 16).bytes(tokens)

    assert whole / tp * (1 - 1e-12) <= rank <= whole


def test_latent_replicates_and_heads_divide() -> None:
    """Eight ranks keep a latent eight times (arXiv 2405.04434: one latent serves all heads) and eight heads once."""
    latent = stage_caches(ANATOMIES[DEEPSEEK_V3.name], Layout(tp=8), 16)[0].bytes(1000)
    heads = stage_caches(ANATOMIES[LLAMA_70B.name], Layout(tp=8), 16)[0].bytes(1000)

    assert latent == request_cache(ANATOMIES[DEEPSEEK_V3.name], 16).bytes(1000)
    assert 8 * heads == request_cache(ANATOMIES[LLAMA_70B.name], 16).bytes(1000)


def test_fullest_stage_of_a_windowed_model() -> None:
    """Stages of Gemma-3-27B differ: one holds more of the ten full layers than the others (every sixth is full)."""
    parts = stage_caches(ANATOMIES[GEMMA3_27B.name], Layout(pp=4), 16)
    full = [round(sum(slope for slope, cap in part.slopes if cap is None) / 8192) for part in parts]

    # vLLM cuts 62 layers into 15, 16, 16, 15 (get_pp_indices); full layers are 5, 11, 17, ... 59
    assert full == [2, 3, 2, 3]


def test_state_does_not_grow() -> None:
    """Linear layers keep a constant per sequence: fp32 states of 30 layers of 32 x 128 x 128, 16-bit convolutions."""
    cache = request_cache(ANATOMIES[HYBRID.name], 16, 32)

    assert cache.bytes(0) == 30 * (32 * 128 * 128 * 4 + 3 * 8192 * 2)
    assert cache.bytes_per_token == 10 * 2 * 2 * 256 * 2


def test_cache_bits_leave_the_state() -> None:
    """An 8-bit cache halves what grows, not the recurrent state."""
    wide, narrow = (request_cache(ANATOMIES[HYBRID.name], bits) for bits in (16, 8))

    assert narrow.constant == wide.constant
    assert narrow.bytes_per_token == wide.bytes_per_token / 2


def test_layer_that_reads_another_cache() -> None:
    """A layer that shares the cache of another one keeps none (Gemma 3n)."""
    from dataclasses import replace

    own = LLAMA_8B.groups[0]
    shared = replace(own, owns_cache=False)

    assert layer_cache(own, 1, 16, 32).bytes(100) == 100 * 4096
    assert layer_cache(shared, 1, 16, 32).bytes(100) == 0


def test_index_keys_lie_beside_the_cache() -> None:
    """Sparse attention keeps an index key of 128 fp8 values and a scale, 132 bytes on every rank."""
    from dataclasses import replace

    plain = DEEPSEEK_V3.groups[1]
    sparse = replace(plain, index_dim=128)

    assert INDEX_KEY_BITS * 128 / 8 == 132
    assert layer_cache(sparse, 8, 16, 32).bytes_per_token - layer_cache(plain, 8, 16, 32).bytes_per_token == 132


def test_window_of_gpt_oss() -> None:
    """Below 128 tokens all 36 layers of gpt-oss-120b grow, above it 18: 73728 and 36864 bytes per token."""
    cache = request_cache(ANATOMIES[GPT_OSS_120B.name], 16)

    assert cache.bytes(128) == 128 * 73728
    assert cache.bytes(129) - cache.bytes(128) == 36864
