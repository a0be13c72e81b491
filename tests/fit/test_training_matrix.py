"""The stored training matrix says what the live arithmetic says."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from test_training_jobs import job

from rackfit.fit.training import footprint as live
from rackfit.fit.training import usable_bytes, verdict
from rackfit.fit.training_matrix import MOST_DEVICES, column, lines_of
from rackfit.memory.domain import Device
from rackfit.memory.training.domain import Job


def device(gib: float, spread: float = 0.0) -> Device:
    """Return a card with so much memory."""
    return Device(
        f"card-{gib}", "card", "NVIDIA", round(gib * 2**30), "printed", spread, False, "9.0", "datacenter", 1000.0
    )


def at(one: Job, ranks: int, zero: int, recompute: str) -> Job:
    """Return the job over so many ranks."""
    return replace(one, recompute=recompute, parallel=replace(one.parallel, dp=ranks, zero=zero))


@pytest.mark.parametrize("gib", [3, 4, 5, 6, 8, 12, 24])
@pytest.mark.parametrize("length", [2048, 8192])
def test_the_smallest_count_is_an_edge(gib: float, length: int) -> None:
    """On the stored count the live verdict is the stored one; on one device less no strategy reaches it."""
    card, one = device(gib), job(sequence_length=length)
    lines = lines_of(one)
    room = numpy.array([usable_bytes(card)])
    answers = column(lines, room, numpy.zeros(1), numpy.array([True]))
    line, count = lines[int(answers.choice[0])], int(answers.count[0])
    found = live(at(one, count, line.zero, line.recompute))

    assert found.allocated == pytest.approx(float(answers.allocated[0]), rel=1e-6)
    assert verdict(found, card) == ("no", "tight", "fits")[int(answers.verdict[0])]
    if answers.verdict[0] == 2 and count > 1:
        fewer = [live(at(one, count - 1, other.zero, other.recompute)) for other in lines if other.zero or count == 2]
        assert all(verdict(less, card) != "fits" for less in fewer)


def test_devices_that_do_not_sit_together_stay_alone() -> None:
    """A chip that is not sold with several in one host gets no sharded answer."""
    answers = column(lines_of(job()), numpy.array([4e9, 4e9]), numpy.zeros(2), numpy.array([True, False]))

    assert answers.count[0] > 1
    assert (answers.verdict[1], answers.lines[int(answers.choice[1])].zero) == (0, 0)


def test_nothing_fits_without_memory() -> None:
    """A device smaller than one layer's work is `no` at the most devices that are tried."""
    answers = column(lines_of(job()), numpy.array([1e8]), numpy.zeros(1), numpy.array([True]))

    assert (answers.verdict[0], answers.count[0]) == (0, MOST_DEVICES)


def test_more_memory_never_needs_more_devices() -> None:
    """The smallest count falls, or stays, as cards grow."""
    room = numpy.linspace(3e9, 80e9, 200)
    answers = column(lines_of(job(sequence_length=4096)), room, numpy.zeros(200), numpy.ones(200, dtype=bool))
    fitting = answers.count[answers.verdict == 2]

    assert (numpy.diff(fitting) <= 0).all()
