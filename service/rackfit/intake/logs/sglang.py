"""SGLang: its memory pool lines. "GB" in these lines is 2^30 bytes; other prints stand between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rackfit.intake.logs.parsed import Log, Reading, pattern, scan

ENGINE = "SGLang"
RESTART = "server_args=ServerArgs("
RESOLVED = "server_args={"
"""The same from 0.5.19 on: a dictionary."""

SIZE = r"\s*(?P<unit>GiB|GB|MB)"
DRAFT_WEIGHTS = "Load of draft weight"
DRAFT_CACHE = "Draft's cache is"
"""How lines of a draft are told from those of the model: the engine prints both alike, the draft's second."""
VALUE = r"""['"]?\s*[=:]\s*"""

PATTERNS = (
    pattern("Load weight begin", r"Load weight begin\. avail mem=<device_free:N>" + SIZE),
    pattern("Load weight end", r"Load weight end\..*?\bavail mem=<free_after_load:N>" + SIZE),
    pattern("Load weight end", r"Load weight end\..*?\bmem usage=<weights:N>" + SIZE),
    pattern("Load weight end", r"Load weight end\..*?\btype=(?P<architecture>\w+)"),
    pattern("Load weight end", r"Load weight end\..*?\bdtype=(?:torch\.)?(?P<dtype>\w+)"),
    pattern("Load weight end", r"Load weight end\..*?\bquant=(?P<quantization>\w+)"),
    pattern("KV Cache is allocated", r"KV Cache is allocated\..*?#tokens: <pool_tokens:N>"),
    pattern("KV Cache is allocated", r"KV Cache is allocated\..*?dtype: (?:torch\.)?(?P<kv_dtype>\w+)"),
    pattern("KV Cache is allocated", r"KV Cache is allocated\..*?\bK size: <kv_k:N>" + SIZE, sums=True),
    pattern("KV Cache is allocated", r"KV Cache is allocated\..*?\bV size: <kv_v:N>" + SIZE, sums=True),
    pattern("KV Cache is allocated", r"KV Cache is allocated\..*?\bKV size: <kv_pool:N>" + SIZE, sums=True),
    pattern("SWAKVPool", r"(?P<pools>SWAKVPool) mem usage: <kv_windowed:N>" + SIZE + r".*?full size: <full_tokens:N>"),
    pattern(" memory calculation: ", r"DS[Vv]4 memory calculation: .*?available_bytes=<kv_pool:N>" + SIZE),
    pattern(" memory calculation: ", r"DS[Vv]4 memory calculation: .*?\bfull_token=<pool_tokens:N>"),
    pattern(" pool sizes: full=", r"DS[Vv]4 pool sizes: full=<pool_tokens:N>"),
    pattern(DRAFT_WEIGHTS, DRAFT_WEIGHTS + r" end\..*?\bmem usage=<draft_weights:N>" + SIZE),
    pattern(DRAFT_CACHE, DRAFT_CACHE + r" allocated\..*?\bK size: <draft_pool:N>" + SIZE, sums=True),
    pattern(DRAFT_CACHE, DRAFT_CACHE + r" allocated\..*?\bV size: <draft_pool:N>" + SIZE, sums=True),
    pattern(DRAFT_CACHE, DRAFT_CACHE + r" allocated\..*?\bKV size: <draft_pool:N>" + SIZE, sums=True),
    pattern("server_args=", r"\[(?P<started>20\d\d-\d\d-\d\d) "),
    pattern("Memory pool end", r"Memory pool end\. avail mem=<free_after_pool:N>" + SIZE),
    pattern("Mamba Cache is allocated", r"max_mamba_cache_size: <state_sequences:N>"),
    pattern("Mamba Cache is allocated", r"conv_state size: <state_r:N>" + SIZE),
    pattern("Mamba Cache is allocated", r"ssm_state size: <state_s:N>" + SIZE),
    pattern("graph end", r"Capture [\w ]*graph end\..*?\bmem usage=<graphs:N>" + SIZE, sums=True),
    pattern("workspace_buffer size", r"workspace_buffer size: <workspace:N>" + SIZE),
    pattern("max_total_num_tokens=", r"max_total_num_tokens=<pool_tokens:N>"),
    pattern("max_total_num_tokens=", r"max_total_num_tokens=.*?\bmax_running_requests=<max_sequences:N>"),
    pattern("max_total_num_tokens=", r"max_total_num_tokens=.*?\bcontext_len=<context:N>"),
    pattern("max_total_num_tokens=", r"max_total_num_tokens=.*?\bchunked_prefill_size=<batched_tokens:N>"),
    pattern("mem_fraction_static", r"mem_fraction_static" + r"['\"]?\s*[=: ]\s*(?P<static_fraction>[01]?\.\d+)"),
    pattern("ServerArgs(", r"\bmodel_path" + VALUE + r"(?P<model>'[^']*'|\"[^\"]*\")"),
    pattern("ServerArgs(", r"\bcontext_length" + VALUE + r"<context:N>"),
    pattern("ServerArgs(", r"\btp_size" + VALUE + r"<tp:N>"),
    pattern("ServerArgs(", r"\bspeculative_algorithm" + VALUE + r"'(?P<speculative>\w+)'"),
    pattern("ServerArgs(", r"\bpp_size" + VALUE + r"<pp:N>"),
    pattern("ServerArgs(", r"\bdp_size" + VALUE + r"<dp:N>"),
    pattern("ServerArgs(", r"\bep_size" + VALUE + r"<ep:N>"),
    pattern("ServerArgs(", r"(?<![\w])quantization" + VALUE + r"'(?P<quantization>\w+)'"),
    pattern("ServerArgs(", r"\bkv_cache_dtype" + VALUE + r"'(?P<kv_dtype>\w+)'"),
    pattern("ServerArgs(", r"\bchunked_prefill_size" + VALUE + r"<batched_tokens:N>"),
    pattern("ServerArgs(", r"\bmax_running_requests" + VALUE + r"<max_sequences:N>"),
    pattern("ServerArgs(", r"\bdisable_cuda_graph" + VALUE + r"(?P<eager>\w+)"),
)  # fmt: skip

_RANK = re.compile(r"\[[^\]]*?\b((?:(?:DP|PP|TP|EP)\d+\b ?)+)\]")


def rank_of(before: str) -> str:
    """Return the rank in a line's brackets, "" where there is none."""
    found = _RANK.findall(before)
    return found[-1].strip().replace(" ", "_") if found else ""


def alike(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a log, settings as they were printed to 0.5.18, lines of a draft renamed.

    A rank loads its draft after the model, and sets aside the draft's cache after it has ended the model's pool.
    """
    loaded: set[str] = set()
    pooled: set[str] = set()
    for line in lines:
        rank = rank_of(line)
        line = line.replace(RESOLVED, RESTART, 1)
        if RESTART in line:
            loaded, pooled = set(), set()
        if "Load weight " in line and rank in loaded:
            line = line.replace("Load weight", DRAFT_WEIGHTS)
        elif "Load weight end" in line:
            loaded.add(rank)
        if "KV Cache is allocated" in line and rank in pooled:
            line = line.replace("KV Cache is", DRAFT_CACHE)
        elif "Memory pool end" in line:
            pooled.add(rank)
        yield line


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the last start printed, and how many lines of this engine there are."""
    readings = scan(alike(lines), PATTERNS, rank_of, RESTART)
    with_bytes = [one for one in readings if one.amounts] or readings[-1:]
    last = with_bytes[-1]
    _join(last, ("kv_k", "kv_v"), "kv_pool")
    if "kv_pool" not in last.amounts and "kv_windowed" in last.amounts:
        last.amounts["kv_pool"] = dict(last.amounts["kv_windowed"])
    if "full_tokens" in last.settings:
        last.settings["pool_tokens"] = last.settings.pop("full_tokens")
    _join(last, ("state_r", "state_s"), "state")
    log = Log(ENGINE, dict(last.settings), last.amounts, tuple(last.devices.values()), loads=len(with_bytes))
    return log, sum(one.own_hits for one in readings)


def _join(reading: Reading, parts: tuple[str, str], whole: str) -> None:
    """Add the parts of each rank to one figure where both are printed."""
    first, second = (reading.amounts.get(name, {}) for name in parts)
    for rank in first:
        if rank in second:
            reading.add(whole, rank, first[rank] + second[rank], sums=whole in reading.amounts)
