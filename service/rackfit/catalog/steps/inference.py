"""Fill `inference_cells`: every model at every weight class against every shape that can run it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from rackfit.catalog.context import Context, read_context
from rackfit.catalog.read import device_of, read_model, rows_of
from rackfit.fit.cell import Question
from rackfit.fit.classes import Choice
from rackfit.fit.matrix import Column, cell_rows, fit_column, runnable_layouts
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import engine_total
from rackfit.memory.domain import Budget, Device

Progress = Callable[[str, int, int], None]

DEFAULT_CONTEXT = 8192
"""Tokens of the stored question, or the model's own limit where that is less (DESIGN, Interfaces)."""
MULTI_NODE_SEGMENT = "datacenter"

INSERT = f"insert into inference_cells values ({', '.join('?' * 24)})"


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the stored matrix."""
    context = read_context(connection)
    devices = {
        row["accelerator_id"]: device_of(row)
        for row in rows_of(connection, "select * from accelerators where fit_memory_bytes is not null")
    }
    shapes = rows_of(connection, "select * from configurations order by configuration_key")
    models = [row[0] for row in connection.execute("select model_id from models order by model_id")]
    keys = _write_keys(connection, models, context)
    for done, model_id in enumerate(models):
        if done % 20 == 0:
            progress("inference fits", done, len(models))
        anatomy = Anatomy(read_model(connection, model_id))
        connection.executemany(INSERT, _model_rows(anatomy, context, devices, shapes, keys))
    progress("inference fits", len(models), len(models))


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
    anatomy: Anatomy,
    context: Context,
    devices: dict[str, Device],
    shapes: list[dict[str, Any]],
    keys: dict[str, dict[str, int]],
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one model in the order of the table's key."""
    model = anatomy.model
    tokens = min(DEFAULT_CONTEXT, model.max_context or DEFAULT_CONTEXT)
    question = Question(context=tokens, sequences=1, kv_bits=16.0)
    rows: list[tuple[Any, ...]] = []
    for choice, columns in _columns_by_choice(anatomy, context, devices, shapes).items():
        budget = context.newest_budget(choice.runtime_id)
        precision = context.precisions[choice.precision_id]
        head = (keys["models"][model.model_id], keys["precisions"][choice.precision_id])
        tail = keys["budgets"][budget.budget_id]
        single_node_fits: set[str] = set()
        for column, ids in columns:
            if column.node_count > 1:
                column, ids = _without(column, ids, single_node_fits)
                if not ids:
                    continue
            total = column.devices_per_node * column.node_count
            layouts = runnable_layouts(anatomy, precision, budget, total, column.devices_per_domain)
            numbers = column.keys.tolist()
            for cell, positions in fit_column(anatomy, precision, budget, column, question, layouts):
                for values in cell_rows(cell, numbers, positions):
                    rows.append((*head, values[0], tail, choice.support, *values[1:]))
                if column.node_count == 1 and column.devices_per_node == 8:
                    fitting = numpy.broadcast_to(cell.verdict, (len(ids),))
                    single_node_fits.update(ids[at] for at in positions if fitting[at] == 2)
    rows.sort(key=lambda row: row[:3])
    yield from rows


def _without(column: Column, ids: list[str], excluded: set[str]) -> tuple[Column, list[str]]:
    """Return the column without devices whose single node is enough: several nodes only where models need it."""
    kept = [at for at, name in enumerate(ids) if name not in excluded]
    return (
        Column(
            column.keys[kept], column.device, column.memory[kept], column.spread[kept],
            column.devices_per_node, column.node_count, column.devices_per_domain,
        ),
        [ids[at] for at in kept],
    )  # fmt: skip


def _columns_by_choice(
    anatomy: Anatomy, context: Context, devices: dict[str, Device], shapes: list[dict[str, Any]]
) -> dict[Choice, list[tuple[Column, list[str]]]]:
    """Group shapes by what runs on them and by arrangement, single nodes before several."""
    chosen = {
        name: context.chooser.classes(anatomy.model, device, context.assume_16_bit) for name, device in devices.items()
    }
    grouped: dict[Choice, dict[tuple[Any, ...], list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for shape in shapes:
        device = devices[shape["accelerator_id"]]
        arrangement = (shape["node_count"], shape["devices_per_node"], shape["devices_per_domain"])
        for choice in chosen[shape["accelerator_id"]]:
            grouped[choice][(*arrangement, _rule_name(context.newest_budget(choice.runtime_id), device))].append(shape)
    return {
        choice: [_column(members, devices) for _, members in sorted(groups.items())]
        for choice, groups in sorted(grouped.items(), key=lambda item: item[0].precision_id)
    }


def _rule_name(budget: Budget, device: Device) -> tuple[str, str]:
    """Return what the engine's rules ask of a device beside its memory."""
    small = next((name for name in budget.small_tier_names if name in device.name.casefold()), "")
    return device.vendor, small


def _column(members: list[dict[str, Any]], devices: dict[str, Device]) -> tuple[Column, list[str]]:
    ids = [shape["accelerator_id"] for shape in members]
    found = [devices[name] for name in ids]
    memory = [float(engine_total(device.memory_bytes, device.vendor, device.unified)) for device in found]
    first = members[0]
    column = Column(
        keys=numpy.array([shape["configuration_key"] for shape in members]),
        device=found[0],
        memory=numpy.array(memory),
        spread=numpy.array([device.memory_spread for device in found]),
        devices_per_node=first["devices_per_node"],
        node_count=first["node_count"],
        devices_per_domain=first["devices_per_domain"],
    )
    return column, ids
