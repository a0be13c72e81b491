"""A decode step as a function of its batch: of one configuration, and of many at once."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy
import pytest

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link, expert_parallel_s, tensor_parallel_s
from rackfit.speed.compute import Peak
from rackfit.speed.domain import Chip, Chosen, Efficiency
from rackfit.speed.gather import gathered_layouts, gathered_links, gathered_paces, gathered_peaks, gathered_reads
from rackfit.speed.roofline import decode_step, pace_of
from rackfit.speed.traffic import decode_reads, decode_traffic
from rackfit.speed.work import Wires, Work, first_token_s, most_sequences, prompt_time, with_prompts, work_of
from speed.builders import A100, BF16, NVLINK, UPLINK, llama, record

L40S = Chip("nvidia-l40s", "L40S", "gddr", 864.0, True, 142, "SM", {})
PEAK = Peak("bf16", 312.0, 0.5, 0.4, 0.8, "runs")
BY_HEAD = record(head_cache_gb_s=30.0, layer_ms=0.05, all_reduce_ms=0.01, handover_ms=0.2, host_layer_ms=0.01)


class Case(NamedTuple):
    """One configuration, as the arithmetic sees it."""

    layout: Layout
    chip: Chip = A100
    one: Efficiency = BY_HEAD
    peak: Peak | None = PEAK
    link: Link | None = None
    expert_link: Link | None = None


CASES = [
    Case(Layout(tp=2), link=NVLINK),
    Case(Layout(pp=2), L40S, replace(BY_HEAD, ecc_share=0.9), link=UPLINK),
    Case(Layout(), one=replace(BY_HEAD, head_cache_gb_s=None), peak=None),
]
SPREAD = Case(Layout(ep=4, dp=4), link=None, expert_link=UPLINK)


def work(anatomy: Anatomy, case: Case) -> Work:
    """Return a decode step at 4096 tokens."""
    return work_of(
        anatomy, 4096, case.layout, decode_reads(anatomy, BF16, case.layout, 4096, 16.0),
        pace_of(anatomy, (case.chip,), case.one), case.peak, Wires(case.link, case.expert_link), (0.1, 0.2),
    )  # fmt: skip


def together(anatomy: Anatomy, cases: list[Case]) -> tuple[Work, Layout, Wires]:
    """Return the decode steps of many configurations as one."""
    at = numpy.arange(len(cases))
    layout = gathered_layouts([case.layout for case in cases], at)
    wires = Wires(*(gathered_links([getattr(case, name) for case in cases], at) for name in ("link", "expert_link")))
    found = work_of(
        anatomy, 4096, layout,
        gathered_reads([decode_reads(anatomy, BF16, case.layout, 4096, 16.0) for case in cases], at),
        gathered_paces([pace_of(anatomy, (case.chip,), case.one) for case in cases], at),
        gathered_peaks([case.peak for case in cases], at), wires, (0.1, 0.2),
    )  # fmt: skip
    return found, layout, wires


@pytest.mark.parametrize("experts", [None, 8])
def test_many_at_once_are_each_on_its_own(experts: int | None) -> None:
    """Unlike devices, layouts, links and engines in one array have the figures that each has alone."""
    anatomy, cases = llama(experts=experts), [*CASES, SPREAD] if experts else CASES
    batch = numpy.array([1, 7, 300, 40][: len(cases)])

    many, layout, wires = together(anatomy, cases)
    speeds, peaks = many.per_sequence(batch), gathered_peaks([case.peak for case in cases], numpy.arange(len(cases)))
    prompts = prompt_time(anatomy, layout, 2048, peaks, wires)

    for at, (case, sequences) in enumerate(zip(cases, batch.tolist(), strict=True)):
        single = work(anatomy, case).per_sequence(sequences)
        assert (speeds.value[at], speeds.low[at], speeds.high[at]) == pytest.approx(
            (single.value, single.low, single.high), rel=1e-12
        )
        if case.peak is not None:
            alone = prompt_time(anatomy, case.layout, 2048, case.peak, Wires(case.link, case.expert_link))
            assert (prompts.value[at], prompts.high[at]) == pytest.approx((alone.value, alone.high), rel=1e-12)


def test_experts_that_replicas_share_see_the_tokens_of_all() -> None:
    """Four replicas of one sequence touch 1 - (3/4)^4 of eight experts of which a token visits two (GShard)."""
    apart, spread = llama(experts=8), Layout(ep=4, dp=4)
    alone, shared = (decode_reads(apart, BF16, layout, 0, 16.0) for layout in (Layout(dp=4), spread))
    expert = 2 * 8 * 3 * 4096 * 14336 * 2

    assert alone.at(1).total - sum(alone.fixed) == pytest.approx(expert * 0.25)
    assert shared.at(1).total - sum(shared.fixed) == pytest.approx(expert / 4 * (1 - 0.75**4))


def test_replicas_of_attention_send_tokens_to_their_experts_and_back() -> None:
    """Bytes grow with the batch, latency does not; experts on the ranks of one replica exchange nothing."""
    anatomy = llama(experts=8)
    spread, inside = work(anatomy, SPREAD), work(anatomy, Case(Layout(tp=4, ep=4), expert_link=UPLINK))
    said = 1000 * expert_parallel_s(anatomy, 4 * 10, 4, UPLINK)

    assert spread.step(10).split_ms == pytest.approx(said)
    assert (inside.link_ms, inside.exchange_ms) == (0, 0)


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
    end = numpy.array([400, 50, 3])

    many, _, _ = together(anatomy, CASES)
    found = most_sequences(lambda each: many.per_sequence(each).low, least, end)

    for case, most, said in zip(CASES, end.tolist(), found.tolist(), strict=True):
        own = work(anatomy, case)
        counted = [n for n in range(1, most + 1) if own.per_sequence(n).low >= least]
        assert said == max(counted, default=0)


def test_a_batch_widens_the_range_and_one_sequence_does_not() -> None:
    """No measured case has a batch."""
    one = work(llama(), CASES[0])

    assert one.spread(1) == (0.1, 0.2)
    assert one.spread(2) == (pytest.approx(0.3), pytest.approx(0.4))


def test_a_step_without_arithmetic_is_a_decode_step() -> None:
    """The two ways in are one arithmetic."""
    anatomy, layout = llama(), Layout(tp=2)
    plain = work(anatomy, Case(layout, peak=None))
    traffic = decode_traffic(anatomy, BF16, layout, 4096, 3, 16.0)
    assert plain.step(3) == decode_step(anatomy, layout, traffic, (A100,), Chosen(BY_HEAD, 0.1, 0.2, ()), 4096, 3)


@pytest.mark.parametrize("link", [None, NVLINK, UPLINK])
def test_a_prompt_computes_and_talks(link: Link | None) -> None:
    """2 x active parameters x tokens over the reached peak, and two all-reduces per layer over the link."""
    anatomy, layout = llama(), Layout(tp=2)
    prompt = prompt_time(anatomy, layout, 2048, PEAK, Wires(link, None))
    talk = 0.0 if link is None else tensor_parallel_s(anatomy, 2048, 2, link)

    assert prompt.talk == pytest.approx(talk)
    assert prompt.value == pytest.approx(prompt.bound / 0.5 + talk)
    assert prompt.bound < prompt.low < prompt.value < prompt.high
    first = first_token_s(prompt, work(anatomy, Case(layout)))
    assert first.low < first.value < first.high
    assert first.value > prompt.value


def test_prompts_of_others_take_their_time() -> None:
    """20 tokens/s; 4 sequences whose prompts of 1 s come once per answer of 100 tokens: 50 + 40 ms per token."""
    assert with_prompts(20.0, 4, 1.0, 100) == pytest.approx(1000 / 90)
