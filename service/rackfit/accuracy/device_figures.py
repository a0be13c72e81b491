"""Estimates of what a device offers."""

from __future__ import annotations

import re

from rackfit.accuracy.figures import Figure, around
from rackfit.accuracy.setting import CaseSetting
from rackfit.catalog.read import rows_of
from rackfit.errors import UnsupportedError
from rackfit.memory.budget import GIB
from rackfit.memory.device_memory import older_apple_limit


def driver_total(setting: CaseSetting) -> Figure:
    """Return the device's memory as its driver prints it, bytes."""
    device = setting.device
    return around(device.memory_bytes, device.memory_spread * device.memory_bytes)


def engine_visible(setting: CaseSetting) -> Figure:
    """Return the device's memory as torch sees it, bytes."""
    value = setting.total()
    return around(value, max(setting.device.memory_spread * value, 0.15 * GIB))


def metal_limit(setting: CaseSetting) -> Figure:
    """Return what Metal recommends as the largest working set, bytes; without a size in the name the driver's.

    Raises:
        UnsupportedError: the device is none of Apple's.
    """
    device = setting.device
    if device.vendor != "Apple":
        raise UnsupportedError(f"{device.name} is no Metal device")
    size = _ram_in_name(setting.case.gpu)
    if size is None:
        return driver_total(setting)
    rows = rows_of(
        setting.connection,
        "select usable_bytes from usable_memory where accelerator_id = ? and ram_gb = ? order by usable_bytes",
        device.accelerator_id,
        size,
    )
    known = [float(row["usable_bytes"]) for row in rows]
    known += [float(older_apple_limit(size)), float(device.memory_bytes)]
    note = "the limit of older macOS; that of 26 and later is the upper end of the range"
    return Figure(min(known), 0.999 * min(known), 1.001 * max(known), (note,))


def _ram_in_name(text: str) -> float | None:
    match = re.search(r"(\d+)\s*GB", text)
    return float(match[1]) if match else None
