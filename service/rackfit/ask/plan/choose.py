"""Which configurations meet a plan, in which layout and how many of each; and what rules the others out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from rackfit.ask.plan.candidates import Candidates
from rackfit.ask.plan.options import Array
from rackfit.ask.plan.question import CHEAPEST, PER_MONEY, PER_WATT, SMALLEST

WORDS = {
    "format": "the engine does not run the format on that device",
    "layout": "no layout of so many devices can run the model",
    "support": "no record says that it runs, or the context is too long for the model",
    "memory": "not one sequence fits",
    "speed": "its bandwidth, its dense peak or the link it needs is not on record",
    "ttft": "the first token comes too late",
    "tokens_per_second": "one sequence alone is too slow",
    "price": "no price is on record for what is asked",
    "budget": "too expensive",
    "power": "what it draws is not on record",
    "power_limit": "draws too much",
    "max_devices": "too many devices",
    "replicas": "too many copies side by side",
}
"""Requirement -> why it rules a configuration out. In this order: each configuration counts at the first it fails."""


@dataclass(frozen=True)
class Chosen:
    """One way to meet the plan per option that can: the fewest copies, then the fastest layout, then the usual one."""

    entry: Array
    """Position of the entry of each option, -1 where none meets the plan."""
    copies: Array
    """Copies of it; infinite where even any number does not do."""
    rate: Array
    """Tokens per second of each sequence, as promised or likely; not a number where unknown."""

    @property
    def met(self) -> Array:
        """Numbers of the options that meet the plan, smallest first."""
        return numpy.flatnonzero(self.entry >= 0)


def choose(candidates: Candidates) -> Chosen:
    """Return the way in which each option meets the plan."""
    count = len(candidates.options)
    owner = candidates.entries.option
    copies = candidates.copies(candidates.capacity())
    rate = candidates.rate(copies)
    order = numpy.lexsort((numpy.arange(len(owner)), -numpy.nan_to_num(rate, nan=-1.0), copies, owner))
    entry, fewest, speed = numpy.full(count, -1), numpy.full(count, numpy.inf), numpy.full(count, numpy.nan)
    numbers, first = numpy.unique(owner[order], return_index=True)
    best = order[first]
    fewest[numbers], speed[numbers] = copies[best], rate[best]
    meets = fewest <= candidates.most_copies()
    entry[numbers] = numpy.where(meets[numbers], best, -1)
    return Chosen(entry, fewest, speed)


def ruled_out(candidates: Candidates, chosen: Chosen) -> list[dict[str, Any]]:
    """Return how many configurations each requirement rules out, each counted at the first that it fails."""
    question, options = candidates.question, candidates.options
    everything = numpy.arange(len(candidates.entries.layouts))
    passes = {
        "format": numpy.array([option.refusal is None for option in options], dtype=bool),
        "layout": candidates.having(everything),
    }
    if not question.likely:
        passes["support"] = numpy.array([option.doubt is None for option in options], dtype=bool)
    passes["memory"] = candidates.having(numpy.flatnonzero(candidates.memory >= 1))
    if question.needs_speed:
        passes["speed"] = candidates.having(candidates.usable)
    if question.ttft is not None:
        passes["ttft"] = candidates.having(numpy.flatnonzero(candidates.capacity(rate=False)))
    if question.tokens_per_second is not None:
        passes["tokens_per_second"] = numpy.isfinite(chosen.copies)
    if question.needs_price:
        passes["price"] = numpy.array([price is not None for price in candidates.prices], dtype=bool)
    if question.power_limit is not None:
        passes["power"] = numpy.array([option.watts is not None for option in options], dtype=bool)
    for name in ("budget", "power_limit", "max_devices", "replicas"):
        if name == "replicas" or getattr(question, name) is not None:
            passes[name] = chosen.copies <= _alone(candidates, name)
    left, rows = numpy.ones(len(options), dtype=bool), []
    for name in WORDS:
        if name in passes:
            out = left & ~passes[name]
            rows.append({"requirement": name, "configurations": int(out.sum()), "why": WORDS[name]})
            left &= passes[name]
    return rows


def _alone(candidates: Candidates, name: str) -> Array:
    """Return how many copies of each option one limit alone allows."""
    limit = candidates.question.most_copies if name == "replicas" else getattr(candidates.question, name)
    sizes = [candidates.size(name, number) for number in range(len(candidates.options))]
    return numpy.array([numpy.floor(limit / size + 1e-9) if size else 0 for size in sizes])


def ordered(candidates: Candidates, chosen: Chosen, by: str) -> list[int]:
    """Return the options that meet the plan, best first; those without the figure that orders them are left out."""
    keyed = [(key, number) for number in chosen.met.tolist() if (key := _key(candidates, chosen, by, number))]
    return [number for _, number in sorted(keyed)]


def _key(candidates: Candidates, chosen: Chosen, by: str, number: int) -> tuple[Any, ...] | None:
    shape, price = candidates.options[number].shape, candidates.prices[number]
    copies, rate = float(chosen.copies[number]), float(chosen.rate[number])
    size = (shape["memory_bytes_summed"] * copies, shape["device_count"] * copies, shape["configuration_id"], number)
    if by == SMALLEST:
        return size
    if by == CHEAPEST:
        return None if price is None else (price * copies, *size)
    known = {PER_WATT: shape["tdp_w_accelerators"], PER_MONEY: price}[by]
    if not known or numpy.isnan(rate):
        return None
    return (-rate / (known * copies), *size)
