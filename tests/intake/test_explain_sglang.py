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
[2026-05-15 09:09:22] server_args=ServerArgs(model_path='/models/DeepSeek-V4-Flash-Base', tp_size=8, \
pp_size=1, dp_size=1, ep_size=1, mem_fraction_static=0.60, kv_cache_dtype='fp8_e4m3', cuda_graph_max_bs=320)
[2026-05-15 09:09:36 TP0] Load weight begin. avail mem=93.61 GB
[2026-05-15 09:09:53 TP0] DSv4 memory calculation: bytes_per_full_token=15955.85, available_bytes=19.58 GB, \
full_token=1317632
"""
"""DeepSeek-V4-Flash-Base, all of it FP8, on eight H20, 0.5.12."""
RESOLVED = """\
[2026-09-11 23:34:03] server_args={'model_path': '/models/DeepSeek-V4-Flash', 'model_loader_extra_config': '{}', \
'context_length': 1048576, 'quantization': None, 'kv_cache_dtype': 'fp8_e4m3', 'mem_fraction_static': 0.95, \
'max_running_requests': 4, 'chunked_prefill_size': 1024, 'tp_size': 3, 'dcp_size': 1, 'pp_size': 1, 'dp_size': 1, \
'moe_dp_size': 1, 'disable_cuda_graph': False, 'speculative_algorithm': 'DSPARK', 'ep_size': 3}
[2026-09-11 23:34:10 TP0] Load weight begin. avail mem=112.00 GB
[2026-09-11 23:40:10 TP0] Load weight end. elapsed=360.00 s, type=DeepseekV4ForCausalLM, avail mem=60.00 GB, \
mem usage=52.00 GB.
"""
"""How 0.5.19 and newer print their settings; names and settings of a public log, memory lines made up."""


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
    given = Overrides(on="nvidia-h20-96gb", model="deepseek-ai/DeepSeek-V4-Flash", precision="fp8_e4m3_block128x128")
    answer = explain(connection, read_log(COMPRESSED), given)
    found = {one["component"]: one for one in answer["components"]}

    assert found["device_free"]["inside_range"]
    assert found["kv_pool"]["printed_bytes"] / GIB == pytest.approx(19.58)
    assert answer["derived"]["pool_bytes_over_tokens"] == pytest.approx(15_955.85, rel=0.001)
    assert answer["derived"]["predicted_pool_tokens"] == pytest.approx(1_317_632, rel=0.01)


def test_settings_printed_as_a_dictionary() -> None:
    """From 0.5.19 on the settings are a dictionary: `'tp_size': 3`, not `tp_size=3`."""
    found = read_log(RESOLVED).settings

    assert (found["model"], found["tp"], found["pp"], found["dp"], found["ep"]) == (
        "/models/DeepSeek-V4-Flash", 3, 1, 1, 3,
    )  # fmt: skip
    assert (found["context"], found["max_sequences"], found["batched_tokens"]) == (1_048_576, 4, 1024)
    assert (found["static_fraction"], found["kv_dtype"], found["speculative"]) == (0.95, "fp8_e4m3", "DSPARK")
    assert found["eager"] is False and "quantization" not in found
