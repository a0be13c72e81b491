"""Machines side by side: what each is and costs, and what each makes of the same models."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rackfit.ask.fit import answer_for
from rackfit.ask.lists import FAMILY_WIDTHS, best_format
from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.prices import machine_offers, price_row
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.ask.speed import speed_on
from rackfit.ask.speed_run import Records, chip_of
from rackfit.ask.watts import accelerators_w, system_w
from rackfit.catalog.context import Context
from rackfit.catalog.read import row_of
from rackfit.errors import AmbiguousNameError, RackfitError, UsageError
from rackfit.money.offers import Choice
from rackfit.money.tokens import cost_per_million_tokens

FEWEST, MOST = 2, 5
MOST_MODELS = 12
USUAL_MODELS = (
    "meta-llama/llama-3.1-8b", "qwen/qwen3-30b-a3b", "qwen/qwen3-32b", "meta-llama/llama-3.1-70b",
    "openai/gpt-oss-120b",
)  # fmt: skip
"""Models of a comparison that names none: dense and with experts, from one small card to a whole host."""
RATES = ("bf16", "fp16", "fp8", "int8", "fp4")
NO_SPEED: dict[str, Any] = {
    "tokens_per_s": None, "tokens_per_s_low": None, "tokens_per_s_high": None, "tokens_per_s_bound": None,
    "figure": None, "bound_by": None, "full_batch": None, "full_batch_tokens_per_s": None,
    "full_batch_tokens_per_s_low": None, "prompt_tokens_per_s": None, "prompt_tokens_per_s_low": None, "ttft_s": None,
    "ttft_s_high": None, "efficiency_id": None, "price_per_million_tokens": None, "notes": [],
}  # fmt: skip
"""What a cell says of speed where there is no figure."""


def compare_machines(
    connection: sqlite3.Connection,
    hardware: Sequence[str],
    models: Sequence[str | Subject],
    question: FitQuestion,
    choice: Choice,
    prompt: int | None = None,
) -> dict[str, Any]:
    """Return machines side by side, and for each model what every one of them makes of it.

    A model is in the format asked for, else in its own where that fits, else in 8 bits, 4 bits or Q4_K_M: the first
    that fits. Speed is that of `rackfit speed`, estimates with their range under the bound.

    Args:
        connection: an open catalog.
        hardware: two to five hardware expressions.
        models: at most twelve models; empty: some that many people ask for.
        question: context, sequences, formats and engine as for a fit; its model and hardware are not used.
        choice: which offers count.
        prompt: tokens of the prompt whose first token is waited for; None: the context.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read; too few or too many of them.
    """
    question.check()
    names = list(dict.fromkeys(name.strip() for name in hardware if name.strip()))
    if not FEWEST <= len(names) <= MOST:
        raise UsageError(f"{len(names)} machines: expected {FEWEST} to {MOST} different ones")
    if len(models) > MOST_MODELS:
        raise UsageError(f"{len(models)} models: expected at most {MOST_MODELS}")
    context, records = read_context(connection), Records(connection)
    machines = [_machine(connection, name) for name in names]
    facts = [machine_facts(records, machine, choice) for machine in machines]
    rows = []
    for name in models or USUAL_MODELS:
        subject = find_model(connection, name)
        cells = [_cell(connection, question, context, subject, machine, prompt) for machine in machines]
        for cell, fact in zip(cells, facts, strict=True):
            _priced(cell, fact)
        rows.append({"model": subject.shown, "cells": cells})
    return {"machines": facts, "models": rows, "assumptions": _assumptions(question, choice)}


def _machine(connection: sqlite3.Connection, name: str) -> Machine:
    """Return the one machine that a name stands for.

    Raises:
        AmbiguousNameError: it stands for several.
    """
    found = find_machines(connection, name)
    if len(found) > 1:
        raise AmbiguousNameError("hardware", name, tuple(machine.shown for machine in found))
    return found[0]


def machine_facts(records: Records, machine: Machine, choice: Choice) -> dict[str, Any]:
    """Return what a machine is: memory, bandwidth, peaks, link, watts, and its lowest price. None: not on record.

    Bandwidth, peaks and memory are those of one device or slice; unlike devices are listed, and sums are over all.
    """
    connection = records.connection
    first = machine.device.accelerator_id
    row = row_of(connection, "accelerators", "accelerator_id", first) if first != "cpu" else {}
    chip = chip_of(records, machine) if row else None
    offers = machine_offers(connection, machine, choice)
    return {
        "hardware": machine.shown,
        "accelerator": first,
        "name": " + ".join(f"{count}x {device.name}" for device, count in machine.kinds),
        "devices": machine.devices,
        "nodes": machine.nodes,
        "device_memory_bytes": machine.device.memory_bytes,
        "memory_bytes": sum(device.memory_bytes * count for device, count in machine.kinds),
        "memory_type": row.get("memory_type"),
        "bandwidth_gb_s": None if chip is None else chip.bandwidth_gb_s,
        **{f"{name}_tflops": None if chip is None else chip.rates.get(name) for name in RATES},
        **_link(records, machine, machine.devices),
        "accelerator_w": accelerators_w(connection, machine),
        "system_w": system_w(connection, machine),
        **price_row(offers[0] if offers else None),
        "offers": len(offers),
        **_purchase(connection, machine, choice),
    }


def _purchase(connection: sqlite3.Connection, machine: Machine, choice: Choice) -> dict[str, Any]:
    """Return the lowest price to buy the same, in the currency of the choice."""
    offers = machine_offers(connection, machine, replace(choice, kind="purchase", term=None))
    found = price_row(offers[0] if offers else None)
    names = {"price_per_hour": "purchase_price", "price_date": "purchase_date", "price_basis": "purchase_basis"}
    return {said: found[name] for name, said in names.items()} | {"purchase_offer_id": found["offer_id"]}


def _link(records: Records, machine: Machine, degree: int) -> dict[str, Any]:
    """Return the link between all devices of a machine."""
    none = {"link": None, "link_gb_s": None, "link_basis": None}
    if degree == 1 or machine.sliced or machine.device.vendor == "cpu":
        return none
    try:
        link = records.link(machine, degree)
    except RackfitError as error:
        return {**none, "link_basis": str(error)}
    return {"link": link.name, "link_gb_s": link.effective_gb_s, "link_basis": link.basis}


def _cell(
    connection: sqlite3.Connection,
    question: FitQuestion,
    context: Context,
    subject: Subject,
    machine: Machine,
    prompt: int | None,
) -> dict[str, Any]:
    """Return what one machine makes of one model: verdict, room, speed."""
    best = best_format(connection, question, context, subject, machine)
    if best is None:
        return _without(connection, question, context, subject, machine)
    asked, answer = best
    cell = {**_fit(answer), **NO_SPEED}
    try:
        said = speed_on(connection, asked, context, subject, machine, prompt)
    except RackfitError as error:
        return {**cell, "notes": [str(error)]}
    return {**cell, **_speed(said, answer["sequences"], [*answer["warnings"], *_reasons(said)])}


def _without(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> dict[str, Any]:
    """Return the cell of a model that fits in no format: its smallest, and how much is missing."""
    answer = answer_for(
        connection, replace(question, precision=question.precision or FAMILY_WIDTHS[-1]), context, subject, machine
    )  # fmt: skip
    return {**_fit(answer), **NO_SPEED, "notes": [answer["reason"]]}


def _fit(answer: dict[str, Any]) -> dict[str, Any]:
    per_device = answer["per_device"] or {}
    most = answer["most_sequences"] or {}
    return {
        **{name: answer[name] for name in ("verdict", "precision", "kv_precision", "runtime", "layout", "max_context")},
        "margin_bytes": per_device.get("margin_bytes"),
        "sequences_likely": most.get("likely"),
        "sequences_sure": most.get("sure"),
        "offloaded": bool(answer.get("offloaded")),
    }


def _reasons(said: dict[str, Any]) -> list[str]:
    return list((said["efficiency"] or {}).get("reasons", []))


def _speed(said: dict[str, Any], sequences: int, notes: list[str]) -> dict[str, Any]:
    """Return the speed of a cell: as many sequences as were asked for, a full batch, a prompt."""
    one = next((row for row in said["decode"] if row["sequences"] == sequences), None)
    full, prefill = said["decode"][-1] if said["decode"] else None, said["prefill"]
    found = {"notes": notes, "efficiency_id": (said["efficiency"] or {}).get("efficiency_id")}
    if one is not None:
        found |= {
            "tokens_per_s": one["tokens_per_s"], "tokens_per_s_low": one["low"], "tokens_per_s_high": one["high"],
            "tokens_per_s_bound": one["bound"], "figure": one["figure"], "bound_by": one["bound_by"],
        }  # fmt: skip
    if full is not None:
        found |= {
            "full_batch": full["sequences"], "full_batch_tokens_per_s": full["tokens_per_s"],
            "full_batch_tokens_per_s_low": full["low"],
        }  # fmt: skip
    if prefill is not None:
        found |= {
            "prompt_tokens_per_s": prefill["tokens_per_s"], "prompt_tokens_per_s_low": prefill["low"],
            "ttft_s": prefill["time_to_first_token_s"], "ttft_s_high": prefill["time_to_first_token_high_s"],
        }  # fmt: skip
    return {**NO_SPEED, **found}


def _priced(cell: dict[str, Any], fact: dict[str, Any]) -> None:
    """Add the price of a million tokens at a full batch, where there is a price."""
    price, rate = fact["price_per_hour"], cell["full_batch_tokens_per_s"]
    if price and rate:
        cell["price_per_million_tokens"] = round(cost_per_million_tokens(price, rate), 4)


def _assumptions(question: FitQuestion, choice: Choice) -> list[str]:
    notes = []
    if question.precision is None:
        notes.append("format: the model's own where it fits, else 8 bits, 4 bits, Q4_K_M: the first that does")
    notes += [
        "speeds are estimates with a range under the bound; a full batch is all that memory allows",
        "watts: power limits of the accelerators; system_w is what a named system draws at most",
        f"prices: the lowest {choice.kind}, {choice.currency}, {choice.term or 'any term'}, as of {choice.date}",
        "a million tokens: at a full batch without pause, at the likely speed",
        "below 8 bits quality depends on method and task: evaluate on your own set",
    ]
    return notes
