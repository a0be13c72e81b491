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


def one_currency(amounts: dict[str, str | None]) -> str | None:
    """Return the currency that all amounts share; None where none of them has one.

    Args:
        amounts: what each amount is -> its currency, None for an amount that is not there.

    Raises:
        UsageError: two amounts are in different currencies, which are never added or compared.
    """
    known = {name: currency for name, currency in amounts.items() if currency}
    if len(set(known.values())) > 1:
        listed = ", ".join(f"{name} in {currency}" for name, currency in known.items())
        raise UsageError(f"{listed}: currencies are never mixed, state all amounts in one")
    return next(iter(known.values()), None)
