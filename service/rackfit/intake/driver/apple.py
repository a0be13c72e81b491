"""`system_profiler -json` of macOS: the chip, its graphics cores, and the memory that both share."""

from __future__ import annotations

import json
import re
from typing import Any

from rackfit.intake.driver.found import CARD, DriverOutput, FoundDevice

TOOL = "system_profiler -json"
GIB = 2**30
POOL = "memory is shared with the system: macOS lets the GPU use about three quarters unless told otherwise"


def read(text: str) -> DriverOutput | None:
    """Return the chip, None where the text is not system_profiler's or the machine has no chip of Apple's."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    machine = _first(document, "SPHardwareDataType")
    name = str(machine.get("chip_type", ""))
    if not name.startswith("Apple "):
        return None
    size = re.fullmatch(r"([0-9]{1,4}) GB", str(machine.get("physical_memory", "")))
    total = int(size[1]) * GIB if size else None
    cores = re.fullmatch(r"[0-9]{1,3}", str(_first(document, "SPDisplaysDataType").get("sppci_cores", "")))
    shown = f"{name} {cores[0]}c" if cores else name
    device = FoundDevice("0", shown, CARD, total, unified=True, target=f"{name} {size[1]}GB" if size else None)
    return DriverOutput(TOOL, (device,), total, (POOL,))


def _first(document: Any, kind: str) -> dict[str, Any]:
    found = document.get(kind) if isinstance(document, dict) else None
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}
