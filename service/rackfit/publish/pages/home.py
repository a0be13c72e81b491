"""The home page: what this is, where to start, and a small matrix of popular models and devices."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from datasette.database import QueryInterrupted

from rackfit.errors import CatalogError
from rackfit.publish import named_queries, render
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.status import summary
from rackfit.publish.settings import is_catalog

MODELS = (
    ("qwen/qwen3-4b", "Qwen3 4B"),
    ("meta-llama/llama-3.1-8b", "Llama 3.1 8B"),
    ("qwen/qwen3-8b", "Qwen3 8B"),
    ("google/gemma-3-12b-pt", "Gemma 3 12B"),
    ("openai/gpt-oss-20b", "gpt-oss 20B"),
    ("google/gemma-3-27b-pt", "Gemma 3 27B"),
    ("qwen/qwen3-30b-a3b", "Qwen3 30B-A3B"),
    ("qwen/qwen3-32b", "Qwen3 32B"),
    ("meta-llama/llama-3.1-70b", "Llama 3.1 70B"),
    ("openai/gpt-oss-120b", "gpt-oss 120B"),
    ("qwen/qwen3-235b-a22b", "Qwen3 235B-A22B"),
    ("deepseek-ai/deepseek-v3", "DeepSeek V3"),
)
"""Rows of the matrix: what people ask for most, by size."""

CONFIGURATIONS = (
    ("1x-nvidia-rtx-4060-ti-16gb", "RTX 4060 Ti 16 GB"),
    ("1x-nvidia-rtx-4090", "RTX 4090"),
    ("1x-nvidia-rtx-5090", "RTX 5090"),
    ("1x-apple-m4-max-40c-128gb", "M4 Max 128 GB"),
    ("1x-nvidia-gb10", "DGX Spark"),
    ("1x-nvidia-l40s", "L40S"),
    ("1x-nvidia-h100-sxm5-80gb", "H100 80 GB"),
    ("8x-nvidia-h100-sxm5-80gb", "8 x H100"),
    ("8x-nvidia-h200-sxm-141gb", "8 x H200"),
)
"""Columns of the matrix; those that a catalog lacks are left out."""

STARTS = (
    ("where_a_model_fits", "model=qwen3-32b"),
    ("what_runs_on_a_device", "device=rtx-4090&count=1"),
    ("models_that_fit_one_24_gb_card", "label_gb=24&vendor=NVIDIA"),
    ("cheapest_configuration_for_a_model", "model=llama-3.1-70b"),
    ("kv_bytes_per_token", "context=131072&family=gemma"),
    ("weights_in_every_format", "model=llama-3.1-8b"),
    ("who_runs_a_format", "precision=fp8"),
    ("label_against_driver_memory", "vendor=NVIDIA"),
)
"""Queries that the page offers first, with arguments that answer."""

COUNTED = (
    ("models", "architectures"), ("checkpoints", "checkpoints"), ("accelerators", "accelerators"),
    ("systems", "systems and instances"), ("precisions", "number formats"), ("offers", "dated prices"),
    ("measurements", "measurements"), ("configurations", "shapes"), ("sources", "sources"),
)  # fmt: skip

ORDER = ("no", "tight", "fits")

MATRIX = """
select fit_models.model_id, configurations.configuration_id, cells.verdict, precisions.effective_bits,
    precisions.precision_id, models.native_precision_id = precisions.precision_id as is_native
from configurations
cross join inference_cells as cells on cells.configuration_key = configurations.configuration_key
join fit_models on fit_models.model_key = cells.model_key
join models on models.model_id = fit_models.model_id
join fit_precisions on fit_precisions.precision_key = cells.precision_key
join precisions on precisions.precision_id = fit_precisions.precision_id
where configurations.configuration_id in ({configurations}) and +fit_models.model_id in ({models})
"""
"""`inference_fits`, with the order of joins fixed: through the view SQLite may read every cell."""


def width(bits: float) -> str:
    """Return a format's width as people say it; Q4_K_M is a 4-bit format of 4.8 effective bits."""
    return "16-bit" if bits > 10 else "8-bit" if bits > 6 else "4-bit" if bits > 3.5 else f"{round(bits)}-bit"


def _best(rows: list[Any]) -> dict[tuple[str, str], Any]:
    """Return for each cell the format with the best verdict; among equals the released one, else that of most bits."""
    best: dict[tuple[str, str], Any] = {}
    for row in sorted(
        rows, key=lambda row: (ORDER.index(row["verdict"]), row["is_native"] or 0, row["effective_bits"])
    ):
        best[(row["model_id"], row["configuration_id"])] = row
    return best


async def matrix(database: Any, urls: Any) -> dict[str, Any]:
    """Return the columns and rows of the small matrix, each cell with its verdict, words and address."""
    ids = {f"m{number}": name for number, (name, _) in enumerate(MODELS)}
    shapes = {f"c{number}": name for number, (name, _) in enumerate(CONFIGURATIONS)}
    sql = MATRIX.format(
        models=", ".join(f":{name}" for name in ids), configurations=", ".join(f":{name}" for name in shapes)
    )
    try:
        found = await database.execute(sql, {**ids, **shapes})
    except QueryInterrupted:
        return {"columns": [], "rows": []}
    best = _best(list(found.rows))
    columns = [(key, name) for key, name in CONFIGURATIONS if any(cell == key for _, cell in best)]
    table = str(urls.table(database.name, "inference_fits"))
    rows = []
    for model_id, name in MODELS:
        cells = []
        for configuration_id, _ in columns:
            row = best.get((model_id, configuration_id))
            address = f"{table}?{render.query_string({'model_id': model_id, 'configuration_id': configuration_id})}"
            cells.append({"html": _cell(row), "href": address if row is not None else None})
        if any(cell["href"] for cell in cells):
            rows.append({"name": name, "href": render.page_link(urls, "model_id", model_id), "cells": cells})
    heads = [
        {"name": name, "href": render.row_link(urls, database.name, "configurations", key)} for key, name in columns
    ]
    return {"columns": heads, "rows": rows}


def _cell(row: Any) -> Any:
    if row is None:
        return render.EMPTY
    if row["verdict"] == "no":
        return render.verdict("no")
    title = f"{row['precision_id']}: {row['effective_bits']:g} effective bits"
    return render.verdict(row["verdict"], f"{row['verdict']} {width(row['effective_bits'])}", title)


async def context(datasette: Any) -> dict[str, Any]:
    """Return what the home page shows, None-safe where no catalog is open. It is made once per opened catalog."""
    try:
        database = open_database(datasette)
    except CatalogError:
        return {"open": False}
    kept = getattr(database, "_rackfit_home", None)
    if kept is None:
        kept = await _context(datasette, database)
        if kept["matrix"]["rows"]:
            database._rackfit_home = kept
    return kept


async def _context(datasette: Any, database: Any) -> dict[str, Any]:
    found = await summary(database)
    urls = datasette.urls
    queries = named_queries.read()
    counts = found["counts"]
    fits = await database.execute("select count(*) from inference_cells")
    return {
        "open": is_catalog(database.path),
        "database": database.name,
        "version": version("rackfit"),
        "release": found["release"],
        "fits": fits.rows[0][0],
        "counts": [
            {"name": name, "count": counts.get(table) or 0, "href": urls.table(database.name, table)}
            for table, name in COUNTED
            if table in counts
        ],
        "starts": [
            {
                "title": queries[slug].title,
                "description": queries[slug].description,
                "href": f"{urls.query(database.name, slug)}?{arguments}",
            }
            for slug, arguments in STARTS
        ],
        "queries": [
            {
                "title": query.title,
                "href": f"{urls.query(database.name, slug)}" + (f"?{query.example}" if query.example else ""),
            }
            for slug, query in sorted(queries.items(), key=lambda item: item[1].title)
        ],
        "matrix": await matrix(database, urls),
    }
