"""What a figure of money may be: a number, of one currency, above zero where nothing is free."""

from __future__ import annotations

import math

from rackfit.errors import UsageError


def above_zero(name: str, value: float, most: float = 1e15) -> float:
    """Return a figure that must be above zero.

    Raises:
        UsageError: it is zero, negative, no number, or larger than `most`.
    """
    if not (isinstance(value, (int, float)) and 0 < value <= most):
        raise UsageError(f"{name} = {value}: expected a number above 0{_end(most)}")
    return float(value)


def from_zero(name: str, value: float, most: float = 1e15) -> float:
    """Return a figure that may be zero.

    Raises:
        UsageError: it is negative, no number, or larger than `most`.
    """
    if not (isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= most):
        raise UsageError(f"{name} = {value}: expected a number from 0{_end(most)}")
    return float(value)


def _end(most: float) -> str:
    return "" if most >= 1e15 else f" to {most:g}"
