"""Decode context parallelism: ranks share what each of them would otherwise keep a copy of.

SGLang's documentation ("Decode Context Parallelism"): rank r owns position p when p mod c = r, so each stores about
1/c of the cache; request-indexed state is unchanged. vLLM's: it shards the copies that TP leaves of the KV heads.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.memory.domain import Layout
from rackfit.memory.kv_cache import CacheShape, stage_caches, striped
from rackfit.memory.layouts import refusal
from reference.architectures import ANATOMIES, BF16, DEEPSEEK_V3, LLAMA_70B, QWEN3_30B, budget

VLLM = budget()


@pytest.mark.parametrize("dcp", [1, 2, 4, 8])
def test_a_latent_divides(dcp: int) -> None:
    """DeepSeek-V3 caches 61 x 576 x 2 = 70272 bytes per token, whole on each of eight ranks, or an eighth of it."""
    cache = stage_caches(ANATOMIES[DEEPSEEK_V3.name], Layout(tp=8, dcp=dcp), 16)[0]
    assert cache.bytes_per_token == 70272 / dcp
    assert refusal(ANATOMIES[DEEPSEEK_V3.name], BF16, Layout(tp=8, dcp=dcp), VLLM) is None


def test_copies_of_heads_divide() -> None:
    """Qwen3-30B-A3B has 4 KV heads: eight ranks keep each twice, so two may share one, and no more."""
    anatomy = ANATOMIES[QWEN3_30B.name]
    whole, shared = (stage_caches(anatomy, Layout(tp=8, ep=8, dcp=dcp), 16)[0].bytes_per_token for dcp in (1, 2))
    assert (whole, shared) == (48 * 2 * 128 * 2, 48 * 2 * 128 * 2 / 2)
    assert refusal(anatomy, BF16, Layout(tp=8, ep=8, dcp=2), VLLM) is None
    assert "keeps 2 of 4 KV heads" in (refusal(anatomy, BF16, Layout(tp=8, ep=8, dcp=4), VLLM) or "")


def test_what_has_no_copies_is_refused() -> None:
    """Eight KV heads over eight ranks are kept once; a degree has to divide TP; old engines do not offer it."""
    anatomy = ANATOMIES[LLAMA_70B.name]
    assert "keeps 1 of 8 KV heads" in (refusal(anatomy, BF16, Layout(tp=8, dcp=2), VLLM) or "")
    latent = ANATOMIES[DEEPSEEK_V3.name]
    assert "does not divide TP 8" in (refusal(latent, BF16, Layout(tp=8, dcp=3), VLLM) or "")
    old = replace(VLLM, version_from="0.8.0")
    assert "not offered" in (refusal(latent, BF16, Layout(tp=8, dcp=2), old) or "")


def test_states_and_windows_stay() -> None:
    """Only what grows with every token is striped."""
    cache = CacheShape(100.0, ((8.0, 1024), (16.0, None)))
    assert striped(cache, 4) == CacheShape(100.0, ((8.0, 1024), (4.0, None)))
