"""The configurations of a plan with all that they are judged by: memory, speed, devices, watts, price."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from functools import cached_property

import numpy

from rackfit.ask.plan.options import Array, Entries, Option, find_entries, find_options
from rackfit.ask.plan.question import MOST, OFFER_KINDS, PlanQuestion, ceil_share, largest_copies
from rackfit.ask.plan.serving import Serving, find_serving
from rackfit.ask.prices import priced
from rackfit.ask.question import Subject
from rackfit.ask.speed_run import Records
from rackfit.catalog.context import Context
from rackfit.money.offers import Applied, Choice

LIMITS = ("replicas", "max_devices", "power_limit", "budget")
"""Limits on how many copies of a configuration may stand side by side."""


@dataclass(frozen=True)
class Candidates:
    """Options, the layouts in which they hold at least one sequence, and what one copy of each costs and draws."""

    question: PlanQuestion
    options: list[Option]
    entries: Entries
    """Layouts that can run, whatever they hold."""
    usable: Array
    """Positions of the entries that can serve: one sequence fits, and its speed is known where it is asked for."""
    serving: Serving | None
    """Speed of the entries at `rated`."""
    rated: Array
    """Positions of the entries whose speed is known and that hold a sequence."""
    records: Records
    choice: Choice
    offers: list[Applied | None]
    """Lowest price of each option."""

    @property
    def memory(self) -> Array:
        """Sequences that memory allows, of each entry: as promised or likely."""
        return self.entries.likely if self.question.likely else self.entries.sure

    @cached_property
    def prices(self) -> list[float | None]:
        """Price of one copy of each option."""
        return [offer.price if offer is not None else None for offer in self.offers]

    def having(self, positions: Array) -> Array:
        """Return for each option whether one of these entries is its own."""
        found = numpy.zeros(len(self.options), dtype=bool)
        found[self.entries.option[positions]] = True
        return found

    def most_copies(self, without: str | None = None) -> Array:
        """Return how many copies of each option its limits allow, one of the limits left out if named."""
        question, found = self.question, numpy.full(len(self.options), float(MOST))
        if without != "replicas":
            found = numpy.minimum(found, question.most_copies)
        for name in LIMITS[1:]:
            limit = getattr(question, name)
            if name != without and limit is not None:
                sizes = [self.size(name, number) for number in range(len(self.options))]
                found = numpy.minimum(found, [largest_copies(limit, size) for size in sizes])
        if question.needs_price:
            found = numpy.where([price is None for price in self.prices], 0, found)
        return found

    def size(self, limit: str, number: int) -> float | None:
        """Return what one copy of an option takes of a limit; None where it is not on record."""
        if limit == "replicas":
            return 1.0
        if limit == "budget":
            return self.prices[number]
        option = self.options[number]
        return option.watts if limit == "power_limit" else float(option.shape["device_count"])

    def capacity(self, most: Array | None = None, ttft: bool = True, rate: bool = True) -> Array:
        """Return the sequences that one copy serves, of each entry: what memory and the promises of speed allow.

        Args:
            most: where to stop looking, per entry; None: the sequences that are asked for.
            ttft: whether the first token's time counts.
            rate: whether the tokens per second count.
        """
        memory = numpy.minimum(self.memory, self.question.sequences if most is None else most)
        found = numpy.zeros_like(memory)
        found[self.usable] = memory[self.usable]
        if self.serving is not None:
            found[self.rated] = self.serving.limit(memory[self.rated], ttft, rate)
        return found

    def copies(self, capacity: Array) -> Array:
        """Return the copies that serve all sequences, of each entry; infinite where one copy serves none."""
        return numpy.where(capacity > 0, ceil_share(self.question.sequences, numpy.maximum(capacity, 1)), numpy.inf)

    def rate(self, copies: Array) -> Array:
        """Return the tokens per second of each sequence with so many copies of each entry; not a number: unknown."""
        found = numpy.full(len(self.entries.layouts), numpy.nan)
        if self.serving is not None:
            own = numpy.where(numpy.isfinite(copies[self.rated]), copies[self.rated], 1).astype(numpy.int64)
            found[self.rated] = self.serving.rate_of(ceil_share(self.question.sequences, numpy.maximum(own, 1)))
        return found


def find_candidates(
    connection: sqlite3.Connection, question: PlanQuestion, context: Context, subject: Subject
) -> Candidates:
    """Return everything that a plan chooses among.

    Raises:
        UsageError and its kinds: a name that cannot be read.
    """
    choice = replace(question.choice(connection), kind=OFFER_KINDS[question.pay])
    options = find_options(connection, question, context, subject)
    by_configuration = priced(connection, choice).by_configuration
    offers = [by_configuration.get(option.shape["configuration_id"]) for option in options]
    return _judged(question, options, find_entries(options), Records(connection), choice, offers)


def by_likely_figures(candidates: Candidates) -> Candidates:
    """Return the same candidates judged by likely figures: their memory need not be computed again."""
    question = replace(candidates.question, likely=True)
    return _judged(
        question, candidates.options, candidates.entries, candidates.records, candidates.choice, candidates.offers
    )  # fmt: skip


def _judged(
    question: PlanQuestion,
    options: list[Option],
    entries: Entries,
    records: Records,
    choice: Choice,
    offers: list[Applied | None],
) -> Candidates:
    memory = entries.likely if question.likely else entries.sure
    holding = numpy.flatnonzero(memory >= 1)
    serving, known = find_serving(records, question, entries.kept(holding))
    rated = holding[known]
    usable = rated if question.needs_speed else holding
    if question.needs_speed and question.needs_prompt and serving is not None:
        usable = rated[~numpy.isnan(serving.prompt_s)]
    return Candidates(question, options, entries, usable, serving, rated, records, choice, offers)
