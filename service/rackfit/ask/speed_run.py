"""A model on a layout of devices, with the records that its speed follows from."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from functools import cached_property

from rackfit.ask.hosts import CPU
from rackfit.ask.links import link_for
from rackfit.ask.question import Machine
from rackfit.ask.setting import Setting
from rackfit.catalog.read import read_device, rows_of
from rackfit.catalog.read_speed import read_chip, read_efficiencies
from rackfit.errors import RackfitError, UnsupportedError
from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link, tensor_parallel_s
from rackfit.speed.compute import TERA, Peak, decode_flops, rate_of, reached_share
from rackfit.speed.domain import Chip, Chosen, Ranged
from rackfit.speed.efficiency import choose_efficiency, family_of
from rackfit.speed.roofline import Step, pace_of
from rackfit.speed.traffic import Traffic, decode_reads
from rackfit.speed.work import Prompt, Work, first_token_s, prompt_time


@dataclass(frozen=True)
class Run:
    """A model on a layout of devices, ready for questions of speed."""

    setting: Setting
    layout: Layout
    chips: tuple[Chip, ...]
    chosen: Chosen
    peak: Peak | None
    link: Link | None

    def sequences_each(self, sequences: int) -> int:
        """Return the sequences of one replica, rounded up."""
        return -(-sequences // self.layout.dp)

    @cached_property
    def work(self) -> Work:
        """A decode step at the context that was asked for.

        Raises:
            UnsupportedError: a device without a bandwidth on record.
        """
        return self.work_at(self.setting.asked.context)

    def work_at(self, context: float) -> Work:
        """Return a decode step with so many tokens in each cache."""
        setting, layout = self.setting, self.layout
        anatomy = setting.subject.anatomy
        reads = decode_reads(
            anatomy, setting.precision, layout, context, setting.asked.kv_bits, setting.budget.state_bits
        )  # fmt: skip
        reduce_ms = peak_ms = compute_ms = 0.0
        if self.link is not None and layout.tp > 1:
            reduce_ms = 1000 * tensor_parallel_s(anatomy, 1, layout.tp, replace(self.link, latency_us=0.0))
        if self.peak is not None:
            peak_ms = 1000 * decode_flops(anatomy, context, 1) / (layout.tp * self.peak.tflops * TERA)
            compute_ms = peak_ms / self.peak.share
        return Work(
            anatomy, context, reads, pace_of(anatomy, layout, self.chips, self.chosen.efficiency), reduce_ms, peak_ms,
            compute_ms, self.chosen.below, self.chosen.above,
        )  # fmt: skip

    def traffic(self, sequences: int) -> Traffic:
        """Return what one step of one replica reads."""
        return self.work.reads.at(self.sequences_each(sequences))

    def step(self, sequences: int) -> Step:
        """Return the time of one decode step of one replica."""
        return self.work.step(self.sequences_each(sequences))

    def prompt(self, tokens: int) -> Prompt | None:
        """Return the time of a prompt of so many tokens; None without a dense peak on record."""
        if self.peak is None:
            return None
        return prompt_time(self.setting.subject.anatomy, self.layout, tokens, self.peak, self.link)

    def first_token(self, prompt: Prompt) -> Ranged:
        """Return the seconds until the first token of a prompt."""
        return first_token_s(prompt, self.work)


def find_run(connection: sqlite3.Connection, setting: Setting, layout: Layout) -> tuple[Run, list[str]]:
    """Return what questions of speed need of a setting, and what had to be assumed.

    Raises:
        UnsupportedError: no bandwidth or efficiency on record.
    """
    machine = setting.machine
    chips, notes = chips_of(connection, machine, layout)
    chosen = choose_efficiency(
        read_efficiencies(connection), setting.budget.runtime_id, chips[0], family_of(setting.precision),
        experts=setting.subject.anatomy.has_experts,
    )  # fmt: skip
    link = None
    if layout.tp > 1 or layout.pp > 1:
        try:
            link = link_for(connection, machine, max(layout.tp, layout.pp))
        except RackfitError as error:
            notes.append(f"link: {error}; its bytes are not counted")
    peak = peak_of(connection, setting, chips[0])
    if peak is None:
        notes.append(f"{chips[0].name}: no dense peak on record, so no prefill figure")
    return Run(setting, layout, chips, chosen, peak, link), notes


def chips_of(connection: sqlite3.Connection, machine: Machine, layout: Layout) -> tuple[tuple[Chip, ...], list[str]]:
    """Return the chip of each stage, or one for all, and what had to be assumed.

    Raises:
        UnsupportedError: a machine without accelerators, whose bandwidth is on no record.
    """
    if machine.device.vendor == CPU:
        raise UnsupportedError("the bandwidth of this machine's RAM is not on record, so no speed can be said")
    devices = [machine.device.accelerator_id] * machine.count
    for other, count in machine.others:
        devices += [other.accelerator_id] * count
    chips = {name: read_chip(connection, name) for name in devices}
    if len(chips) > 1 and len(devices) == layout.pp:
        return tuple(chips[name] for name in devices), []
    if len(chips) > 1:
        slowest = min(chips.values(), key=lambda one: one.bandwidth_gb_s or 0.0)
        return (slowest,), ["unlike devices side by side: the slowest one's bandwidth counts for all"]
    chip = chips[devices[0]]
    whole = read_device(connection, devices[0]).memory_bytes
    if "/" in machine.shown and machine.device.name != chip.name and machine.device.memory_bytes < whole:
        part = machine.device.memory_bytes / whole
        rates = {name: rate * part for name, rate in chip.rates.items()}
        slice_ = replace(chip, bandwidth_gb_s=(chip.bandwidth_gb_s or 0.0) * part, units=None, rates=rates)
        return (slice_,), [f"MIG slice: {part:.0%} of the device's bandwidth and rates, as of its memory"]
    return (chip,), []


def peak_of(connection: sqlite3.Connection, setting: Setting, chip: Chip) -> Peak | None:
    """Return the dense peak that the setting's format computes at; None where none is on record."""
    rate = rate_of(chip, setting.precision, setting.choice.support)
    if rate is None:
        return None
    runs = rows_of(connection, "select device, mfu_percent from mfu_runs where precision like '%bf16' order by run_id")
    found = [(row["device"], row["mfu_percent"]) for row in runs]
    if not found:
        return Peak(rate[0], rate[1], 1.0, 1.0, 1.0, "no training run on record: the peak itself")
    return Peak(rate[0], rate[1], *reached_share(found, chip))
