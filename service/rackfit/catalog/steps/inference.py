"""Fill `inference_cells`: every model at every weight class against every shape that can run it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy

from rackfit.catalog.context import Context, read_context
from rackfit.catalog.read import device_of, read_model, rows_of
from rackfit.fit.cell import Question
from rackfit.fit.matrix import Column, cell_rows, device_rules, fit_column, runnable_layouts
from rackfit.fit.verdicts import FITS
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import DEFAULT_KNOBS, engine_total, tier_sizes
from rackfit.memory.domain import Device, Model
from rackfit.memory.weights import fitted

Progress = Callable[[str, int, int], None]

DEFAULT_CONTEXT = 8192
"""Tokens of the stored question, or the model's own limit where that is less (DESIGN, Interfaces)."""

MOST_PROCESSES = 2
PARENT_CHECK_S = 0.5
INSERT = f"insert into inference_cells values ({', '.join('?' * 24)})"


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that run one precision under one engine, in one arrangement."""

    precision_id: str
    runtime_id: str
    column: Column
    names: list[str]
    supports: list[tuple[str, bool]]
    """Support level, and whether no record says that the format runs there."""


@dataclass(frozen=True, slots=True)
class Work:
    """All that the rows of a model follow from."""

    context: Context
    models: list[Anatomy]
    groups: dict[str | None, list[Group]]
    keys: dict[str, dict[str, int]]

    def rows(self, index: int) -> list[tuple[Any, ...]]:
        """Return the rows of one model."""
        anatomy = self.models[index]
        return list(_model_rows(anatomy, self.context, self.groups[anatomy.model.native_precision], self.keys))


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the stored matrix."""
    context = read_context(connection)
    devices = {
        row["accelerator_id"]: device_of(row)
        for row in rows_of(connection, "select * from accelerators where fit_memory_bytes is not null")
    }
    shapes = rows_of(connection, "select * from configurations order by configuration_key")
    names = [row[0] for row in connection.execute("select model_id from models order by model_id")]
    models = [Anatomy(read_model(connection, name)) for name in names]
    natives = {anatomy.model.native_precision: anatomy.model for anatomy in models}
    groups = {native: _groups(model, context, devices, shapes) for native, model in natives.items()}
    work = Work(context, models, groups, _write_keys(connection, names, context))
    for done, rows in enumerate(_computed(work)):
        if done % 20 == 0:
            progress("inference fits", done, len(models))
        connection.executemany(INSERT, rows)
    progress("inference fits", len(models), len(models))


def _computed(work: Work) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of each model in order; on systems that fork, other processes compute while this one writes."""
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from (work.rows(index) for index in range(len(work.models)))
        return
    with multiprocessing.get_context("fork").Pool(processes, initializer=_adopt, initargs=(work,)) as pool:
        yield from pool.imap(_rows_of, range(len(work.models)), chunksize=2)


_adopted: list[Work] = []
"""In a computing process: the work that it was given when it was forked."""


def _adopt(work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that writes ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    _adopted[:] = [work]


def _leave_with(parent: int) -> None:
    """End this process when the one that writes is gone, killed or not: nobody is left to compute for."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)


def _rows_of(index: int) -> list[tuple[Any, ...]]:
    return _adopted[0].rows(index)


def _write_keys(connection: sqlite3.Connection, models: list[str], context: Context) -> dict[str, dict[str, int]]:
    """Number models, precisions and budgets; small keys keep a million rows small."""
    names = {
        "models": models,
        "precisions": sorted(context.precisions),
        "budgets": sorted(budget.budget_id for budget in context.budgets),
    }
    keys = {kind: {name: number for number, name in enumerate(ids, start=1)} for kind, ids in names.items()}
    for kind, numbered in keys.items():
        connection.executemany(
            f"insert into fit_{kind} values (?, ?)", [(number, name) for name, number in numbered.items()]
        )
    return keys


def _model_rows(
    anatomy: Anatomy, context: Context, groups: list[Group], keys: dict[str, dict[str, int]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one model, single nodes before several: several nodes only where models need them."""
    model = anatomy.model
    tokens = min(DEFAULT_CONTEXT, model.max_context or DEFAULT_CONTEXT)
    question = Question(context=tokens, sequences=1, kv_bits=16.0)
    one_node_is_enough: set[tuple[str, str]] = set()
    for group in (part for whole in groups for part in _equal_batches(anatomy, context, whole)):
        if group.column.node_count > 1:
            kept = [at for at, name in enumerate(group.names) if (group.precision_id, name) not in one_node_is_enough]
            group = _part(group, kept)
        if not group.names:
            continue
        budget = context.newest_budget(group.runtime_id)
        precision = fitted(anatomy, context.precisions[group.precision_id])
        column = group.column
        total = column.devices_per_node * column.node_count
        layouts = runnable_layouts(anatomy, precision, budget, total, column.devices_per_domain)
        head = (keys["models"][model.model_id], keys["precisions"][group.precision_id])
        tail = keys["budgets"][budget.budget_id]
        for cell, positions in fit_column(anatomy, precision, budget, column, question, layouts):
            yield from cell_rows(cell, head, tail, column, group.supports, positions)
            if column.node_count == 1 and column.devices_per_node == 8:
                verdicts = numpy.broadcast_to(cell.verdict, (len(group.names),))
                one_node_is_enough.update(
                    (group.precision_id, group.names[at]) for at in positions if verdicts[at] == FITS
                )


def _equal_batches(anatomy: Anatomy, context: Context, group: Group) -> list[Group]:
    """Return the group in parts of one token budget each, where windowed layers keep the batch in flight."""
    budget = context.newest_budget(group.runtime_id)
    if budget.window_extra_batches is None or not anatomy.keeps_windows:
        return [group]
    tokens, _ = tier_sizes(budget, group.column.memory, group.column.device.name, DEFAULT_KNOBS)
    return [_part(group, numpy.flatnonzero(tokens == size).tolist()) for size in numpy.unique(tokens)]


def _part(group: Group, kept: list[int]) -> Group:
    column = group.column
    smaller = replace(column, keys=column.keys[kept], memory=column.memory[kept], spread=column.spread[kept])
    return replace(
        group, column=smaller, names=[group.names[at] for at in kept], supports=[group.supports[at] for at in kept]
    )


def _groups(model: Model, context: Context, devices: dict[str, Device], shapes: list[dict[str, Any]]) -> list[Group]:
    """Group shapes by precision, engine and arrangement; the same for all models of one native precision."""
    chosen = {name: context.chooser.classes(model, device, context.assume_16_bit) for name, device in devices.items()}
    found: dict[tuple[Any, ...], list[tuple[dict[str, Any], tuple[str, bool]]]] = defaultdict(list)
    for shape in shapes:
        device = devices[shape["accelerator_id"]]
        arrangement = (shape["node_count"], shape["devices_per_node"], shape["devices_per_domain"])
        for choice in chosen[shape["accelerator_id"]]:
            rules = device_rules(context.newest_budget(choice.runtime_id), device)
            in_doubt = context.chooser.in_doubt(choice, device, context.assume_16_bit)
            member = (shape, (choice.support, in_doubt))
            found[(*arrangement, choice.precision_id, choice.runtime_id, rules)].append(member)
    return [_group(key, members, devices) for key, members in sorted(found.items())]


def _group(
    key: tuple[Any, ...], members: list[tuple[dict[str, Any], tuple[str, bool]]], devices: dict[str, Device]
) -> Group:
    node_count, per_node, per_domain, precision_id, runtime_id, _ = key
    names = [shape["accelerator_id"] for shape, _ in members]
    found = [devices[name] for name in names]
    column = Column(
        keys=numpy.array([shape["configuration_key"] for shape, _ in members]),
        device=found[0],
        memory=numpy.array(
            [
                float(engine_total(shape["memory_bytes_per_device"], device.vendor, device.unified))
                for device, (shape, _) in zip(found, members, strict=True)
            ]
        ),
        spread=numpy.array([shape["memory_spread"] for shape, _ in members]),
        devices_per_node=per_node,
        node_count=node_count,
        devices_per_domain=per_domain,
    )
    return Group(precision_id, runtime_id, column, names, [support for _, support in members])
