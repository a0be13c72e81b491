"""A model on a layout of devices, with the records that its speed follows from."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rackfit.ask.hosts import CPU
from rackfit.ask.links import link_for
from rackfit.ask.machines import Machine
from rackfit.ask.setting import Setting
from rackfit.catalog.read import read_device, rows_of
from rackfit.catalog.read_speed import read_chip, read_efficiencies
from rackfit.errors import RackfitError, UnsupportedError
from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link
from rackfit.speed.compute import Peak, rate_of, reached_peak, reached_share
from rackfit.speed.domain import Chip, Chosen, Efficiency, Ranged
from rackfit.speed.efficiency import choose_efficiency, family_of
from rackfit.speed.roofline import Step, pace_of
from rackfit.speed.traffic import Reads, Traffic, decode_reads
from rackfit.speed.work import Prompt, Wires, Work, first_token_s, prompt_time, work_of


@dataclass(frozen=True)
class Run:
    """A model on a layout of devices, ready for questions of speed."""

    setting: Setting
    layout: Layout
    chips: tuple[Chip, ...]
    chosen: Chosen
    peak: Peak | None
    link: Link | None
    expert_link: Link | None = None

    @property
    def wires(self) -> Wires:
        """The links of the layout."""
        return Wires(self.link, self.expert_link)

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

    def reads_at(self, context: float) -> Reads:
        """Return what a decode step reads with so many tokens in each cache."""
        return reads_of(self.setting, self.layout, context)

    def work_at(self, context: float) -> Work:
        """Return a decode step with so many tokens in each cache."""
        anatomy = self.setting.subject.anatomy
        return work_of(
            anatomy, context, self.layout, self.reads_at(context),
            pace_of(anatomy, self.chips, self.chosen.efficiency), self.peak, self.wires,
            (self.chosen.below, self.chosen.above),
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
        return prompt_time(self.setting.subject.anatomy, self.layout, tokens, self.peak, self.wires)

    def first_token(self, prompt: Prompt) -> Ranged:
        """Return the seconds until the first token of a prompt."""
        return first_token_s(prompt, self.work)


def reads_of(setting: Setting, layout: Layout, context: float) -> Reads:
    """Return what a decode step of a setting reads with so many tokens in each cache."""
    return decode_reads(
        setting.subject.anatomy, setting.precision, layout, context, setting.asked.kv_bits, setting.budget.state_bits
    )  # fmt: skip


class Records:
    """The records that speed follows from, each read when it is first asked for: one for many questions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._chips: dict[str, Chip] = {}
        self._links: dict[tuple[Any, ...], Link | RackfitError] = {}
        self._chosen: dict[tuple[Any, ...], Chosen] = {}
        self._shares: dict[str, tuple[float, float, float, str]] = {}

    @cached_property
    def efficiencies(self) -> tuple[Efficiency, ...]:
        """Every efficiency record."""
        return read_efficiencies(self.connection)

    @cached_property
    def training_runs(self) -> list[tuple[str, float]]:
        """(device, MFU in percent) of the published training runs in 16 bits."""
        sql = "select device, mfu_percent from mfu_runs where precision like '%bf16' order by run_id"
        return [(row["device"], row["mfu_percent"]) for row in rows_of(self.connection, sql)]

    def chip(self, accelerator_id: str) -> Chip:
        """Return an accelerator as a question of speed sees it."""
        if accelerator_id not in self._chips:
            self._chips[accelerator_id] = read_chip(self.connection, accelerator_id)
        return self._chips[accelerator_id]

    def link(self, machine: Machine, degree: int) -> Link:
        """Return the link over which so many devices of a machine talk.

        Raises:
            UnsupportedError: nothing is on record about it.
        """
        key = (machine.device.accelerator_id, machine.system_id, machine.nodes, machine.per_domain, degree)
        if key not in self._links:
            try:
                self._links[key] = link_for(self.connection, machine, degree)
            except RackfitError as error:
                self._links[key] = error
        found = self._links[key]
        if isinstance(found, RackfitError):
            raise found
        return found

    def chosen(self, setting: Setting, chip: Chip) -> Chosen:
        """Return the efficiency that speaks for a setting on a chip.

        Raises:
            UnsupportedError: there is no record at all.
        """
        engine, family = setting.budget.runtime_id, family_of(setting.precision)
        experts = setting.subject.anatomy.has_experts
        key = (engine, chip, family, experts)
        if key not in self._chosen:
            self._chosen[key] = choose_efficiency(self.efficiencies, engine, chip, family, experts=experts)
        return self._chosen[key]

    def peak(self, setting: Setting, chip: Chip) -> Peak | None:
        """Return the dense peak that the setting's format computes at; None where none is on record."""
        rate = rate_of(chip, setting.precision, setting.choice.support)
        if rate is None:
            return None
        if not self.training_runs:
            return Peak(rate[0], rate[1], 1.0, 1.0, 1.0, "no training run on record: the peak itself")
        name = chip.accelerator_id
        if name not in self._shares:
            self._shares[name] = reached_share(self.training_runs, chip)
        return reached_peak(chip, rate, self._shares[name], setting.subject.anatomy.has_experts)


def find_run(records: Records, setting: Setting, layout: Layout) -> tuple[Run, list[str]]:
    """Return what questions of speed need of a setting, and what had to be assumed.

    Raises:
        UnsupportedError: no bandwidth or efficiency on record.
    """
    machine = setting.machine
    chips, notes = chips_of(records, machine, layout)
    chosen = records.chosen(setting, chips[0])
    link, expert_link = (_link(records, machine, degree, notes) for degree in group_degrees(layout))
    peak = records.peak(setting, chips[0])
    if peak is None:
        notes.append(f"{chips[0].name}: no dense peak on record, so no prefill figure")
    return Run(setting, layout, chips, chosen, peak, link, expert_link), notes


def group_degrees(layout: Layout) -> tuple[int, int]:
    """Return how many devices talk: those of a layer or of a pipeline, and those that exchange tokens of experts."""
    return max(layout.tp, layout.pp), layout.ep if layout.dp > 1 else 1


def _link(records: Records, machine: Machine, degree: int, notes: list[str]) -> Link | None:
    """Return the link of a group; None for one device, and where nothing is on record, which the notes then say."""
    try:
        return records.link(machine, degree) if degree > 1 else None
    except RackfitError as error:
        notes.append(f"link: {error}; its bytes are not counted")
        return None


def chips_of(records: Records, machine: Machine, layout: Layout) -> tuple[tuple[Chip, ...], list[str]]:
    """Return the chip of each stage, or one for all, and what had to be assumed.

    Raises:
        UnsupportedError: a machine without accelerators, whose bandwidth is on no record.
    """
    if machine.device.vendor == CPU:
        raise UnsupportedError("the bandwidth of this machine's RAM is not on record, so no speed can be said")
    names = [device.accelerator_id for device, count in machine.kinds for _ in range(count)]
    chips = {name: records.chip(name) for name in dict.fromkeys(names)}
    if len(chips) > 1 and len(names) == layout.pp:
        return tuple(chips[name] for name in names), []
    if len(chips) > 1:
        slowest = min(chips.values(), key=lambda one: one.bandwidth_gb_s or 0.0)
        return (slowest,), ["unlike devices side by side: the slowest one's bandwidth counts for all"]
    notes = []
    if machine.sliced:
        notes.append(f"MIG slice: {_share(records, machine):.0%} of the device's bandwidth and rates, as of its memory")
    return (chip_of(records, machine),), notes


def chip_of(records: Records, machine: Machine) -> Chip:
    """Return a machine's first device; of a MIG slice bandwidth and rates are its share of the memory."""
    chip = records.chip(machine.device.accelerator_id)
    if not machine.sliced:
        return chip
    share, whole = _share(records, machine), chip.bandwidth_gb_s
    return replace(
        chip, bandwidth_gb_s=None if whole is None else whole * share, units=None,
        rates={name: rate * share for name, rate in chip.rates.items()},
    )  # fmt: skip


def _share(records: Records, machine: Machine) -> float:
    """Return the share of a device's memory that its slice has."""
    return machine.device.memory_bytes / read_device(records.connection, machine.device.accelerator_id).memory_bytes
