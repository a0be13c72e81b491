"""The table of `nvidia-smi`, with the table of MIG devices below it."""

from __future__ import annotations

import re
from dataclasses import replace

from rackfit.intake.driver.found import CARD, MIB, MIG_SLICE, DriverOutput, FoundDevice

TOOL = "nvidia-smi"
_NAME = re.compile(r"^\|\s+(\d+)\s+(\S.*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM)\s*\|\s*[0-9A-Fa-f]{4,8}:")
_MEMORY = re.compile(r"(\d{1,9})MiB\s*/\s*(\d{1,9})MiB")
_SLICE = re.compile(
    r"^\|\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+\|\s+(\d{1,9})MiB\s*/\s*(\d{1,9})MiB\s*(?:\|\s*(\d{1,4})\s)?"
)
NO_PEERS = "MIG slices have no peer-to-peer link: several of them are as many devices without one"


def read(text: str) -> DriverOutput | None:
    """Return the devices of the table, None where the text is no such table. A card with slices is not usable."""
    cards: dict[str, FoundDevice] = {}
    slices: list[FoundDevice] = []
    open_card: str | None = None
    for line in text.splitlines():
        if found := _SLICE.match(line):
            gpu, instance, compute, device = found.group(1, 2, 3, 4)
            used, total = (int(size) * MIB for size in found.group(5, 6))
            name = f"slice {device} (GI {instance}, CI {compute}) of GPU {gpu}"
            units = int(found[7]) if found[7] else None
            slices.append(FoundDevice(f"{gpu}.{device}", name, MIG_SLICE, total, used, parent=gpu, units=units))
        elif found := _NAME.match(line):
            open_card = found[1]
            cards[open_card] = FoundDevice(open_card, found[2], CARD, None)
        elif open_card is not None and (found := _MEMORY.search(line)):
            used, total = (int(size) * MIB for size in found.groups())
            cards[open_card] = replace(cards[open_card], total_bytes=total, used_bytes=used)
            open_card = None
    if not cards and not slices:
        return None
    cut = {one.parent for one in slices}
    whole = [replace(card, usable=index not in cut) for index, card in cards.items()]
    return DriverOutput(TOOL, (*whole, *slices), notes=(NO_PEERS,) if slices else ())
