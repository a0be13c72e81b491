"""Fill `configurations`: every distinct shape, and which systems have it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from rackfit.catalog.read import device_of, device_with_ram, rows_of
from rackfit.fit.shapes import Shape, shapes_of, system_shape
from rackfit.memory.domain import Device

Progress = Callable[[str, int, int], None]


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the shapes of all accelerators and systems."""
    accelerators = rows_of(connection, "select * from accelerators order by accelerator_id")
    systems = rows_of(connection, "select * from systems order by system_id")
    by_id = {row["accelerator_id"]: row for row in accelerators}
    shapes = shapes_of(accelerators, systems)
    for key, shape in enumerate(shapes, start=1):
        row = by_id[shape.accelerator_id]
        device = device_with_ram(connection, row, shape.ram_gb) if shape.ram_gb else device_of(row)
        connection.execute(
            f"insert into configurations values ({', '.join('?' * 18)})", _values(key, shape, row, device)
        )
    known = {shape.configuration_id for shape in shapes}
    for system in systems:
        accelerator = by_id.get(system["accelerator_id"])
        if accelerator and system["accelerator_count"]:
            shape_id = system_shape(accelerator, system).configuration_id
            if shape_id in known:
                connection.execute("insert into configuration_systems values (?, ?)", (shape_id, system["system_id"]))
    progress("configurations", len(shapes), len(shapes))


def _values(key: int, shape: Shape, row: dict[str, Any], device: Device) -> tuple[Any, ...]:
    power = row["tdp_w"] * shape.device_count if row["tdp_w"] else None
    return (
        key,
        shape.configuration_id,
        label(shape, device.name),
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
        device.memory_spread,
        shape.ram_gb,
        power,
        row["segment"],
    )


def label(shape: Shape, name: str) -> str:
    """Return what people call a shape.

    >>> label(Shape("nvidia-l4", 2, 8, 8, "PCIe", None), "L4")
    '2 nodes x 8x L4'
    """
    return f"{f'{shape.node_count} nodes x ' if shape.node_count > 1 else ''}{shape.devices_per_node}x {name}"
