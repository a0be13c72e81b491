"""/hardware/<device>: figures with their sources, memory level by level, what fits, what comes near, what it costs."""

from __future__ import annotations

import math
from typing import Any

from rackfit.ask import facts
from rackfit.catalog.read import rows_of
from rackfit.publish.answers import Answers
from rackfit.publish.drawings import charts, hierarchy
from rackfit.publish.pages.fitting import what_fits
from rackfit.publish.pages.record import RecordPage, answer, offers

MOST_FITS = 20
NEAREST = 6
MOST_SHAPES = 14
ORDER = ("fp64", "fp64_tensor", "fp32", "tf32", "bf16", "fp16", "fp16_fp16acc", "fp8", "int8", "fp4", "int4")

SHAPES = """
select configuration_id, label, device_count, node_count, ram_gb, memory_bytes_per_device, link, link_total_gb_s
from configurations where accelerator_id = ?
order by node_count, device_count, memory_bytes_summed desc, configuration_id
"""
SYSTEMS = "select system_id, name, provider, accelerator_count from systems where accelerator_id = ? order by name"
OTHERS = """
select accelerator_id, name, segment, memory_gb, memory_bandwidth_gb_s, tdp_w, fit_memory_bytes from accelerators
where status = 'released' and accelerator_id <> ? and memory_gb is not null and memory_bandwidth_gb_s is not null
"""

VALUES = """
select kind, term_class, currency, price_per_device, price_valid_from, provider, source_id, origin, tdp_w,
    precision_name, gb_per_price, gb_s_per_price, tflops_per_price, gb_per_watt, gb_s_per_watt, tflops_per_watt
from device_values where accelerator_id = ? order by kind, currency <> 'USD', currency, term_class, price_per_device
"""

TRAINING = """
select recipes.recipe_id, recipes.name, fit_models.model_id, models.params_total, cells.device_count
from training_accelerators
join training_cells as cells using (accelerator_key)
join training_recipes using (recipe_key)
join recipes using (recipe_id)
join fit_models using (model_key)
join models using (model_id)
where training_accelerators.accelerator_id = ? and cells.verdict = 'fits' and cells.device_count <= 8
order by recipes.total_bytes_per_param is null, recipes.total_bytes_per_param desc, recipes.recipe_id,
    models.params_total desc, fit_models.model_id
"""


def read(answers: Answers, key: str) -> dict[str, Any]:
    """Return everything that is said of one device."""
    connection = answers.connection
    record = facts.record(connection, "accelerator", key)
    known = {fact["field"]: fact["value"] for fact in record["facts"]}
    shapes = rows_of(connection, SHAPES, key)
    single = next((shape["configuration_id"] for shape in shapes if shape["device_count"] == 1), None)
    parts = record["parts"]
    parts["memory_levels"] = hierarchy.levels(parts.get("memory_levels", []), known.get("compute_units"))
    parts["accelerator_rates"] = sorted(
        parts.get("accelerator_rates", []), key=lambda row: ORDER.index(row["precision_name"])
    )
    return {
        **record,
        "known": known,
        "configurations": shapes,
        "fits_on": single,
        "fits": what_fits(answers, single),
        "training": training(rows_of(connection, TRAINING, key)),
        "nearest": nearest(answers, key, known),
        "systems": rows_of(connection, SYSTEMS, key),
        "offers": offers(answers, "accelerator_id = ?", key),
        "device_values": rows_of(connection, VALUES, key),
    }


def training(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the largest model of each recipe on one device and on up to eight; rows come largest first."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        entry = found.setdefault(row["recipe_id"], {"name": row["name"], "one": None, "eight": row})
        if row["device_count"] == 1 and entry["one"] is None:
            entry["one"] = row
    return list(found.values())


def nearest(answers: Answers, key: str, known: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the released devices nearest in memory and bandwidth: least sum of the two differences, as ratios."""
    memory, bandwidth = known.get("memory_gb"), known.get("memory_bandwidth_gb_s")
    if not memory or not bandwidth:
        return []
    rows = rows_of(answers.connection, OTHERS, key)
    for row in rows:
        row["memory_ratio"] = row["memory_gb"] / memory
        row["bandwidth_ratio"] = row["memory_bandwidth_gb_s"] / bandwidth
    rows.sort(key=lambda row: (_distance(row), row["accelerator_id"]))
    return rows[:NEAREST]


def _distance(row: dict[str, Any]) -> float:
    return abs(math.log(row["memory_ratio"])) + abs(math.log(row["bandwidth_ratio"]))


def rates(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the peak rates with a bar each: dense, and beside it what sparsity is said to add."""
    rows = found["parts"]["accelerator_rates"]
    full = max((row.get("sparse_tflops") or row.get("dense_tflops") or 0 for row in rows), default=0)
    shown = []
    for row in rows:
        dense, sparse = row.get("dense_tflops") or 0, row.get("sparse_tflops") or 0
        pieces = [
            ("rf-rate-dense", dense, f"dense {dense:g}"),
            ("rf-rate-sparse", sparse - dense, f"sparse {sparse:g}"),
        ]
        shown.append({**row, "bar": charts.stacked(pieces, full, f"{row['precision_name']}: dense {dense:g}")})
    return shown


def figure(value: float | None) -> str:
    """Return a figure with four digits, thousands apart; a sign where it is unknown."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _show(urls: Any, database: str, found: dict[str, Any]) -> dict[str, Any]:
    levels = found["parts"]["memory_levels"]
    return {
        "levels": hierarchy.picture(levels),
        "bandwidth": hierarchy.rate,
        "rates": rates(found),
        "figure": figure,
        "others": [shape for shape in found["configurations"] if shape["configuration_id"] != found["fits_on"]][
            :MOST_SHAPES
        ],
        "fits": found["fits"][:MOST_FITS],
        "all_fits": len(found["fits"]),
    }


PAGE = RecordPage("accelerator", "rackfit_hardware.html", read, _show)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /hardware/<name> and /hardware/<name>.json."""
    return await answer(request, datasette, PAGE)
