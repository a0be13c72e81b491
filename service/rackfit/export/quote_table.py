"""A purchase list as a table: one line per item, the models one after another, room for the vendor's answers."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rackfit.ask.quote_rows import PRICE_KINDS
from rackfit.export.columns import DATES
from rackfit.export.run import catalog_notes
from rackfit.export.sources import sources_by_id
from rackfit.records.fieldguide import describe
from rackfit.tabular.table import Column, Kind, Table, cell_of, distinct, header

NAME = "quote"
PRICE_PREFIX = re.compile(r"^(hourly|purchase)_")
ITEM = (
    "item", "configuration", "hardware", "verdict", "part_name", "vendor", "kind", "form_factor", "quantity",
    "accelerator", "accelerator_vendor", "devices_per_unit", "devices", "memory_gb_per_device",
    "usable_gib_per_device", "memory_gib_per_unit", "memory_gib_total", "memory_type", "memory_bandwidth_gb_s",
    "memory_bandwidth_gb_s_total", "bf16_dense_tflops", "fp8_dense_tflops", "int8_dense_tflops", "fp4_dense_tflops",
    "link", "link_total_gb_s", "pcie", "tdp_w", "tdp_w_total", "max_power_w", "max_power_w_total", "rack_units",
    "rack_units_total", "weight_kg", "weight_kg_total", "depth_mm", "cooling", "psu_count", "cpu", "host_ram_gb",
    "nvme_tb", "nic_count", "nic_model", "inter_node_gbps",
)  # fmt: skip
"""Columns of what is ordered."""
PRICE = (
    "price_unit", "price_total", "currency", "price_per_device", "price_date", "price_kind", "provider", "product",
    "region", "term", "tier", "valid_until", "minimum_devices", "includes", "tax_basis", "basis", "source_id",
    "source_url", "confidence", "offer_id",
)  # fmt: skip
"""Columns of a price, once for rent and once for purchase."""
TRACE = ("unknown", "confidence", "disputed", "source_ids", "accelerator_id", "system_id")
"""Columns by which a line can be traced."""
PER_MODEL = (
    "verdict", "margin_gib", "limit", "layout", "max_context", "max_sequences", "precision", "kv_precision", "runtime",
    "context", "sequences", "needed_gib", "usable_gib", "decode_tokens_s", "decode_low_tokens_s",
    "decode_high_tokens_s", "decode_bound_tokens_s", "decode_figure", "decode_basis", "would_fit",
    "reason", "assumptions",
)  # fmt: skip
"""Columns that every model has, with the model's name in front."""
FOR_THE_VENDOR = (
    "vendor_part_number", "vendor_compliant", "vendor_unit_price", "vendor_currency", "vendor_total_price",
    "vendor_valid_until", "vendor_lead_time_weeks", "vendor_warranty_years", "vendor_end_of_sale",
    "vendor_export_control", "vendor_remarks",
)  # fmt: skip
"""Columns that are left blank for the vendor to fill."""
RELEASE = ("catalog_version", "catalog_hash")
COLUMNS = (*ITEM, *PRICE, *PER_MODEL, *TRACE, *RELEASE, *FOR_THE_VENDOR)
"""Every column, without the prefix of its price or model."""
FORMULAS = {"vendor_total_price": '=IF({vendor_unit_price}="","",{vendor_unit_price}*{quantity})'}


def quote_table(connection: sqlite3.Connection, found: Mapping[str, Any]) -> Table:
    """Return a quote as a table, with what was asked and assumed as notes and the sources behind it."""
    items: Sequence[Mapping[str, Any]] = found["results"]
    models: Sequence[str] = found["models"]
    own = [*ITEM, *(f"{kind}_{name}" for kind in PRICE_KINDS for name in PRICE)]
    columns = [_column(name, items) for name in own]
    for place, model in enumerate(models):
        key = model_key(model, models)
        answers = [item["fits"][place] for item in items]
        columns += [_column(name, answers, f"{key}_", f"{model}: ") for name in PER_MODEL]
    columns += [_column(name, items) for name in (*TRACE, *RELEASE)]
    columns += [replace(_column(name, ()), formula=FORMULAS.get(name)) for name in FOR_THE_VENDOR]
    return Table(
        NAME, distinct(columns), list(_rows(found, own, len(models))),
        [*_asked(found), *catalog_notes(connection), *_assumed(items)], _sources(connection, items),
    )  # fmt: skip


def model_key(model: str, among: Sequence[str]) -> str:
    """Return the short name of a model that its columns begin with; the whole name where two are alike.

    >>> model_key("qwen/qwen3-32b", ["qwen/qwen3-32b", "openai/gpt-oss-20b"])
    'qwen3_32b'
    """
    short = model.rsplit("/", 1)[-1]
    alike = sum(other.rsplit("/", 1)[-1] == short for other in among) > 1
    return re.sub(r"[^a-z0-9]+", "_", (model if alike else short).casefold()).strip("_")


def _rows(found: Mapping[str, Any], own: Sequence[str], models: int) -> Iterator[list[Any]]:
    release = [found["catalog_version"], found["catalog_hash"]]
    for item in found["results"]:
        row = [item[name] for name in own]
        for place in range(models):
            row += [item["fits"][place][name] for name in PER_MODEL]
        row += [item[name] for name in TRACE]
        yield [*(cell_of(value) for value in row), *release, *(None for _ in FOR_THE_VENDOR)]


def _column(name: str, rows: Iterable[Mapping[str, Any]], prefix: str = "", about: str = "") -> Column:
    plain = PRICE_PREFIX.sub("", name)
    entry = describe(plain, NAME)
    if plain != name:
        about = "Rent: " if name.startswith("hourly") else "Purchase: "
    kind: Kind = "date" if plain in DATES or plain == "price_date" else _kind(row.get(name) for row in rows)
    return Column(prefix + name, header(prefix + name, entry.unit), about + entry.description, entry.unit, kind)


def _kind(values: Iterable[Any]) -> Kind:
    types = {type(value) for value in values if value is not None}
    if types and types <= {int}:
        return "integer"
    return "number" if types and types <= {int, float} else "string"


def _asked(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    shown = [(f"asked: {name}", ", ".join(value) if isinstance(value, list) else value) for name, value in
             found["query"].items()]  # fmt: skip
    return [*shown, ("items without any price on record", found["unpriced"])]


def _assumed(items: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    said = dict.fromkeys(
        f"{fit['model']}: {text}" for item in items for fit in item["fits"] for text in fit["assumptions"]
    )
    return [("assumed", text) for text in said]


def _sources(connection: sqlite3.Connection, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    keys = {key for item in items for key in item["source_ids"]}
    keys |= {item[f"{kind}_source_id"] for item in items for kind in PRICE_KINDS} - {None}
    return sources_by_id(connection, keys)
