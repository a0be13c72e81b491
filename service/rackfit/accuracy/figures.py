"""An estimate with its range, and the units it comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rackfit.accuracy.setting import CaseSetting
from rackfit.memory.budget import GIB

AS_PUBLISHED = "GB_as_published"
GB = 10**9
MB = 10**6


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate with its range, and what it rests on beside the case."""

    value: float
    low: float
    high: float
    assumed: tuple[str, ...] = ()

    def scaled(self, unit: float) -> Figure:
        """Return the figure divided by a unit."""
        return Figure(self.value / unit, self.low / unit, self.high / unit, self.assumed)


Estimator = Callable[[CaseSetting], Figure]


def around(value: float, half: float) -> Figure:
    """Return a figure with a symmetric range."""
    return Figure(value, value - half, value + half)


def in_unit(estimator: Estimator, unit: float) -> Estimator:
    """Return the estimator in a unit; a GB "as published" is what the stack's tables mean by it."""

    def scaled(setting: CaseSetting) -> Figure:
        binary = setting.case.unit == AS_PUBLISHED and unit == GB and setting.budget.prints_gib_as_gb
        return estimator(setting).scaled(GIB if binary else unit)

    return scaled
