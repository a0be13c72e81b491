"""The inference matrix: one model at one precision against many shapes at once.

Shapes that differ only in how much memory a device has share every scalar of the arithmetic, so a whole column of
devices is one evaluation over an array. The layout is chosen per device: the first in the preferred order that
reaches the best verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from rackfit.fit.cell import Cell, Question, evaluate
from rackfit.fit.verdicts import FITS, TIGHT, VERDICTS
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.layouts import candidates, idle_candidates, refusal

MAX_LAYOUTS = 5
"""Layouts of one shape that are compared: the later ones have more stages and never hold less."""
UNBOUNDED = 2**53
TERMS = ("weights", "kv", "workspace", "runtime")
Positions = numpy.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """Devices that share an engine's rules, in one arrangement; arrays hold one entry per device."""

    keys: numpy.ndarray[Any, Any]
    device: Device
    memory: numpy.ndarray[Any, Any]
    spread: numpy.ndarray[Any, Any]
    devices_per_node: int
    node_count: int
    devices_per_domain: int


def device_rules(budget: Budget, device: Device) -> tuple[str, bool]:
    """Return what of an engine's rules depends on the device itself, its memory apart.

    The names by which the engine gives it sizes of its own, empty where it knows none of them, and whether it is a
    server part whose kernels hold more.
    """
    named = device.name.casefold()
    known = [*budget.small_tier_names, *(name for tier in budget.tiers for name in tier.names)]
    known += [rate.card for rate in budget.prefill_rates]
    return " ".join(name for name in known if name in named), device.is_hopper_or_later_server


def runnable_layouts(
    anatomy: Anatomy, precision: Precision, budget: Budget, devices: int, per_domain: int
) -> list[Layout]:
    """Return the layouts over so many devices that can run, preferred first.

    Replicas only where nothing else can; last come layouts that leave devices idle.
    """
    found: list[Layout] = []
    copies = 1
    for layout in candidates(anatomy, devices, per_domain, budget):
        if layout.dp != copies and found:
            break
        copies = layout.dp
        if refusal(anatomy, precision, layout, budget) is None:
            found.append(layout)
    idle = idle_candidates(anatomy, devices, per_domain, budget)
    return found[:MAX_LAYOUTS] + [layout for layout in idle if refusal(anatomy, precision, layout, budget) is None]


def fit_column(
    anatomy: Anatomy,
    precision: Precision,
    budget: Budget,
    column: Column,
    question: Question,
    layouts: list[Layout],
) -> list[tuple[Cell, Positions]]:
    """Return cells with the positions in the column that each of them answers.

    A position goes to the first layout with the best verdict; layouts after one that fits everywhere are not tried.
    """
    best = numpy.full(len(column.keys), -1)
    owner = numpy.zeros(len(column.keys), dtype=int)
    cells: list[Cell] = []
    for layout in layouts:
        cell = evaluate(anatomy, precision, budget, layout, column.device, question, column.memory, column.spread)
        better = numpy.broadcast_to(cell.verdict, best.shape) > best
        owner[better] = len(cells)
        best = numpy.where(better, cell.verdict, best)
        cells.append(cell)
        if best.min(initial=FITS) == FITS:
            break
    return [(cell, numpy.flatnonzero(owner == number)) for number, cell in enumerate(cells) if (owner == number).any()]


def cell_rows(
    cell: Cell,
    head: tuple[int, int],
    tail: int,
    column: Column,
    supports: list[tuple[str, bool]],
    positions: Positions,
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `inference_cells` that a cell answers, whole bytes, in the order of the table's columns.

    Args:
        cell: figures for the whole column.
        head: keys of model and precision.
        tail: key of the engine's budget.
        column: the devices.
        supports: support level per device of the column, and whether no record says that the format runs there.
        positions: which devices of the column the cell answers.
    """

    def whole(values: Any) -> Any:
        spread = numpy.broadcast_to(numpy.asarray(values, dtype=float), (len(column.keys),))[positions]
        return numpy.rint(numpy.minimum(spread, UNBOUNDED)).astype(numpy.int64)

    def bounded(values: Any) -> list[int | None]:
        return [None if value >= UNBOUNDED else value for value in whole(values).tolist()]

    terms = [whole(part) for part in (cell.weights, cell.kv, cell.workspace, cell.runtime)]
    total, usable = sum(terms), whole(cell.usable)
    limits = numpy.argmax(numpy.stack(terms), axis=0).tolist()
    layout = (cell.layout.tp, cell.layout.pp, cell.layout.ep, cell.layout.dp)
    columns = (
        *terms, total, total - whole(cell.total - cell.low), total + whole(cell.high - cell.total),
        usable, usable - total,
    )  # fmt: skip
    figures = zip(*(figure.tolist() for figure in columns), strict=True)
    extents = zip(bounded(cell.max_context), *(bounded(count) for count in cell.max_sequences), strict=True)
    keys, verdicts = column.keys[positions].tolist(), whole(cell.verdict).tolist()
    for at, key, verdict, bytes_, limit, extent in zip(
        positions.tolist(), keys, verdicts, figures, limits, extents, strict=True
    ):
        support, in_doubt = supports[at]
        shown = min(verdict, TIGHT) if in_doubt else verdict
        yield (*head, key, tail, support, VERDICTS[shown], *layout, *bytes_, TERMS[limit], *extent)
