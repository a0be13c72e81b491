"""What a decode step of a layout costs, as it follows from the batch: of one configuration, or of many as arrays.

`rackfit speed` asks for one configuration; `rackfit plan` for every one of the catalog. Both go through `Work`, so a
plan's figures are those of the speed of each of its configurations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout
from rackfit.memory.elementwise import Number, choose, minimum
from rackfit.speed.communication import Wire, expert_parallel_s, pipeline_s, tensor_parallel_s
from rackfit.speed.compute import TERA, Peak, decode_flops
from rackfit.speed.domain import Ranged
from rackfit.speed.roofline import Pace, Step, paced_step, prefill_flops
from rackfit.speed.traffic import Reads

BATCH_SPREAD = 0.2
"""Added to the range of more than one sequence on a replica: no measured case has a batch."""
MOST_BELOW = 0.9
"""Of the estimate, what its low end lies below it at most."""


@dataclass(frozen=True, slots=True)
class Work:
    """A decode step as a function of the sequences of one replica. Numbers, or arrays of one entry per configuration.

    Times are milliseconds; `link_ms`, `peak_ms` and `compute_ms` are those of one sequence.
    """

    anatomy: Anatomy
    context: float
    layout: Layout
    reads: Reads
    pace: Pace
    link_ms: Number
    """What the bytes of all-reduces and of exchanges between experts take over the link."""
    exchange_ms: Number
    """Latency of the exchanges of a step, whatever the batch; that of all-reduces is the pace's."""
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
            self.anatomy, self.layout, self.reads.at(sequences), self.pace, self.context, sequences,
            self.link_ms * sequences + self.exchange_ms, (self.peak_ms * sequences, self.compute_ms * sequences),
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
class Wires:
    """The links of a layout. None: nothing is sent, or nothing is on record and nothing is charged."""

    group: Wire | None
    """Of the devices that share a layer, or pass on what a stage has made of it."""
    experts: Wire | None
    """Of the devices that experts are spread over, where each keeps its own requests (DP attention)."""


def at_once(wire: Wire) -> Wire:
    """Return a link that has no latency: what is left is the time of the bytes."""
    return replace(wire, latency_us=0.0)  # type: ignore[type-var]


def exchange_s(anatomy: Anatomy, tokens: Number, layout: Layout, wire: Wire) -> Number:
    """Return the seconds in which replicas of attention send tokens to their experts and back, `tokens` each.

    Experts that share the ranks of one replica need no exchange: its tokens are on all of them already.
    """
    spent = expert_parallel_s(anatomy, tokens * layout.dp, layout.ep, wire)
    return choose((layout.ep > 1) & (layout.dp > 1), spent, 0.0)


def work_of(
    anatomy: Anatomy,
    context: float,
    layout: Layout,
    reads: Reads,
    pace: Pace,
    peak: Peak | None,
    wires: Wires,
    spread: tuple[Number, Number],
) -> Work:
    """Return a decode step as a function of its batch; numbers, or arrays throughout.

    Args:
        anatomy: the model.
        context: tokens in each sequence's cache.
        layout: degrees of parallelism.
        reads: what one device of each stage reads.
        pace: how fast the devices are.
        peak: the dense peak of one device and the share that is reached; None: arithmetic is not charged.
        wires: the links of the groups.
        spread: relative range below and above the estimate of one sequence.
    """
    link_ms = exchange_ms = peak_ms = compute_ms = 0.0
    if wires.group is not None:
        link_ms = 1000 * tensor_parallel_s(anatomy, 1, layout.tp, at_once(wires.group))
    if wires.experts is not None:
        link_ms = link_ms + 1000 * exchange_s(anatomy, 1, layout, at_once(wires.experts))
        exchange_ms = 1000 * exchange_s(anatomy, 0, layout, wires.experts)
    if peak is not None:
        peak_ms = 1000 * decode_flops(anatomy, context, 1) / (layout.tp * peak.tflops * TERA)
        compute_ms = peak_ms / peak.share
    return Work(anatomy, context, layout, reads, pace, link_ms, exchange_ms, peak_ms, compute_ms, *spread)


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


def prompt_time(anatomy: Anatomy, layout: Layout, tokens: int, peak: Peak, wires: Wires) -> Prompt:
    """Return how long a prompt takes: arithmetic at the share of the peak that is reached, and what the split sends.

    Args:
        anatomy: the model.
        layout: degrees of parallelism; the stages of a pipeline work on one prompt one after the other.
        tokens: tokens of the prompt.
        peak: the dense peak of one device, and the share of it that published runs reached.
        wires: the links of the groups.
    """
    bound = prefill_flops(anatomy, tokens) / (layout.tp * peak.tflops * TERA)
    talk: Number = 0.0
    if wires.group is not None:
        talk = tensor_parallel_s(anatomy, tokens, layout.tp, wires.group)
        talk = talk + pipeline_s(anatomy, tokens, layout.pp, wires.group)
    if wires.experts is not None:
        talk = talk + exchange_s(anatomy, tokens, layout, wires.experts)
    return Prompt(bound, talk, *(bound / share + talk for share in (peak.share, peak.high, peak.low)))


def first_token_s(prompt: Prompt, work: Work) -> Ranged:
    """Return the seconds until the first token of a prompt: the prompt, then one step of one sequence."""
    first = work.step(1)
    token = first.total_ms / 1000
    return Ranged(prompt.value + token, prompt.low + first.bound_ms / 1000, prompt.high + token / (1 - work.below))


def with_prompts(rate: Number, sequences: Number, prompt_s: Number, output: int) -> Number:
    """Return the tokens per second of a sequence that also waits while prompts are read, one for every answer.

    1 / rate = time of a step + sequences x time of a prompt / tokens of an answer: in the time of an answer each of
    the sequences of a replica begins once, and nothing overlaps.

    Args:
        rate: tokens per second of each sequence while all decode.
        sequences: sequences of the replica.
        prompt_s: seconds of one prompt.
        output: tokens of an answer.
    """
    return 1 / (1 / rate + sequences * prompt_s / output)


def most_sequences(rate: Callable[[Any], Any], least: float, most: Any) -> Any:
    """Return the most sequences of one replica of which each still gets `least` tokens per second.

    Args:
        rate: sequences of each configuration -> tokens per second of one of them.
        least: tokens per second that each sequence is promised.
        most: where to stop looking, per configuration; whole numbers.

    Returns:
        Whole numbers from 0 to `most`. Exact: no sequence gets faster when another joins, so halving finds it.
    """
    import numpy

    found, end = numpy.zeros_like(most), most.copy()
    while (found < end).any():
        middle = found + (end - found + 1) // 2
        enough = rate(numpy.maximum(middle, 1)) >= least
        found, end = numpy.where(enough, middle, found), numpy.where(enough, end, middle - 1)
    return found
