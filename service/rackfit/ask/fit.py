"""Does this model fit this hardware? One answer, with every byte, every default and what would change it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from rackfit.ask.degrees import layouts_of, unlike_shares, with_degrees
from rackfit.ask.describe import LAYOUT, PRECISION, described, refused
from rackfit.ask.hosts import host_of, machines_of
from rackfit.ask.machines import Machine
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.ask.setting import Setting, resolve_setting
from rackfit.catalog.context import Context
from rackfit.errors import UsageError
from rackfit.fit.beside import beside_terms
from rackfit.fit.cell import Added, Cell, evaluate
from rackfit.fit.mixed import Wish, evaluate_mixed
from rackfit.fit.verdicts import FITS, WORST_FIRST
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Layout


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
        raise UsageError("one answer needs a model and hardware")
    context = read_context(connection)
    subject = find_model(connection, question.model)
    machines = machines_of(connection, question)
    answers = [answer_for(connection, question, context, subject, machine) for machine in machines]
    answer = min(answers, key=lambda item: (WORST_FIRST.index(item["verdict"]), _margin(item)))
    if len(answers) > 1:
        answer["assumptions"].append(f"{question.on!r} is a class: the candidate with the worst verdict is shown")
        answer["candidates"] = [
            {"hardware": item["hardware"], "verdict": item["verdict"], "margin_bytes": _margin(item)}
            for item in answers
        ]
    if suggest:
        from rackfit.ask.suggest import suggestions

        answer["suggestions"] = suggestions(connection, question, answer)
    return answer


def _margin(answer: dict[str, Any]) -> int:
    """Return the bytes left per device; 0 for what cannot run."""
    return answer["per_device"]["margin_bytes"] if answer["per_device"] else 0


def answer_for(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> dict[str, Any]:
    """Answer for one model on one machine, both already found, without suggestions."""
    setting = resolve_setting(connection, question, context, subject, machine)
    refusal_of = _refusal(setting)
    if refusal_of is not None:
        return refused(setting, *refusal_of)
    if question.offloads:
        from rackfit.ask.offloading import offload_answer

        return offload_answer(setting, host_of(connection, machine, question.host_ram_gib))
    return _answer(setting)


def added_for(setting: Setting, layout: Layout) -> Added | None:
    """Return what the devices of a layout hold beside the model; None where nothing comes beside it."""
    if setting.beside.empty:
        return None
    terms = beside_terms(
        setting.beside, setting.subject.anatomy, setting.precision, setting.budget, layout, setting.asked
    )  # fmt: skip
    return terms.added(layout.pp)


def _best_cell(setting: Setting, layouts: list[Layout]) -> Cell:
    precision = setting.precision
    best: Cell | None = None
    for layout in layouts:
        cell = evaluate(
            setting.subject.anatomy, precision, setting.budget, layout, setting.machine.device, setting.asked,
            setting.memory, setting.spread, added_for(setting, layout),
        )  # fmt: skip
        if best is None or cell.verdict > best.verdict:
            best = cell
        if cell.verdict == FITS:
            break
    assert best is not None
    return best


def _refusal(setting: Setting) -> tuple[str, str] | None:
    """Return what forbids the question whatever the layout, and why; None where nothing does."""
    chooser, choice, budget = setting.context.chooser, setting.choice, setting.budget
    for device, level in setting.levels:
        missing = chooser.missing(choice.runtime_id, device)
        if missing is not None and level == "none":
            return PRECISION, f"{choice.runtime_id} does not run on {device.name}: it needs {missing}"
        if not budget.serves(device):
            return PRECISION, f"{budget.runtime_id} runs on {', '.join(budget.runs_on)} devices, not on {device.name}"
        if level == "none":
            return PRECISION, f"{choice.runtime_id} does not run {choice.precision_id} on {device.name}"
    if setting.machine.sliced and setting.devices > 1 and _together(setting):
        return LAYOUT, "no TP, PP or EP over MIG slices: they have no peer-to-peer link, each holds a whole model"
    kinds = setting.machine.kinds
    if any(chooser.cache_level(setting.budget.runtime_id, setting.kv_id, device) == "none" for device, _ in kinds):
        return PRECISION, f"{setting.budget.runtime_id} has no cache in {setting.kv_id.removeprefix('kv_')}"
    return None


def _together(setting: Setting) -> bool:
    """Return whether a question wants one model over several devices."""
    question = setting.question
    wide = any((getattr(question, name) or 1) > 1 for name in ("tp", "pp", "ep"))
    return wide or question.offloads or question.split is not None or bool(setting.machine.others)


def _answer(setting: Setting) -> dict[str, Any]:
    if setting.machine.others or setting.question.split is not None:
        return _mixed(setting)
    layouts, reason = layouts_of(setting)
    if not layouts:
        return refused(setting, LAYOUT, with_degrees(setting, reason or "no layout can run"))
    return described(setting, _best_cell(setting, layouts))


def _mixed(setting: Setting) -> dict[str, Any]:
    machine, question = setting.machine, setting.question
    shares, why = unlike_shares(setting)
    if why is not None:
        return refused(setting, LAYOUT, why)
    stated = question.usable_gib or machine.usable_gib
    usable = stated * GIB if stated is not None else None
    wish = Wish(shares, question.split, lambda layout: added_for(setting, layout), usable)
    cell, reason, placed = evaluate_mixed(
        setting.subject.anatomy, setting.precision, setting.budget, machine.kinds, setting.asked, wish
    )  # fmt: skip
    if cell is None:
        return refused(setting, LAYOUT, reason)
    answer = described(setting, cell)
    answer["placement"] = placed
    answer["per_device"]["device_bytes"] = next(one["device_bytes"] for one in placed if one["binds"])
    answer["assumptions"].append(reason)
    return answer


def changed(question: FitQuestion, **changes: Any) -> FitQuestion:
    """Return the question with some of its figures changed."""
    return replace(question, **changes)
