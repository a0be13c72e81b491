"""An answer as people and programs read it: the bytes of a cell, the verdict in words, and what was assumed."""

from __future__ import annotations

import math
from typing import Any

from rackfit.ask.caution import warnings_of
from rackfit.ask.echoed import engine_lines, waiting
from rackfit.ask.setting import Setting
from rackfit.fit.beside import beside_terms
from rackfit.fit.cell import STANDARD_CONTEXTS, Cell, limit_term
from rackfit.fit.verdicts import CANNOT_RUN, TIGHT, VERDICTS
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Layout
from rackfit.memory.published import estimated_bytes

PRECISION, LAYOUT, OFFLOAD = "precision", "layout", "offload"
"""What forbids an answer that cannot run."""
WIDENED = {
    "weight_only": "{} is how weights are stored here; the kernel{} widens them, so it computes in 16 bits",
    "emulated": "{} is widened before the kernel{} on this device: expect 16-bit speed or less",
}


def _degrees(layout: Layout) -> dict[str, int]:
    """Return the degrees of a layout; context parallelism where it is used."""
    degrees = {"tp": layout.tp, "pp": layout.pp, "ep": layout.ep, "dp": layout.dp}
    return degrees | ({"dcp": layout.dcp} if layout.dcp > 1 else {})


def head(setting: Setting) -> dict[str, Any]:
    """Return what was asked, as resolved."""
    machine = setting.machine
    return {
        "model": setting.subject.shown,
        "attention_kind": setting.subject.anatomy.model.attention_kind,
        "checkpoint": setting.subject.checkpoint_id,
        "hardware": machine.shown,
        "accelerator": machine.device.accelerator_id,
        "precision": setting.choice.precision_id,
        "precision_support": setting.choice.support,
        "kv_precision": setting.kv_id,
        "runtime": setting.budget.runtime_id,
        "runtime_budget": setting.budget.budget_id,
        "context": setting.asked.context,
        "sequences": setting.asked.sequences,
    }


def _widened(setting: Setting) -> list[str]:
    """Return how the engine runs a format that the device has no matrix unit for, and what is known of that kernel."""
    choice = setting.choice
    rule = setting.context.chooser.rule(choice.runtime_id, choice.precision_id, setting.machine.device)
    kernel = f" ({rule.kernel})" if rule is not None and rule.kernel else ""
    lines = [WIDENED[choice.support].format(choice.precision_id, kernel)]
    return [*lines, rule.note] if rule is not None and rule.note else lines


def refused(setting: Setting, limit: str, reason: str) -> dict[str, Any]:
    """Return the answer for what cannot run: `limit` says whether format, layout or offloading forbids it."""
    return {
        **head(setting),
        "layout": None,
        "per_device": None,
        "verdict": CANNOT_RUN,
        "limit": limit,
        "reason": reason,
        "max_context": None,
        "max_context_memory": None,
        "max_sequences": None,
        "most_sequences": None,
        "warnings": [],
        "assumptions": list(setting.assumed),
        "suggestions": [],
    }


def whole(value: Any) -> int | None:
    """Return a whole number of bytes or tokens; None for what has no end."""
    number = float(value)
    return None if math.isinf(number) else round(number)


def described(setting: Setting, cell: Cell) -> dict[str, Any]:
    """Return the answer for a cell."""
    setting = setting.over(cell.layout.pp)
    limit = setting.subject.max_context
    memory_limit = whole(cell.max_context)
    longest = limit if memory_limit is None else memory_limit if limit is None else min(limit, memory_limit)
    doubt = doubt_of(setting)
    verdict = VERDICTS[int(cell.verdict) if doubt is None else min(int(cell.verdict), TIGHT)]
    answer: dict[str, Any] = {
        **head(setting),
        "layout": _degrees(cell.layout),
        "per_device": _per_device(setting, cell),
        "verdict": verdict,
        "limit": limit_term(cell),
        "reason": "; ".join(part for part in (doubt, _reason(VERDICTS[int(cell.verdict)], cell)) if part),
        "max_context": longest,
        "max_context_memory": memory_limit,
        **_sequences(cell, doubt),
        "warnings": [*warnings_of(setting, cell.layout), *waiting(setting, cell.layout)],
        "assumptions": [*setting.assumed, *engine_lines(setting, cell.layout), *_assumed(setting, cell)],
        "suggestions": [],
    }
    if setting.subject.file is not None:
        answer["artifact"] = _artifact(setting)
    return answer


def _per_device(setting: Setting, cell: Cell) -> dict[str, Any]:
    """Return the bytes of the fullest device: parts, their sum with its range, and the limit that it counts against."""
    parts = [round(float(part)) for part in (cell.weights, cell.kv, cell.workspace, cell.runtime)]
    total, usable = sum(parts), round(float(cell.usable))
    held: dict[str, Any] = {
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
        "kept_free_bytes": round(float(cell.kept_free)),
        "device_bytes": round(setting.memory),
    }
    if not setting.beside.empty:
        held["extras"] = _extras(setting, cell)
    return held


def _assumed(setting: Setting, cell: Cell) -> list[str]:
    """Return what an answer rests on that the question and its defaults do not say."""
    device, choice, notes = setting.machine.device, setting.choice, []
    if device.memory_rule not in ("printed", "stated"):
        notes.append(f"memory of {device.name}: derived ({device.memory_rule}), not read from a driver")
    if setting.in_doubt:
        notes.append(f"support of {choice.precision_id} by {choice.runtime_id} on {device.name} is not on record")
    if kept := round(float(cell.kept_free)):
        notes.append(
            f"{setting.budget.runtime_id} caches in a share of what is free: {kept / GIB:.2f} GiB, counted as runtime, "
            "stay free beside this cache"
        )
    if cell.layout.devices < setting.devices:
        notes.append(f"layout: uses {cell.layout.devices} of {setting.devices} devices, the others stay idle")
    if choice.support in WIDENED:
        notes += _widened(setting)
    if setting.precision.bits < 8:
        notes.append("below 8 bits quality depends on method and task: evaluate on your own set")
    return notes


def _sequences(cell: Cell, doubt: str | None) -> dict[str, Any]:
    """Return how many sequences memory allows: at the standard contexts, and at the one asked for.

    `likely` counts by the likely estimate, `sure` as many as keep the verdict at `fits`.
    """
    standard = {str(length): whole(count) for length, count in zip(STANDARD_CONTEXTS, cell.max_sequences, strict=True)}
    sure = whole(cell.sure_sequences) if doubt is None else 0
    return {"max_sequences": standard, "most_sequences": {"likely": whole(cell.most_sequences), "sure": sure}}


def doubt_of(setting: Setting) -> str | None:
    """Return what beside memory is in doubt, so that a verdict is at most tight; None where nothing is."""
    limit = setting.subject.max_context
    if limit is not None and setting.asked.context > limit:
        return f"the model's own limit is {limit} tokens, {setting.asked.context} need a stretched position code"
    if (stated := _more_than_there_is(setting)) is not None:
        return stated
    if setting.in_doubt:
        return f"no record says that {setting.choice.runtime_id} runs {setting.choice.precision_id} there"
    return None


def _more_than_there_is(setting: Setting) -> str | None:
    """Return that the memory stated as usable is more than the device has, where that is certain."""
    stated, device = setting.question.usable_gib or setting.machine.usable_gib, setting.machine.device
    if stated is None or device.unified or setting.machine.others:
        return None
    most = device.memory_bytes * (1 + device.memory_spread)
    if stated * GIB <= most:
        return None
    return f"{stated:g} GiB are stated as usable, {device.name} has {most / GIB:.2f}"


def _artifact(setting: Setting) -> dict[str, Any]:
    """Return the published file beside its estimate, and whether its bytes were used."""
    file, layout = setting.subject.file, setting.estimated_precision
    assert file is not None
    used = setting.choice.precision_id == setting.subject.precision_id
    estimate = round(estimated_bytes(setting.subject.anatomy, layout, file)) if used else None
    return {
        "artifact_id": file.artifact_id,
        "bytes": file.bytes,
        "used": used,
        "estimated_bytes": estimate,
        "difference_bytes": None if estimate is None else file.bytes - estimate,
    }


def _extras(setting: Setting, cell: Cell) -> dict[str, int]:
    """Return the named bytes that the binding device holds beside the model; they are part of the runtime's."""
    terms = beside_terms(
        setting.beside, setting.subject.anatomy, setting.precision, setting.budget, cell.layout, setting.asked
    )  # fmt: skip
    return terms.named(cell.stage, setting.asked.context, setting.asked.per_replica(cell.layout.dp).sequences)


def _reason(verdict: str, cell: Cell) -> str:
    """Return the verdict by memory in words."""
    margin = float(cell.usable - cell.total) / GIB
    high_margin = float(cell.usable - cell.high) / GIB
    what = f"{float(cell.total) / GIB:.2f} GiB per device against {float(cell.usable) / GIB:.2f} GiB usable"
    if verdict == "fits":
        return f"{what}; even the high estimate leaves {high_margin:.2f} GiB"
    if verdict == "tight" and high_margin >= 0 and float(cell.crowd) > 0:
        return f"{what}, but its share leaves too little for graphs and driver: {float(cell.crowd) / GIB:.2f} GiB short"
    if verdict == "tight":
        return f"{what}: {margin:.2f} GiB left, but the high estimate does not fit"
    return f"{what}: {-margin:.2f} GiB too much, most of it {limit_term(cell)}"
