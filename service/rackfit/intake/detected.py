"""Devices that tools list, as records of the catalog and as the hardware to ask about.

A name alone is no card: many cards share one name and differ in memory, a virtual GPU has a card's name and a part of
its memory, and a driver can add memory of the host. So the size that is printed decides beside the name.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rackfit.catalog.read import rows_of
from rackfit.catalog.resolve import resolve
from rackfit.errors import AmbiguousNameError, UnknownNameError
from rackfit.intake.driver.found import MIG_SLICE, VGPU, DriverOutput, FoundDevice

GIB = 2**30
ALIKE = 0.08
"""Relative distance of sizes of one device: ECC takes 1/16 of GDDR memory, and no two sizes of a card lie as near."""
IN_USE = 0.05
"""Share of a device from which its memory counts as in use: drivers and desktops hold less."""
SLICES_ALIKE = 0.04
UNITS_PER_SLICE = (13, 20)
"""SMs of one compute slice: 14 on A100 and A30, 16 to 20 on Hopper and Blackwell."""
UNKNOWN = "no card of the catalog: {}"
SMALLER = "{name} has {whole:.1f} GiB on record, {seen:.1f} are printed: a part of a card, or another card"
LARGER = "{seen:.1f} GiB are printed, more than {name} has ({whole:.1f}): the driver adds memory of the host"


def detected(
    connection: sqlite3.Connection, outputs: Sequence[DriverOutput], system_bytes: int | None = None
) -> dict[str, Any]:
    """Return the devices with their records, and the hardware expression that stands for them.

    Args:
        connection: a catalog.
        outputs: what the tools list; a device that two tools list is taken from the first.
        system_bytes: RAM of the machine where it is known beside the tools.

    `hardware` is None where no device has a record; devices without one are in `devices` with the reason. `usable_gib`
    is what a pool that is shared with the system gives the devices, None where they have memory of their own.
    `free_gib` is what the fullest device has left, None where nothing to speak of is in use.
    """
    rows = [row for output in outputs for row in _rows(connection, output)]
    system = next((output.system_bytes for output in outputs if output.system_bytes is not None), system_bytes)
    notes = list(dict.fromkeys(note for output in outputs for note in output.notes))
    found = [row for row in rows if row["usable"] and row["hardware"]]
    missing = [row for row in rows if row["usable"] and not row["hardware"]]
    if missing and found:
        notes.append(f"{len(missing)} of {len(missing) + len(found)} devices have no record and are left out")
    counts = Counter(row["hardware"] for row in found)
    pools = {row["pool_bytes"] for row in found if row["pool_bytes"] is not None}
    return {
        "tools": [output.tool for output in outputs],
        "devices": [{name: value for name, value in row.items() if name != "pool_bytes"} for row in rows],
        "hardware": " + ".join(f"{count}x {name}" for name, count in counts.items()) or None,
        "usable_gib": round(max(pools) / GIB, 2) if len(pools) == 1 else None,
        "free_gib": _left(found),
        "system_bytes": system,
        "notes": notes,
    }


def _left(rows: Sequence[dict[str, Any]]) -> float | None:
    """Return the least that is free on a device of which more than a share is in use, GiB."""
    busy = [
        row["free_bytes"]
        for row in rows
        if row["free_bytes"] is not None and (row["used_bytes"] or 0) > IN_USE * (row["total_bytes"] or 0)
    ]
    return round(min(busy) / GIB, 2) if busy else None


def _rows(connection: sqlite3.Connection, output: DriverOutput) -> Iterator[dict[str, Any]]:
    parents = {device.index: device for device in output.devices if not device.usable}
    for device in output.devices:
        if device.kind == MIG_SLICE:
            ids, note = _slice(connection, device, parents.get(device.parent or ""))
        else:
            ids, note = _card(connection, device)
        if len(ids) > 1:
            note = "; ".join(part for part in (note, f"one of {', '.join(ids)}") if part)
        pooled = device.unified and device.shared_bytes is not None
        yield {
            "index": device.index,
            "name": device.name,
            "kind": device.kind,
            "accelerator": ids[0].partition("/")[0] if ids else None,
            "hardware": _with_ram(connection, ids[0], device, output.system_bytes) if ids else None,
            "candidates": ids if len(ids) > 1 else [],
            "total_bytes": device.total_bytes,
            "used_bytes": device.used_bytes,
            "free_bytes": device.room_bytes,
            "usable": device.usable,
            "note": note,
            "pool_bytes": device.target_bytes if pooled else None,
        }


def _card(connection: sqlite3.Connection, device: FoundDevice) -> tuple[list[str], str | None]:
    """Return the records that a card can be, and what is to be minded."""
    if device.kind == VGPU:
        return [], "a virtual GPU: a share of a card, with the memory that is printed"
    ids, why = _named(connection, device)
    if not ids:
        return [], why
    seen = device.total_bytes or device.room_bytes
    if seen is None or device.unified:
        return ids, None
    sizes = _sizes(connection, ids)
    alike = [name for name in ids if abs(seen / sizes[name] - 1) <= ALIKE]
    if alike:
        return alike, None
    if device.total_bytes is None and seen < min(sizes.values()):
        return ids, None  # only what is free is printed: less than the card has
    nearest = min(ids, key=lambda name: abs(seen / sizes[name] - 1))
    figures = {"name": nearest, "whole": sizes[nearest] / GIB, "seen": seen / GIB}
    return ([nearest], LARGER.format(**figures)) if seen > sizes[nearest] else ([], SMALLER.format(**figures))


def _named(connection: sqlite3.Connection, device: FoundDevice) -> tuple[list[str], str | None]:
    """Return the records of a device's name, else those of its instruction set, else why there is none."""
    why = UNKNOWN.format("the tool prints no name")
    for name in _spellings(device):
        try:
            return list(resolve(connection, "accelerator", name, allow_class=True).ids), None
        except (UnknownNameError, AmbiguousNameError) as error:
            why = UNKNOWN.format(error)
    if device.target:
        rows = rows_of(
            connection, "select accelerator_id as id from accelerators where compute_capability = ?", device.target
        )
        ids = [row["id"] for row in rows]
        if ids:
            return ids, None
    return [], why


def _spellings(device: FoundDevice) -> Iterator[str]:
    """Yield a device's name as drivers print it, without signs of trade marks, and without the word for its kind."""
    if device.name is None:
        return
    plain = re.sub(r"\((?:r|tm)\)", "", device.name, flags=re.IGNORECASE)
    plain = re.sub(r"\s+", " ", plain).strip()
    yield from dict.fromkeys((device.name, plain, re.sub(r"\s*\bGraphics$", "", plain)))
    if device.target and device.target.startswith("Apple "):
        yield device.target


def _slice(
    connection: sqlite3.Connection, device: FoundDevice, parent: FoundDevice | None
) -> tuple[list[str], str | None]:
    """Return the MIG profiles that a slice can be: of its card, or of any card where the tool does not show its own."""
    ids, why = ([], None) if parent is None else _card(connection, parent)
    if parent is not None and not ids:
        return [], why
    rows = rows_of(
        connection, "select accelerator_id, profile, compute_slices as slices, fit_memory_bytes from mig_profiles"
    )
    found = [
        row
        for row in rows
        if device.total_bytes is not None
        and abs(device.total_bytes / row["fit_memory_bytes"] - 1) <= SLICES_ALIKE
        and (not ids or row["accelerator_id"] in ids)
        and "+" not in row["profile"]
    ]
    if not found:
        return [], "no profile on record has this size"
    sized = ", ".join(sorted({row["profile"] for row in found}))
    if device.units is not None:
        found = [row for row in found if UNITS_PER_SLICE[0] <= device.units / row["slices"] <= UNITS_PER_SLICE[1]]
    note = None if parent is not None else f"its card is not shown; slices of this size are {sized}"
    return [f"{row['accelerator_id']}/{row['profile']}" for row in found], note


def _sizes(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return the bytes of accelerators as fits are computed against them."""
    marks = ", ".join("?" for _ in ids)
    rows = rows_of(
        connection,
        f"select accelerator_id, fit_memory_bytes from accelerators where accelerator_id in ({marks})",
        *ids,
    )
    return {row["accelerator_id"]: row["fit_memory_bytes"] for row in rows}


def _with_ram(connection: sqlite3.Connection, name: str, device: FoundDevice, system_bytes: int | None) -> str:
    """Return the hardware's name, with the size in which a chip of shared memory is sold where it follows."""
    if not device.unified or device.total_bytes is None:
        return name
    rows = rows_of(connection, "select memory_options_gb from accelerators where accelerator_id = ?", name)
    options = sorted(int(size) for size in re.findall(r"\d+", str(rows[0]["memory_options_gb"] or "")))
    apart = system_bytes is not None and system_bytes != device.total_bytes
    whole = device.total_bytes + (system_bytes or 0 if apart else 0)
    fitting = [size for size in options if size * GIB >= whole * (1 - ALIKE) and size * GIB <= whole * (1 + ALIKE)]
    return f"{name} {fitting[0]}gb" if fitting else name
