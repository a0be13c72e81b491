"""`rocm-smi` in JSON or as text; sizes are strings of bytes. Beside it a machine's MemTotal may stand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rackfit.intake.driver.found import CARD, DriverOutput, FoundDevice

TOOL = "rocm-smi"
SHARED_POOL = (
    "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1103",
    "gfx1150", "gfx1151", "gfx1152", "gfx1153",
)  # fmt: skip
"""Targets of processors with graphics: carve-out and mapped memory are parts of one pool."""
_LINE = re.compile(r"GPU\[(\d+)\]\s*:\s*([^:]+?)\s*:\s*(.*?)\s*$", re.MULTILINE)
_SYSTEM = re.compile(r"MemTotal:\s+(\d{1,15})\s+kB")
POOL = "carve-out and system memory are one pool: what the system sees is not what the GPU has, and neither adds up"


def read(text: str) -> DriverOutput | None:
    """Return the cards, None where the text is not rocm-smi's."""
    cards = _json(text) if text.lstrip().startswith("{") else _lines(text)
    devices = tuple(_device(index, facts) for index, facts in cards.items() if _size(facts, "VRAM Total Memory (B)"))
    if not devices:
        return None
    system = _SYSTEM.search(text)
    notes = (POOL,) if any(device.unified for device in devices) else ()
    return DriverOutput(TOOL, devices, int(system[1]) * 1024 if system else None, notes)


def _json(text: str) -> dict[str, Mapping[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {
        name.removeprefix("card"): facts
        for name, facts in document.items()
        if name.startswith("card") and isinstance(facts, dict)
    }


def _lines(text: str) -> Mapping[str, Mapping[str, Any]]:
    cards: dict[str, dict[str, Any]] = {}
    for index, name, value in _LINE.findall(text):
        cards.setdefault(index, {})[name] = value
    return cards


def _size(facts: Mapping[str, Any], name: str) -> int | None:
    found = re.fullmatch(r"[0-9]{1,18}", str(facts.get(name, "")))
    return int(found[0]) if found else None


def _device(index: str, facts: Mapping[str, Any]) -> FoundDevice:
    name = facts.get("Card Series") or facts.get("Card series") or facts.get("Device Name")
    target = f"{facts.get('GFX Version', '')} {name or ''}"
    return FoundDevice(
        index,
        re.sub(r"\s*\(gfx\w+\)$", "", str(name)) if name else None,
        CARD,
        _size(facts, "VRAM Total Memory (B)"),
        _size(facts, "VRAM Total Used Memory (B)"),
        shared_bytes=_size(facts, "GTT Total Memory (B)"),
        unified=any(re.search(rf"\b{gfx}\b", target) for gfx in SHARED_POOL),
        target=found[0] if (found := re.search(r"\bgfx[0-9a-f]{3,4}\b", target)) else None,
    )
