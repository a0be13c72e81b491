"""Layer positions in compact form: `0-31`, `3 7 11`, `0-30 step 2 33`. No dependency, so that arithmetic may use it."""

from __future__ import annotations

import re

PATTERN = r"^\d+(-\d+( step \d+)?)?( \d+(-\d+( step \d+)?)?)*$"
"""What a list of layer positions looks like."""

_RUN = re.compile(r"(\d+)(?:-(\d+)(?: step (\d+))?)?")


def parse_indices(text: str) -> tuple[int, ...]:
    """Return the zero-based layer positions that a compact list names.

    >>> parse_indices("0-2 5-9 step 2")
    (0, 1, 2, 5, 7, 9)
    """
    positions: list[int] = []
    for first, last, step in _RUN.findall(text):
        positions.extend(range(int(first), int(last or first) + 1, int(step or 1)))
    return tuple(positions)
