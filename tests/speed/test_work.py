"""A decode step as a function of its batch: of one configuration, and of many at once."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link, tensor_parallel_s
from rackfit.speed.compute import Peak
from rackfit.speed.domain import Chip, Chosen
from rackfit.speed.roofline import decode_step, pace_of
from rackfit.speed.traffic import decode_reads, decode_traffic
from rackfit.speed.work import Work, first_token_s, gathered, most_sequences, prompt_time
from speed.builders import A100, BF16, NVLINK, UPLINK, llama, record

L40S = Chip("nvidia-l40s", "L40S", "gddr", 864.0, True, 142, "SM", {})
PEAK = Peak("bf16", 312.0, 0.5, 0.4, 0.8, "runs")
BY_HEAD = record(head_cache_gb_s=30.0, layer_ms=0.05, all_reduce_ms=0.01, handover_ms=0.2, host_layer_ms=0.01)


def work(anatomy: Anatomy, layout: Layout, chip: Chip = A100, reduce_ms: float = 0.0, **changed: object) -> Work:
    """Return a decode step at 4096 tokens."""
    one = replace(BY_HEAD, **changed)  # type: ignore[arg-type]
    return Work(
        anatomy, 4096, decode_reads(anatomy, BF16, layout, 4096, 16.0), pace_of(anatomy, layout, (chip,), one),
        reduce_ms, 0.001, 0.002, 0.1, 0.2,
    )  # fmt: skip


@pytest.mark.parametrize("experts", [None, 8])
def test_many_at_once_are_each_on_its_own(experts: int | None) -> None:
    """Unlike devices, layouts and engines in one array have the figures that each has alone."""
    anatomy = llama(experts=experts)
    alone = [
        work(anatomy, Layout(tp=2), reduce_ms=0.01),
        work(anatomy, Layout(pp=2), L40S, ecc_share=0.9),
        work(anatomy, Layout(), head_cache_gb_s=None),
    ]
    batch = numpy.array([1, 7, 300])

    together = gathered(alone).per_sequence(batch)

    for at, (own, sequences) in enumerate(zip(alone, batch.tolist(), strict=True)):
        single = own.per_sequence(sequences)
        assert together.value[at] == pytest.approx(single.value, rel=1e-12)
        assert together.low[at] == pytest.approx(single.low, rel=1e-12)
        assert together.high[at] == pytest.approx(single.high, rel=1e-12)


@pytest.mark.parametrize("experts", [None, 8])
def test_what_a_batch_reads_follows_from_its_parts(experts: int | None) -> None:
    """Reads at a batch are the traffic of that batch, whatever is routed."""
    anatomy, layout = llama(experts=experts), Layout(tp=2, pp=2)

    for sequences in (1, 5, 64):
        found = decode_reads(anatomy, BF16, layout, 4096, 16.0).at(sequences)
        assert found.total == pytest.approx(decode_traffic(anatomy, BF16, layout, 4096, sequences, 16.0).total)


@pytest.mark.parametrize("experts", [None, 8])
@pytest.mark.parametrize("least", [0.5, 20.0, 60.0, 1e9])
def test_the_most_sequences_are_those_that_counting_up_finds(least: float, experts: int | None) -> None:
    """The last batch of which each sequence still gets its promise; none where not even one does."""
    anatomy = llama(experts=experts)
    works = [work(anatomy, Layout()), work(anatomy, Layout(tp=2), L40S), work(anatomy, Layout(pp=2))]
    end = numpy.array([400, 50, 3])

    found = most_sequences(gathered(works), least, end)

    for own, most, said in zip(works, end.tolist(), found.tolist(), strict=True):
        counted = [n for n in range(1, most + 1) if own.per_sequence(n).low >= least]
        assert said == max(counted, default=0)


def test_a_batch_widens_the_range_and_one_sequence_does_not() -> None:
    """No measured case has a batch."""
    one = work(llama(), Layout())

    assert one.spread(1) == (0.1, 0.2)
    assert one.spread(2) == (pytest.approx(0.3), pytest.approx(0.4))


def test_a_step_without_arithmetic_is_a_decode_step() -> None:
    """The two ways in are one arithmetic."""
    anatomy, layout = llama(), Layout(tp=2)
    plain = replace(work(anatomy, layout), peak_ms=0.0, compute_ms=0.0)
    traffic = decode_traffic(anatomy, BF16, layout, 4096, 3, 16.0)
    assert plain.step(3) == decode_step(anatomy, layout, traffic, (A100,), Chosen(BY_HEAD, 0.1, 0.2, ()), 4096, 3)


@pytest.mark.parametrize("link", [None, NVLINK, UPLINK])
def test_a_prompt_computes_and_talks(link: Link | None) -> None:
    """2 x active parameters x tokens over the reached peak, and two all-reduces per layer over the link."""
    anatomy, layout = llama(), Layout(tp=2)
    prompt = prompt_time(anatomy, layout, 2048, PEAK, link)
    talk = 0.0 if link is None else tensor_parallel_s(anatomy, 2048, 2, link)

    assert prompt.talk == pytest.approx(talk)
    assert prompt.value == pytest.approx(prompt.bound / 0.5 + talk)
    assert prompt.bound < prompt.low < prompt.value < prompt.high
    first = first_token_s(prompt, work(anatomy, layout))
    assert first.low < first.value < first.high
    assert first.value > prompt.value
