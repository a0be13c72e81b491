"""How fast each layout serves its sequences, and how many of them it can at the speed that is promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from rackfit.ask.plan.options import Array, Entries
from rackfit.ask.plan.question import PlanQuestion, ceil_share
from rackfit.ask.setting import Setting
from rackfit.ask.speed_run import Records, chips_of, group_degrees, reads_of
from rackfit.errors import RackfitError, UnsupportedError
from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link
from rackfit.speed.compute import Peak
from rackfit.speed.gather import gathered_layouts, gathered_links, gathered_paces, gathered_peaks, gathered_reads
from rackfit.speed.roofline import Pace, pace_of
from rackfit.speed.work import Wires, Work, first_token_s, most_sequences, prompt_time, with_prompts, work_of


@dataclass(frozen=True)
class Serving:
    """Layouts that serve: a decode step as a function of its batch, and the time of a prompt. One entry each."""

    question: PlanQuestion
    work: Work
    prompt_s: Array
    """Seconds of one prompt, as promised or likely; not a number where no dense peak is on record."""
    first_s: Array
    """Seconds until the first token of a prompt, as promised or likely."""

    @property
    def copies(self) -> Array:
        """Replicas inside each layout (DP)."""
        return self.work.layout.dp

    def rate(self, each: Array) -> Array:
        """Return the tokens per second of each of so many sequences of a replica, as promised or likely.

        Where the length of an answer is given, prompts are charged (`with_prompts`).
        """
        found = self.work.per_sequence(each)
        decode, output = found.value if self.question.likely else found.low, self.question.output
        return decode if output is None else with_prompts(decode, each, self.prompt_s, output)

    def rate_of(self, sequences: Array) -> Array:
        """Return the same for so many sequences of a configuration, spread over its replicas."""
        return self.rate(numpy.maximum(ceil_share(sequences, self.copies), 1))

    def limit(self, most: Array, ttft: bool = True, rate: bool = True) -> Array:
        """Return the sequences of each configuration that keep the promises of speed, looked for up to `most`.

        Args:
            most: whole numbers from 0.
            ttft: whether the first token's time counts.
            rate: whether the tokens per second count.
        """
        question, found = self.question, ceil_share(most, self.copies)
        if ttft and question.ttft is not None:
            found = numpy.where(self.first_s <= question.ttft, found, 0)  # not a number is within no limit
        if rate and question.tokens_per_second is not None:
            found = most_sequences(self.rate, question.tokens_per_second, found)
        return numpy.minimum(found * self.copies, most)


@dataclass
class Distinct:
    """Values that many entries share, numbered as they come."""

    values: list[Any]
    numbers: dict[Any, int]

    def number(self, key: Any, make: Callable[[], Any]) -> int:
        """Return the number of the value of a key, made where the key is new."""
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(make())
        return self.numbers[key]


@dataclass(frozen=True, slots=True)
class Seat:
    """What speed takes from the devices of an option, whatever the layout."""

    pace: Pace
    peak: Peak | None
    below: float
    above: float


def find_serving(records: Records, question: PlanQuestion, entries: Entries) -> tuple[Serving | None, Array]:
    """Return the speed of the entries, and the positions of those whose speed can be said at all.

    A link that is not on record is no free link: nothing is promised of a layout that needs it.
    """
    used = numpy.unique(entries.option).tolist()
    seats = {number: _seat(records, entries.options[number].setting) for number in used}
    links = Distinct([], {})
    groups: list[tuple[int, ...]] = []
    known = []
    for position, (number, layout) in enumerate(zip(entries.option.tolist(), entries.layouts, strict=True)):
        found = _links(records, links, entries.options[number].setting, layout)
        if seats[number] is not None and found is not None:
            known.append(position)
            groups.append(found)
    rated = numpy.array(known, dtype=numpy.int64)
    if not known:
        return None, rated
    wires = Wires(*(gathered_links(links.values, column) for column in numpy.array(groups).T))
    return _serving(question, entries.kept(rated), seats, wires), rated


def _seat(records: Records, setting: Setting) -> Seat | None:
    """Return the pace and peak of an option's devices; None where nothing can be said of their speed."""
    try:
        chips, _ = chips_of(records, setting.machine, Layout())
        chosen = records.chosen(setting, chips[0])
        pace = pace_of(setting.subject.anatomy, chips, chosen.efficiency)
    except UnsupportedError:
        return None
    return Seat(pace, records.peak(setting, chips[0]), chosen.below, chosen.above)


def _links(records: Records, links: Distinct, setting: Setting, layout: Layout) -> tuple[int, ...] | None:
    """Return the numbers of the links of a layout's groups; None where one that is needed is not on record."""
    machine, numbers = setting.machine, []
    for degree in group_degrees(layout):
        key = None if degree == 1 else (machine.device.accelerator_id, machine.count, machine.nodes, degree)
        numbers.append(links.number(key, partial(_link, records, setting, degree)))
        if degree > 1 and links.values[numbers[-1]] is None:
            return None
    return tuple(numbers)


def _link(records: Records, setting: Setting, degree: int) -> Link | None:
    """Return the link of a group, None for one device and where nothing is on record."""
    try:
        return records.link(setting.machine, degree) if degree > 1 else None
    except RackfitError:
        return None


def _serving(question: PlanQuestion, entries: Entries, seats: dict[int, Seat | None], wires: Wires) -> Serving:
    """Return the entries as one: each distinct record is read once, and the arithmetic is done on arrays."""
    reads, layouts = Distinct([], {}), Distinct([], {})
    which = []
    for number, layout in zip(entries.option.tolist(), entries.layouts, strict=True):
        setting = entries.options[number].setting
        key = (setting.choice.precision_id, setting.budget.state_bits, layout)
        read = reads.number(key, partial(reads_of, setting, layout, setting.asked.context))
        which.append((read, layouts.number(layout, partial(_itself, layout))))
    at = numpy.array(which).T
    own = {number: seat for number, seat in seats.items() if seat is not None}
    place = {number: position for position, number in enumerate(own)}
    seat = numpy.array([place[number] for number in entries.option.tolist()])
    first = entries.options[int(entries.option[0])].setting
    anatomy, context = first.subject.anatomy, first.asked.context
    layout = gathered_layouts(layouts.values, at[1])
    peak = gathered_peaks([one.peak for one in own.values()], seat)
    spread = tuple(numpy.array([getattr(one, name) for one in own.values()])[seat] for name in ("below", "above"))
    pace = gathered_paces([one.pace for one in own.values()], seat)
    work = work_of(anatomy, context, layout, gathered_reads(reads.values, at[0]), pace, peak, wires, spread)
    prompt = prompt_time(anatomy, layout, question.prompt or context, peak, wires)
    first_token = first_token_s(prompt, work)
    named = "value" if question.likely else "high"
    unknown = numpy.isinf(peak.tflops)
    times = (numpy.where(unknown, numpy.nan, getattr(one, named)) for one in (prompt, first_token))
    return Serving(question, work, *times)


def _itself(layout: Layout) -> Layout:
    return layout
