"""`nvidia-smi --query-gpu=... --format=csv`, with or without its header and units."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from rackfit.intake.driver.found import CARD, MIB, VGPU, DriverOutput, FoundDevice

TOOL = "nvidia-smi --query"
NOT_AVAILABLE = ("[n/a]", "n/a", "[not supported]", "[unknown error]", "[insufficient permissions]", "")
SMALLEST_MIB = 512
"""A number from which a column without a heading is taken for a memory size."""
_VGPU = re.compile(r"-\d+-\d+[ABCQ]$|-\d+[ABCQ]$")
_SIZE = re.compile(r"^(\d{1,9})(?:\s*MiB)?$")
ORDER = "no header: the first size of a line is taken for the total, the second for what is used"
PROCESS = "process memory is not available here"
SLICE = "{}: a virtual GPU, a share of a card: it is none of the catalog's cards"


def read(text: str) -> DriverOutput | None:
    """Return the devices of the lines, None where no line has a device's name and a size."""
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
    except csv.Error:
        return None
    if rows and any(cell.startswith("memory.total") for cell in rows[0]):
        return _headed(rows)
    devices: list[FoundDevice] = []
    notes: list[str] = []
    for row in rows:
        if len(row) < 2:
            return None
        device = _bare(row, str(len(devices)))
        if device is not None:
            devices.append(device)
        elif any(cell.casefold() in NOT_AVAILABLE for cell in row) and row[0].isdigit():
            notes.append(PROCESS)
        else:
            return None
    if not devices:
        return None
    if any(device.used_bytes is not None for device in devices):
        notes.insert(0, ORDER)
    return _finished(devices, notes)


def _bare(row: Sequence[str], index: str) -> FoundDevice | None:
    """Read a line without a header: one cell is a name, the sizes follow in the order of the query."""
    names = [cell for cell in row if re.search(r"[A-Za-z]{3}", cell) and not _SIZE.match(cell)]
    sizes = [int(found[1]) for cell in row if (found := _SIZE.match(cell)) and int(found[1]) >= SMALLEST_MIB]
    if len(names) != 1 or not sizes or not names[0].startswith(("NVIDIA", "Tesla", "GeForce", "Quadro", "GRID")):
        return None
    used = sizes[1] * MIB if len(sizes) > 1 else None
    return FoundDevice(index, names[0], _kind(names[0]), sizes[0] * MIB, used)


def _headed(rows: Sequence[Sequence[str]]) -> DriverOutput | None:
    heading = [name.partition(" [")[0] for name in rows[0]]
    devices = []
    for number, row in enumerate(rows[1:]):
        cells = dict(zip(heading, row, strict=False))
        name = cells.get("name") or cells.get("gpu_name")
        sizes = {column: _bytes(cells.get(f"memory.{column}")) for column in ("total", "used", "free")}
        index = cells.get("index", str(number))
        kind = _kind(name or "")
        devices.append(FoundDevice(index, name, kind, sizes["total"], sizes["used"], sizes["free"]))
    return _finished(devices, []) if devices else None


def _bytes(cell: str | None) -> int | None:
    found = _SIZE.match(cell or "")
    return int(found[1]) * MIB if found else None


def _kind(name: str) -> str:
    return VGPU if _VGPU.search(name) else CARD


def _finished(devices: list[FoundDevice], notes: list[str]) -> DriverOutput:
    notes += [SLICE.format(device.name) for device in devices if device.kind == VGPU]
    return DriverOutput(TOOL, tuple(devices), notes=tuple(notes))
