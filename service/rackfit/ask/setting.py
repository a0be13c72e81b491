"""A question with every name and default resolved: model, machine, format, engine, and what was assumed."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from functools import cached_property

from rackfit.ask.beside import find_beside, image_tokens
from rackfit.ask.choices import as_loaded, choose_budget, choose_cache, choose_precision, context_for, level_under
from rackfit.ask.hosts import host_support, on_host
from rackfit.ask.machines import Machine
from rackfit.ask.question import DEFAULT_CONTEXT, FitQuestion, Subject
from rackfit.catalog.context import Context
from rackfit.fit.beside import Beside
from rackfit.fit.cell import Question
from rackfit.fit.classes import RUNS, Choice
from rackfit.memory.budget import GIB, Knobs, engine_total
from rackfit.memory.domain import Budget, Device, Precision
from rackfit.memory.published import as_published
from rackfit.memory.weights import fitted


@dataclass(frozen=True)
class Setting:
    """Everything that a question has been resolved to."""

    question: FitQuestion
    context: Context
    subject: Subject
    machine: Machine
    choice: Choice
    budget: Budget
    kv_id: str
    asked: Question
    assumed: tuple[str, ...]
    beside: Beside
    """What the devices hold beside the model."""

    @cached_property
    def precision(self) -> Precision:
        """The weight layout, as it comes out for this model."""
        layout, file = self.estimated_precision, self.subject.file
        if file is None or self.choice.precision_id != self.subject.precision_id:
            return layout
        return as_published(self.subject.anatomy, layout, file)

    @property
    def estimated_precision(self) -> Precision:
        """The weight layout by the format's own rules, whatever file was named."""
        return fitted(self.subject.anatomy, self.context.precisions[self.choice.precision_id])

    @property
    def memory(self) -> float:
        """Bytes that the engine sees on one device, the user's own figure first."""
        stated = self.question.usable_gib or self.machine.usable_gib
        if stated is not None:
            return stated * GIB
        device = self.machine.device
        return float(engine_total(device.memory_bytes, device.vendor, device.unified))

    @property
    def spread(self) -> float:
        """Relative uncertainty of the memory: none of a figure that the user states."""
        stated = self.question.usable_gib or self.machine.usable_gib
        return 0.0 if stated is not None else self.machine.device.memory_spread

    def over(self, stages: int) -> Setting:
        """Return the setting under the rules that hold over so many pipeline stages, with a note where they differ."""
        rules = self.budget.for_stages(stages)
        if rules is self.budget:
            return self
        note = f"runtime: pipelines run on the engine before it here, rules of {rules.budget_id}"
        return replace(self, budget=rules, assumed=(*self.assumed, note))

    @property
    def levels(self) -> list[tuple[Device, str]]:
        """How well the engine runs the weight format on each kind of device; the first one's is the choice's own."""
        choice = self.choice
        others = [
            (device, level_under(self.context, self.budget, choice.precision_id, device))
            for device, _ in self.machine.others
        ]
        return [(self.machine.device, choice.support), *others]

    @property
    def in_doubt(self) -> bool:
        """Whether no record says that the format runs on one of the devices."""
        chooser, context = self.context.chooser, self.context
        said = replace(self.choice, runtime_id=self.budget.family)
        return any(
            chooser.in_doubt(replace(said, support=level), device, context.assume_16_bit)
            for device, level in self.levels
        )

    @property
    def devices(self) -> int:
        """Devices of the machine, of all kinds."""
        return self.machine.devices


def resolve_setting(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> Setting:
    """Choose what a question leaves open for one model on one machine, and list what was assumed."""
    context = context_for(connection, context, question.runtime)
    choice, assumed = _for_all(connection, question, context, subject, machine)
    assumed = [*([subject.taken_for] if subject.taken_for else []), *assumed]
    runtime = "llama.cpp" if question.runtime is None and question.offloads else question.runtime
    budget, choice, more = choose_budget(connection, context, choice, runtime, machine.device)
    choice, loaded = as_loaded(context, choice, machine.device, question.precision)
    assumed += loaded
    budget = on_host(budget, machine.device)
    choice = host_support(
        choice, budget.family, context.precisions[choice.precision_id].family, machine.device
    )  # fmt: skip
    kv_id, kv_bits = choose_cache(context, question.kv_precision)
    limit = subject.max_context
    tokens = question.context or min(DEFAULT_CONTEXT, limit or DEFAULT_CONTEXT)
    if question.context is None:
        assumed.append(f"context: {tokens} tokens")
    elif limit and question.context > limit:
        assumed.append(f"context: {question.context} tokens are more than the model's own limit of {limit}")
    if question.kv_precision is None:
        assumed.append("KV cache: 16 bits")
    if question.sequences is None:
        assumed.append("sequences: 1")
    if question.runtime is None:
        assumed.append(f"runtime: {budget.runtime_id} {budget.version_from} or later")
    knobs = Knobs(
        utilization=question.utilization,
        batched_tokens=question.max_batched_tokens,
        max_sequences=question.max_sequences,
        reserve_bytes=round((question.reserve_gib or 0) * GIB),
        eager=question.eager,
        text_only=question.text_only,
    )
    beside, others = find_beside(
        connection, question, context, subject, machine.device, budget, choice.precision_id
    )  # fmt: skip
    asked = Question(tokens + image_tokens(beside), question.sequences or 1, kv_bits, knobs)
    notes = (*subject.notes, *assumed, *more, *others, *machine.notes)
    return Setting(question, context, subject, machine, choice, budget, kv_id, asked, notes, beside)


def _for_all(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> tuple[Choice, list[str]]:
    """Return the precision that every kind of device runs, where one of them leads to it; else that of the first."""
    found = [choose_precision(connection, context, subject, device, question.precision) for device, _ in machine.kinds]
    for choice, assumed in found[1:]:
        level = context.chooser.level(choice.runtime_id, choice.precision_id, machine.device)
        if found[0][0].precision_id != choice.precision_id and level in RUNS:
            return replace(choice, support=level), assumed
    return found[0]
