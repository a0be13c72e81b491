"""The levels of memory of a device, nearest first, and how much faster the near ones are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ORDER = ("register", "l1_shared", "shared_max", "l2", "hbm")
"""Levels from the arithmetic outwards. `hbm` is device memory whatever its type."""
PER_UNIT = "compute unit"


@dataclass(frozen=True, slots=True)
class Level:
    """One level: what one unit (or the device) has, what all have together, and how fast all together are."""

    level: str
    capacity_bytes: int | None
    scope: str
    units: int | None
    bandwidth_gb_s: float | None
    basis: str

    @property
    def total_bytes(self) -> int | None:
        """Capacity of the whole device; None where a part of it is not on record."""
        if self.capacity_bytes is None or self.scope != PER_UNIT:
            return self.capacity_bytes
        return self.capacity_bytes * self.units if self.units else None


def in_order(levels: Sequence[Level]) -> list[Level]:
    """Return the levels from the arithmetic outwards."""
    return sorted(levels, key=lambda one: ORDER.index(one.level))


def sram_ratio(levels: Sequence[Level]) -> float | None:
    """Return the bandwidth of on-chip memory over that of device memory; None where one of them is not known."""
    found = {one.level: one.bandwidth_gb_s for one in levels}
    near, far = found.get("l1_shared"), found.get("hbm")
    return near / far if near and far else None
