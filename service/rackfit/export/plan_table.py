"""A plan as a table: one line per configuration that meets it, what was asked and what rules out the rest as notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from rackfit.export.columns import answer_columns
from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_offer
from rackfit.tabular.table import Kind, Table, cell_of

NAME = "plan"
KINDS: dict[str, Kind] = {
    "configuration": "string", "label": "string", "copies": "integer", "devices": "integer", "nodes": "integer",
    "accelerator": "string", "precision": "string", "precision_support": "string", "kv_precision": "string",
    "runtime": "string", "tp": "integer", "pp": "integer", "ep": "integer", "dp": "integer", "verdict": "string",
    "sequences": "integer", "sequences_each": "integer", "memory_sequences": "integer",
    "memory_sequences_likely": "integer", "latency_sequences": "integer", "latency_sequences_likely": "integer",
    "limit": "string", "engine_sequences": "integer", "figure": "string", "tokens_per_s_each": "number",
    "tokens_per_s_each_low": "number", "tokens_per_s_each_high": "number", "tokens_per_s_each_bound": "number",
    "tokens_per_s_served": "number", "tokens_per_s_served_low": "number", "tokens_per_s": "number",
    "tokens_per_s_low": "number", "step_bound_by": "string", "ttft_s": "number", "ttft_s_low": "number",
    "ttft_s_high": "number", "wide": "string", "efficiency_id": "string", "range_reasons": "string",
    "memory_bytes_summed": "integer", "accelerator_w": "number", "system_w": "number",
    "tokens_per_s_per_w": "number", "tokens_per_s_per_w_low": "number", "price": "number", "currency": "string",
    "price_date": "date", "price_provider": "string", "price_product": "string", "price_region": "string",
    "price_term": "string", "price_tier": "string", "price_basis": "string", "offer_id": "integer",
    "price_per_million_tokens": "number", "price_per_million_tokens_low": "number",
    "tokens_per_s_per_price": "number", "tokens_per_s_per_price_low": "number",
}  # fmt: skip
"""Columns of a line: name -> what its cells are."""


def plan_table(connection: sqlite3.Connection, answer: Mapping[str, Any]) -> Table:
    """Return the results of a plan as a table, with what was asked and assumed as notes and the sources of prices."""
    said = [
        *((f"asked: {name}", cell_of(value)) for name, value in answer["query"].items() if value is not None),
        *(("assumed", line) for line in answer["assumptions"]),
        *((f"ruled out: {row['requirement']}", row["configurations"]) for row in answer["ruled_out"]),
        ("met", answer["counts"]["met"]),
        ("met, without a price", answer["counts"]["met_without_price"]),
    ]
    rows = [[cell_of(row[name]) for name in KINDS] for row in answer["results"]]
    return Table(
        f"{NAME}-{answer['query']['model'].replace('/', '-')}", answer_columns(NAME, KINDS), rows,
        [*said, *catalog_notes(connection)], sources_by_offer(connection, answer["results"]),
    )  # fmt: skip
