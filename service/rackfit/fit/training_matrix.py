"""The stored training matrix: for a model and a recipe, the fewest devices of every kind and how.

The bytes of each moment of a step are a + b / N + s x (micro-batch - 1) in the number N of data-parallel ranks: states
divide, all else stays. Three evaluations of the live arithmetic (`fit.training.footprint`) give a, b and s; what
follows is the same comparison for all devices at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy
from numpy.typing import NDArray

from rackfit.fit.training import Footprint, footprint
from rackfit.memory.training.domain import Job

MOST_DEVICES = 64
MOMENTS = ("loss", "backward", "update")
Floats = NDArray[numpy.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """One strategy: bytes of the three moments as a + b / N, growth per sequence, allocator and context."""

    zero: int
    recompute: str
    constant: tuple[float, ...]
    divided: tuple[float, ...]
    growth: tuple[float, ...]
    slack: float
    context: float
    spread: float

    @property
    def single(self) -> bool:
        """Whether the strategy is for one device."""
        return self.zero == 0

    def allocated(self, count: Floats) -> Floats:
        """Return the peak on a device of so many."""
        return numpy.maximum.reduce([a + b / count for a, b in zip(self.constant, self.divided, strict=True)])

    def needed(self, room: Floats, factor: float) -> Floats:
        """Return the fewest devices whose peak x factor and context stay within `room`; infinity where none do."""
        least = numpy.full(room.shape, 1.0 if self.single else 2.0)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            for a, b in zip(self.constant, self.divided, strict=True):
                left = room - self.context - factor * a
                counts = numpy.where(left > 0, factor * b / left, numpy.inf)
                counts = numpy.where((b == 0) & (left >= 0), 0.0, counts)
                least = numpy.maximum(least, numpy.ceil(counts - 1e-9))
        return numpy.where(least > (1 if self.single else MOST_DEVICES), numpy.inf, least)

    def micro_batch(self, room: Floats, count: Floats) -> Floats:
        """Return the largest micro-batch on so many devices."""
        most = numpy.full(room.shape, numpy.inf)
        for a, b, s in zip(self.constant, self.divided, self.growth, strict=True):
            if s > 0:
                most = numpy.minimum(most, (room - self.context - self.slack * (a + b / count)) / (self.slack * s))
        return numpy.floor(most + 1e-9) + 1


@dataclass(frozen=True, slots=True)
class Column:
    """Answers of one model and recipe for all devices, in their order."""

    verdict: NDArray[Any]
    count: Floats
    choice: NDArray[Any]
    lines: tuple[Line, ...]
    allocated: Floats
    micro_batch: Floats


def lines_of(job: Job) -> tuple[Line, ...]:
    """Return the strategies of a job, least aggressive first: sharding before recompute."""
    return tuple(_lines(job))


def _lines(job: Job) -> Iterator[Line]:
    for mode in ("none", "full"):
        for stage in range(4):
            yield _line(replace(job, recompute=mode), stage)


def _line(job: Job, stage: int) -> Line:
    def at(ranks: int, batch: int) -> Footprint:
        return footprint(replace(job, micro_batch=batch, parallel=replace(job.parallel, dp=ranks, zero=stage)))

    first = at(1 if stage == 0 else 2, 1)
    more = at(1 if stage == 0 else 2, 2)
    divided = [0.0] * len(MOMENTS)
    if stage:
        many = at(4, 1)
        divided = [4 * (first.moments[name] - many.moments[name]) for name in MOMENTS]
    constant = [first.moments[name] - part / 2 for name, part in zip(MOMENTS, divided, strict=True)]
    growth = [more.moments[name] - first.moments[name] for name in MOMENTS]
    slack = first.reserved / first.allocated
    context = first.driver - first.reserved
    return Line(stage, job.recompute, tuple(constant), tuple(divided), tuple(growth), slack, context, first.spread)


def column(lines: tuple[Line, ...], room: Floats, unsure: Floats, several: NDArray[Any]) -> Column:
    """Return the smallest count for each device, with the least aggressive strategy at that count.

    Args:
        lines: strategies, least aggressive first.
        room: usable bytes of each device.
        unsure: uncertainty of those, bytes.
        several: whether several of the device sit in one machine.
    """
    sure = numpy.stack(
        [_allowed(line, line.needed(room - unsure, line.slack + line.spread), several) for line in lines]
    )
    likely = numpy.stack([_allowed(line, line.needed(room, line.slack), several) for line in lines])
    fits, tight = numpy.isfinite(sure.min(axis=0)), numpy.isfinite(likely.min(axis=0))
    counts = numpy.where(fits, sure, likely)
    least = counts.min(axis=0)
    choice = numpy.argmax(counts <= least, axis=0)
    verdict = numpy.where(fits, 2, numpy.where(tight, 1, 0))
    shown = numpy.where(numpy.isfinite(least), least, MOST_DEVICES)
    peaks = numpy.stack([line.allocated(shown) for line in lines])
    batches = numpy.stack([line.micro_batch(room, shown) for line in lines])
    every = numpy.arange(room.size)
    choice = numpy.where(verdict > 0, choice, _smallest(peaks, lines, several))
    return Column(verdict, shown, choice, lines, peaks[choice, every], batches[choice, every])


def _allowed(line: Line, counts: Floats, several: NDArray[Any]) -> Floats:
    """Return the counts where the strategy may be used: sharding only where several devices sit together."""
    return counts if line.single else numpy.where(several, counts, numpy.inf)


def _smallest(peaks: Floats, lines: tuple[Line, ...], several: NDArray[Any]) -> NDArray[Any]:
    """Return the strategy with the fewest bytes, for devices that no strategy fits."""
    allowed = numpy.stack([numpy.full(several.shape, line.single) | several for line in lines])
    return numpy.argmin(numpy.where(allowed, peaks, numpy.inf), axis=0)
