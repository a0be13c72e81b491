"""The memory of a device, level by level: the wider the box, the more it holds; both figures beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

NAMES = {
    "register": "registers",
    "l1_shared": "L1 / shared",
    "shared_max": "shared, at most",
    "l2": "L2 cache",
    "hbm": "main memory",
}
"""Level of a device, from the fastest, and its name."""

LABEL, WIDE, ROW = 96, 132, 34
WIDTH = 390
KIB, MIB, GIB = 2**10, 2**20, 2**30


def short(count: float) -> str:
    """Return bytes in the largest unit that leaves a whole part.

    >>> short(262144), short(85520809984)
    ('256 KiB', '79.6 GiB')
    """
    unit, name = next(((u, n) for u, n in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")) if count >= u), (1, "B"))
    return f"{count / unit:.3g} {name}"


def rate(gb_s: float) -> str:
    """Return a bandwidth in GB/s or TB/s."""
    return f"{gb_s / 1000:.3g} TB/s" if gb_s >= 1000 else f"{gb_s:.3g} GB/s"


def levels(rows: Sequence[dict[str, Any]], units: int | None) -> list[dict[str, Any]]:
    """Return the levels from the fastest, with what the whole device holds where a level is one per compute unit."""
    known = {row["level"]: row for row in rows}
    found = []
    for level, name in NAMES.items():
        if level in known:
            row = known[level]
            each = row["scope"] != "device"
            total = row["capacity_bytes"] * (units if each and units else 1)
            found.append({**row, "name": name, "per_unit": each, "total_bytes": total})
    return found


def picture(rows: Sequence[dict[str, Any]]) -> Markup:
    """Return the levels as boxes, widths on a logarithmic scale of what the whole device holds."""
    drawn = [row for row in rows if row["level"] != "shared_max"]
    if len(drawn) < 2:
        return Markup("")
    logs = [math.log2(row["total_bytes"]) for row in drawn]
    low, high = min(logs) - 2, max(logs)
    parts = []
    for place, (row, size) in enumerate(zip(drawn, logs, strict=True)):
        y, wide = place * ROW, (size - low) / (high - low) * WIDE
        figures = short(row["total_bytes"]) + (f", {rate(row['bandwidth_gb_s'])}" if row.get("bandwidth_gb_s") else "")
        shape = (
            '<text x="0" y="{}">{}</text><rect class="rf-level-{}" x="{:.1f}" y="{}" width="{:.1f}" height="26"/>'
            '<text x="{}" y="{}">{}</text>'
        )
        left = LABEL + (WIDE - wide) / 2
        parts.append(
            Markup(shape).format(
                y + 18, row["name"], row["level"], left, y + 2, wide, LABEL + WIDE + 8, y + 18, figures
            )
        )
    said = "; ".join(f"{row['name']} {short(row['total_bytes'])}" for row in drawn)
    frame = '<svg class="rf-levels" viewBox="0 0 {} {}" role="img" aria-label="Memory of the device: {}">{}</svg>'
    return Markup(frame).format(WIDTH, len(drawn) * ROW, said, Markup("").join(parts))
