"""The columns of a purchase list: what is ordered, what it costs by whose word, what each model makes of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rackfit.ask.machines import Machine
from rackfit.ask.parts import GIB, Part, hardware_columns, parts_of, unknown
from rackfit.ask.question import FitQuestion
from rackfit.ask.speed import speed_one
from rackfit.ask.suggest import suggestions
from rackfit.catalog.read import row_of
from rackfit.errors import UnsupportedError
from rackfit.fit.verdicts import RUNNING
from rackfit.money.offers import Applied

OFFER = ("currency", "price_kind", "valid_until", "provider", "product", "region", "term", "tier", "minimum_devices",
         "includes", "tax_basis", "source_id", "confidence", "offer_id")  # fmt: skip
"""Columns of an offer that a price is shown with, under the names that `offers` has for them."""
PRICE_KINDS = ("hourly", "purchase")
OF_DEVICES = ("memory_gb_per_device", "memory_bandwidth_gb_s", "tdp_w")
OF_SYSTEMS = ("max_power_w", "rack_units", "weight_kg", "cooling")
PRICED = tuple(f"{kind}_price_total" for kind in PRICE_KINDS)
"""Columns that a buyer looks for first: those without a value are named in `unknown`."""


def item_rows(
    connection: sqlite3.Connection, machine: Machine, prices: Mapping[str, Applied | None], quantity: int
) -> list[dict[str, Any]]:
    """Return one row per device or system to order, for so many such machines.

    A price is that of the whole machine, so only a machine of one kind of part has one; the unit price is its share of
    one unit.
    """
    rows = []
    for one in parts_of(connection, machine):
        part = replace(one, quantity=one.quantity * quantity)
        row = hardware_columns(part)
        for kind in PRICE_KINDS:
            row |= price_columns(connection, kind, prices[kind], quantity, part.quantity)
        looked_for = (*OF_DEVICES, *(OF_SYSTEMS if part.system else ()), *PRICED)
        rows.append({**row, **trace(part), "unknown": unknown(row, looked_for)})
    return rows


def price_columns(
    connection: sqlite3.Connection, kind: str, applied: Applied | None, quantity: int, units: int
) -> dict[str, Any]:
    """Return a price with its date, source and terms; all None where no offer on record is a price of the item."""
    offer = row_of(connection, "offers", "offer_id", applied.offer.offer_id) if applied else {}
    source = row_of(connection, "sources", "source_id", offer["source_id"]) if applied else {}
    total = applied.price * quantity if applied else None
    columns: dict[str, Any] = {
        "price_unit": None if total is None else round(total / units, 6),
        "price_total": None if total is None else round(total, 6),
        "price_per_device": round(applied.price_per_device, 6) if applied else None,
        "price_date": offer.get("valid_from"),
        **{name: offer.get(name) for name in OFFER},
        "basis": applied.basis if applied else None,
        "source_url": source.get("url"),
    }
    return {f"{kind}_{name}": value for name, value in columns.items()}


def trace(part: Part) -> dict[str, Any]:
    """Return what a figure can be traced by: records, confidence, disputes and sources."""
    return {
        "accelerator_id": part.accelerator["accelerator_id"],
        "system_id": part.system["system_id"] if part.system else None,
        "confidence": part.confidence,
        "disputed": part.disputed,
        "source_ids": part.source_ids,
    }


def fit_columns(
    connection: sqlite3.Connection, question: FitQuestion, answer: dict[str, Any], explain: bool
) -> dict[str, Any]:
    """Return what one model makes of a machine: verdict, margin, layout, limits and speed.

    Args:
        connection: an open catalog.
        question: the fit question of this model and machine.
        answer: its answer.
        explain: whether to look for what would make it fit.
    """
    device = answer["per_device"] or {}
    row: dict[str, Any] = {
        "model": answer["model"],
        "hardware": answer["hardware"],
        "verdict": answer["verdict"],
        "margin_gib": _gib(device.get("margin_bytes")),
        "needed_gib": _gib(device.get("total_bytes")),
        "usable_gib": _gib(device.get("usable_bytes")),
        "limit": answer["limit"],
        **{name: answer[name] for name in ("precision", "kv_precision", "runtime", "context", "sequences")},
        "layout": layout_text(answer["layout"]),
        "max_context": answer["max_context"],
        "max_sequences": (answer["most_sequences"] or {}).get("likely"),
        **_speed(connection, question, answer),
        "reason": answer["reason"],
        "would_fit": None,
        "assumptions": [*answer["assumptions"], *answer["warnings"]],
    }
    if explain and answer["verdict"] in ("no", "cannot_run"):
        found = suggestions(connection, question, answer)
        row["would_fit"] = f"{found[0]['change']}: {found[0]['verdict']}" if found else None
    return row


def layout_text(layout: Mapping[str, int] | None) -> str | None:
    """Return a layout in words.

    >>> layout_text({"tp": 8, "pp": 2, "ep": 1, "dp": 1}), layout_text({"tp": 1, "pp": 1, "ep": 1, "dp": 1})
    ('TP 8 PP 2', 'one device')
    """
    if layout is None:
        return None
    return " ".join(f"{name.upper()} {degree}" for name, degree in layout.items() if degree > 1) or "one device"


def _gib(value: float | None) -> float | None:
    return None if value is None else round(value / GIB, 2)


def _speed(connection: sqlite3.Connection, question: FitQuestion, answer: dict[str, Any]) -> dict[str, Any]:
    """Return decode speed at the sequences asked, tokens per second of all of them; None where it cannot be said."""
    names = {
        "decode_tokens_s": "tokens_per_s", "decode_low_tokens_s": "low", "decode_high_tokens_s": "high",
        "decode_bound_tokens_s": "bound", "decode_figure": "figure", "decode_basis": "basis",
    }  # fmt: skip
    blank = dict.fromkeys(names)
    if answer["verdict"] not in RUNNING:
        return blank
    try:
        found = speed_one(connection, question)
    except UnsupportedError:
        return blank
    row = next((one for one in found["decode"] if one["sequences"] == answer["sequences"]), None)
    if row is None:
        return blank
    used = found["efficiency"]
    basis = "; ".join([f"{used['efficiency_id']}, {used['cases']} measured cases", *used["reasons"]])
    return {name: {**row, "basis": basis}[field] for name, field in names.items()}
