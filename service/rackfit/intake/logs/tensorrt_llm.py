"""TensorRT-LLM: engines that were built beforehand (C++ runtime) and the PyTorch backend, which runs a trial first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rackfit.intake.logs.parsed import Log, no_rank, pattern, scan

ENGINE = "TensorRT-LLM"

SIZE = r"\s*(?P<unit>[KMG]iB)"

PATTERNS = (
    pattern("TensorRT-LLM version:", r"TensorRT-LLM version: (?P<version>\d+\.\d+[\w.]*)"),
    pattern("Loaded engine size:", r"Loaded engine size: <weights:N>" + SIZE),
    pattern("execution context memory", r"Allocated <activation:N>" + SIZE + r" for execution context memory"),
    pattern("paged kv cache: total", r"paged kv cache: total: <device_total:N>" + SIZE),
    pattern("paged kv cache: total", r"paged kv cache: total: .*?available: <free_after_load:N>" + SIZE),
    pattern("max tokens in paged KV cache", r"Allocated <kv_pool:N>" + SIZE + r" for max tokens in paged KV cache"),
    pattern("Number of tokens per block:", r"Number of tokens per block: <block_tokens:N>"),
    pattern("TRTGptModel maxBatchSize:", r"TRTGptModel maxBatchSize: <max_sequences:N>"),
    pattern("TRTGptModel maxNumTokens:", r"TRTGptModel maxNumTokens: <batched_tokens:N>"),
    pattern("TRTGptModel maxSequenceLen:", r"TRTGptModel maxSequenceLen: <context:N>"),
    pattern("Memory used outside torch", r"Memory used outside torch .*?profiling: <non_torch:N>" + SIZE),
    pattern("Memory dynamically allocated", r"Memory dynamically allocated .*?profiling: <activation:N>" + SIZE),
    pattern("Peak memory during memory usage", r"fraction is set (?P<utilization>[01]?\.\d+)"),
    pattern("Peak memory during memory usage", r"device total memory <device_total:N>" + SIZE),
    pattern("max_num_requests=", r"max_seq_len=<context:N>, max_num_requests=\d+, max_num_tokens=<batched_tokens:N>"),
    pattern("max_num_requests=", r"max_num_requests=.*?\bmax_batch_size=<max_sequences:N>"),
)
POOL_TOKENS = re.compile(r"for max tokens in paged KV cache \((\d{1,15})\)")
"""The PyTorch backend prints its pool twice, that of the trial run first: the last one counts."""


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what was printed, and how many lines of this engine there are; every rank prints the same lines."""
    last = scan(lines, PATTERNS, no_rank)[-1]
    if pools := [found[1] for line in lines if (found := POOL_TOKENS.search(line)) is not None]:
        last.set("pool_tokens", pools[-1])
    if "weights" in last.amounts:
        last.set("generation", "Engine")
    return Log(ENGINE, dict(last.settings), last.amounts, tuple(last.devices.values())), last.own_hits
