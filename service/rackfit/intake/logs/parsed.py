"""What a start-up log says, whichever engine wrote it, and the one reader that all engines' patterns feed.

A pattern is a text that its lines hold and an expression searched anywhere in the line, so that a time stamp, a
worker's name or a journal's prefix before it never matters. The names of an expression's groups say what they are:
a component of COMPONENTS (bytes), a setting of SETTINGS, `rank` (the process or device that speaks), `unit`, or
`unit_<component>`. Lines that match nothing are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NUMBER = r"-?\d[\d,]{0,24}(?:\.\d{1,12})?"
"""A number as logs print it, thousands perhaps parted by commas."""

UNITS = {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "KB": 2**10, "MB": 2**20, "GB": 2**30}
"""Bytes of a unit. The engines read here divide by powers of 1024 whatever they print."""

MOST, LEAST, SUM = "most", "least", "sum"

COMPONENTS = {
    "device_total": ("memory of the device", LEAST),
    "device_free": ("free before loading", LEAST),
    "budget": ("share the engine may use", LEAST),
    "weights": ("weights", MOST),
    "weights_host": ("weights on the host", SUM),
    "draft_weights": ("weights of the draft", MOST),
    "consumed": ("weights + non-torch", MOST),
    "non_torch": ("non-torch", MOST),
    "torch_peak": ("peak of the allocator", MOST),
    "activation": ("activation peak", MOST),
    "compute": ("compute buffer", MOST),
    "graphs": ("graphs", MOST),
    "graphs_estimated": ("graphs, engine's estimate", MOST),
    "workspace": ("workspace buffer", MOST),
    "free_after_load": ("free after loading", LEAST),
    "kv_block": ("one block of the pool", MOST),
    "kv_pool": ("KV pool", LEAST),
    "kv_k": ("keys", LEAST),
    "kv_v": ("values", LEAST),
    "kv_windowed": ("KV pools with and without window", LEAST),
    "draft_pool": ("KV pool of the draft", LEAST),
    "kv_needed": ("KV of one request", MOST),
    "kv": ("KV cache", SUM),
    "kv_buffer": ("KV buffer", SUM),
    "kv_host": ("KV cache on the host", SUM),
    "state": ("recurrent state", SUM),
    "state_r": ("recurrent state, convolution", SUM),
    "state_s": ("recurrent state, matrices", SUM),
    "state_buffer": ("recurrent state of a device", SUM),
    "free_after_pool": ("free after the pool", LEAST),
    "required_full": ("needed with every layer", MOST),
    "required_partial": ("needed as placed", MOST),
    "weights_repeating": ("weights of layers", MOST),
    "weights_nonrepeating": ("weights beside layers", MOST),
    "projector_weights": ("projector weights", MOST),
    "projector_graph": ("image encoder workspace", MOST),
    "graph_full": ("workspace with every layer", MOST),
    "graph_partial": ("workspace as placed", MOST),
    "file_size": ("file", MOST),
}
"""Component -> how it is called, and which rank stands for all: the fullest, the one with least room, or their sum."""

SETTINGS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(
        (
            "model", "version", "generation", "quantization", "dtype", "kv_dtype", "architecture", "file_type", "name",
            "pools", "started", "speculative",
        ),
        str,
    ),
    **dict.fromkeys(
        (
            "tp", "pp", "dp", "ep", "context", "max_sequences", "batched_tokens", "block_tokens", "pool_tokens",
            "pool_blocks", "concurrency_tokens", "longest_context", "sequences", "state_sequences", "state_layers",
            "micro_batch", "layers_offloaded", "layers_total", "layers_placed", "full_tokens",
        ),
        lambda text: int(text.replace(",", "").split(".")[0]),
    ),
    **dict.fromkeys(("utilization", "static_fraction", "concurrency", "metal_limit"), float),
    **dict.fromkeys(("eager", "unified"), lambda text: text.casefold() in ("true", "1")),
}  # fmt: skip
"""Setting -> how its text is read."""

SMALLEST_WINS = ("pool_tokens", "pool_blocks", "concurrency")
"""Settings that each rank prints: the smallest binds all of them."""

NOTHING = ("none", "auto", "null", "")
LARGEST = 2**48
"""A setting above this is a slip or damage."""
LONGEST_LINE = 65_536
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of line. `sums` adds repeated lines of one rank, else the last of them counts."""

    mark: str
    expression: re.Pattern[str]
    unit: str = "GIB"
    sums: bool = False
    own: bool = True
    """Whether a line of this kind tells the engine: lines that a wrapped engine writes do not."""


def pattern(mark: str, expression: str, unit: str = "GIB", sums: bool = False) -> Pattern:
    """Return a pattern; `N` between angle brackets and colons in the expression stands for a number."""
    expanded = re.sub(r"<(\w+):N>", lambda found: f"(?P<{found[1]}>{NUMBER})", expression)
    return Pattern(mark, re.compile(expanded), unit, sums)


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """A device that an engine lists: how the engine calls it, the product's name, and bytes where printed."""

    rank: str
    name: str
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True)
class Log:
    """What one start of an engine printed. Bytes by component and rank; rank "" where a line names none."""

    engine: str
    settings: Mapping[str, Any]
    amounts: Mapping[str, Mapping[str, int]]
    devices: tuple[DeviceLine, ...] = ()
    estimate: bool = False
    """Whether the figures are the engine's plan before loading, not what it allocated."""
    loads: int = 1
    warnings: tuple[str, ...] = field(default=())

    def bound(self, component: str) -> int | None:
        """Return the bytes of a component on the rank that stands for all, None where it is not printed."""
        ranks = self.amounts.get(component)
        if not ranks:
            return None
        rule = COMPONENTS[component][1]
        return sum(ranks.values()) if rule == SUM else max(ranks.values()) if rule == MOST else min(ranks.values())

    def total(self, component: str) -> int | None:
        """Return the bytes of a component over all ranks, None where it is not printed."""
        ranks = self.amounts.get(component)
        return sum(ranks.values()) if ranks else None


class Reading:
    """A log while it is read."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.amounts: dict[str, dict[str, int]] = {}
        self.devices: dict[str, DeviceLine] = {}
        self.hits = 0
        self.own_hits = 0

    def take(self, one: Pattern, found: re.Match[str], rank: str) -> None:
        """Keep what a line says."""
        groups = {name: text for name, text in found.groupdict().items() if text is not None}
        rank = groups.pop("rank", rank)
        self.hits += 1
        self.own_hits += one.own
        if "device" in groups:
            self._device(rank, groups)
            return
        for name, text in groups.items():
            if name in COMPONENTS:
                unit = groups.get(f"unit_{name}") or groups.get("unit") or one.unit
                self.add(name, rank, amount(text, unit), one.sums)
            elif name in SETTINGS:
                self.set(name, text)

    def add(self, component: str, rank: str, size: int, sums: bool = False) -> None:
        """Keep the bytes of a component on a rank."""
        ranks = self.amounts.setdefault(component, {})
        ranks[rank] = ranks.get(rank, 0) + size if sums else size

    def set(self, name: str, text: str) -> None:
        """Keep a setting; a default that says nothing is no setting."""
        if text.strip("'\"").casefold() in NOTHING:
            return
        try:
            value = SETTINGS[name](text.strip("'\""))
        except ValueError:
            return
        if isinstance(value, (int, float)) and (value < 0 or value > LARGEST):
            return
        if name in SMALLEST_WINS and name in self.settings:
            value = min(value, self.settings[name])
        self.settings[name] = value

    def _device(self, rank: str, groups: Mapping[str, str]) -> None:
        known = self.devices.get(rank)
        sizes = [
            amount(groups[name], groups.get("unit") or "MIB") if name in groups else None for name in ("total", "free")
        ]
        self.devices[rank] = DeviceLine(
            rank,
            groups["device"].strip(),
            sizes[0] or (known.total_bytes if known else None),
            sizes[1] or (known.free_bytes if known else None),
        )


def amount(text: str, unit: str) -> int:
    """Return the bytes of a printed size.

    >>> amount("1,024.5", "MiB")
    1074266112
    """
    return round(float(text.replace(",", "")) * UNITS[unit.upper()])


def lines_of(text: str) -> list[str]:
    """Return the lines of a log without colours; a carriage return of a progress bar ends a line."""
    return [COLOUR.sub("", line)[:LONGEST_LINE] for line in re.split(r"[\r\n]+", text) if line]


def scan(
    lines: Iterable[str], patterns: Sequence[Pattern], rank_of: Callable[[str], str], restart: str | None = None
) -> list[Reading]:
    """Read lines with an engine's patterns; return one reading per start of the engine.

    Args:
        lines: the log.
        patterns: what its lines look like.
        rank_of: finds the rank in the text before a match.
        restart: a text that begins a new start; settings and devices seen before stay, bytes do not.
    """
    readings = [Reading()]
    for line in lines:
        if restart is not None and restart in line and readings[-1].amounts:
            fresh = Reading()
            fresh.settings, fresh.devices = dict(readings[-1].settings), dict(readings[-1].devices)
            for name in SMALLEST_WINS:
                fresh.settings.pop(name, None)
            readings.append(fresh)
        for one in patterns:
            if one.mark in line and (found := one.expression.search(line)) is not None:
                readings[-1].take(one, found, rank_of(line[: found.start()]))
    return readings


def no_rank(_: str) -> str:
    """Return no rank: for engines whose lines name the device themselves."""
    return ""
