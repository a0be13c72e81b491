"""Shapes: so many of one accelerator, over so many nodes, on the link they really have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

SINGLE_NODE_COUNTS = (1, 2, 4, 8)
LEAST_GB = {4: 8.0, 8: 16.0}
"""Devices in one machine -> memory of one from which that is stored: nobody puts eight cards of 6 GB into a machine.
Systems on record and questions asked live have what they have."""
MULTI_NODE_COUNTS = (2, 4)
"""Nodes of eight data-centre devices: where the largest models need more than one."""
NO_LINK = "none"
FIRST_YEAR = "2016"
"""Parts launched earlier have a record and no stored row: the matrix is bounded, the questions are not."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One hardware configuration without a maker: what a fit depends on."""

    accelerator_id: str
    node_count: int
    devices_per_node: int
    devices_per_domain: int
    link: str | None
    link_total_gb_s: float | None
    inter_node_gbps: float | None = None
    ram_gb: int | None = None
    """Size of the shared memory, for chips that are sold with several."""

    @property
    def device_count(self) -> int:
        """Devices over all nodes."""
        return self.node_count * self.devices_per_node

    @property
    def configuration_id(self) -> str:
        """Stable id: `8x-nvidia-h100-sxm5-80gb`, `2-nodes-8x-nvidia-...`, `1x-apple-m3-max-40c-64gb`."""
        nodes = f"{self.node_count}-nodes-" if self.node_count > 1 else ""
        size = f"-{self.ram_gb}gb" if self.ram_gb else ""
        return f"{nodes}{self.devices_per_node}x-{self.accelerator_id}{size}"


def shapes_of(accelerators: Iterable[dict[str, Any]], systems: Iterable[dict[str, Any]]) -> list[Shape]:
    """Return every distinct shape: the standard counts of each accelerator, and the counts that systems have.

    Args:
        accelerators: rows of `accelerators`; announced parts, parts without memory and those that nobody has sold for
            years (`FIRST_YEAR`) are left out: they are computed when they are asked for.
        systems: rows of `systems`.
    """
    sold = {row["accelerator_id"]: row for row in accelerators if _is_sold(row)}
    found: dict[str, Shape] = {}
    for row in sold.values():
        for shape in _standard_shapes(row):
            found.setdefault(shape.configuration_id, shape)
    for system in systems:
        accelerator = sold.get(system["accelerator_id"])
        if accelerator is not None and system["accelerator_count"]:
            shape = system_shape(accelerator, system)
            found.setdefault(shape.configuration_id, shape)
    return [found[key] for key in sorted(found)]


def _is_sold(row: dict[str, Any]) -> bool:
    recent = (row["launch_date"] or FIRST_YEAR) >= FIRST_YEAR
    return row["status"] == "released" and recent and bool(row["fit_memory_bytes"])


def _standard_shapes(row: dict[str, Any]) -> Iterator[Shape]:
    counts = [count for count in SINGLE_NODE_COUNTS if row["memory_gb"] >= LEAST_GB.get(count, 0)]
    for count in counts if row["multi_device"] else (1,):
        for size in memory_options(row) or (None,):
            yield node_shape(row, count, ram_gb=size)
    if row["multi_device"] and row["segment"] == "datacenter":
        for nodes in MULTI_NODE_COUNTS:
            yield node_shape(row, 8, nodes)


def memory_options(row: dict[str, Any]) -> tuple[int, ...]:
    """Return the sizes that a chip with shared memory is sold with, in GB; empty where there is one size.

    A chip's name alone is a class of machines: each size is a shape of its own, none of them is taken silently.
    """
    sizes = tuple(int(size) for size in (row["memory_options_gb"] or "").split(",") if size.strip())
    return sizes if row["unified_memory"] and sizes else ()


def node_shape(row: dict[str, Any], count: int, nodes: int = 1, ram_gb: int | None = None) -> Shape:
    """Return the shape of so many devices per node: over the scale-up link where the part has one, else PCIe."""
    if count == 1 and nodes == 1:
        return Shape(row["accelerator_id"], 1, 1, 1, None, None, ram_gb=ram_gb)
    link = row["scaleup_interconnect"] or row["pcie"]
    speed = row["scaleup_total_bidir_gb_s"] if row["scaleup_interconnect"] else None
    return Shape(row["accelerator_id"], nodes, count, count, link, speed)


def system_shape(row: dict[str, Any], system: dict[str, Any]) -> Shape:
    """Return the shape of a system: a rack counts as one node when its link spans all its devices."""
    ram = system["host_ram_gb"] if memory_options(row) else None
    return node_shape(row, system["accelerator_count"], ram_gb=int(ram) if ram else None)
