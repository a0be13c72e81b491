"""The inference matrix: one model at one precision against many shapes at once.

Shapes that differ only in how much memory a device has share every scalar of the arithmetic, so a whole column of
devices is one evaluation over an array. The layout is chosen per device: the first in the preferred order that
reaches the best verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from rackfit.fit.cell import FITS, VERDICTS, Cell, Question, evaluate
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.layouts import candidates, refusal

MAX_LAYOUTS = 5
"""Layouts of one shape that are compared: the later ones have more stages and never hold less."""
UNBOUNDED = 2**53


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


LayoutChooser = Callable[[int, int], list[Layout]]


def runnable_layouts(
    anatomy: Anatomy, precision: Precision, budget: Budget, devices: int, per_domain: int
) -> list[Layout]:
    """Return the layouts over so many devices that can run, preferred first; replicas only where nothing else can."""
    found: list[Layout] = []
    copies = 1
    for layout in candidates(anatomy, devices, per_domain, budget):
        if layout.dp != copies and found:
            break
        copies = layout.dp
        if refusal(anatomy, precision, layout, budget) is None:
            found.append(layout)
    return found[:MAX_LAYOUTS]


def fit_column(
    anatomy: Anatomy,
    precision: Precision,
    budget: Budget,
    column: Column,
    question: Question,
    layouts: list[Layout],
) -> list[tuple[Cell, numpy.ndarray[Any, Any]]]:
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


def cell_rows(cell: Cell, keys: list[int], positions: numpy.ndarray[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the stored figures of a cell, one tuple per position, as whole bytes.

    The order is that of the columns of `inference_cells` from `configuration_key` and `verdict` on.
    """
    size = len(positions)

    def column(values: Any) -> list[int]:
        spread = numpy.broadcast_to(numpy.asarray(values, dtype=float), (len(keys),))[positions]
        return numpy.rint(numpy.minimum(spread, UNBOUNDED)).astype(numpy.int64).tolist()  # type: ignore[no-any-return]

    weights, kv = column(cell.weights), column(cell.kv)
    workspace, runtime = column(cell.workspace), column(cell.runtime)
    usable, half_low, half_high = column(cell.usable), column(cell.total - cell.low), column(cell.high - cell.total)
    verdicts = column(cell.verdict)
    longest = column(cell.max_context)
    sequences = [column(value) for value in cell.max_sequences]
    layout = cell.layout
    for at in range(size):
        total = weights[at] + kv[at] + workspace[at] + runtime[at]
        terms = (weights[at], kv[at], workspace[at], runtime[at])
        yield (
            keys[positions[at]], VERDICTS[verdicts[at]], layout.tp, layout.pp, layout.ep, layout.dp,
            *terms, total, total - half_low[at], total + half_high[at], usable[at], usable[at] - total,
            ("weights", "kv", "workspace", "runtime")[terms.index(max(terms))],
            *(None if value >= UNBOUNDED else value for value in (longest[at], *(rows[at] for rows in sequences))),
        )  # fmt: skip
