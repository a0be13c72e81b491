"""Efficiency records to rows of `efficiencies`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.records.load import Library

FIGURES = (
    "engine_name", "memory_class", "precision_family", "kernel", "bandwidth_share", "ecc_share", "unit_gb_s",
    "unit_kind", "layer_ms", "moe_layer_ms", "handover_ms", "all_reduce_ms", "all_reduce_step_ms", "host_layer_ms",
    "head_cache_gb_s", "spread_below", "spread_above", "case_count", "confidence", "note",
)  # fmt: skip


def rows(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield one row per efficiency record, by slug; devices are one text."""
    for slug, record in sorted(library.kind("efficiencies").items()):
        figures = {name: getattr(record, name) for name in FIGURES}
        yield ("efficiencies", {"efficiency_id": slug, **figures, "measured_on": ", ".join(record.measured_on)})
