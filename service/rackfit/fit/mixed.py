"""Unlike devices in one machine: the smallest binds under tensor parallelism, whole layers go where they fit.

A pooled sum is never used: 30 GB free here and 50 GB there are not 80 GB for one tensor. Each device is checked alone
against its own memory, with the layers that it really holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rackfit.fit.cell import (
    MXFP4_BITS,
    Added,
    Cell,
    Parts,
    Question,
    bind,
    engine_cache,
    evaluate,
    weight_spread,
    whole_tables,
)
from rackfit.fit.verdicts import NO, VERDICTS
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.bitsandbytes import as_held
from rackfit.memory.budget import Terms, engine_terms, engine_total
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.kv_cache import CacheShape, layer_cache
from rackfit.memory.layouts import refusal
from rackfit.memory.shared_pool import stored_layers
from rackfit.memory.token_pools import with_window_pool
from rackfit.memory.weights import as_loaded, layer_bytes, outer_bytes

SINGLE = Layout()
STATED = "stated"
NOTHING = CacheShape(0.0, ())


def evaluate_mixed(
    anatomy: Anatomy,
    precision: Precision,
    budget: Budget,
    devices: Sequence[tuple[Device, int]],
    question: Question,
    wish: Wish | None = None,
) -> tuple[Cell | None, str, list[dict[str, Any]]]:
    """Return the cell of the binding device, how it was laid out (or why it cannot be), and the placement.

    Tensor parallelism needs equal shares, so the smallest device binds; if that does not fit, whole layers are placed
    by the memory of each device. An engine that splits tensors runs on devices of one maker only.
    """
    wish = wish or Wish()
    flat = [_seen(device, wish.usable) for device, count in devices for _ in range(count)]
    makers = sorted({device.vendor for device in flat})
    if budget.parallelism == "tensor" and len(makers) > 1:
        return None, f"{budget.runtime_id} does not run over devices of {' and '.join(makers)} together", []
    tensor, layout = Layout(tp=len(flat)), Layout(pp=len(flat))
    equal = Split(anatomy, precision, budget, question, tensor, wish.added(tensor))
    refused = refusal(anatomy, precision, tensor, budget)
    if wish.shares != "layers" and refused is None:
        found = _by_tensors(equal, flat)
        if wish.shares == "equal" or found[0].verdict > NO:
            return found
    reason = refused if wish.shares == "equal" else refusal(anatomy, precision, layout, budget)
    if reason is None and wish.counts is not None:
        reason = _miscount(wish.counts, len(flat), anatomy.model.n_layers)
    if reason is not None:
        return None, reason, []
    rules = budget.for_stages(layout.pp)
    loaded = (as_loaded(precision, rules, device.compute_capability) for device in flat)
    held = as_held(max(loaded, key=lambda one: one.bits), rules)
    return _by_layers(Split(anatomy, held, rules, question, layout, wish.added(layout)), flat, wish.counts)


def _miscount(counts: tuple[int, ...], devices: int, layers: int) -> str | None:
    """Return why a split of the user's cannot be: it needs one count per device, and all layers once."""
    if len(counts) != devices:
        return f"a split over {len(counts)} devices was asked for, there are {devices}"
    if sum(counts) != layers:
        return f"the split holds {sum(counts)} layers, the model has {layers}"
    return None


def _seen(device: Device, usable: float | None) -> Device:
    """Return a device with the memory that the user states: shown as it is, without a driver's losses."""
    if usable is None:
        return device
    return replace(device, memory_bytes=round(usable), memory_rule=STATED, memory_spread=0.0)


def _total(device: Device) -> float:
    """Return the bytes that the engine sees on a device."""
    if device.memory_rule == STATED:
        return float(device.memory_bytes)
    return float(engine_total(device.memory_bytes, device.vendor, device.unified))


def _nothing(layout: Layout) -> Added | None:
    return None


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user leaves open: how to share, the layers of each device, and what comes beside the model."""

    shares: str | None = None
    """`equal` for tensor parallelism, `layers` for stages, None for what fits."""
    counts: tuple[int, ...] | None = None
    added: Callable[[Layout], Added | None] = _nothing
    usable: float | None = None
    """Bytes that the engine sees on every device, where the user states them."""


def _by_tensors(split: Split, flat: list[Device]) -> tuple[Cell, str, list[dict[str, Any]]]:
    """Give every device an equal share; the device with the least room binds."""
    cells = [
        evaluate(
            split.anatomy,
            split.precision,
            split.budget,
            split.layout,
            device,
            split.question,
            _total(device),
            added=split.added,
        )
        for device in flat
    ]
    at = min(range(len(cells)), key=lambda number: float(cells[number].usable - cells[number].high))
    layers = split.anatomy.model.n_layers
    pairs = enumerate(zip(flat, cells, strict=True))
    rows = [_row(device, layers, cell, number == at) for number, (device, cell) in pairs]
    return _binding(cells, at), f"equal shares over {len(flat)} devices, {flat[at].name} binds", rows


def _row(device: Device, layers: int, cell: Cell, binds: bool) -> dict[str, Any]:
    """Return what one device holds: whole bytes by term, against its own usable memory."""
    return {
        "accelerator": device.accelerator_id,
        "layers": layers,
        "weights_bytes": round(float(cell.weights)),
        "kv_bytes": round(float(cell.kv)),
        "kv_pool_bytes": round(float(cell.kv_pool)),
        "workspace_bytes": round(float(cell.workspace)),
        "runtime_bytes": round(float(cell.runtime)),
        "total_bytes": round(float(cell.total)),
        "usable_bytes": round(float(cell.usable)),
        "device_bytes": round(_total(device)),
        "verdict": VERDICTS[int(cell.verdict)],
        "binds": binds,
    }


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer on a device: bytes of weights, the cache that it needs, and the one that the engine stores."""

    weights: float
    need: CacheShape
    stored: CacheShape


@dataclass(frozen=True, slots=True)
class Split:
    """A model to be spread over devices in whole layers."""

    anatomy: Anatomy
    precision: Precision
    budget: Budget
    question: Question
    layout: Layout
    added: Added | None = None

    def layers(self) -> list[Layer]:
        """Return what each layer holds, in the order of the model, as the engine holds it."""
        model, budget, bits = self.anatomy.model, self.budget, self.question.kv_bits
        multiple = budget.mxfp4_width_multiple if self.precision.bits == MXFP4_BITS else None
        weights = layer_bytes(self.anatomy, self.precision, SINGLE, multiple)
        stored = stored_layers(self.anatomy, SINGLE, bits, budget, self.question.knobs.draft)
        kinds = [
            Layer(
                weights[number],
                layer_cache(group, 1, bits, budget.state_bits, conv_bits=budget.conv_bits),
                stored[number],
            )
            for number, group in enumerate(model.groups)
        ]
        return [kinds[number] for number in self.anatomy.layer_order]

    def ends(self) -> tuple[float, float]:
        """Return the bytes that the first device holds before its layers, and the last one after them."""
        embedding, head, tower = outer_bytes(self.anatomy, self.precision, self.layout)
        return tower if self.budget.embedding_on_host else embedding + tower, head

    def terms(self, device: Device, last: bool) -> tuple[Terms, float]:
        """Return what the engine takes on a device, and the device's memory as the engine sees it.

        Logits exist on the last device alone, so only there they are sampled.
        """
        total = _total(device)
        question = self.question
        own = self.budget.for_runner(self.anatomy.is_dense)
        budget = own if last else replace(own, sampler_bytes_per_logit=0.0)
        terms = engine_terms(self.anatomy, budget, self.layout, device, total, question.context, question.knobs)
        return terms, total


def _by_layers(
    split: Split, flat: list[Device], asked: tuple[int, ...] | None
) -> tuple[Cell, str, list[dict[str, Any]]]:
    """Place whole layers as asked, else in proportion to what each device has left beside its own fixed terms."""
    layers, (first, last) = split.layers(), split.ends()
    found = [split.terms(device, number == len(flat) - 1) for number, device in enumerate(flat)]
    rooms = [max(float(terms.limit - terms.workspace - terms.runtime), 0.0) for terms, _ in found]
    rooms[0], rooms[-1] = max(rooms[0] - first, 0.0), max(rooms[-1] - last, 0.0)
    cells, start = [], 0
    counts = asked or tuple(shares(rooms, len(layers)))
    for number, (device, count) in enumerate(zip(flat, counts, strict=True)):
        outer = whole_tables(split.anatomy, split.budget) + (first if number == 0 else 0.0)
        outer += last if number == len(flat) - 1 else 0.0
        cell = _device_cell(split, layers[start : start + count], outer, number, device, *found[number])
        start += count
        cells.append(cell)
    at = min(range(len(cells)), key=lambda number: float(cells[number].usable - cells[number].high))
    rows = [_row(flat[number], counts[number], cell, number == at) for number, cell in enumerate(cells)]
    how = "as asked" if asked else "in proportion to memory"
    text = f"whole layers {how} ({', '.join(str(one['layers']) for one in rows)}), {flat[at].name} binds"
    return _binding(cells, at), text, rows


def _device_cell(
    split: Split,
    held: list[Layer],
    outer: float,
    stage: int,
    device: Device,
    terms: Terms,
    total: float,
) -> Cell:
    """Return the cell of one device with its layers alone."""
    needed, stored, extras, doubt = NOTHING, NOTHING, 0.0, 0.0
    for layer in held:
        needed, stored = needed.plus(layer.need), stored.plus(layer.stored)
    if split.added is not None:
        stored, extras = stored.plus(split.added.caches[stage]), split.added.extras[stage]
        doubt = split.added.doubt
    cache = engine_cache(stored, split.budget, float(terms.batched_tokens))
    charged = with_window_pool(cache, split.anatomy.model, split.budget)
    parts = Parts((sum(layer.weights for layer in held) + outer,), (needed,), (charged,), (extras,), doubt)
    spread = weight_spread(split.precision)
    cell = bind(parts, spread, split.budget, split.layout, split.question, terms, device.memory_spread * total)
    return replace(cell, stage=stage)


def shares(rooms: list[float], layers: int) -> list[int]:
    """Return how many of so many layers each device gets: in proportion to its room, largest remainder first.

    >>> shares([20.0, 10.0], 32)
    [21, 11]
    """
    whole = sum(rooms)
    parts = [layers * room / whole if whole else layers / len(rooms) for room in rooms]
    counts = [int(part) for part in parts]
    left = sorted(range(len(rooms)), key=lambda number: (counts[number] - parts[number], number))
    for number in left[: layers - sum(counts)]:
        counts[number] += 1
    return counts


def _binding(cells: list[Cell], at: int) -> Cell:
    """Return the cell of the device that binds, with the verdict and extents that all devices together allow."""
    extents = zip(*(cell.max_sequences for cell in cells), strict=True)
    return replace(
        cells[at],
        verdict=min(cell.verdict for cell in cells),
        max_context=min(cell.max_context for cell in cells),
        max_sequences=tuple(min(counts) for counts in extents),
        most_sequences=min(cell.most_sequences for cell in cells),
        sure_sequences=min(cell.sure_sequences for cell in cells),
    )
