"""Memory under a setting that stands behind a device in brackets: `a40 (ECC off)`, `m3-max-36gb (macOS 15)`.

What a driver printed for that operating system or setting goes before any rule. Error correction takes one sixteenth of
GDDR memory without bits of its own for it: an A40 prints 46068 MiB with ECC on and 49140 MiB with it off. HBM has such
bits, and GDDR7 corrects on the die: nothing is taken of them.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from typing import Any

from rackfit.catalog.read import rows_of
from rackfit.errors import UsageError
from rackfit.memory.device_memory import older_apple_limit, unified_memory
from rackfit.memory.domain import Device

ECC = re.compile(r"\becc\s*[:=]?\s*(?:is\s+)?(on|off|enabled|disabled)\b|\b(no|without|with)\s+ecc\b", re.IGNORECASE)
WIRED = re.compile(r"wired[_ ]limit(?:_mb)?\s*[:=]?\s*(\d+)\s*(gi?b|mi?b)?", re.IGNORECASE)
MACOS = re.compile(r"\bmac\s*os\s*(?:x\s*)?(\d+)", re.IGNORECASE)
APPLE = "Apple"
FIRST_WIDER = 26
"""macOS from which the default limit is wider (`memory.device_memory`, shares of Apple)."""
ECC_SHARE = 15 / 16
INLINE = re.compile(r"GDDR[56]")
"""Memory types whose error correction lies in the memory itself."""
ON_BY_DEFAULT = 0.95
"""Share of the label below which error correction is on as the device comes."""
GIB = 2**30


def under_setting(
    connection: sqlite3.Connection, device: Device, row: dict[str, Any], ram_gb: float | None, remark: str
) -> tuple[Device, str]:
    """Return a device with the memory that it has under a setting, and what was made of the remark.

    Args:
        connection: an open catalog.
        device: the device as it comes.
        row: its record.
        ram_gb: size of shared memory, for chips that are sold with several.
        remark: what stands in the brackets.
    """
    switch = ECC.search(remark)
    if switch is not None:
        return _with_ecc(device, row, on=(switch[1] or switch[2]).casefold() in ("on", "enabled", "with"))
    if row["vendor"] == APPLE and (limit := _apple_limit(row, ram_gb, remark)) is not None:
        changed = replace(device, memory_bytes=limit[0], memory_rule=limit[3], memory_spread=limit[1])
        return changed, f"memory: {limit[0] / GIB:.2f} GiB, {limit[2]}"
    found = _printed(connection, row["accelerator_id"], ram_gb or row["memory_gb"], remark)
    if not found:
        return device, f"memory: {remark!r} is no setting on record for {device.name}, taken as it comes"
    sizes = sorted(one["usable_bytes"] for one in found)
    likely = sizes[len(sizes) // 2]
    spread = max(sizes[-1] - likely, likely - sizes[0]) / likely
    line = next(one for one in found if one["usable_bytes"] == likely)
    said = ", ".join(part for part in (line["os"], line["os_version"], line["setting"]) if part)
    changed = replace(device, memory_bytes=likely, memory_rule="printed", memory_spread=round(spread, 4))
    return changed, f"memory: {likely / GIB:.2f} GiB, printed under {said}"


def _with_ecc(device: Device, row: dict[str, Any], on: bool) -> tuple[Device, str]:
    word, kind = "on" if on else "off", row["memory_type"] or "memory"
    if INLINE.match(kind) is None or kind.startswith("GDDR7") or device.unified:
        return device, f"memory: ECC {word} changes nothing, {kind} has room of its own for it"
    now = device.memory_bytes < ON_BY_DEFAULT * row["memory_gb"] * GIB
    if now == on:
        return device, f"memory: ECC {word}, as {device.name} comes"
    size = round(device.memory_bytes * (ECC_SHARE if on else 1 / ECC_SHARE))
    changed = replace(
        device, memory_bytes=size, memory_rule="ecc-sixteenth", memory_spread=max(device.memory_spread, 0.002)
    )
    return changed, f"memory: {size / GIB:.2f} GiB with ECC {word}, which takes a sixteenth"


def _apple_limit(row: dict[str, Any], ram_gb: float | None, remark: str) -> tuple[int, float, str, str] | None:
    """Return the share of a Mac's RAM that its GPU may take (bytes, spread, why, rule) as the remark says.

    `iogpu.wired_limit_mb` counts 2^20 bytes: 114688 makes a recommended maximum of 112.00 GiB.
    """
    ram = ram_gb or row["memory_gb"]
    wired = WIRED.search(remark)
    if wired is not None:
        unit = 2**30 if (wired[2] or "").casefold().startswith("g") else 2**20
        size = int(wired[1]) * unit
        if ram is None or size > ram * GIB:
            raise UsageError(f"hardware remark {remark!r}: {size / GIB:g} GiB, the machine has {ram} of RAM")
        return size, 0.0, "the wired limit that is set", "stated"
    system = MACOS.search(remark)
    if system is None or ram is None:
        return None
    newest = unified_memory(APPLE, ram)
    if int(system[1]) < FIRST_WIDER:
        return older_apple_limit(ram), 0.005, f"the default limit of macOS {system[1]}", newest.rule
    return newest.bytes, 0.02, f"the default limit of macOS {system[1]}", newest.rule


def _printed(
    connection: sqlite3.Connection, accelerator: str, ram_gb: float | None, remark: str
) -> list[dict[str, Any]]:
    """Return what was printed for the device under a setting: every word of the remark is found in the row."""
    words = [word for word in re.split(r"[\s,;/]+", remark.casefold()) if word]
    rows = rows_of(
        connection,
        "select os, os_version, setting, usable_bytes from usable_memory "
        "where accelerator_id = ? and (ram_gb = ? or ram_gb is null) order by usable_memory_id",
        accelerator, ram_gb,
    )  # fmt: skip
    told = [
        (" ".join(str(row[name] or "") for name in ("os", "os_version", "setting")).casefold(), row) for row in rows
    ]
    return [row for text, row in told if words and all(_says(text, word) for word in words)]


def _says(text: str, word: str) -> bool:
    """Return whether a word stands in a text on its own, a version as the start of a longer one."""
    return re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text) is not None
