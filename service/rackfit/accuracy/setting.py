"""A case turned into records and numbers: model, precision, engine, device, layout. Its value is never looked at."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rackfit.accuracy.cases import OFF, Case
from rackfit.accuracy.engines import Engine, find_engine
from rackfit.accuracy.usual import find_usual
from rackfit.ask.choices import published_layout
from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.question import Subject
from rackfit.catalog.context import Context
from rackfit.errors import UnknownNameError, UnsupportedError
from rackfit.fit.cell import Cell, Question, evaluate
from rackfit.fit.mixed import Wish, evaluate_mixed
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import GIB, Knobs, engine_total
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.layouts import candidates, refusal
from rackfit.memory.precision_names import parse_kv, parse_precision
from rackfit.memory.weights import as_loaded, averaged, fitted

STATED_CONTEXT = 8192
"""Tokens assumed where a statement of fit names none: the default of every Rackfit answer."""
AS_SHIPPED = "(see source)"
LEFT_OPEN = frozenset({AS_SHIPPED, "native", "original", "as shipped", "as published", "default", "auto"})
"""Words that leave the format to the checkpoint."""


@dataclass(frozen=True)
class CaseSetting:
    """Everything of a case that an estimate needs."""

    case: Case
    context: Context
    subject: Subject | None
    precision: Precision | None
    kv_id: str
    kv_bits: float
    engine: Engine
    machine: Machine | None
    assumed: tuple[str, ...]
    connection: sqlite3.Connection
    device_problem: str | None = None
    """Why the device named could not be found; what no device matters to is estimated all the same."""

    @property
    def counted_bytes(self) -> float | None:
        """Weights from the parameter count alone, bytes; None where the model is on record or no count is stated."""
        if self.subject is not None or self.case.parameter_count is None or self.precision is None:
            return None
        return self.case.parameter_count * self.precision.bits / 8

    @property
    def anatomy(self) -> Anatomy:
        """The model.

        Raises:
            UnsupportedError: the case names none.
        """
        if self.subject is None:
            raise UnsupportedError("the case names no model")
        return self.subject.anatomy

    @property
    def layout_precision(self) -> Precision:
        """The weight layout.

        Raises:
            UnsupportedError: neither the case nor the checkpoint says one.
        """
        if self.precision is None:
            raise UnsupportedError("precision: neither the case nor the checkpoint's record says one")
        precision = fitted(self.anatomy, self.precision)
        if self.machine is None:
            return precision
        return as_loaded(precision, self.budget, self.machine.device.compute_capability)

    @property
    def device(self) -> Device:
        """The device.

        Raises:
            UnsupportedError: the case names none.
        """
        if self.machine is None:
            raise UnsupportedError(self.device_problem or "the case names no device")
        return self.machine.device

    @cached_property
    def budget(self) -> Budget:
        """The engine's rules, with what the case switches."""
        return switched(self.engine.budget.for_stages(self.case.pp or 1), self.case)

    def under(self, budget: Budget) -> CaseSetting:
        """Return the case under rules of another version of its engine."""
        return replace(self, engine=replace(self.engine, budget=budget, others=()))

    @property
    def count(self) -> int:
        """Devices of the case."""
        stated = self.case.gpu_count or 0
        found = self.machine.count if self.machine else 1
        product = (self.case.tp or 1) * (self.case.pp or 1)
        return max(stated, found, product)

    def total(self) -> float:
        """Return the bytes that the engine sees on one device: a figure in the device's name first."""
        if self.machine is not None and self.machine.usable_gib is not None:
            return self.machine.usable_gib * GIB
        device = self.device
        return float(engine_total(device.memory_bytes, device.vendor, device.unified))

    def knobs(self) -> Knobs:
        """Return the settings that the case states."""
        share = self.case.number("gpu_memory_utilization") or self.case.number("mem_fraction_static")
        tokens, sequences = self.case.number("max_num_batched_tokens"), self.case.number("max_num_seqs")
        tokens = tokens or self.case.number("ubatch")
        eager = self.case.switch("enforce_eager") is True or self.case.switch("cuda_graphs") is False
        return Knobs(
            utilization=share if share and share <= 1 else None,
            batched_tokens=int(tokens) if tokens else None,
            max_sequences=int(sequences) if sequences else None,
            eager=eager,
            chunked=self.case.switch("chunked_prefill"),
            text_only=self._text_only(),
            draft=self.drafting,
            final_share=self.case.switch("final_share") is True,
        )

    @property
    def drafting(self) -> bool:
        """Whether the case says that a draft or the model's own prediction heads run."""
        said = self.case.settings.get("speculative", "none").casefold()
        return self.case.switch("mtp") is True or said not in OFF

    def _text_only(self) -> bool:
        """Return whether images are off: where the case says so, and in a statement that a device suffices.

        Such a statement names no settings, so it holds where some settings make it hold.
        """
        off = self.case.switch("language_model_only") is True or self.case.switch("vision") is False
        return off or "statement" in self.case.settings

    def question(self, context: int | None = None) -> Question:
        """Return what the case asks: its context and batch, or what is assumed where it says nothing."""
        limit = self.subject.max_context if self.subject else None
        stated = self.case.context or int(self.case.number("context_length") or 0)
        tokens = context or stated or min(STATED_CONTEXT, limit or STATED_CONTEXT)
        return Question(tokens, self.case.batch or 1, self.kv_bits, self.knobs())

    def layout(self) -> Layout:
        """Return the layout of the case: as stated, else the first that can run over its devices.

        Raises:
            UnsupportedError: the stated layout cannot run, with the reason.
        """
        found, dcp = self._unstriped(), int(self.case.number("dcp") or 1)
        if dcp <= 1:
            return found
        striped = replace(found, dcp=dcp)
        reason = refusal(self.anatomy, self.layout_precision, striped, self.budget)
        if reason:
            raise UnsupportedError(reason)
        return striped

    def _unstriped(self) -> Layout:
        """Return the layout without context parallelism."""
        case, anatomy, precision = self.case, self.anatomy, self.layout_precision
        if case.tp or case.pp:
            stated = Layout(tp=case.tp or 1, pp=case.pp or 1)
            if case.tp is None and stated.devices < self.count and self.count % stated.pp == 0:
                stated = Layout(tp=self.count // stated.pp, pp=stated.pp)
            if self.budget.parallelism == "layers" and stated.tp > 1:
                return Layout(pp=stated.devices)
            reason = refusal(anatomy, precision, stated, self.budget)
            if reason and anatomy.has_experts:
                expert = Layout(tp=stated.tp, pp=stated.pp, ep=stated.tp)
                if refusal(anatomy, precision, expert, self.budget) is None:
                    return expert
            if reason:
                raise UnsupportedError(reason)
            return stated
        for layout in candidates(anatomy, self.count, self.count, self.budget):
            if refusal(anatomy, precision, layout, self.budget) is None:
                return layout
        raise UnsupportedError(f"no layout over {self.count} devices can run")

    @property
    def devices(self) -> list[tuple[Device, int]]:
        """Devices of each kind with their counts."""
        own = self.device
        assert self.machine is not None  # `device` refuses a case without
        return [(own, self.machine.count), *self.machine.others]

    def cell(self, context: int | None = None) -> Cell:
        """Return the bytes per device on the binding stage, each of unlike devices checked alone.

        Raises:
            UnsupportedError: the stated layout cannot run, with the reason.
        """
        if self.mixed:
            return self.placed(context)[0]
        return evaluate(
            self.anatomy, self.layout_precision, self.budget, self.layout(), self.device, self.question(context),
            self.total(), self.device.memory_spread,
        )  # fmt: skip

    @property
    def mixed(self) -> bool:
        """Whether the case's devices are unlike."""
        return self.machine is not None and bool(self.machine.others)

    def placed(self, context: int | None = None) -> tuple[Cell, list[dict[str, Any]]]:
        """Return the cell that binds among unlike devices, and what each holds; `pp_layers=16,32` places the layers.

        Raises:
            UnsupportedError: the stated layout cannot run, with the reason.
        """
        stated = self.case.settings.get("pp_layers", "")
        counts = tuple(int(part) for part in stated.split(",")) if re.fullmatch(r"\d+(,\d+)+", stated) else None
        shares = "layers" if counts or (self.case.pp or 1) > 1 else "equal" if (self.case.tp or 1) > 1 else None
        cell, reason, rows = evaluate_mixed(
            self.anatomy, self.layout_precision, self.budget, self.devices, self.question(context),
            Wish(shares=shares, counts=counts),
        )  # fmt: skip
        if cell is None:
            raise UnsupportedError(reason)
        return cell, rows


def switched(budget: Budget, case: Case) -> Budget:
    """Return an engine's rules with what a case switches: block size, latent cache, pools by kind of layer."""
    changes: dict[str, Any] = {}
    block = case.number("block_size")
    if block and block >= 1 and budget.equation != "all_of_device":
        changes["kv_block_tokens"] = int(block)
    if case.switch("mla") is False and budget.mla_cache == "latent":
        changes["mla_cache"] = "full_heads"
    if case.switch("hybrid") is False:
        changes |= {"window_extra_batches": None, "group_join_ratio": None}
    return replace(budget, **changes) if changes else budget


def setting_of(connection: sqlite3.Connection, context: Context, case: Case) -> CaseSetting:
    """Return the setting of a case.

    Raises:
        RackfitError: a name of the case that resolves to nothing, with the name.
    """
    assumed: list[str] = []
    subject = _subject(connection, case, assumed)
    assumed += [f"other_config: {key!r} is no key of the case format, ignored" for key in case.unread]
    problem: str | None = None
    try:
        machine = _machine(connection, case, assumed)
    except UnknownNameError as error:
        machine, problem = None, str(error)
    precision = _precision(connection, context, case, subject, assumed)
    kv_id, kv_bits = _cache(context, case, assumed)
    gguf = precision is not None and precision.family == "gguf"
    engine = find_engine(case.engine, context.budgets, gguf, machine.device.vendor if machine else None)
    return CaseSetting(
        case,
        context,
        subject,
        precision,
        kv_id,
        kv_bits,
        engine,
        machine,
        (*assumed, *engine.assumed),
        connection,
        problem,
    )


def _subject(connection: sqlite3.Connection, case: Case, assumed: list[str]) -> Subject | None:
    """Return the model of a case; None where it names none, or one that is not on record beside a parameter count."""
    if not case.model:
        return None
    try:
        subject = find_usual(connection, case.model, assumed)
    except UnknownNameError:
        if case.parameter_count is None:
            raise
        assumed.append(f"model: {case.model!r} is not on record, its parameter count alone is used")
        return None
    if subject.taken_for:
        assumed.append(subject.taken_for)
    return subject


def _machine(connection: sqlite3.Connection, case: Case, assumed: list[str]) -> Machine | None:
    if not case.gpu or case.gpu.casefold() in ("any", "not stated"):
        return None
    machines = find_machines(connection, case.gpu)
    if len(machines) > 1:
        assumed.append(f"device: {machines[0].device.accelerator_id} taken for the class {case.gpu!r}")
    return machines[0]


def _precision(
    connection: sqlite3.Connection, context: Context, case: Case, subject: Subject | None, assumed: list[str]
) -> Precision | None:
    said = case.precision
    if said and said.casefold() not in LEFT_OPEN:
        parsed = parse_precision(said)
        if parsed.bits is not None and parsed.note:
            assumed.append(f"precision: {parsed.note}")
            return averaged(str(parsed.weight_id), parsed.bits)
        if parsed.weight_id is None or parsed.weight_id not in context.precisions:
            raise UnsupportedError(f"precision {said!r} is not known")
        own = published_layout(connection, context, subject, parsed) if subject else None
        if own is not None:
            return context.precisions[own]
        if parsed.note:
            assumed.append(f"precision: {parsed.note}")
        return context.precisions[parsed.weight_id]
    if subject is None:
        if case.parameter_count is not None:
            assumed.append("precision: 16 bits assumed")
            return context.precisions["bf16"]
        return None
    if subject.precision_id in context.precisions:
        return context.precisions[str(subject.precision_id)]
    assumed.append("precision: 16 bits assumed")
    return context.precisions["bf16"]


def _cache(context: Context, case: Case, assumed: list[str]) -> tuple[str, float]:
    parsed = parse_kv(case.kv) if case.kv else None
    if parsed is not None and parsed.weight_id in context.kv_bits:
        return str(parsed.weight_id), context.kv_bits[str(parsed.weight_id)]
    if parsed is not None:
        raise UnsupportedError(f"cache format {case.kv!r} is not known")
    assumed.append("KV cache: 16 bits assumed")
    return "kv_bf16", 16.0


__all__ = ["CaseSetting", "setting_of"]
