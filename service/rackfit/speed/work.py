"""What a decode step of a layout costs, as it follows from the batch: of one configuration, or of many as arrays.

`rackfit speed` asks for one configuration; `rackfit plan` for every one of the catalog. Both go through `Work`, so a
plan's figures are those of the speed of each of its configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout
from rackfit.memory.elementwise import Number, choose, minimum
from rackfit.speed.communication import Link, pipeline_s, tensor_parallel_s
from rackfit.speed.compute import TERA, Peak
from rackfit.speed.domain import Ranged
from rackfit.speed.roofline import Pace, Step, paced_step, prefill_flops
from rackfit.speed.traffic import Reads, Routed

BATCH_SPREAD = 0.2
"""Added to the range of more than one sequence on a replica: no measured case has a batch."""
MOST_BELOW = 0.9
"""Of the estimate, what its low end lies below it at most."""


@dataclass(frozen=True, slots=True)
class Work:
    """A decode step as a function of the sequences of one replica. Numbers, or arrays of one entry per configuration.

    Times are milliseconds; `reduce_ms`, `peak_ms` and `compute_ms` are those of one sequence.
    """

    anatomy: Anatomy
    context: float
    reads: Reads
    pace: Pace
    reduce_ms: Number
    """What the bytes of all-reduces take over the link."""
    peak_ms: Number
    """Arithmetic at the dense peak."""
    compute_ms: Number
    """Arithmetic at the share of the peak that is reached."""
    below: Number
    """Relative range of one sequence: below the estimate, and above it."""
    above: Number

    def step(self, sequences: Number) -> Step:
        """Return the time of a step of so many sequences."""
        return paced_step(
            self.anatomy, self.reads.at(sequences), self.pace, self.context, sequences,
            self.reduce_ms * sequences, (self.peak_ms * sequences, self.compute_ms * sequences),
        )  # fmt: skip

    def spread(self, sequences: Number) -> tuple[Number, Number]:
        """Return the relative range, below and above, at so many sequences."""
        below = minimum(self.below + BATCH_SPREAD, MOST_BELOW)
        return choose(sequences > 1, below, self.below), choose(sequences > 1, self.above + BATCH_SPREAD, self.above)

    def per_sequence(self, sequences: Number) -> Ranged:
        """Return the tokens per second of each of so many sequences, with its range under the bound."""
        step = self.step(sequences)
        below, above = self.spread(sequences)
        value = 1000 / step.total_ms
        return Ranged(value, value * (1 - below), minimum(value * (1 + above), 1000 / step.bound_ms))


@dataclass(frozen=True, slots=True)
class Prompt:
    """Seconds in which one prompt is worked through, on a replica that does nothing else."""

    bound: Number
    """At the dense peak, nothing sent."""
    talk: Number
    """On the link."""
    value: Number
    low: Number
    high: Number


def prompt_time(anatomy: Anatomy, layout: Layout, tokens: int, peak: Peak, link: Link | None) -> Prompt:
    """Return how long a prompt takes: arithmetic at the share of the peak that is reached, and what the split sends.

    Args:
        anatomy: the model.
        layout: degrees of parallelism; the stages of a pipeline work on one prompt one after the other.
        tokens: tokens of the prompt.
        peak: the dense peak of one device, and the share of it that published runs reached.
        link: the link of the group; None: nothing is on record, and nothing is charged.
    """
    bound = prefill_flops(anatomy, tokens) / (layout.tp * peak.tflops * TERA)
    talk = 0.0
    if link is not None:
        talk = tensor_parallel_s(anatomy, tokens, layout.tp, link) if layout.tp > 1 else 0.0
        talk += pipeline_s(anatomy, tokens, layout.pp, link)
    return Prompt(bound, talk, *(bound / share + talk for share in (peak.share, peak.high, peak.low)))


def first_token_s(prompt: Prompt, work: Work) -> Ranged:
    """Return the seconds until the first token of a prompt: the prompt, then one step of one sequence."""
    first = work.step(1)
    token = first.total_ms / 1000
    return Ranged(
        prompt.value + token, prompt.low + first.bound_ms / 1000, prompt.high + token / (1 - work.below)
    )  # fmt: skip


def gathered(works: Sequence[Work]) -> Work:
    """Return the works of many configurations of one model as one, with arrays in their order.

    Stages add up: their devices are alike, and a token passes them one after the other.
    """
    import numpy

    def array(values: Any) -> Any:
        return numpy.array(list(values), dtype=float)

    first, paces = works[0], [work.pace for work in works]
    reads = [work.reads for work in works]
    routed = tuple(
        Routed(kind.experts, kind.active, (array(sum(own.routed[at].sizes) for own in reads),))
        for at, kind in enumerate(first.reads.routed)
    )
    return Work(
        anatomy=first.anatomy,
        context=first.context,
        reads=Reads(
            (array(sum(own.fixed) for own in reads),), routed, (array(sum(own.cache) for own in reads),)
        ),
        pace=Pace(
            printed_gb_s=(array(pace.printed_gb_s[0] for pace in paces),),
            reached_gb_s=(array(pace.reached_gb_s[0] for pace in paces),),
            **{
                name: array(getattr(pace, name) for pace in paces)
                for name in ("head_gb_s", "units", "layers_ms", "split_ms", "host_ms")
            },
        ),
        **{
            name: array(getattr(work, name) for work in works)
            for name in ("reduce_ms", "peak_ms", "compute_ms", "below", "above")
        },
    )  # fmt: skip


def most_sequences(work: Work, least: float, most: Any) -> Any:
    """Return the most sequences of one replica of which each still gets `least` tokens per second, by the low end.

    Args:
        work: many configurations.
        least: tokens per second that each sequence is promised.
        most: where to stop looking, per configuration; whole numbers.

    Returns:
        Whole numbers from 0 to `most`. Exact: a step never gets shorter with more sequences, so halving finds it.
    """
    import numpy

    found, end = numpy.zeros_like(most), most.copy()
    while (found < end).any():
        middle = found + (end - found + 1) // 2
        enough = work.per_sequence(numpy.maximum(middle, 1)).low >= least
        found, end = numpy.where(enough, middle, found), numpy.where(enough, end, middle - 1)
    return found
