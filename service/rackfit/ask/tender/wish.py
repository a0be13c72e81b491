"""Devices as tenders ask for them, taken apart: `2 x >= 140 GB or 4 x >= 94 GB`.

An alternative is met by a system with at least so many devices of at least so much memory each; `exactly` takes the
count as it is. GB is the label, GiB the memory that fits are computed against.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rackfit.errors import UsageError

_ONE = re.compile(
    r"^(?P<exactly>exactly\s+|=\s*)?(?P<count>\d{1,5})\s*[x×*]\s*(?:>=|≥|at least\s)?\s*"
    r"(?P<memory>\d+(?:[.,]\d+)?)\s*(?P<unit>GB|GiB)\b\s*(?:each)?$",
    re.IGNORECASE,
)
EXPECTED = "alternatives such as 2 x >= 140 GB or 4 x >= 94 GB"


@dataclass(frozen=True, slots=True)
class DeviceWish:
    """One alternative: so many devices of so much memory each."""

    count: int
    memory: float
    unit: str
    exactly: bool = False

    def __str__(self) -> str:
        """Return the alternative in its usual form."""
        return f"{'exactly ' if self.exactly else ''}{self.count} x >= {self.memory:g} {self.unit}"

    def met_by(self, count: int, memory: float | None) -> bool | None:
        """Return whether devices meet it; None where that turns on memory that is not known.

        Args:
            count: devices of the system.
            memory: memory of each in the unit of the wish; None: not known.
        """
        if count < self.count or (self.exactly and count != self.count):
            return False
        return None if memory is None else memory >= self.memory


def parse_devices(text: str) -> tuple[DeviceWish, ...]:
    """Take the alternatives of a wish apart.

    >>> [str(one) for one in parse_devices("2 x >= 140 GB or 4x94GB")]
    ['2 x >= 140 GB', '4 x >= 94 GB']

    Raises:
        UsageError: naming the part that cannot be read.
    """
    wishes = []
    for part in re.split(r"\s+or\s+|\s*\|\s*", text.strip(), flags=re.IGNORECASE):
        matched = _ONE.match(part.strip())
        if matched is None or int(matched["count"]) < 1 or float(matched["memory"].replace(",", ".")) <= 0:
            raise UsageError(f"{part.strip()!r}: expected {EXPECTED}")
        unit = "GiB" if matched["unit"].casefold() == "gib" else "GB"
        memory = float(matched["memory"].replace(",", "."))
        wishes.append(DeviceWish(int(matched["count"]), memory, unit, bool(matched["exactly"])))
    return tuple(wishes)
