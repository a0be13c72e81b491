"""Ollama: the scheduler's key=value line (a plan made before loading) and the lines of the engine under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rackfit.intake.logs import llama_cpp
from rackfit.intake.logs.parsed import Log, no_rank, pattern, scan

ENGINE = "Ollama"
RESTART = "msg=offload"

SIZE = r"\s*(?P<unit>[KMG]iB|B)"

PLANNED = {
    "memory.required.full": "required_full",
    "memory.required.partial": "required_partial",
    "memory.required.kv": "kv",
    "memory.weights.total": "weights",
    "memory.weights.repeating": "weights_repeating",
    "memory.weights.nonrepeating": "weights_nonrepeating",
    "memory.graph.full": "graph_full",
    "memory.graph.partial": "graph_partial",
    "projector.weights": "projector_weights",
    "projector.graph": "projector_graph",
}
"""Key of the scheduler's line -> component."""

PATTERNS = (
    *(pattern(key + "=", rf'\b{key}="?\[?<{name}:N>' + SIZE) for key, name in PLANNED.items()),
    pattern("memory.available=", r'\bmemory\.available="?\[<device_free:N>' + SIZE),
    pattern("layers.offload=", r"\blayers\.offload=<layers_placed:N>"),
    pattern("layers.model=", r"\blayers\.model=<layers_total:N>"),
    pattern('msg="model weights"', r'device=(?P<rank>\S+) size="?<weights:N>' + SIZE),
    pattern('msg="kv cache"', r'device=(?P<rank>\S+) size="?<kv_buffer:N>' + SIZE),
    pattern('msg="compute graph"', r'device=(?P<rank>\S+) size="?<compute:N>' + SIZE),
    pattern(
        'msg="inference compute"',
        r'\bid=(?P<rank>\S+) .*?\blibrary=(?!cpu\b)\S+ .*?\b(?:name|description)="(?P<device>[^"]*)".*?'
        r'\btotal="(?P<total>\d{1,6}(?:\.\d+)?) (?P<unit>GiB)"(?: available="(?P<free>\d{1,6}(?:\.\d+)?) GiB")?',
    ),
    pattern("--ctx-size", r"--ctx-size <context:N>"),
    pattern("--parallel", r"--parallel <sequences:N>"),
    pattern("OLLAMA_KV_CACHE_TYPE:", r"OLLAMA_KV_CACHE_TYPE:(?P<kv_dtype>\w+)"),
    pattern("Listening on", r"Listening on .*\(version (?P<version>[\d.]+)\)"),
)
"""The scheduler's own lines; what the engine under it prints is read with that engine's patterns."""


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the last load printed, and how many lines of the scheduler there are.

    Where the engine under the scheduler printed what it allocated, that is the log and the plan stands beside it;
    else the plan is all there is, and is marked as one.
    """
    readings = scan(lines, PATTERNS, no_rank, RESTART)
    with_bytes = [one for one in readings if one.amounts] or readings[-1:]
    last, hits = with_bytes[-1], sum(one.own_hits for one in readings)
    log = llama_cpp.finish(ENGINE, last, loads=len(with_bytes))
    planned = "required_full" in log.amounts or "layers_placed" in log.settings
    allocated, lower = llama_cpp.read(lines)
    if not hits or not lower:
        return replace(log, estimate=planned), hits
    below = {name: value for name, value in allocated.settings.items() if name != "version"}
    measured = bool(allocated.amounts.get("weights"))
    amounts = {**log.amounts, **allocated.amounts} if measured else log.amounts
    joined = replace(
        log,
        settings={**below, **log.settings},
        amounts=amounts,
        devices=log.devices or allocated.devices,
        estimate=planned and not measured,
    )
    return joined, hits + lower
