"""Unlike devices in one machine: the smallest binds under tensor parallelism, whole layers go where they fit.

A pooled sum is never used: 30 GB free here and 50 GB there are not 80 GB for one tensor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rackfit.fit.cell import NO, Cell, Question, device_weights, evaluate
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import engine_terms, engine_total
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.kv_cache import stage_caches
from rackfit.memory.layouts import refusal
from rackfit.memory.weights import layer_bytes


def evaluate_mixed(
    anatomy: Anatomy,
    precision: Precision,
    budget: Budget,
    devices: list[tuple[Device, int]],
    question: Question,
) -> tuple[Cell | None, str, list[dict[str, Any]]]:
    """Return the cell of the binding device, how it was laid out (or why it cannot be), and the placement.

    Tensor parallelism needs equal shares, so the smallest device binds; if that does not fit, whole layers are placed
    by the memory of each device.
    """
    flat = [device for device, count in devices for _ in range(count)]
    smallest = min(flat, key=lambda device: device.memory_bytes)
    tensor = Layout(tp=len(flat))
    reason = refusal(anatomy, precision, tensor, budget)
    if reason is None:
        cell = evaluate(anatomy, precision, budget, tensor, smallest, question)
        if cell.verdict > NO:
            return cell, f"equal shares over {len(flat)} devices, {smallest.name} binds", []
    return _by_layers(anatomy, precision, budget, flat, smallest, question)


def _by_layers(
    anatomy: Anatomy, precision: Precision, budget: Budget, flat: list[Device], smallest: Device, question: Question
) -> tuple[Cell | None, str, list[dict[str, Any]]]:
    """Place whole layers in proportion to what each device has left beside its own fixed terms."""
    layout = Layout(pp=len(flat))
    reason = refusal(anatomy, precision, layout, budget)
    if reason is not None:
        return None, reason, []
    single = Layout()
    layers = anatomy.model.n_layers
    per_layer = (
        sum(
            count * size
            for count, size in zip(
                (group.count for group in anatomy.model.groups), layer_bytes(anatomy, precision, single), strict=True
            )
        )
        / layers
    )
    cache = stage_caches(anatomy, single, question.kv_bits, budget.state_bits)[0]
    per_layer += cache.bytes(question.context) * question.sequences / layers
    outer = sum(device_weights(anatomy, precision, budget, single)) - sum(
        group.count * size
        for group, size in zip(anatomy.model.groups, layer_bytes(anatomy, precision, single), strict=True)
    )
    rooms, placed = [], []
    for device in flat:
        total = float(engine_total(device.memory_bytes, device.vendor, device.unified))
        terms = engine_terms(anatomy, budget, layout, device, total, question.context, question.knobs)
        rooms.append(max(float(terms.limit - terms.workspace - terms.runtime) - outer / len(flat), 0.0))
    shares = [int(room // per_layer) for room in rooms]
    missing = layers - sum(shares)
    surplus = -missing
    for device, share in zip(flat, shares, strict=True):
        placed.append({"accelerator": device.accelerator_id, "layers_that_fit": share})
    cell = evaluate(anatomy, precision, budget, layout, smallest, question)
    weights_share = replace(cell, verdict=0 if missing > 0 else (1 if surplus < len(flat) else 2))
    text = (
        f"whole layers by memory: {sum(shares)} of {layers} layers fit"
        if missing > 0
        else f"whole layers in proportion to memory, room for {surplus} layers more"
    )
    return weights_share, text, placed
