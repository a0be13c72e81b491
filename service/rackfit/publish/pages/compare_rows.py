"""What is set side by side: the rows of a comparison of models, of devices and of systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rackfit.ask.prices import read_choice
from rackfit.catalog.read_prices import lowest_per_device
from rackfit.export.side_by_side import Line
from rackfit.publish.answers import Answers
from rackfit.publish.pages import hardware, model, system
from rackfit.publish.pages.matrix import MODELS

RATES = ("fp32", "bf16", "fp16", "fp8", "int8", "fp4")


FIELDS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "model": (
        ("params_total", "parameters", "", ""), ("params_active", "active per token", "", ""),
        ("n_layers", "layers", "", ""), ("d_model", "width", "", ""), ("attention_kind", "attention", "", ""),
        ("layer_pattern", "pattern of layers", "", ""), ("n_heads", "heads", "", ""),
        ("n_kv_heads", "heads for keys and values", "", ""), ("n_experts", "experts", "", ""),
        ("n_experts_active", "experts per token", "", ""), ("vocab_size", "vocabulary", "", ""),
        ("max_context", "longest context", "tokens", "high"), ("native_precision_id", "released as", "", ""),
        ("licence", "licence", "", ""), ("release_date", "released", "", ""),
        ("verification", "parameter count", "", ""),
    ),
    "accelerator": (
        ("vendor", "vendor", "", ""), ("segment", "class", "", ""), ("architecture", "architecture", "", ""),
        ("form_factor", "form factor", "", ""), ("status", "status", "", ""), ("available_date", "available", "", ""),
        ("memory_gb", "memory on the label", "GB", "high"), ("fit_memory_bytes", "memory for fits", "bytes", "high"),
        ("memory_type", "memory type", "", ""), ("memory_bandwidth_gb_s", "memory bandwidth", "GB/s", "high"),
        ("unified_memory", "shared with the host", "", ""), ("tdp_w", "board power", "W", "low"),
        ("compute_capability", "compute capability", "", ""), ("pcie", "PCIe", "", ""),
        ("scaleup_interconnect", "link between devices", "", ""),
        ("scaleup_total_bidir_gb_s", "that link, both directions", "GB/s", "high"),
        ("mig_max_instances", "MIG instances", "", ""),
    ),
    "system": (
        ("provider", "provider", "", ""), ("kind", "kind", "", ""), ("accelerator_id", "device", "", ""),
        ("accelerator_count", "devices", "", "high"), ("accelerator_memory_gb", "device memory together", "GB", "high"),
        ("intra_node_link", "link between devices", "", ""), ("inter_node_gbps", "network", "Gb/s", "high"),
        ("cpu", "processor", "", ""), ("vcpus", "vCPUs", "", "high"), ("host_ram_gb", "host memory", "GB", "high"),
        ("nvme_tb", "local disk", "TB", "high"), ("max_power_w", "power at most", "W", "low"),
        ("cooling", "cooling", "", ""), ("rack_units", "rack units", "", "low"), ("weight_kg", "weight", "kg", "low"),
    ),
}  # fmt: skip
"""Kind -> (field of the record, words, unit, better end)."""

READERS: dict[str, Callable[[Answers, str], dict[str, Any]]] = {
    "model": model.read,
    "accelerator": hardware.read,
    "system": system.read,
}


def lines(answers: Answers, kind: str, found: list[dict[str, Any]]) -> list[Line]:
    """Return the rows of a comparison of records that were read, those without any value left out."""
    known = [record["known"] for record in found]
    rows = [
        Line(words, tuple(_plain(facts.get(field)) for facts in known), unit, best)
        for field, words, unit, best in FIELDS[kind]
    ]
    rows += {"model": _model, "accelerator": _device, "system": _system}[kind](answers, found)
    return [row for row in rows if any(value is not None for value in row.values)]


def _plain(value: Any) -> Any:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _model(answers: Answers, found: list[dict[str, Any]]) -> list[Line]:
    rows = []
    for name, words in model.WIDTHS:
        sizes = tuple(answers.weights(record["id"], name) for record in found)
        rows.append(Line(f"weights, {words}", sizes, "bytes", "low"))
    for length in model.CONTEXTS:
        sizes = tuple(record["cache"][0]["at"].get(length) for record in found)
        rows.append(Line(f"16-bit cache at {length:,} tokens", sizes, "bytes", "low"))
    return rows


def _device(answers: Answers, found: list[dict[str, Any]]) -> list[Line]:
    rows = []
    for name in RATES:
        rates = [{row["precision_name"]: row for row in record["parts"]["accelerator_rates"]} for record in found]
        values = tuple(own[name].get("dense_tflops") if name in own else None for own in rates)
        rows.append(Line(f"peak {name}, dense", values, "TFLOPS", "high"))
    return [*rows, *_prices(answers, "accelerator_id", found)]


def _system(answers: Answers, found: list[dict[str, Any]]) -> list[Line]:
    bandwidth = tuple(record["device"]["memory_bandwidth_gb_s"] for record in found)
    return [Line("memory bandwidth of one device", bandwidth, "GB/s", "high"), *_prices(answers, "system_id", found)]


def _prices(answers: Answers, column: str, found: list[dict[str, Any]]) -> list[Line]:
    choice = read_choice(answers.connection)
    offers = [lowest_per_device(answers.connection, choice, **{column: record["id"]}) for record in found]
    least = tuple(offer.price_per_device if offer else None for offer in offers)
    terms = tuple(
        ", ".join(text for text in (offer.provider, offer.term, offer.valid_from) if text) if offer else None
        for offer in offers
    )
    return [Line("lowest on-demand price per device and hour", least, "USD", "low"), Line("that price", terms)]


def verdicts(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for well-known models what each of the devices or systems holds, 8192 tokens, one sequence."""
    held = [{row["model_id"]: row for row in record["fits"]} for record in found]
    rows = []
    for key, name in MODELS:
        cells = [own.get(key) for own in held]
        shown = [{field: cell[field] for field in ("verdict", "precision_id", "margin_bytes", "max_context")}
                 if cell else None for cell in cells]  # fmt: skip
        rows.append({"model_id": key, "name": name, "cells": shown})
    return rows
