"""Attention I/O of a model on a device, and the device's memory hierarchy."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from typing import Any

from rackfit.ask.machines import find_machines
from rackfit.ask.question import Subject, find_model
from rackfit.catalog.read import rows_of
from rackfit.catalog.read_speed import read_chip
from rackfit.errors import UnsupportedError, UsageError
from rackfit.memory.domain import Device, LayerGroup
from rackfit.speed.attention_io import Attention, side_of_ridge
from rackfit.speed.compute import WIDE_RATES
from rackfit.speed.domain import BOUND, Chip
from rackfit.speed.hierarchy import Level, in_order, sram_ratio
from rackfit.speed.roofline import ridge_point

DEFAULT_CONTEXT = 131072
GB = 1e9


def hierarchy(connection: sqlite3.Connection, on: str) -> dict[str, Any]:
    """Return the levels of memory of a device with capacity, bandwidth and where each figure is from.

    Raises:
        UsageError and its kinds: the name of the device.
    """
    device = find_machines(connection, on)[0].device
    chip = read_chip(connection, device.accelerator_id)
    levels = _levels(connection, chip)
    ratio = sram_ratio(levels)
    return {
        "accelerator": chip.accelerator_id,
        "name": chip.name,
        "compute_units": chip.units,
        "unit_kind": chip.unit_kind,
        "levels": [{**asdict(one), "total_bytes": one.total_bytes} for one in levels],
        "sram_to_memory_bandwidth": None if ratio is None else round(ratio, 1),
        "ratio_basis": "L1 and shared memory of all units over device memory"
        if ratio is not None
        else "the on-chip bandwidth is neither published nor derivable: units, clock or bytes per clock not on record",
    }


def _levels(connection: sqlite3.Connection, chip: Chip) -> list[Level]:
    found = rows_of(
        connection,
        "select level, capacity_bytes, scope, bandwidth_gb_s, basis from memory_levels where accelerator_id = ?",
        chip.accelerator_id,
    )
    return in_order([Level(units=chip.units, **row) for row in found])


def attention(
    connection: sqlite3.Connection, model: str | Subject, on: str, context: int = DEFAULT_CONTEXT, batch: int = 1
) -> dict[str, Any]:
    """Return what attention over whole sequences moves on a device: scores written out, and tiled.

    Args:
        connection: an open catalog.
        model: the model; one answer per kind of its attention layers.
        on: the device.
        context: tokens of a sequence.
        batch: sequences.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: a model without heads, or a device without the facts that an answer needs.
    """
    if not 1 <= context <= 2**31 or not 1 <= batch <= 2**20:
        raise UsageError(f"context = {context}, batch = {batch}: expected whole numbers from 1")
    subject, machine = find_model(connection, model), find_machines(connection, on)[0]
    chip = read_chip(connection, machine.device.accelerator_id)
    levels = {one.level: one for one in _levels(connection, chip)}
    peak = next(((name, chip.rates[name]) for name in WIDE_RATES if name in chip.rates), None)
    if chip.bandwidth_gb_s is None or peak is None:
        raise UnsupportedError(f"{chip.name}: its bandwidth or 16-bit peak is not on record")
    ridge = ridge_point(peak[1], chip.bandwidth_gb_s)
    shared = levels.get("shared_max") or levels.get("l1_shared")
    on_chip = shared.capacity_bytes if shared else None
    groups = [one for one in subject.anatomy.model.groups if one.n_heads and one.attention != "none"]
    if not groups:
        raise UnsupportedError(f"{subject.shown} has no attention heads")
    return {
        "model": subject.shown,
        "accelerator": chip.accelerator_id,
        "context": context,
        "batch": batch,
        "figure": BOUND,
        "computes_at": peak[0],
        "dense_tflops": peak[1],
        "bandwidth_gb_s": chip.bandwidth_gb_s,
        "ridge_flops_per_byte": round(ridge, 1),
        "on_chip_bytes_per_unit": on_chip,
        "layers": [_layer(one, context, batch, chip, machine.device, on_chip, ridge) for one in _kinds(groups)],
        "hierarchy": hierarchy(connection, on),
        "assumptions": [
            "whole sequences (prefill), 2 bytes per value, no causal mask: a mask halves FLOPs and bytes alike",
            "tiled: blocks of M / 4d rows per compute unit; what the L2 cache catches is not taken off",
            "longest contexts: score matrices alone in all of the device's memory, without weights or cache",
        ],
    }


def _kinds(groups: list[LayerGroup]) -> list[LayerGroup]:
    """Return one group per distinct shape of attention."""
    found: dict[tuple[Any, ...], LayerGroup] = {}
    for group in groups:
        found.setdefault((group.attention, group.n_heads, group.d_k, group.window), group)
    return list(found.values())


def _layer(
    group: LayerGroup, context: int, batch: int, chip: Chip, device: Device, on_chip: int | None, ridge: float
) -> dict[str, Any]:
    """Return the figures of one layer; bytes, seconds at the printed bandwidth, side of the ridge."""
    shape = Attention(context, group.n_heads or 1, group.d_k or 1, batch)
    written, memory = shape.materialised_bytes(), device.memory_bytes
    tiled = None if on_chip is None else shape.tiled_bytes(on_chip)
    speed = float(chip.bandwidth_gb_s or 0.0) * GB
    return {
        "attention": group.attention,
        "heads": shape.heads,
        "head_dim": shape.head_dim,
        "window": group.window,
        "score_bytes_per_head": shape.score_bytes,
        "score_bytes_per_layer": shape.layer_score_bytes,
        "score_matrix_fits": shape.layer_score_bytes <= memory,
        "flops": shape.flops,
        "materialised_bytes": written,
        "materialised_s": written / speed,
        "materialised_side": side_of_ridge(shape.flops, written, ridge),
        "tiled_bytes": tiled,
        "tiled_s": None if tiled is None else tiled / speed,
        "tiled_side": None if tiled is None else side_of_ridge(shape.flops, tiled, ridge),
        "tiled_block_rows": None if on_chip is None else shape.block_rows(on_chip),
        "longest_context_one_head": shape.longest_materialised(memory, all_heads=False),
        "longest_context_all_heads": shape.longest_materialised(memory, all_heads=True),
    }
