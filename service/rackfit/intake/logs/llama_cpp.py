"""llama.cpp and its server: buffers per device, cache and state sizes, devices, file type."""

from __future__ import annotations

from collections.abc import Sequence

from rackfit.intake.logs.parsed import NUMBER, Log, Reading, no_rank, pattern, scan

ENGINE = "llama.cpp"
RESTART = "loaded meta data with"
HOST_BUFFERS = ("CPU", "CUDA_Host", "ROCm_Host", "Vulkan_Host", "SYCL_Host", "BLAS", "host")
"""Beginnings of the names of buffers that lie in the host's memory."""

SIZE = r"\s*(?P<unit>[KMG]iB|[KMG]B)"
BUFFER = SIZE + r"(?!\s*\(projected\))"
"""A buffer that was allocated: the trial runs of --fit print theirs as projected."""

DEVICE = r"using device (?P<rank>\S+) \((?P<device>.*?)\)"
LISTED = r"(?P<rank>[A-Za-z]+\d+): (?P<device>.*?)"
RANK = r"(?<!\S)(?P<rank>\S{1,80})\s+"
CELLS = r" \(\s*(?P<rank>\d+ cells,\s+\d+ layers)"
"""Windowed and full layers have a cache each, told apart by their cells."""

PATTERNS = (
    pattern("model buffer size", RANK + r"model buffer size\s*=\s*<weights:N>" + BUFFER, sums=True),
    pattern("KV buffer size", RANK + r"KV buffer size\s*=\s*<kv_buffer:N>" + BUFFER, sums=True),
    pattern("RS buffer size", RANK + r"RS buffer size\s*=\s*<state_buffer:N>" + BUFFER, sums=True),
    pattern("compute buffer size", RANK + r"compute buffer size\s*=\s*<compute:N>" + BUFFER),
    pattern("KV self size", r"KV self size\s*=\s*<kv:N>" + SIZE),
    pattern("llama_kv_cache", r"llama_kv_cache\w*:\s+size\s*=\s*<kv:N>" + SIZE + CELLS),
    pattern("K (", r"\bK \((?P<kv_dtype>\w+)\):\s*" + NUMBER),
    pattern("llama_memory_recurrent", r"llama_memory_recurrent:\s+size\s*=\s*<state:N>" + SIZE),
    pattern("llama_memory_recurrent", r"\s+size.*?<state_layers:N> layers,\s*<state_sequences:N> seqs"),
    pattern("llama_memory_recurrent", r"llama_memory_recurrent:\s+size.*?\bR \(\w+\):\s*<state_r:N>" + SIZE),
    pattern("llama_memory_recurrent", r"llama_memory_recurrent:\s+size.*?\bS \(\w+\):\s*<state_s:N>" + SIZE),
    pattern("n_ctx ", r"\bn_ctx\s+=\s+<context:N>"),
    pattern("n_seq_max", r"\bn_seq_max\s*=\s*<sequences:N>"),
    pattern("n_batch ", r"\bn_batch\s+=\s+<batched_tokens:N>"),
    pattern("n_ubatch", r"\bn_ubatch\s*=\s*<micro_batch:N>"),
    pattern("kv_unified", r"\bkv_unified\s*=\s*(?P<unified>\w+)"),
    pattern("layers to GPU", r"offloaded <layers_offloaded:N>/<layers_total:N> layers to GPU"),
    pattern("using device", DEVICE + r"(?: \([^()]*\))? - (?P<free>\d{1,9}) MiB free"),
    pattern("MiB free)", LISTED + r" \((?P<total>\d{1,9}) MiB, (?P<free>\d{1,9}) MiB free\)"),
    pattern("GPU name:", r"ggml_metal\w*: GPU name:\s+(?P<rank>)(?P<device>Apple .*?)\s*$"),
    pattern("recommendedMaxWorkingSetSize", r"WorkingSetSize\s*=\s*(?P<metal_limit>\d{1,9}(?:\.\d+)?) MB"),
    pattern("file type", r"\bfile type\s*=\s*(?P<file_type>\S.*?)\s*(?:\(guessed\))?\s*$"),
    pattern("file size", r"\bfile size\s*=\s*<file_size:N>" + SIZE),
    pattern("arch ", r"\barch\s+=\s+(?P<architecture>\S+)"),
    pattern("general.name", r"general\.name\s+(?:str\s*)?=\s*(?P<name>\S.*?)\s*$"),
    pattern(RESTART, r"key-value pairs and \d+ tensors from (?P<model>\S.*?) \(version GGUF"),
    pattern("build", r"\bbuild(?::| =) (?P<version>\d{3,6}) \([0-9a-f]{6,}\)"),
)  # fmt: skip


def is_host(rank: str) -> bool:
    """Return whether a buffer of this name lies in the host's memory."""
    return rank.startswith(HOST_BUFFERS)


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the largest model loaded printed (a draft model is another load), and how many lines there are."""
    readings = scan(lines, PATTERNS, no_rank, RESTART)
    with_bytes = [one for one in readings if one.amounts] or readings[-1:]
    main = largest(with_bytes)
    return finish(ENGINE, main, loads=len(with_bytes)), sum(one.own_hits for one in readings)


def largest(readings: Sequence[Reading]) -> Reading:
    """Return the load with most weights, the last of equals."""
    return max(reversed(readings), key=lambda one: sum(one.amounts.get("weights", {}).values()))


def finish(engine: str, reading: Reading, loads: int) -> Log:
    """Turn a reading into a log: buffers of the host apart, the cache's size from its buffers where none is printed."""
    amounts = reading.amounts
    split_host(amounts, "weights", "weights_host")
    split_host(amounts, "compute", None)
    if "kv_buffer" in amounts and "kv" not in amounts:
        amounts["kv"] = {"": sum(amounts["kv_buffer"].values())}
    split_host(amounts, "kv_buffer", "kv_host")
    settings = dict(reading.settings)
    if (limit := settings.pop("metal_limit", None)) is not None:
        amounts["device_total"] = {"": metal_bytes(limit)}
    if str(settings.get("version", "")).isdigit():
        settings["version"] = f"b{settings['version']}"
    return Log(engine, settings, amounts, tuple(reading.devices.values()), loads=loads)


def metal_bytes(printed: float) -> int:
    """Return the bytes of Metal's recommended working set, which is printed as "MB".

    Old builds divide by 2^20 and new ones by 10^6. The limit is two thirds or three quarters of whole GiB of memory,
    so the reading that gives whole GiB is right (16 GB: 10922.67 or 11453.25).
    """
    whole = any(abs(printed / 1024 / share - round(printed / 1024 / share)) < 0.002 for share in (2 / 3, 3 / 4))
    return round(printed * (2**20 if whole else 10**6))


def split_host(amounts: dict[str, dict[str, int]], name: str, host_name: str | None) -> None:
    """Move the host's part of a component to a component of its own, or drop it where that has no name."""
    ranks = amounts.get(name, {})
    host = {rank: size for rank, size in ranks.items() if is_host(rank)}
    if not host:
        return
    device = {rank: size for rank, size in ranks.items() if rank not in host}
    amounts.pop(name)
    if device:
        amounts[name] = device
    if host_name is not None:
        amounts[host_name] = host
