"""Every configuration of the catalog in every format that is asked for, and what its memory holds in every layout."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy

from rackfit.ask.describe import doubt_of
from rackfit.ask.machines import stored_machines
from rackfit.ask.plan.question import ANY, MOST, PlanQuestion, wanted_devices
from rackfit.ask.question import Subject
from rackfit.ask.setting import Setting, resolve_setting
from rackfit.catalog.context import Context
from rackfit.catalog.read import rows_of
from rackfit.errors import UsageError
from rackfit.fit.cell import evaluate
from rackfit.fit.matrix import device_rules
from rackfit.memory.budget import tier_sizes
from rackfit.memory.domain import Device, Layout
from rackfit.memory.layouts import candidates, refusal

Array = Any
"""A NumPy array with one entry per entry, or per option."""

SHAPES = """
select configurations.*, min(systems.max_power_w) as system_w, accelerators.vendor
from configurations
join accelerators using (accelerator_id)
left join configuration_systems using (configuration_id)
left join systems using (system_id)
group by configuration_key
order by memory_bytes_summed, device_count, configuration_id
"""
"""Configurations, smallest first, with what the most frugal system of each draws at most, where that is on record."""


@dataclass(frozen=True)
class Option:
    """One configuration in one format: what a plan chooses among."""

    shape: dict[str, Any]
    setting: Setting
    refusal: str | None
    """`format` or `layout` where it cannot run at all."""
    doubt: str | None
    """What beside memory is in doubt, so that nothing can be promised."""

    @property
    def watts(self) -> float | None:
        """What it draws at most: a system of this shape where one is on record, else its accelerators."""
        return self.shape["system_w"] or self.shape["tdp_w_accelerators"]


@dataclass(frozen=True)
class Entries:
    """Every layout that can run, of every option: sequences of the context asked for that memory allows."""

    options: list[Option]
    layouts: list[Layout]
    """Of each entry, in the order in which an engine prefers them."""
    option: Array
    """Position of each entry's option."""
    likely: Array
    sure: Array
    """Sequences of all replicas together: likely, and as many as keep the verdict at `fits`; 0 where in doubt."""

    def kept(self, positions: Array) -> Entries:
        """Return some of the entries; options stay."""
        return Entries(
            self.options, [self.layouts[at] for at in positions.tolist()], self.option[positions],
            self.likely[positions], self.sure[positions],
        )  # fmt: skip


def find_options(
    connection: sqlite3.Connection, question: PlanQuestion, context: Context, subject: Subject
) -> list[Option]:
    """Return the configurations that may be used, in each format, smallest first.

    Raises:
        UsageError and its kinds: a name that cannot be read.
    """
    wanted = wanted_devices(connection, question)
    shapes = [row for row in rows_of(connection, SHAPES) if wanted is None or row["accelerator_id"] in wanted]
    if not shapes:
        raise UsageError(
            f"{', '.join(sorted(wanted or ()))}: no configuration to choose from; announced parts do not count"
        )
    settings: dict[tuple[str, Any], list[Setting]] = {}
    options = []
    for shape, machine in zip(shapes, stored_machines(connection, shapes), strict=True):
        key = (shape["accelerator_id"], shape["ram_gb"])
        if key not in settings:
            settings[key] = [
                resolve_setting(connection, question.fit_question(name), context, subject, machine)
                for name in _formats(question, context, subject, machine.device)
            ]
        options += [_option(shape, replace(setting, machine=machine)) for setting in settings[key]]
    return options


def _formats(question: PlanQuestion, context: Context, subject: Subject, device: Device) -> list[str | None]:
    """Return the formats to try on a device: the one asked for, or every class of the stored matrix."""
    if (question.precision or "").casefold() != ANY:
        return [question.precision]
    classes = context.chooser.classes(subject.anatomy.model, device, context.assume_16_bit)
    return [choice.precision_id for choice in classes] or [None]


def _option(shape: dict[str, Any], setting: Setting) -> Option:
    chooser, device = setting.context.chooser, setting.machine.device
    cannot = setting.choice.support == "none"
    cannot = cannot or chooser.cache_level(setting.budget.runtime_id, setting.kv_id, device) == "none"
    return Option(shape, setting, "format" if cannot else None, doubt_of(setting))


def find_entries(options: list[Option]) -> Entries:
    """Return what memory allows in every layout of every option; options without a layout that runs get none."""
    layouts: list[Layout] = []
    owner: list[Array] = []
    likely: list[Array] = []
    sure: list[Array] = []
    for members in _alike(options):
        first, positions = options[members[0]].setting, numpy.array(members)
        memory = numpy.array([options[at].setting.memory for at in members])
        spread = numpy.array([options[at].setting.spread for at in members])
        plain = numpy.array([options[at].doubt is None for at in members])
        for layout in _layouts(first):
            cell = evaluate(
                first.subject.anatomy, first.precision, first.budget, layout, first.machine.device, first.asked,
                memory, spread, lengths=(),
            )  # fmt: skip
            layouts += [layout] * len(members)
            owner.append(positions)
            likely.append(_whole(cell.most_sequences, memory))
            sure.append(numpy.where(plain, _whole(cell.sure_sequences, memory), 0))
    if not layouts:
        none = numpy.zeros(0, dtype=numpy.int64)
        return Entries(options, [], none, none, none)
    return Entries(options, layouts, *(numpy.concatenate(parts) for parts in (owner, likely, sure)))


def _alike(options: list[Option]) -> Iterator[list[int]]:
    """Yield positions of options that differ in the memory of their devices alone: one evaluation serves them."""
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for position, option in enumerate(options):
        if option.refusal is not None:
            continue
        setting, machine = option.setting, option.setting.machine
        tokens, _ = tier_sizes(setting.budget, setting.memory, machine.device.name, setting.asked.knobs)
        windowed = setting.budget.window_extra_batches is not None and setting.subject.anatomy.keeps_windows
        key = (
            machine.count, machine.per_domain, setting.choice.precision_id, setting.budget.budget_id,
            device_rules(setting.budget, machine.device), tokens if windowed else None,
        )  # fmt: skip
        groups[key].append(position)
    yield from groups.values()


def _layouts(setting: Setting) -> list[Layout]:
    machine, budget = setting.machine, setting.budget
    found = candidates(setting.subject.anatomy, machine.count, machine.per_domain, budget)
    return [
        layout for layout in found if refusal(setting.subject.anatomy, setting.precision, layout, budget) is None
    ]  # fmt: skip


def _whole(count: Any, memory: Array) -> Array:
    """Return counts as whole numbers, one per device; what has no end is cut at a number beyond any question."""
    spread = numpy.broadcast_to(numpy.asarray(count, dtype=float), memory.shape)
    return numpy.minimum(numpy.maximum(spread, 0), MOST).astype(numpy.int64)
