"""Does this model fit this hardware? One answer, with every byte, every default and what would change it."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask.question import (
    FitQuestion,
    Machine,
    Subject,
    choose_budget,
    choose_cache,
    choose_precision,
    find_machines,
    find_model,
    read_context,
)
from rackfit.catalog.context import Context
from rackfit.errors import UsageError
from rackfit.fit.cell import STANDARD_CONTEXTS, VERDICTS, Cell, Question, evaluate, limit_term
from rackfit.fit.classes import Choice
from rackfit.fit.mixed import evaluate_mixed
from rackfit.memory.budget import GIB, Knobs, engine_total
from rackfit.memory.domain import Budget, Layout, Precision
from rackfit.memory.layouts import candidates, refusal
from rackfit.memory.weights import fitted

DEFAULT_CONTEXT = 8192


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

    @property
    def precision(self) -> Precision:
        """The weight layout, as it comes out for this model."""
        return fitted(self.subject.anatomy, self.context.precisions[self.choice.precision_id])


def fit_one(connection: sqlite3.Connection, question: FitQuestion, suggest: bool = True) -> dict[str, Any]:
    """Answer for one model on one machine.

    A class name of hardware is answered over its candidates: the verdict is the worst of them, and the others are
    listed, so that a class never turns into one card silently.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: hardware or an engine without the facts that an answer needs.
    """
    question.check()
    if question.model is None or question.on is None:
        raise UsageError("one answer needs a model and hardware (--on)")
    context = read_context(connection)
    subject = find_model(connection, question.model)
    machines = find_machines(connection, question.on)
    answers = [answer_for(connection, question, context, subject, machine) for machine in machines]
    order = ("cannot_run", *VERDICTS)
    answer = min(answers, key=lambda item: order.index(item["verdict"]))
    if len(answers) > 1:
        answer["assumptions"].append(f"{question.on!r} is a class: the candidate with the worst verdict is shown")
        answer["candidates"] = [{"hardware": item["hardware"], "verdict": item["verdict"]} for item in answers]
    if suggest:
        from rackfit.ask.suggest import suggestions

        answer["suggestions"] = suggestions(connection, question, answer)
    return answer


def answer_for(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> dict[str, Any]:
    """Answer for one model on one machine, both already found, without suggestions."""
    return _answer(_setting(connection, question, context, subject, machine))


def _setting(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> Setting:
    choice, assumed = choose_precision(connection, context, subject, machine.device, question.precision)
    budget, choice, more = choose_budget(connection, context, choice, question.runtime, machine.device)
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
    )
    asked = Question(tokens, question.sequences or 1, kv_bits, knobs)
    notes = (*assumed, *more, *machine.notes)
    return Setting(question, context, subject, machine, choice, budget, kv_id, asked, notes)


def _layouts(setting: Setting) -> tuple[list[Layout], str | None]:
    """Return the layouts that keep what the user gave and can run, and the reason of the first that cannot."""
    question, machine, budget = setting.question, setting.machine, setting.budget
    given = {name: getattr(question, name) for name in ("tp", "pp", "ep", "dp") if getattr(question, name) is not None}
    devices = machine.count + sum(count for _, count in machine.others)
    anatomy, precision = setting.subject.anatomy, setting.precision
    if {"tp", "pp"} <= given.keys() or given.get("tp") == devices:
        fixed = Layout(given.get("tp", 1), given.get("pp", 1), given.get("ep", 1), given.get("dp", 1))
        if fixed.devices > devices:
            return (
                [],
                f"TP {fixed.tp} x PP {fixed.pp} x DP {fixed.dp} needs {fixed.devices} devices, there are {devices}",
            )
        reason = refusal(anatomy, precision, fixed, budget)
        return ([], reason) if reason else ([fixed], None)
    per_domain = devices if given.get("tp") else machine.per_domain
    found: list[Layout] = []
    first_reason, copies = None, 0
    for layout in candidates(anatomy, devices, per_domain, budget):
        if any(getattr(layout, name) != value for name, value in given.items()):
            continue
        if layout.dp != copies and found and "dp" not in given:
            break
        copies = layout.dp
        reason = refusal(anatomy, precision, layout, budget)
        if reason is None:
            found.append(layout)
        elif first_reason is None:
            first_reason = reason
    if not found and first_reason is None:
        wanted = ", ".join(f"{name.upper()} {value}" for name, value in given.items())
        first_reason = f"no layout of {devices} devices has {wanted}"
    return found, first_reason


def _memory(setting: Setting) -> float:
    """Return the bytes that the engine sees on one device, the user's own figure first."""
    stated = setting.question.usable_gib or setting.machine.usable_gib
    if stated is not None:
        return stated * GIB
    device = setting.machine.device
    return float(engine_total(device.memory_bytes, device.vendor, device.unified))


def _best_cell(setting: Setting, layouts: list[Layout]) -> Cell:
    precision = setting.precision
    stated = setting.question.usable_gib or setting.machine.usable_gib
    spread = 0.0 if stated is not None else setting.machine.device.memory_spread
    best: Cell | None = None
    for layout in layouts:
        cell = evaluate(
            setting.subject.anatomy, precision, setting.budget, layout, setting.machine.device, setting.asked,
            _memory(setting), spread,
        )  # fmt: skip
        if best is None or cell.verdict > best.verdict:
            best = cell
        if cell.verdict == 2:
            break
    assert best is not None
    return best


def _answer(setting: Setting) -> dict[str, Any]:
    if setting.choice.support == "none":
        choice, name = setting.choice, setting.machine.device.name
        return _refused(setting, f"{choice.runtime_id} does not run {choice.precision_id} on {name}")
    if setting.machine.others:
        return _mixed(setting)
    layouts, reason = _layouts(setting)
    if not layouts:
        return _refused(setting, reason or "no layout can run")
    return _described(setting, _best_cell(setting, layouts))


def _mixed(setting: Setting) -> dict[str, Any]:
    precision = setting.precision
    machine = setting.machine
    devices = [(machine.device, machine.count), *machine.others]
    cell, reason, placed = evaluate_mixed(setting.subject.anatomy, precision, setting.budget, devices, setting.asked)
    if cell is None:
        return _refused(setting, reason)
    answer = _described(setting, cell)
    answer["placement"] = placed
    answer["assumptions"].append(reason)
    return answer


def _head(setting: Setting) -> dict[str, Any]:
    machine = setting.machine
    others = "".join(f" + {count}x {device.accelerator_id}" for device, count in machine.others)
    return {
        "model": setting.subject.shown,
        "checkpoint": setting.subject.checkpoint_id,
        "hardware": machine.shown + others,
        "accelerator": machine.device.accelerator_id,
        "precision": setting.choice.precision_id,
        "precision_support": setting.choice.support,
        "kv_precision": setting.kv_id,
        "runtime": setting.budget.runtime_id,
        "runtime_budget": setting.budget.budget_id,
        "context": setting.asked.context,
        "sequences": setting.asked.sequences,
    }


def _refused(setting: Setting, reason: str) -> dict[str, Any]:
    return {
        **_head(setting),
        "layout": None,
        "per_device": None,
        "verdict": "cannot_run",
        "limit": "layout" if "TP" in reason or "PP" in reason or "EP" in reason else "precision",
        "reason": reason,
        "max_context": None,
        "max_context_memory": None,
        "max_sequences": None,
        "assumptions": list(setting.assumed),
        "suggestions": [],
    }


def _whole(value: Any) -> int | None:
    number = float(value)
    return None if math.isinf(number) else round(number)


def _described(setting: Setting, cell: Cell) -> dict[str, Any]:
    limit = setting.subject.max_context
    memory_limit = _whole(cell.max_context)
    longest = limit if memory_limit is None else memory_limit if limit is None else min(limit, memory_limit)
    parts = [round(float(part)) for part in (cell.weights, cell.kv, cell.workspace, cell.runtime)]
    total, usable = sum(parts), round(float(cell.usable))
    verdict = VERDICTS[int(cell.verdict)]
    device = setting.machine.device
    answer = {
        **_head(setting),
        "layout": {"tp": cell.layout.tp, "pp": cell.layout.pp, "ep": cell.layout.ep, "dp": cell.layout.dp},
        "per_device": {
            "weights_bytes": parts[0],
            "kv_bytes": parts[1],
            "kv_reserved_bytes": round(float(cell.kv_reserved)),
            "kv_pool_bytes": round(float(cell.kv_pool)),
            "workspace_bytes": parts[2],
            "runtime_bytes": parts[3],
            "total_bytes": total,
            "low_bytes": round(float(cell.low)),
            "high_bytes": round(float(cell.high)),
            "usable_bytes": usable,
            "margin_bytes": usable - total,
            "outside_bytes": round(float(cell.outside)),
            "reserved_bytes": round(float(cell.reserved)),
            "device_bytes": round(_memory(setting)),
        },
        "verdict": verdict,
        "limit": limit_term(cell),
        "reason": _reason(verdict, cell, setting),
        "max_context": longest,
        "max_context_memory": memory_limit,
        "max_sequences": {
            str(length): _whole(count) for length, count in zip(STANDARD_CONTEXTS, cell.max_sequences, strict=True)
        },
        "assumptions": list(setting.assumed),
        "suggestions": [],
    }
    if device.memory_rule != "printed":
        answer["assumptions"].append(f"memory of {device.name}: derived ({device.memory_rule}), not read from a driver")
    if setting.choice.support == "unknown":
        answer["assumptions"].append(
            f"support of {setting.choice.precision_id} by {setting.choice.runtime_id} on {device.name} is not on record"
        )
    bits = setting.precision.bits
    if bits < 8:
        answer["assumptions"].append("below 8 bits quality depends on method and task: evaluate on your own set")
    return answer


def _reason(verdict: str, cell: Cell, setting: Setting) -> str:
    margin = float(cell.usable - cell.total) / GIB
    high_margin = float(cell.usable - cell.high) / GIB
    what = f"{float(cell.total) / GIB:.2f} GiB per device against {float(cell.usable) / GIB:.2f} GiB usable"
    if verdict == "fits":
        return f"{what}; even the high estimate leaves {high_margin:.2f} GiB"
    if verdict == "tight":
        return f"{what}: {margin:.2f} GiB left, but the high estimate does not fit"
    return f"{what}: {-margin:.2f} GiB too much, most of it {limit_term(cell)}"


def changed(question: FitQuestion, **changes: Any) -> FitQuestion:
    """Return the question with some of its figures changed."""
    return replace(question, **changes)
