"""Where does a model run, and what runs on a machine: many live answers, ranked by a rule that is written down."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import replace
from typing import Any

from rackfit.ask.fit import answer_for
from rackfit.ask.hosts import host_of, machines_of
from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.prices import price_row, priced, read_choice
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.catalog.context import Context
from rackfit.catalog.read import rows_of
from rackfit.errors import RackfitError, UsageError
from rackfit.fit.verdicts import RUNNING
from rackfit.money.offers import Choice

COMFORTABLE_SHARE = 0.05
"""Share of usable memory that is free where a model runs comfortably."""
COMFORTABLE_CONTEXT = 16384
"""Tokens of context that people expect at least of a model they work with."""
FAMILY_WIDTHS = ("int8", "int4", "q4_k_m")
"""Formats tried, in this order, where the checkpoint's own does not fit the machine."""


def where_it_runs(
    connection: sqlite3.Connection, question: FitQuestion, choice: Choice | None = None, cheapest: bool = False
) -> list[dict[str, Any]]:
    """Return every configuration on which the model fits as asked, smallest memory first, then fewest devices.

    Args:
        connection: an open catalog.
        question: what is asked; its `max_price` is in the currency of the choice, and acts on the offers that it lets
            count, so that the price that was filtered by is the price that is shown.
        choice: which offers count; None: US dollars on demand, of today.
        cheapest: whether the lowest price comes first; configurations without a price on record come last.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
    """
    question.check()
    if question.model is None:
        raise UsageError("where a model runs needs a model")
    context, subject = read_context(connection), find_model(connection, question.model)
    shapes = rows_of(
        connection, "select * from configurations order by memory_bytes_summed, device_count, configuration_id"
    )
    prices = priced(connection, choice or read_choice(connection)).by_configuration
    if cheapest:
        known = {key: price.price for key, price in prices.items() if price is not None}
        shapes.sort(key=lambda shape: known.get(shape["configuration_id"], math.inf))
    found: list[dict[str, Any]] = []
    for shape in shapes:
        if len(found) >= question.limit:
            break
        price = prices[shape["configuration_id"]]
        if question.max_price is not None and (price is None or price.price > question.max_price):
            continue
        machine = find_machines(connection, shape["configuration_id"])[0]
        answer = answer_for(connection, question, context, subject, machine)
        if answer["verdict"] in RUNNING:
            found.append(_short(answer, shape["configuration_id"], shape, price_row(price)))
    return found


def what_runs(connection: sqlite3.Connection, question: FitQuestion) -> list[dict[str, Any]]:
    """Return the models that run on a machine, the ones people want first.

    Order: models that need no RAM beside the device before those that do; models that run comfortably (5 % of memory
    free and 16K of context, or all the model has) before those that barely load; then by half-year of release, newest
    first; then the larger. Each model once, in its own format where that fits, else in the widest of 8-bit, 4-bit and
    Q4_K_M that does.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
    """
    question.check()
    if question.on is None:
        raise UsageError("what runs on a machine needs hardware")
    context = read_context(connection)
    if question.draft is not None:
        find_model(connection, question.draft)
    machine = min(machines_of(connection, question), key=lambda one: one.memory_bytes)
    room = machine.memory_bytes
    if question.offloads:
        room += int(host_of(connection, machine, question.host_ram_gib).ram_bytes or room)
    models = rows_of(
        connection,
        "select model_id, params_total, release_date, max_context from models "
        "where kv_elems_per_token_full + kv_elems_per_token_windowed + recurrent_state_elems > 0 "
        "and 0.2 * params_total < ? order by model_id",
        room,
    )
    found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for row in models:
        best = best_format(connection, question, context, find_model(connection, row["model_id"]), machine)
        if best is not None:
            found.append((_rank(best[1], row), _short(best[1], row["model_id"], None, {})))
    found.sort(key=lambda item: item[0])
    return [answer for _, answer in found[: question.limit]]


def best_format(
    connection: sqlite3.Connection, question: FitQuestion, context: Context, subject: Subject, machine: Machine
) -> tuple[FitQuestion, dict[str, Any]] | None:
    """Return the question and answer of the first format in which a model fits a machine; None where none does.

    The format asked for, else the model's own, 8 bits, 4 bits and Q4_K_M; all on the devices before part in RAM.
    """
    formats = (question.precision,) if question.precision else (None, *FAMILY_WIDTHS)
    tried = [replace(question, precision=name, gpu_layers=None, cpu_experts=None) for name in formats]
    if question.offloads:
        tried += [replace(question, precision=name) for name in formats]
    for asked in tried:
        try:
            answer = answer_for(connection, asked, context, subject, machine)
        except RackfitError:
            continue
        if answer["verdict"] in RUNNING:
            return asked, answer
    return None


def _rank(answer: dict[str, Any], row: dict[str, Any]) -> tuple[Any, ...]:
    per_device = answer["per_device"]
    free = per_device["margin_bytes"] >= COMFORTABLE_SHARE * per_device["usable_bytes"]
    context = answer["max_context"] or 0
    enough = context >= min(COMFORTABLE_CONTEXT, row["max_context"] or COMFORTABLE_CONTEXT)
    comfortable = free and enough and answer["verdict"] == "fits"
    year, _, month = (row["release_date"] or "0000").partition("-")
    half_year = int(year) * 2 + (int(month[:2] or 1) > 6)
    return (bool(answer.get("offloaded")), not comfortable, -half_year, -row["params_total"], row["model_id"])


def _short(answer: dict[str, Any], key: str, shape: dict[str, Any] | None, price: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as one flat row of a list."""
    per_device = answer["per_device"]
    row = {
        "model": answer["model"],
        "hardware": key if shape else answer["hardware"],
        "precision": answer["precision"],
        "verdict": answer["verdict"],
        **answer["layout"],
        "context": answer["context"],
        "sequences": answer["sequences"],
        "total_bytes": per_device["total_bytes"],
        "usable_bytes": per_device["usable_bytes"],
        "margin_bytes": per_device["margin_bytes"],
        "limit": answer["limit"],
        "max_context": answer["max_context"],
        "runtime": answer["runtime"],
    }
    if "offloaded" in answer:
        row["offloaded"] = answer["offloaded"]
    if shape is None:
        return row
    facts = {name: shape[name] for name in ("label", "accelerator_id", "device_count", "node_count")}
    return {**row, **facts, "memory_bytes_summed": shape["memory_bytes_summed"],
            "tdp_w_accelerators": shape["tdp_w_accelerators"], **price}  # fmt: skip
