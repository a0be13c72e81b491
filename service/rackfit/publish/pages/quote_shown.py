"""A purchase list as a page shows it: one column per item, so that one sheet of paper compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from rackfit.publish import render

Item = Mapping[str, Any]

LINES = (
    ("vendor", "Maker or provider", ""),
    ("kind", "Kind", ""),
    ("form_factor", "Form factor", ""),
    ("quantity", "Quantity", ""),
    ("devices", "Accelerators in all", ""),
    ("memory_gb_per_device", "Memory of one, label", "GB"),
    ("usable_gib_per_device", "Memory of one, for fits", "GiB"),
    ("memory_gib_total", "Memory of all", "GiB"),
    ("memory_bandwidth_gb_s", "Bandwidth of one", "GB/s"),
    ("bf16_dense_tflops", "BF16 peak of one, dense", "TFLOPS"),
    ("fp8_dense_tflops", "FP8 peak of one, dense", "TFLOPS"),
    ("link", "Link", ""),
    ("tdp_w_total", "Design power, accelerators", "W"),
    ("max_power_w_total", "Power at most, systems", "W"),
    ("rack_units_total", "Rack units", ""),
    ("weight_kg_total", "Weight", "kg"),
    ("cooling", "Cooling", ""),
    ("host_ram_gb", "Host memory of one", "GB"),
    ("nvme_tb", "Local disk of one", "TB"),
    ("confidence", "Confidence", ""),
)
"""Column of an item, words, unit: what is shown of the hardware, where any item has it."""


def head(urls: Any, item: Item) -> dict[str, Any]:
    """Return the head of an item's column: name and address of its page."""
    column, key = ("system_id", item["system_id"]) if item["system_id"] else ("accelerator_id", item["accelerator_id"])
    return {"name": item["part_name"], "href": render.page_link(urls, column, key), "hardware": item["hardware"]}


def lines(items: Sequence[Item]) -> list[tuple[str, list[Any]]]:
    """Return the lines of hardware that any item has a value for."""
    return [
        (words, [figure(item[name], unit) for item in items])
        for name, words, unit in LINES
        if any(item[name] is not None for item in items)
    ]


def figure(value: Any, unit: str = "") -> Any:
    """Return a value with its unit; a dash for what is not on record."""
    if value is None:
        return render.EMPTY
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if isinstance(value, float) else str(value)
    return Markup("{}&nbsp;{}").format(text, unit) if unit else text


def verdicts(urls: Any, asked: Mapping[str, str], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return per model the answer of each item, with the address that explains it."""
    kept = {
        name: asked[name] for name in ("context", "sequences", "precision", "kv_precision", "runtime") if name in asked
    }
    rows = []
    for place, model in enumerate(found["models"]):
        cells = []
        for item in found["results"]:
            fit = item["fits"][place]
            where = render.asking(urls.path("/why"), {"model": fit["model"], "on": fit["hardware"], **kept})
            cells.append({**fit, "href": where, "shown": render.verdict(fit["verdict"], note=fit["reason"] or "")})
        rows.append({"model": model, "href": render.page_link(urls, "model_id", model), "cells": cells})
    return rows


def prices(urls: Any, database: str, items: Sequence[Item]) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """Return the prices by kind: amount, date, terms and source of each item's, None where none is on record."""

    def one(item: Item, kind: str) -> dict[str, Any] | None:
        offer = {name.removeprefix(f"{kind}_"): value for name, value in item.items() if name.startswith(f"{kind}_")}
        if offer["price_total"] is None:
            return None
        told = ("price_kind", "provider", "term", "region", "tier")
        return {
            **offer,
            "amount": f"{offer['price_total']:,.2f}",
            "each": f"{offer['price_unit']:,.2f}",
            "several": item["quantity"] > 1,
            "terms": ", ".join(str(offer[name]) for name in told if offer[name]),
            "href": render.row_link(urls, database, "offers", offer["offer_id"]),
        }

    kinds = (("per hour", "hourly"), ("once", "purchase"))
    return [(words, [one(item, kind) for item in items]) for words, kind in kinds]


def assumed(items: Sequence[Item]) -> list[str]:
    """Return what was assumed of any model on any item, each once."""
    return list(dict.fromkeys(text for item in items for fit in item["fits"] for text in fit["assumptions"]))


def asked(items: Sequence[Item]) -> str:
    """Return what each model is judged by, in words."""
    if not items:
        return ""
    fit = items[0]["fits"][0]
    sequences = "one sequence" if fit["sequences"] == 1 else f"{fit['sequences']:,} sequences at a time"
    return f"{fit['context']:,} tokens of context, {sequences}."
