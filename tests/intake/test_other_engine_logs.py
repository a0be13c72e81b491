"""Logs of TensorRT-LLM, vLLM for Gaudi, LMDeploy and TGI: lines of documents and issues, printed beside predicted."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.intake.explain import explain
from rackfit.intake.log_configuration import Overrides
from rackfit.intake.logs.reading import read_log

GIB, MIB = 2**30, 2**20

TRT = """\
[TensorRT-LLM][INFO] Loaded engine size: 6695 MiB
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1134.01 MiB for execution context memory.
[TensorRT-LLM][INFO] [MemUsageChange] TensorRT-managed allocation in IExecutionContext creation: GPU +0, now: GPU 6678
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.29 MB GPU memory for runtime buffers.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 180.30 MB GPU memory for decoder.
[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, available: 70.48 GiB
[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 4060
[TensorRT-LLM][INFO] Number of tokens per block: 64.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 63.44 GiB for max tokens in paged KV cache (259840).
"""
"""TensorRT-LLM, docs/source/reference/memory.md: an H100; 6695 MiB and 63.44 GiB / 259840 are Llama-2-7B in FP8."""
TRIAL_RUN = """\
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache (8224).
[TRT-LLM] [I] Memory used after loading model weights (inside torch) in memory usage profiling: 63.52 GiB
[TRT-LLM] [I] Memory dynamically allocated during inference (inside torch) in memory usage profiling: 0.85 GiB
[TRT-LLM] [I] Memory used outside torch (e.g., NCCL and CUDA graphs) in memory usage profiling: 49.28 GiB
[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 113.65 GiB, available KV cache memory \
when calculating max tokens: 5.95 GiB, fraction is set 0.8999999761581421, kv size is 73728. device total memory \
119.70 GiB, , tmp kv_mem 0.56 GiB
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache (86720).
[TRT-LLM] [I] max_seq_len=86720, max_num_requests=64, max_num_tokens=8192, max_batch_size=64
"""
"""A GB10 with gpt-oss-120b under the PyTorch backend, beside another process of 49 GiB (a user's log, 2025-12-20)."""
GAUDI = """\
INFO habana_model_runner.py:590] Pre-loading model weights on hpu:0 took 15.05 GiB of device memory \
(15.05 GiB/94.62 GiB used) and 1.067 GiB of host memory (8.199 GiB/108.2 GiB used)
INFO habana_model_runner.py:640] Loading model weights took in total 15.05 GiB of device memory (15.05 GiB/94.62 GiB \
used) and 1.056 GiB of host memory (8.188 GiB/108.2 GiB used)
INFO habana_worker.py:153] Model profiling run took 355 MiB of device memory (15.4 GiB/94.62 GiB used) and 131.4 MiB \
of host memory (8.316 GiB/108.2 GiB used)
INFO habana_worker.py:177] Free device memory: 79.22 GiB, 71.3 GiB usable (gpu_memory_utilization=0.9), 7.13 GiB \
reserved for HPUGraphs (VLLM_GRAPH_RESERVED_MEM=0.1), 64.17 GiB reserved for KV cache
INFO habana_executor.py:85] # HPU blocks: 4107, # CPU blocks: 256
"""
"""vLLM for Gaudi, documentation: Meta-Llama-3.1-8B on a Gaudi 2."""
TURBOMIND = """\
lmdeploy - INFO - async_engine.py:142 - input backend=turbomind, backend_config=TurbomindEngineConfig(\
dtype='float16', model_format=None, tp=1, session_len=None, max_batch_size=256, cache_max_entry_count=0.8, \
cache_chunk_size=-1, cache_block_seq_len=64, enable_prefix_caching=False, quant_policy=0, max_prefill_token_num=8192)
[TM][INFO] [BlockManager] block_size = 8.000 MB
[TM][INFO] [BlockManager] max_block_count = 6214
[TM][INFO] [BlockManager] chunk_size = 6214
"""
"""Wording of InternLM/lmdeploy issue 2724, pool of issue 3411: "6214 blocks, total length = 6214 * 64 = 397696"."""
TGI = """\
docker run --gpus all ghcr.io/huggingface/text-generation-inference:2.2.0 --model-id $model
2024-09-03T04:39:01.1Z  INFO text_generation_launcher: Args { model_id: "meta-llama/Meta-Llama-3.1-8B-Instruct", \
revision: None, validation_workers: 2, sharded: None, num_shard: None, quantize: None, max_total_tokens: None }
2024-09-03T04:39:02.1Z  INFO text_generation_launcher: Default `max_total_tokens` to 4096
2024-09-03T04:39:02.1Z  INFO text_generation_launcher: Default `max_batch_prefill_tokens` to 4145
2024-09-03T04:40:19.3Z  INFO text_generation_router::server: router/src/server.rs:1651: Setting max batch total \
tokens to 19056
"""
"""TGI 2.2.0 on an A10G (Infinite-Limit-Data-Science/chat-app, README3-hf-tgi.md)."""


def component(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one component of an answer."""
    return next(one for one in answer["components"] if one["component"] == name)


def test_tensorrt_llm_engine(connection: sqlite3.Connection) -> None:
    """Each printed figure beside its estimate, under the rules of engines built beforehand."""
    given = Overrides(model="Llama-2-7b-hf", on="h100-sxm5-80gb", precision="fp8", kv_precision="fp8", tp=1)
    log = read_log(TRT)
    answer = explain(connection, log, given)

    assert (answer["engine"], answer["runtime_budget"]) == ("TensorRT-LLM", "tensorrt-llm-engine")
    assert log.bound("weights") == 6695 * MIB
    assert log.bound("activation") == round(1134.01 * MIB)
    assert log.settings["pool_tokens"] == 259840 and log.settings["block_tokens"] == 64
    for name, printed in (("weights", 6.538), ("free_after_load", 70.48), ("kv_pool", 63.44)):
        found = component(answer, name)
        assert found["printed_bytes"] / GIB == pytest.approx(printed, abs=0.001)
        assert found["predicted_bytes"] / GIB == pytest.approx(printed, abs=0.04 * 79.1)
    # 63.44 GiB over 262,144 bytes of 8-bit keys and values of 32 layers x 32 heads x 128
    assert answer["derived"]["bytes_per_token"] == pytest.approx(2 * 32 * 32 * 128, rel=1e-3)
    assert answer["derived"]["predicted_pool_tokens"] == pytest.approx(259840, rel=0.001)


def test_pytorch_backend_prints_the_pool_of_its_trial_first() -> None:
    """The pool of the trial run is not the pool: the last one counts."""
    log = read_log(TRIAL_RUN)

    assert log.engine == "TensorRT-LLM"
    assert log.bound("kv_pool") == round(5.95 * GIB)
    assert log.settings["pool_tokens"] == 86720
    assert log.bound("activation") == round(0.85 * GIB)
    assert log.bound("device_total") == round(119.70 * GIB)
    assert log.settings["utilization"] == pytest.approx(0.9, abs=1e-6)
    assert (log.settings["batched_tokens"], log.settings["max_sequences"]) == (8192, 64)
    assert "generation" not in log.settings


def test_gaudi(connection: sqlite3.Connection) -> None:
    """The pool is 0.9 x 0.9 of what the profile run leaves, as printed."""
    answer = explain(connection, read_log(GAUDI), Overrides(model="Llama-3.1-8B", on="gaudi-2", precision="bf16", tp=1))

    assert answer["runtime_budget"] == "vllm-gaudi-0.9"
    for name, printed in (("weights", 15.05), ("free_after_load", 79.22), ("kv_pool", 64.17)):
        found = component(answer, name)
        assert found["printed_bytes"] / GIB == pytest.approx(printed)
        assert found["predicted_bytes"] / GIB == pytest.approx(printed, rel=0.02)


def test_turbomind_blocks(connection: sqlite3.Connection) -> None:
    """8 MiB x 6214 blocks of 64 tokens; a block alone is no figure."""
    log = read_log(TURBOMIND)
    answer = explain(connection, log, Overrides(model="Llama-3.1-8B", on="a100-sxm4-80gb"))

    assert log.settings["pool_tokens"] == 397696
    assert log.bound("kv_pool") == 6214 * 8 * MIB
    assert [one["component"] for one in answer["components"]] == ["kv_pool"]
    assert answer["runtime_budget"] == "lmdeploy-turbomind"
    assert answer["derived"]["bytes_per_token"] == 131072


def test_object_cache_of_newer_turbomind() -> None:
    """From 0.15 on the log prints the budget and what it was taken from (src/turbomind/turbomind.cc)."""
    log = read_log("[TM][INFO] Object cache budget: 49152.00 MB from free 61440.00 MB and ratio 0.800\n")

    assert log.bound("kv_pool") == 48 * GIB
    assert log.bound("free_after_load") == 60 * GIB
    assert log.settings["utilization"] == 0.8


def test_tgi_prints_tokens_alone(connection: sqlite3.Connection) -> None:
    """Where no byte of the pool is printed its tokens stand beside those that the rules of that version give."""
    answer = explain(connection, read_log(TGI), Overrides(on="a10g", precision="bf16", tp=1))

    assert answer["version"] == "2.2.0"
    assert answer["runtime_budget"] == "tgi-2.0"
    assert answer["derived"]["pool_tokens"] == 19056
    # 4 % of the card in tokens of 131,072 bytes
    assert abs(answer["derived"]["predicted_pool_tokens"] - 19056) * 131072 < 0.04 * 22.2 * GIB
