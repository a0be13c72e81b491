"""What a model costs on a machine as a table: one line per way to pay and kind of work."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rackfit.export.columns import answer_columns
from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_offer
from rackfit.tabular.table import Kind, Table

NAME = "cost"
KINDS: dict[str, Kind] = {
    "way": "string", "model": "string", "hardware": "string", "device_count": "integer", "currency": "string",
    "price_per_hour": "number", "price_per_device_hour": "number", "all_per_hour": "number", "purchase": "number",
    "provider": "string", "product": "string", "region": "string", "term": "string", "tier": "string",
    "price_kind": "string", "valid_from": "date", "valid_until": "date", "basis": "string", "work": "string",
    "sequences": "integer", "figure": "string", "per_million_likely": "number", "per_million_low": "number",
    "per_million_high": "number", "per_million_bound": "number", "utilisation": "number", "beats_rent_from": "number",
    "payback_years": "number", "offer_id": "integer", "source_id": "string", "missing": "string",
    "assumptions": "string",
}  # fmt: skip
"""Columns of a line: name -> what its cells are."""


def cost_table(connection: sqlite3.Connection, found: Mapping[str, Any]) -> Table:
    """Return the answer of a cost question as a table, with its inputs as notes and the sources of its prices."""
    rows = list(_flat(found))
    asked = [(f"asked: {name}", value) for name, value in found["inputs"].items() if value is not None]
    return Table(
        NAME, answer_columns(NAME, KINDS), [[row.get(name) for name in KINDS] for row in rows],
        [*asked, *(("missing", text) for text in found["missing"]), *catalog_notes(connection)],
        sources_by_offer(connection, rows),
    )  # fmt: skip


def _flat(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the answer as rows of one table: one per way to pay and speed, without figures where none is known."""
    about = {name: found[name] for name in ("model", "hardware", "device_count", "currency")}
    about |= {"utilisation": found["inputs"]["utilisation"], "assumptions": "; ".join(found["assumptions"])}
    for row in found["offers"]:
        yield from _rows({**about, "way": "rented", **row}, row["per_million"])
    for row in found["owned"]:
        against = row["against_rent"] or {}
        owned = {
            "way": "owned", **row, "price_per_hour": row["per_hour"], "all_per_hour": row["per_hour"],
            "price_per_device_hour": row["per_device_hour"],
            "beats_rent_from": against.get("utilisation"), "payback_years": against.get("payback_years"),
            "missing": "; ".join(row["missing"]),
        }  # fmt: skip
        yield from _rows({**about, **owned}, row["per_million"])


def _rows(row: Mapping[str, Any], costs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for cost in costs:
        prices = {f"per_million_{name}": cost[name] for name in ("likely", "low", "high", "bound")}
        yield {**row, **{name: cost[name] for name in ("work", "sequences", "figure")}, **prices}
    if not costs:
        yield dict(row)
