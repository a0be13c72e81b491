"""Reference values of the memory model, section 4: cache sizes that must come out to the byte or the printed digit."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.catalog.read import read_model
from rackfit.catalog.resolve import resolve
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout, Model
from rackfit.memory.kv_cache import kv_bytes, request_cache, stage_caches
from reference.architectures import (
    ANATOMIES,
    DEEPSEEK_V3,
    GEMMA3_27B,
    GIB,
    GPT_OSS_120B,
    LLAMA4_SCOUT,
    LLAMA_8B,
    LLAMA_70B,
    MIB,
    QWEN3_30B,
)

RATES = [
    # config.json of each: 2 x layers x KV heads x head size x 2 bytes; MLA layers x (512 + 64) x 2
    ("meta-llama/llama-3.1-8b", LLAMA_8B, 131072),
    ("meta-llama/llama-3.1-70b", LLAMA_70B, 327680),
    ("deepseek-ai/deepseek-v3", DEEPSEEK_V3, 70272),
]
SIZES = [
    # model, tokens, GiB as printed: window layers stop at 1024, 128 and 8192 tokens
    ("google/gemma-3-27b-it", GEMMA3_27B, 131072, "10.4"),
    ("openai/gpt-oss-120b", GPT_OSS_120B, 131072, "4.50"),
    ("meta-llama/llama-4-scout-17b-16e", LLAMA4_SCOUT, 131072, "7.1"),
    ("qwen/qwen3-30b-a3b", QWEN3_30B, 32768, "3.0"),
]
BYTES = {
    # 2 x 16 heads x 128 x 2 bytes = 8192 a layer: (10 x 131072 + 52 x 1024) tokens
    "google/gemma-3-27b-it": 8192 * (10 * 131072 + 52 * 1024),
    # 2 x 8 x 64 x 2 = 2048: (18 x 131072 + 18 x 128)
    "openai/gpt-oss-120b": 2048 * (18 * 131072 + 18 * 128),
    # 2 x 8 x 128 x 2 = 4096: (12 x 131072 + 36 x 8192)
    "meta-llama/llama-4-scout-17b-16e": 4096 * (12 * 131072 + 36 * 8192),
    # 2 x 4 x 128 x 2 = 2048: 48 x 32768
    "qwen/qwen3-30b-a3b": 2048 * 48 * 32768,
}


@pytest.mark.parametrize(("name", "model", "rate"), RATES)
def test_bytes_per_token(name: str, model: Model, rate: int) -> None:
    """One more token costs exactly these bytes at 16 bits, by a description written from the config file."""
    assert request_cache(ANATOMIES[model.name], 16).bytes_per_token == rate


@pytest.mark.parametrize(("name", "model", "rate"), RATES)
def test_bytes_per_token_of_the_catalog(connection: sqlite3.Connection, name: str, model: Model, rate: int) -> None:
    """The catalog's record of the same model costs the same."""
    assert kv_bytes(Anatomy(read_model(connection, name)), 16, 1) == rate


@pytest.mark.parametrize(("name", "model", "tokens", "printed"), SIZES)
def test_windowed_cache(name: str, model: Model, tokens: int, printed: str) -> None:
    """Windowed and chunked layers stop growing at their window."""
    size = kv_bytes(ANATOMIES[model.name], 16, tokens)

    assert size == BYTES[name]
    assert f"{size / GIB:.{len(printed.split('.')[1])}f}" == printed


@pytest.mark.parametrize(("name", "model", "tokens", "printed"), SIZES)
def test_windowed_cache_of_the_catalog(
    connection: sqlite3.Connection, name: str, model: Model, tokens: int, printed: str
) -> None:
    """The catalog's record of the same model needs the same bytes."""
    anatomy = Anatomy(read_model(connection, resolve(connection, "model", name).id))

    assert kv_bytes(anatomy, 16, tokens) == BYTES[name]


def test_gemma_is_not_priced_in_full() -> None:
    """Gemma-3-27B at 131072 tokens needs 10.4 GiB, not the 62 GiB of 62 full layers."""
    anatomy = ANATOMIES[GEMMA3_27B.name]

    assert request_cache(anatomy, 16).bytes_per_token * 131072 == 62 * GIB
    assert kv_bytes(anatomy, 16, 131072) / GIB == pytest.approx(10.4, abs=0.01)


def test_latent_is_whole_on_every_rank() -> None:
    """An MLA latent does not divide by TP: 70272 bytes per token on each of eight ranks (section 4)."""
    shards = stage_caches(ANATOMIES[DEEPSEEK_V3.name], Layout(tp=8), 16)

    assert shards[0].bytes_per_token == 70272


@pytest.mark.parametrize(("tp", "rate"), [(1, 131072), (2, 65536), (8, 16384), (16, 16384), (32, 16384)])
def test_heads_divide_down_to_one(tp: int, rate: int) -> None:
    """KV heads divide by TP and replicate when TP exceeds them: max(1, 8 / TP) heads on a rank."""
    assert stage_caches(ANATOMIES[LLAMA_8B.name], Layout(tp=tp), 16)[0].bytes_per_token == rate


@pytest.mark.parametrize(
    ("bits", "mib"),
    # 61 x 576 values x 32768 tokens: 16 bits 2196 MiB; q8_0 34 bytes per 32 values 1166.6 MiB (printed by ik_llama.cpp)
    [(16, 2196.0), (8.5, 1166.625), (8, 1098.0)],
)
def test_cache_formats(bits: float, mib: float) -> None:
    """A cache format has its own effective bits."""
    assert kv_bytes(ANATOMIES[DEEPSEEK_V3.name], bits, 32768) / MIB == mib


def test_answer_shows_architecture_and_engine(connection: sqlite3.Connection) -> None:
    """One sequence of 131072 tokens of gpt-oss-120b: 4.504 GiB by the architecture, and no less in the engine."""
    asked = FitQuestion(model="gpt-oss-120b", on="1x h200", context=131072)
    device = fit_one(connection, asked)["per_device"]

    assert device["kv_bytes"] == BYTES["openai/gpt-oss-120b"]
    assert device["kv_reserved_bytes"] > device["kv_bytes"]
