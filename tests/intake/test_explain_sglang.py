"""SGLang start-ups explained: figures of public logs, predicted from the configuration that each log states."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.intake.explain import explain
from rackfit.intake.log_configuration import Overrides
from rackfit.intake.logs.reading import read_log

GIB = 2**30

DENSE_EXPERTS = """\
[2026-08-27 03:45:26] server_args=ServerArgs(model_path='Qwen/Qwen3-30B-A3B-FP8', tp_size=1, pp_size=1)
[2026-08-27 03:45:41] Load weight begin. avail mem=78.48 GB
[2026-08-27 03:45:53] Load weight end. elapsed=12.02 s, type=Qwen3MoeForCausalLM, quant=fp8, fmt=e4m3, \
avail mem=49.33 GB, mem usage=29.15 GB.
[2026-08-27 03:45:54] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 392920, K size: 17.99 GB, V size: 17.99 GB
[2026-08-27 03:45:54] Memory pool end. avail mem=12.70 GB
[2026-08-27 03:46:18] Capture target prefill CUDA graph end. elapsed=22.96 s, mem usage=1.71 GB, avail mem=10.88 GB.
"""
"""Qwen3-30B-A3B-FP8 on an H100, 0.5.18, no share given."""
HYBRID = """\
[2026-09-01 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3.8-27B-FP8', mem_fraction_static=0.85, tp_size=1)
[2026-09-01 10:07:10] Load weight end. elapsed=429.52 s, type=Qwen3_5ForConditionalGeneration, quant=fp8, fmt=e4m3, \
avail mem=50.01 GB, mem usage=28.47 GB.
[2026-09-01 10:07:11] Mamba Cache is allocated. max_mamba_cache_size: 124, conv_state size: 0.34GB, \
ssm_state size: 17.58GB
[2026-09-01 10:07:11] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 330323, K size: 10.08 GB, V size: 10.08 GB
"""
"""Qwen3.8-27B-FP8 on an H100: recurrent states beside the cache of 16 attention layers."""
COMPRESSED = """\
[2026-05-15 09:08:53] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V4-Flash', mem_fraction_static=0.60, \
tp_size=4)
[2026-05-15 09:09:00 TP0] Load weight begin. avail mem=93.58 GB
[2026-05-15 09:09:50 TP0] Load weight end. elapsed=42.37 s, type=DeepseekV4ForCausalLM, quant=fp8, fmt=e4m3, \
avail mem=57.01 GB, mem usage=36.57 GB.
[2026-05-15 09:09:53 TP0] DSv4 memory calculation: bytes_per_full_token=15955.85, available_bytes=19.58 GB, \
full_token=1317632
"""
"""DeepSeek-V4-Flash on four H20, 0.5.12."""


def parts(connection: sqlite3.Connection, text: str, device: str) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the components by name and what is derived."""
    answer = explain(connection, read_log(text), Overrides(on=device))
    return {one["component"]: one for one in answer["components"]}, answer["derived"]


def test_the_share_is_that_of_the_day(connection: sqlite3.Connection) -> None:
    """Nothing is set: the version of the log's day gives the share, and every component lies in its range."""
    found, derived = parts(connection, DENSE_EXPERTS, "nvidia-h100-sxm5-80gb")

    assert found["kv_pool"]["predicted_bytes"] / GIB == pytest.approx(35.98, rel=0.01)
    assert derived["predicted_pool_tokens"] == pytest.approx(392_920, rel=0.001)
    assert derived["bytes_over_tokens_is_rate"] is True
    compared = [one for one in found.values() if one["inside_range"] is not None]
    assert len(compared) >= 5 and all(one["inside_range"] for one in compared)


def test_states_and_tokens(connection: sqlite3.Connection) -> None:
    """States are those of one slot more than printed; what is left is the pool for tokens, at 65,536 bytes each."""
    found, derived = parts(connection, HYBRID, "nvidia-h100-sxm5-80gb")

    assert found["state"]["predicted_bytes"] / GIB == pytest.approx(0.34 + 17.58, rel=0.002)
    assert found["kv_pool"]["predicted_bytes"] / GIB == pytest.approx(20.16, rel=0.01)
    assert derived["predicted_pool_tokens"] == pytest.approx(330_323, rel=0.001)
    assert derived.get("note") is None


def test_a_compressed_pool(connection: sqlite3.Connection) -> None:
    """DeepSeek-V4's pool is what its calculation prints, and a token costs what its rows and states do."""
    found, derived = parts(connection, COMPRESSED, "nvidia-h20-96gb")

    assert (
        found["weights"]["inside_range"] and found["kv_pool"]["inside_range"] and found["device_free"]["inside_range"]
    )
    assert derived["pool_bytes_over_tokens"] == pytest.approx(15_955.85, rel=0.001)
    assert derived["predicted_pool_tokens"] == pytest.approx(1_317_632, rel=0.01)
