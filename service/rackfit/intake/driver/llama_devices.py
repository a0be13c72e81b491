"""The device list of llama.cpp, from its log or from `--list-devices`."""

from __future__ import annotations

from rackfit.intake.driver.found import CARD, DriverOutput, FoundDevice
from rackfit.intake.logs import llama_cpp
from rackfit.intake.logs.parsed import lines_of

TOOL = "llama.cpp"
FREE = "free memory is what the driver offers: through Vulkan it may hold shared host memory"


def read(text: str) -> DriverOutput | None:
    """Return the devices listed, None where there are none."""
    log, _ = llama_cpp.read(lines_of(text))
    devices = tuple(
        FoundDevice(one.rank, one.name, CARD, one.total_bytes, free_bytes=one.free_bytes) for one in log.devices
    )
    return DriverOutput(TOOL, devices, notes=(FREE,)) if devices else None
