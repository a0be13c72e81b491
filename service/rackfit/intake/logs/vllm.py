"""vLLM, engines V0 and V1: what its workers print at start. "GB" in these lines is 2^30 bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rackfit.intake.logs.parsed import Log, pattern, scan

ENGINE = "vLLM"
RESTART = "vLLM API server version"
BLOCK_TOKENS = 16
"""Tokens of a cache block where the log states none: the default of every release with block counts in its log."""

SIZE = r"\s*(?P<unit>GiB|GB|MiB)"
VALUE = r"""['"]?\s*[=:]\s*"""

PATTERNS = (
    pattern("took", r"(?:Model loading|Loading model weights) took <weights:N>" + SIZE),
    pattern("model weights take", r"model weights take <weights:N>" + SIZE),
    pattern("non_torch_memory takes", r"non_torch_memory takes <non_torch:N>" + SIZE),
    pattern("activation peak", r"PyTorch activation peak memory takes <activation:N>" + SIZE),
    pattern("reserved for KV Cache", r"memory reserved for KV Cache is <kv_pool:N>" + SIZE),
    pattern("total_gpu_memory", r"total_gpu_memory \(<device_total:N>" + SIZE),
    pattern("total_gpu_memory", r"x gpu_memory_utilization \((?P<utilization>[\d.]+)\) = <budget:N>" + SIZE),
    pattern("Memory profiling results", r"total_gpu_memory=<device_total:N>" + SIZE),
    pattern("Memory profiling results", r"non_torch_memory=<non_torch:N>" + SIZE),
    pattern("Memory profiling results", r"peak_torch_memory=<torch_peak:N>" + SIZE),
    pattern("Memory profiling results", r"kv_cache_size=<kv_pool:N>" + SIZE),
    pattern("non-torch forward increase", r"non-torch forward increase memory: <non_torch:N>" + SIZE),
    pattern("torch peak memory increase", r"(?<!-)torch peak memory increase: <activation:N>" + SIZE),
    pattern("weights memory:", r"weights memory: <weights:N>" + SIZE),
    pattern("Initial free memory", r"Initial free memory: <device_free:N>" + SIZE),
    pattern("Requested memory", r"Requested memory: (?P<utilization>[\d.]+) \(util\), <budget:N>" + SIZE),
    pattern("Free memory on device", r"Free memory on device \(<device_free:N>/<device_total:N>" + SIZE),
    pattern("Desired GPU memory", r"Desired GPU memory utilization is \((?P<utilization>[\d.]+), <budget:N>" + SIZE),
    pattern("Actual usage", r"Actual usage(?: is|:) <weights:N>" + SIZE + r" for (?:model )?weights?\b"),
    pattern("Actual usage", r"Actual usage(?: is|:) <consumed:N>" + SIZE + r" for consumed memory"),
    pattern("Actual usage", r" <activation:N>" + SIZE + r" for peak activation"),
    pattern("Actual usage", r" <non_torch:N>" + SIZE + r" for non-torch memory"),
    pattern("Actual usage", r" <graphs:N>" + SIZE + r" for (?:CUDAGraph|NPU graph) memory"),
    pattern("kv cache memory in use", r"kv cache memory in use is <kv_pool:N>\s*(?P<unit>GiB|GB|MiB|B(?=ytes))"),
    pattern("kv cache memory in use", r"kv cache memory in use is <kv_pool:N> bytes", "B"),
    pattern("Current KV cache memory", r"Current KV cache memory: <kv_pool:N>" + SIZE),
    pattern("Available KV cache memory", r"Available KV cache memory: <kv_pool:N>" + SIZE),
    pattern("KV cache size", r"GPU KV cache size: <pool_tokens:N> tokens"),
    pattern(" blocks:", r"# (?:GPU|cuda|rocm|CUDA) blocks: <pool_blocks:N>"),
    pattern("Maximum concurrency", r"Maximum concurrency for <concurrency_tokens:N> tokens per request"),
    pattern("Maximum concurrency", r"tokens per request: <concurrency:N>x"),
    pattern("Graph capturing finished", r"Graph capturing finished in [\d.]+ secs?, took <graphs:N>" + SIZE),
    pattern("graph pool memory", r"CUDA graph pool memory: <graphs:N>" + SIZE + r" \(actual\)"),
    pattern("graph pool memory", r"\(actual\), <graphs_estimated:N>" + SIZE + r" \(estimated\)"),
    pattern("KV cache is needed", r"\(?<kv_needed:N>" + SIZE + r" KV cache is needed"),
    pattern("available KV cache memory (", r"available KV cache memory \(<kv_pool:N>" + SIZE),
    pattern("estimated maximum model length", r"estimated maximum model length is <longest_context:N>"),
    pattern("LLM engine (v", r"LLM engine \(v(?P<version>\d[\w.+]*)\)"),
    pattern("LLM engine (v", r"Initializing an? (?P<generation>V[01]) LLM engine"),
    pattern(RESTART, r"vLLM API server version (?P<version>\d[\w.+]*)"),
    pattern("with config:", r"""\bmodel=(?P<model>'[^']*'|"[^"]*")"""),
    pattern("with config:", r"\bmax_seq_len=<context:N>"),
    pattern("with config:", r"\btensor_parallel_size=<tp:N>"),
    pattern("with config:", r"\bpipeline_parallel_size=<pp:N>"),
    pattern("with config:", r"\bdata_parallel_size=<dp:N>"),
    pattern("with config:", r"\bquantization=(?P<quantization>[\w.-]+)"),
    pattern("with config:", r"(?<![\w])dtype=(?:torch\.)?(?P<dtype>\w+)"),
    pattern("with config:", r"\bkv_cache_dtype=(?:torch\.)?(?P<kv_dtype>\w+)"),
    pattern("with config:", r"\benforce_eager=(?P<eager>\w+)"),
    pattern("gpu_memory_utilization", r"gpu_memory_utilization" + VALUE + r"(?P<utilization>[01]?\.?\d+)"),
    pattern("max_num_seqs", r"max_num_seqs" + VALUE + r"<max_sequences:N>"),
    pattern("max_num_batched_tokens", r"max_num_batched_tokens" + VALUE + r"<batched_tokens:N>"),
    pattern("block_size", r"(?<!\w)block_size" + VALUE + r"<block_tokens:N>"),
)  # fmt: skip
"""Every wording of the lines that say where memory goes, 0.5 to 0.33."""

_DEGREES = r"(?:DP|PP|TP|EP|DCP|PCP)\d+"
_RANK = re.compile(
    rf"\((?:\w*?Worker\w*?|EngineCore)(?:_(?P<degrees>{_DEGREES}(?:_{_DEGREES})*))?"
    r"(?:[ _]rank=(?P<number>\d+))?(?: pid=(?P<pid>\d+))?(?:, ip=[^)]*)?\)"
)


def rank_of(before: str) -> str:
    """Return the worker that a line's prefix names, "" where it names none."""
    named = list(_RANK.finditer(before))
    if not named:
        return ""
    found = named[-1]
    if found["degrees"]:
        return found["degrees"]
    if "Worker" in found[0]:
        return f"rank {found['number']}" if found["number"] else f"pid {found['pid']}" if found["pid"] else ""
    return ""


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the last start printed, and how many lines of this engine there are."""
    readings = scan(lines, PATTERNS, rank_of, RESTART)
    with_bytes = [one for one in readings if one.amounts] or readings[-1:]
    last = with_bytes[-1]
    settings = dict(last.settings)
    if "pool_blocks" in settings and "pool_tokens" not in settings:
        settings["pool_tokens"] = settings["pool_blocks"] * settings.get("block_tokens", BLOCK_TOKENS)
    _peak_apart(last.amounts)
    log = Log(ENGINE, settings, last.amounts, tuple(last.devices.values()), loads=len(with_bytes))
    return log, sum(one.own_hits for one in readings)


def _peak_apart(amounts: dict[str, dict[str, int]]) -> None:
    """Turn the allocator's peak, which 0.6 prints with the weights in it, into the activation peak."""
    peaks, weights = amounts.pop("torch_peak", {}), amounts.get("weights", {})
    for rank, size in peaks.items():
        if rank in weights:
            amounts.setdefault("activation", {}).setdefault(rank, size - weights[rank])
