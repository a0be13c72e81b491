"""Where nothing meets a plan: how far each requirement would have to give way for something to do so, computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy

from rackfit.ask.plan.candidates import LIMITS, Candidates, by_likely_figures
from rackfit.ask.plan.choose import choose, ordered
from rackfit.ask.plan.options import Array
from rackfit.ask.plan.question import PlanQuestion, ceil_share

SHORTEST = 512
"""Tokens of context below which no plan is tried."""
FOUR_BIT = "int4"
"""Format that is tried in place of the checkpoint's own: the best of four bits that a device runs."""
SMALL_BITS = 6.0
Again = Callable[[PlanQuestion], str | None]
"""Answers a changed question: the configuration that meets it best, or None."""


def relaxations(candidates: Candidates, again: Again) -> list[dict[str, Any]]:
    """Return for each requirement the nearest value that admits a configuration while all others stay.

    Args:
        candidates: of a plan that nothing meets.
        again: answers a changed question, for what cannot be read off the candidates.
    """
    rows = [*_limits(candidates), *_promises(candidates), *_users(candidates), *_likely(candidates)]
    question = candidates.question
    if question.precision is None and _bits(candidates) > SMALL_BITS:
        found = again(replace(question, precision=FOUR_BIT))
        if found is not None:
            rows.append({"requirement": "precision", "value": FOUR_BIT, "configuration": found})
    return [*rows, *_context(candidates, again)]


def _bits(candidates: Candidates) -> float:
    """Return the bits of a weight as the model is asked for; 0 without any configuration."""
    return max((option.setting.precision.bits for option in candidates.options[:1]), default=0.0)


def _likely(candidates: Candidates) -> Iterator[dict[str, Any]]:
    """Yield that likely figures admit what their low ends do not."""
    if not candidates.question.likely:
        likely = by_likely_figures(candidates)
        best = ordered(likely, choose(likely), likely.question.by)
        if best:
            name = likely.options[best[0]].shape["configuration_id"]
            yield {"requirement": "likely", "value": True, "configuration": name}


def _row(candidates: Candidates, name: str, value: float, entry: int) -> dict[str, Any]:
    option = candidates.options[int(candidates.entries.option[entry])]
    return {"requirement": name, "value": value, "configuration": option.shape["configuration_id"]}


def _limits(candidates: Candidates) -> Iterator[dict[str, Any]]:
    """Yield the least value of each limit on copies that would do."""
    copies = candidates.copies(candidates.capacity())
    owner = candidates.entries.option
    for name in LIMITS:
        if name != "replicas" and getattr(candidates.question, name) is None:
            continue
        sizes = [candidates.size(name, number) for number in range(len(candidates.options))]
        each: Array = numpy.array([math.nan if size is None else size for size in sizes])
        enough = numpy.isfinite(copies) & (copies <= candidates.most_copies(name)[owner])
        needs = numpy.where(enough, copies * each[owner], numpy.nan)
        if not numpy.isnan(needs).all():
            entry = int(numpy.nanargmin(needs))
            yield _row(candidates, name, round(float(needs[entry]), 6), entry)


def _promises(candidates: Candidates) -> Iterator[dict[str, Any]]:
    """Yield the fastest tokens per second, and the earliest first token, that can be promised to all."""
    question, serving, rated = candidates.question, candidates.serving, candidates.rated
    if serving is None:
        return
    allowed = candidates.most_copies()[candidates.entries.option]
    if question.tokens_per_second is not None:
        copies = numpy.minimum(allowed, question.sequences)
        holds = candidates.capacity(rate=False) * copies >= question.sequences
        rates = numpy.where(holds[rated], candidates.rate(numpy.where(copies > 0, copies, numpy.inf))[rated], -1.0)
        if len(rates) and numpy.nanmax(rates) > 0:
            at = int(numpy.nanargmax(rates))
            yield _row(candidates, "tokens_per_second", math.floor(rates[at] * 100) / 100, int(rated[at]))
    if question.ttft is not None:
        copies = candidates.copies(candidates.capacity(ttft=False))
        waits = numpy.where((copies <= allowed)[rated], serving.first_s, numpy.nan)
        if len(waits) and not numpy.isnan(waits).all():
            at = int(numpy.nanargmin(waits))
            yield _row(candidates, "ttft", math.ceil(waits[at] * 1000) / 1000, int(rated[at]))


def _users(candidates: Candidates) -> Iterator[dict[str, Any]]:
    """Yield the most users that something serves."""
    question = candidates.question
    allowed = candidates.most_copies()[candidates.entries.option]
    served = candidates.capacity(numpy.full(len(candidates.entries.layouts), question.sequences)) * allowed
    if len(served) and served.max() >= 1:
        entry = int(served.argmax())
        share = (question.concurrency or 1) * (1 + (question.headroom or 0))
        users = math.floor(float(served[entry]) / share + 1e-9)
        if 1 <= users < (question.users or 1):
            yield _row(candidates, "users", users, entry)


def _context(candidates: Candidates, again: Again) -> Iterator[dict[str, Any]]:
    """Yield the longest context, of those made by halving, at which something does."""
    question = candidates.question
    context = candidates.options[0].setting.asked.context if candidates.options else 0

    def at(tokens: int) -> str | None:
        return again(replace(question, context=tokens, prompt=question.prompt and min(question.prompt, tokens)))

    if context <= SHORTEST or at(SHORTEST) is None:
        return
    while (context := max(ceil_share(context, 2), SHORTEST)) >= SHORTEST:
        found = at(context)
        if found is not None:
            yield {"requirement": "context", "value": context, "configuration": found}
            return
