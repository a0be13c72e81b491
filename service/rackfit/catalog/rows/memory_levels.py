"""The memory hierarchy of an accelerator: registers, on-chip arrays, caches, device memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.memory.device_memory import DeviceMemory
from rackfit.records.accelerators import Accelerator

KIB, MIB = 2**10, 2**20
"""On-chip sizes are printed in KB and MB and count in powers of two."""

L1_BYTES_PER_CLOCK = 128
"""Bytes that one SM reads from its L1 or shared memory per clock, Volta and later (32 banks of 4 bytes)."""

LEVELS = (
    ("register", "registers_kb_per_unit", KIB, "compute unit"),
    ("l1_shared", "l1_shared_kb_per_unit", KIB, "compute unit"),
    ("shared_max", "shared_max_kb_per_unit", KIB, "compute unit"),
    ("l2", "l2_cache_mb", MIB, "device"),
)


def memory_levels(record: Accelerator, memory: DeviceMemory | None) -> Iterator[dict[str, Any]]:
    """Yield one row per level whose size is known; device memory (level `hbm`, whatever its type) last."""
    for level, field, unit, scope in LEVELS:
        size = getattr(record, field)
        if size is None:
            continue
        bandwidth = l1_bandwidth_gb_s(record) if level == "l1_shared" else None
        basis = "stated"
        if bandwidth is not None:
            basis = "derived: compute units x 128 B per clock x boost clock, all units together"
        yield {
            "level": level,
            "capacity_bytes": round(size * unit),
            "scope": scope,
            "bandwidth_gb_s": bandwidth,
            "basis": basis,
        }
    if memory is not None or record.memory_bandwidth_gb_s is not None:
        yield {
            "level": "hbm",
            "capacity_bytes": memory.bytes if memory else None,
            "scope": "device",
            "bandwidth_gb_s": record.memory_bandwidth_gb_s,
            "basis": f"capacity: {memory.rule if memory else 'unknown'}; bandwidth: stated",
        }


def l1_bandwidth_gb_s(record: Accelerator) -> float | None:
    """Return the L1 bandwidth of all SMs together in GB/s, for NVIDIA parts with known clock and SM count.

    108 SMs x 128 B x 1.41 GHz = 19.5 TB/s on an A100, which the FlashAttention paper rounds to 19 TB/s.
    """
    if record.compute_unit_kind != "SM" or not record.compute_units or not record.boost_clock_mhz:
        return None
    return round(record.compute_units * L1_BYTES_PER_CLOCK * record.boost_clock_mhz / 1000, 1)
