"""Fill `configurations`: every distinct shape, and which systems have it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from rackfit.catalog.read import device_of, rows_of
from rackfit.fit.shapes import Shape, shapes_of, system_shape

Progress = Callable[[str, int, int], None]


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the shapes of all accelerators and systems."""
    accelerators = rows_of(connection, "select * from accelerators order by accelerator_id")
    systems = rows_of(connection, "select * from systems order by system_id")
    by_id = {row["accelerator_id"]: row for row in accelerators}
    shapes = shapes_of(accelerators, systems)
    for key, shape in enumerate(shapes, start=1):
        row = by_id[shape.accelerator_id]
        connection.execute(
            "insert into configurations values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", _values(key, shape, row)
        )
    known = {shape.configuration_id for shape in shapes}
    for system in systems:
        accelerator = by_id.get(system["accelerator_id"])
        if accelerator and system["accelerator_count"]:
            shape_id = system_shape(accelerator, system).configuration_id
            if shape_id in known:
                connection.execute("insert into configuration_systems values (?, ?)", (shape_id, system["system_id"]))
    progress("configurations", len(shapes), len(shapes))


def _values(key: int, shape: Shape, row: dict) -> tuple:  # type: ignore[type-arg]
    device = device_of(row)
    power = row["tdp_w"] * shape.device_count if row["tdp_w"] else None
    return (
        key,
        shape.configuration_id,
        label(shape, row["name"]),
        shape.accelerator_id,
        shape.device_count,
        shape.node_count,
        shape.devices_per_node,
        shape.devices_per_domain,
        shape.link,
        shape.link_total_gb_s,
        shape.inter_node_gbps,
        device.memory_bytes,
        device.memory_bytes * shape.device_count,
        device.memory_rule,
        power,
        row["segment"],
    )


def label(shape: Shape, name: str) -> str:
    """Return what people call a shape.

    >>> label(Shape("nvidia-l4", 2, 8, 8, "PCIe", None), "L4")
    '2 nodes x 8x L4'
    """
    return f"{f'{shape.node_count} nodes x ' if shape.node_count > 1 else ''}{shape.devices_per_node}x {name}"
