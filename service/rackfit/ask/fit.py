"""Does this model fit this hardware? One answer, with every byte, every default and what would change it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

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
from rackfit.memory.layouts import candidates, refusal, tensor_degrees


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


def _layouts(setting: Setting) -> tuple[list[Layout], str | None]:
    """Return the layouts that keep what the user gave and can run, and the reason of the first that cannot."""
    found, reason = _unstriped(setting)
    dcp = setting.question.dcp
    if dcp is None or dcp == 1:
        return found, reason
    anatomy, precision, budget = setting.subject.anatomy, setting.precision, setting.budget
    layouts = [replace(layout, dcp=dcp) for layout in found]
    reasons = [refusal(anatomy, precision, layout, budget) for layout in layouts]
    kept = [layout for layout, why in zip(layouts, reasons, strict=True) if why is None]
    return kept, reason if kept or not reasons else reasons[0]


def _unstriped(setting: Setting) -> tuple[list[Layout], str | None]:
    """Return the layouts without context parallelism, and the reason of the first that cannot run."""
    question, machine, budget = setting.question, setting.machine, setting.budget
    given = {name: getattr(question, name) for name in ("tp", "pp", "ep", "dp") if getattr(question, name) is not None}
    devices = setting.devices
    anatomy, precision = setting.subject.anatomy, setting.precision
    if machine.sliced and (question.dp or 1) <= devices:
        return [Layout(dp=question.dp or devices)], None
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


def _with_degrees(setting: Setting, reason: str) -> str:
    """Return why a tensor parallel degree is refused, with the degrees that the model and format allow."""
    if not reason.startswith("TP ") or setting.budget.parallelism == "layers":
        return reason
    allowed = [str(degree) for degree in tensor_degrees(setting.subject.anatomy, setting.precision, setting.budget)]
    return f"{reason}; TP can be {', '.join(allowed)}" if len(allowed) > 1 else f"{reason}; no TP above 1 can run"


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
    if setting.choice.support == "none":
        choice, name = setting.choice, setting.machine.device.name
        return PRECISION, f"{choice.runtime_id} does not run {choice.precision_id} on {name}"
    if setting.machine.sliced and setting.devices > 1 and _together(setting):
        return LAYOUT, "no TP, PP or EP over MIG slices: they have no peer-to-peer link, each holds a whole model"
    if setting.context.chooser.cache_level(setting.budget.runtime_id, setting.kv_id, setting.machine.device) == "none":
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
    layouts, reason = _layouts(setting)
    if not layouts:
        return refused(setting, LAYOUT, _with_degrees(setting, reason or "no layout can run"))
    return described(setting, _best_cell(setting, layouts))


def _mixed(setting: Setting) -> dict[str, Any]:
    machine, question = setting.machine, setting.question
    shares = "layers" if question.split or question.pp == setting.devices else None
    if shares is None and question.tp is not None and question.tp > 1:
        if question.tp != setting.devices:
            return refused(
                setting, LAYOUT, f"TP {question.tp} over {setting.devices} unlike devices: all of them, or PP"
            )
        shares = "equal"
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
