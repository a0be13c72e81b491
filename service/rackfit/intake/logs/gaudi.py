"""vLLM for Gaudi: weights, the profile run, and how what is left is divided."""

from __future__ import annotations

from collections.abc import Sequence

from rackfit.intake.logs.parsed import Log, no_rank, pattern, scan

ENGINE = "vLLM Gaudi"
RESTART = "Pre-loading model weights on hpu"

SIZE = r"\s*(?P<unit>[KMG]?i?B)"

PATTERNS = (
    pattern("Loading model weights took in total", r"took in total <weights:N>" + SIZE + r" of device memory"),
    pattern("of device memory (", r"of device memory \([^/]*/<device_total:N>" + SIZE + " used"),
    pattern("Model profiling run took", r"Model profiling run took <activation:N>" + SIZE + r" of device memory"),
    pattern("Free device memory:", r"Free device memory: <free_after_load:N>" + SIZE),
    pattern("Free device memory:", r"gpu_memory_utilization=(?P<utilization>[01]?\.\d+)"),
    pattern("Free device memory:", r"<graphs:N>" + SIZE + r" reserved for HPUGraphs"),
    pattern("Free device memory:", r"<kv_pool:N>" + SIZE + r" reserved for KV cache"),
    pattern("# HPU blocks:", r"# HPU blocks: <pool_blocks:N>"),
    pattern("HabanaAI", r"\bv(?P<version>\d+\.\d+\.\d+(?:\.\d+)?)\+Gaudi"),
)


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the last start printed, and how many lines of this engine there are."""
    readings = scan(lines, PATTERNS, no_rank, RESTART)
    with_bytes = [one for one in readings if one.amounts] or readings[-1:]
    last = with_bytes[-1]
    log = Log(ENGINE, dict(last.settings), last.amounts, tuple(last.devices.values()), loads=len(with_bytes))
    return log, sum(one.own_hits for one in readings)
