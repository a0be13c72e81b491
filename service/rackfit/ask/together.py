"""Several models on one machine at a time: what each needs on a device, and whether the sum fits.

Each model runs in a process of its own, over all devices of the machine, with its own driver context and workspace.
Its share is the smallest part of a device's memory that its engine needs; engines that take a share must be told.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rackfit.ask.fit import answer_for
from rackfit.ask.hosts import machines_of
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.errors import UsageError
from rackfit.memory.budget import GIB

DEFAULT_SHARE = "utilization:"
"""Start of the line that says an engine's default share: together each engine is given a share of its own."""
SHARING = "share_of_total"
"""Equation of engines that are given a share of the whole device."""


def fit_together(
    connection: sqlite3.Connection, models: Sequence[str | Subject], question: FitQuestion
) -> dict[str, Any]:
    """Answer for several models that run at the same time on one machine, each asked the same question.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read; hardware that is a class of several.
        UnsupportedError: hardware or an engine without the facts that an answer needs.
    """
    question.check()
    if len(models) < 2 or question.on is None:
        raise UsageError("several models together need hardware (--on)")
    if question.offloads:
        raise UsageError("several models together are answered without layers or experts in RAM: ask for each alone")
    machines = machines_of(connection, question)
    if len(machines) > 1:
        shown = ", ".join(machine.shown for machine in machines)
        raise UsageError(f"hardware {question.on!r} is a class of {len(machines)}: name one of {shown}")
    machine, context = machines[0], read_context(connection)
    if machine.others:
        raise UsageError("several models together over unlike devices: ask for each kind of device alone")
    equations = {budget.budget_id: budget.equation for budget in context.budgets}
    answers = [
        answer_for(connection, replace(question, model=name), context, find_model(connection, name), machine)
        for name in models
    ]
    rows = [_row(answer, equations[answer["runtime_budget"]]) for answer in answers]
    refused = [row for row in rows if row["verdict_alone"] == "cannot_run"]
    head = {"models": rows, "hardware": answers[0]["hardware"]}
    notes = list(dict.fromkeys(line for answer in answers for line in answer["assumptions"]))
    if question.utilization is None:
        notes = [line for line in notes if not line.startswith(DEFAULT_SHARE)]
    head["warnings"] = list(dict.fromkeys(line for answer in answers for line in answer["warnings"]))
    if refused:
        why = "; ".join(f"{row['model']}: {row['reason']}" for row in refused)
        return {**head, "per_device": None, "verdict": "cannot_run", "reason": why, "assumptions": notes}
    device = int(answers[0]["per_device"]["device_bytes"]) - round((question.reserve_gib or 0) * GIB)
    return {**head, **_sum(rows, device, machine.device.memory_spread), "assumptions": notes}


def _row(answer: dict[str, Any], equation: str) -> dict[str, Any]:
    """Return what one model needs on one device, whatever it would reserve alone."""
    row = {
        "model": answer["model"],
        "precision": answer["precision"],
        "runtime": answer["runtime"],
        "context": answer["context"],
        "sequences": answer["sequences"],
        "layout": answer["layout"],
        "verdict_alone": answer["verdict"],
    }
    held = answer["per_device"]
    if held is None:
        return {**row, "reason": answer["reason"]}
    beside = held["outside_bytes"]
    if equation == "share_of_free":
        beside = held["device_bytes"] - held["usable_bytes"]
    kept = held["kept_free_bytes"]  # free memory is there for the other models
    return {
        **row,
        **{name: held[name] for name in ("weights_bytes", "kv_bytes", "workspace_bytes")},
        **{name: held[name] - kept for name in ("runtime_bytes", "total_bytes")},
        "outside_bytes": beside,
        "needed_bytes": held["total_bytes"] - kept + beside,
        "needed_low_bytes": held["low_bytes"] - kept + beside,
        "needed_high_bytes": held["high_bytes"] - kept + beside,
        "utilization": share(held["high_bytes"], held["device_bytes"]) if equation == SHARING else None,
    }


def share(needed: int, device: int) -> float:
    """Return the share of a device to give to an engine: rounded up to a hundredth, so that it never needs more.

    >>> share(19_000, 80_000)
    0.24
    """
    return math.ceil(100 * needed / device) / 100


def _sum(rows: list[dict[str, Any]], device: int, spread: float) -> dict[str, Any]:
    """Return the sum over models on one device, its verdict, and the words for it."""
    total, low, high = (sum(row[f"needed{part}_bytes"] for row in rows) for part in ("", "_low", "_high"))
    verdict = "fits" if high <= device * (1 - spread) else "tight" if total <= device else "no"
    worst = min((row["verdict_alone"] for row in rows), key=("no", "tight", "fits").index)
    if worst != "fits" and verdict == "fits":
        verdict = "tight"  # another model beside it makes none better than it is alone
    largest = max(rows, key=lambda row: int(row["needed_bytes"]))
    what = f"{total / GIB:.2f} GiB per device for all of them against {device / GIB:.2f} GiB"
    ends = {
        "fits": f"even the high estimates leave {(device - high) / GIB:.2f} GiB",
        "tight": f"{(device - total) / GIB:.2f} GiB left by the likely figures, not for certain",
        "no": f"{(total - device) / GIB:.2f} GiB too much, most of it {largest['model']}",
    }
    return {
        "per_device": {
            "total_bytes": total,
            "low_bytes": low,
            "high_bytes": high,
            "usable_bytes": device,
            "margin_bytes": device - total,
        },
        "verdict": verdict,
        "reason": f"{what}; {ends[verdict]}",
        "utilization": {row["model"]: row["utilization"] for row in rows if row["utilization"] is not None},
    }
