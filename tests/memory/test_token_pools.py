"""SGLang's pools by tokens: against printed start-ups, else by hand from the rule that its source states."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from rackfit.ask.question import find_model
from rackfit.catalog.context import Context, read_context
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Layout
from rackfit.memory.kv_cache import CacheShape
from rackfit.memory.shared_pool import stored_caches
from rackfit.memory.token_pools import (
    SplitCache,
    draft_factor,
    fixed_pool_bytes,
    is_compressed,
    split_states,
    token_share,
    window_cap,
)
from rackfit.memory.versions import budget_at, version_key
from rackfit.memory.weights import as_loaded

GIB = 2**30
SINGLE = Layout()


@pytest.fixture(scope="module")
def context(connection: sqlite3.Connection) -> Context:
    """The rules on record."""
    return read_context(connection)


def rules(context: Context, version: str) -> Budget:
    """Return SGLang's rules at a version."""
    known = [budget for budget in context.budgets if budget.runtime_id == "sglang"]
    return budget_at(known, version_key(version), False)


def anatomy(connection: sqlite3.Connection, name: str) -> Anatomy:
    """Return a model of the catalog."""
    return find_model(connection, name).anatomy


def rate(anatomy: Anatomy, budget: Budget, layout: Layout = SINGLE, draft: bool = False, kv_bits: float = 16) -> float:
    """Return what one token of the full pool costs on the fullest stage, bytes."""
    return max(cache.bytes_per_token for cache in stored_caches(anatomy, layout, kv_bits, budget, draft))


@pytest.mark.parametrize(
    ("version", "bytes_per_token"),
    [
        # DSV4PoolConfigurator, V4-Flash: 43 layers, 21 of ratio 4, 20 of ratio 128; row 448 + 2 x 64 + 8, index 132,
        # rings 8 and 128 per 128 window tokens; the start-up log prints 7705.45 for 0.5.15 to 0.5.20
        ("0.5.13", 0.1 * 43 * 584 + 21 * 146 + 20 * 584 / 128 + 21 * 33 + 0.1 * (21 * 8 / 128 * 10240 + 20 * 4096)),
        ("0.5.16", 7705.45),
        # from 0.5.21 on the window pool is sized by requests
        ("0.5.23", 21 * 146 + 20 * 584 / 128 + 21 * 33),
    ],
)
def test_compressed_rows(
    connection: sqlite3.Connection, context: Context, version: str, bytes_per_token: float
) -> None:
    """A token of DeepSeek-V4-Flash costs kilobytes in SGLang: rows, index, window and compressor states."""
    found = rate(anatomy(connection, "deepseek-ai/DeepSeek-V4-Flash"), rules(context, version))

    assert found == pytest.approx(bytes_per_token, abs=0.01)


def test_the_pro_model_as_printed(connection: sqlite3.Connection, context: Context) -> None:
    """V4-Pro with a window share of 0.15 prints 32781.44 under 0.5.13 and 13735 under 0.5.15."""
    pro = anatomy(connection, "deepseek-ai/DeepSeek-V4-Pro")
    for version, printed in (("0.5.13", 32781.44), ("0.5.15", 13735.44)):
        budget = rules(context, version)
        assert budget.token_pools is not None
        wider = replace(budget, token_pools=replace(budget.token_pools, compressed_share=0.15))
        assert rate(pro, wider) == pytest.approx(printed, abs=0.5)


def test_one_pool_with_and_without_a_draft(connection: sqlite3.Connection, context: Context) -> None:
    """8 x L20: 73,472 tokens with prediction heads, 120,576 without (sglang#28620): the same bytes within 1 %."""
    flash, budget = anatomy(connection, "deepseek-ai/DeepSeek-V4-Flash"), rules(context, "0.5.13")
    plain = 120_576 * rate(flash, budget)
    drafting = 73_472 * rate(flash, budget, draft=True) * draft_factor(flash, budget)

    assert drafting == pytest.approx(plain, rel=0.01)


def test_stages_halve_a_token(connection: sqlite3.Connection, context: Context) -> None:
    """Over two stages a token costs each rank about half (sglang#28620: 2.4 million tokens on two nodes)."""
    flash, budget = anatomy(connection, "deepseek-ai/DeepSeek-V4-Flash"), rules(context, "0.5.13")

    assert rate(flash, budget, Layout(tp=8, pp=2)) == pytest.approx(rate(flash, budget) / 2, rel=0.06)


def test_states_per_request_come_first(connection: sqlite3.Connection, context: Context) -> None:
    """From 0.5.15 on rings of ratio-128 layers are per request: (257 x 128 + 129) rows, rounded, of 2 x 512 x 4 bytes.

    Before, they go with window tokens and nothing is taken first.
    """
    flash = anatomy(connection, "deepseek-ai/DeepSeek-V4-Flash")
    before, after = (
        fixed_pool_bytes(flash, Layout(tp=8), rules(context, version), 8192, None) for version in ("0.5.14", "0.5.16")
    )

    assert before == 0
    assert after == 20 * (257 * 128 + 2 * 128) * 4096
    assert fixed_pool_bytes(flash, Layout(tp=8), rules(context, "0.5.16"), 8192, 4) == 20 * (5 * 128 + 2 * 128) * 4096


def test_a_window_pool_by_requests(connection: sqlite3.Connection) -> None:
    """compute_swa_request_cap: 256 requests of 128 + 128 + 2 x 256 and 4 x 384 for reuse, two chunks, one page."""
    flash = anatomy(connection, "deepseek-ai/DeepSeek-V4-Flash")

    assert window_cap(flash.model, 256, 8192) == 256 * (768 + 4 * 384) + 2 * 8192 + 256


@pytest.mark.parametrize(
    ("name", "version", "kv_bits", "bytes_per_token"),
    [
        # Gemma 4 E4B: 7 full layers of 2 x 512, 35 windowed ones of 2 x 256 at 0.8, all 42 with a cache of their own;
        # a start-up prints 79.94 GiB for 997,846 tokens
        ("google/gemma-4-E4B-it", "0.5.19", 16, 7 * 4096 + 0.8 * 35 * 2048),
        # gpt-oss-120b: 18 layers each, 8 heads of 64; windows share from 0.5.8 on, before every token is kept
        ("openai/gpt-oss-120b", "0.5.10", 16, 18 * 2048 * 1.8),
        ("openai/gpt-oss-120b", "0.5.6", 16, 36 * 2048),
        # Gemma 3 keeps every token in every version: disable_hybrid_swa_memory
        ("google/gemma-3-27b-pt", "0.5.23", 16, 62 * 2 * 16 * 128 * 2),
        ("Qwen/Qwen3-32B", "0.5.23", 8, 64 * 2 * 8 * 128),
    ],
)
def test_windows_share_a_pool(
    connection: sqlite3.Connection, context: Context, name: str, version: str, kv_bits: float, bytes_per_token: float
) -> None:
    """Windowed layers of listed models cost 0.8 of a token, whatever the window; those of others a whole one."""
    found = stored_caches(anatomy(connection, name), Layout(), kv_bits, rules(context, version))[0]

    assert found.bytes_per_token == pytest.approx(bytes_per_token)


def test_states_and_tokens_divide_a_pool(connection: sqlite3.Connection, context: Context) -> None:
    """Qwen3.8-27B-FP8 on an H100: 124 states of 17.92 GiB beside 330,323 tokens of 20.16 GiB, 0.9 : 1 within a slot."""
    pools = rules(context, "0.5.18").token_pools
    shape = stored_caches(anatomy(connection, "Qwen/Qwen3.8-27B"), Layout(), 16, rules(context, "0.5.18"))[0]

    assert token_share(shape, pools) == pytest.approx(20.16 / (20.16 + 0.34 + 17.58), rel=0.01)
    assert 125 * shape.constant / GIB == pytest.approx(0.34 + 17.58, rel=0.01)
    assert shape.bytes_per_token == pytest.approx(20.16 * GIB / 330_323, rel=0.001)
    assert token_share(CacheShape(0.0, ((1.0, None),)), pools) == 1.0
    assert token_share(shape, rules(context, "0.5.3").token_pools) == 1.0


def test_a_granite_hybrid_as_printed(connection: sqlite3.Connection, context: Context) -> None:
    """granite-4.0-h-micro: 38 states of 2.77 GiB and 399,740 tokens of 3.04 GiB (sglang#18040)."""
    shape = stored_caches(
        anatomy(connection, "ibm-granite/granite-4.0-h-micro"), Layout(), 16, rules(context, "0.5.8")
    )[0]

    assert 39 * shape.constant / GIB == pytest.approx(2.77, rel=0.03)
    assert 399_740 * shape.bytes_per_token / GIB == pytest.approx(3.04, rel=0.01)


def test_a_split_cache_answers_as_a_whole_one() -> None:
    """What a request makes necessary is the larger of its two pools; what fits is bound by both."""
    split = SplitCache(CacheShape(0.0, ((100.0, None),)), 900.0, 0.9)

    assert split.bytes(1) == pytest.approx(900 * 1.9 / 0.9)
    assert split.bytes(1000) == pytest.approx(100_000 * 1.9)
    assert split.tokens_within(1899) == 0
    assert split.tokens_within(19_000) == 100
    assert split_states(CacheShape(5.0, ((1.0, None),)), None) == CacheShape(5.0, ((1.0, None),))


def test_fp4_experts_are_widened_without_a_kernel(connection: sqlite3.Connection, context: Context) -> None:
    """Compute capability 8.9 holds DeepSeek-V4's experts as FP8, 9.0 as they are (sglang#40566)."""
    own, budget = context.precisions["fp4_experts_fp8"], rules(context, "0.5.13")

    assert as_loaded(own, budget, "8.9").bits == pytest.approx(8.002, abs=0.001)
    assert as_loaded(own, budget, "9.0") is own
    assert as_loaded(context.precisions["bf16"], budget, "8.9") is context.precisions["bf16"]


@pytest.mark.parametrize(("version", "indexed"), [("0.5.15", 78), ("0.5.17", 78), ("0.5.18", 21), ("0.5.23", 21)])
def test_index_keys_by_version(connection: sqlite3.Connection, context: Context, version: str, indexed: int) -> None:
    """GLM-5.2 on 8 x MI355X, 0.5.15, fp8: 167.86 GiB for 3,263,680 tokens are 576 + 132 bytes in each of 78 layers.

    From 0.5.18 on the 57 layers that reuse a choice of tokens keep no index keys.
    """
    found = rate(anatomy(connection, "zai-org/GLM-5.2"), rules(context, version), kv_bits=8)

    assert pytest.approx(167.86 * 2**30 / 3_263_680, rel=0.0001) == 78 * (576 + 132)
    assert found == pytest.approx(78 * 576 + indexed * 132)


def test_only_deepseek_v4_is_compressed(connection: sqlite3.Connection, context: Context) -> None:
    """Other models, and versions before 0.5.12, have no such pools."""
    flash = anatomy(connection, "deepseek-ai/DeepSeek-V4-Flash").model

    assert is_compressed(flash, rules(context, "0.5.13").token_pools)
    assert not is_compressed(flash, rules(context, "0.5.9").token_pools)
    assert not is_compressed(anatomy(connection, "Qwen/Qwen3-32B").model, rules(context, "0.5.13").token_pools)
