"""What a machine is made of, as a buyer orders it: devices or systems, with the facts of their records and sources."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rackfit.ask.machines import Machine
from rackfit.catalog.read import row_of, rows_of
from rackfit.memory.domain import Device

GIB = 2**30
CONFIDENCE = ("low", "medium", "high")
RATES = ("bf16", "fp8", "int8", "fp4")
DIVIDED = frozenset({
    "memory_gb", "memory_bandwidth_gb_s", "tdp_w", "compute_units", "scaleup_total_bidir_gb_s", "scaleup_interconnect",
})  # fmt: skip
"""Facts of a device of which a MIG slice has a part, or nothing; how much is on no record."""


@dataclass(frozen=True)
class Part:
    """One line of an order: `quantity` of a device or of a system with `devices_each` of one device in it."""

    connection: sqlite3.Connection
    quantity: int
    devices_each: int
    device: Device
    """The device as fits see it: a slice or a size of shared memory is taken into account."""
    accelerator: dict[str, Any]
    system: dict[str, Any] | None
    ram_gb: float | None = None
    """Shared memory, for chips that are sold with several sizes."""

    @property
    def label_gb(self) -> float | None:
        """Memory of one device on its label, GB; None for a slice, which has no label."""
        if self.ram_gb is not None:
            return self.ram_gb
        label: float | None = self.of_device("memory_gb")
        return label

    @property
    def whole(self) -> bool:
        """Whether it is a whole device: the figures of a record are not those of a slice of it."""
        return self.ram_gb is not None or self.device.memory_bytes == self.accelerator["fit_memory_bytes"]

    def of_device(self, field: str) -> Any:
        """Return a fact of the device; None for a slice where the slice has less of it than the whole."""
        return self.accelerator[field] if self.whole or field not in DIVIDED else None

    @property
    def table(self) -> str:
        """Table of the record that is ordered."""
        return "systems" if self.system else "accelerators"

    @property
    def record_id(self) -> str:
        """Key of the record that is ordered."""
        return str(self.system["system_id"] if self.system else self.accelerator["accelerator_id"])

    @property
    def records(self) -> list[tuple[str, str]]:
        """Every record behind this line, as (table, key)."""
        device = ("accelerators", str(self.accelerator["accelerator_id"]))
        return [device] if self.system is None else [("systems", self.record_id), device]

    @property
    def devices(self) -> int:
        """Devices over the whole quantity."""
        return self.quantity * self.devices_each

    def of_system(self, field: str) -> Any:
        """Return a fact of the system; None for a device alone, and where it is not on record."""
        return self.system[field] if self.system else None

    @cached_property
    def rates(self) -> dict[str, float | None]:
        """Dense peak of one device by number format, TFLOPS; none for a slice."""
        if not self.whole:
            return {}
        rows = rows_of(
            self.connection,
            "select precision_name, dense_tflops from accelerator_rates where accelerator_id = ?",
            self.accelerator["accelerator_id"],
        )
        return {row["precision_name"]: row["dense_tflops"] for row in rows}

    @property
    def confidence(self) -> str:
        """The lower confidence of the records behind this line."""
        found = [self.accelerator["confidence"], *([self.system["confidence"]] if self.system else [])]
        return min(found, key=CONFIDENCE.index)

    @cached_property
    def disputed(self) -> list[str]:
        """Fields of which another source says something else."""
        return sorted(
            {
                row["field"]
                for table, key in self.records
                for row in rows_of(
                    self.connection, "select field from disputes where table_name = ? and key = ?", table, key
                )
            }
        )

    @cached_property
    def source_ids(self) -> list[str]:
        """Sources behind the records of this line."""
        return sorted({key for table, record in self.records for key in sources_of(self.connection, table, record)})


def sources_of(connection: sqlite3.Connection, table: str, key: str, field: str | None = None) -> list[str]:
    """Return the sources of a record, or of one of its fields, the first named first."""
    rows = rows_of(
        connection,
        "select source_id from provenance where table_name = ? and key = ? and (? is null or field = ?) "
        "group by source_id order by min(rank), source_id",
        table, key, field, field,
    )  # fmt: skip
    return [row["source_id"] for row in rows]


def parts_of(connection: sqlite3.Connection, machine: Machine) -> list[Part]:
    """Return the lines of an order for a machine: one for its system, or one per kind of device."""
    if machine.system_id is not None:
        system = row_of(connection, "systems", "system_id", machine.system_id)
        each = int(system["accelerator_count"])
        accelerator = row_of(connection, "accelerators", "accelerator_id", system["accelerator_id"])
        return [Part(connection, machine.count // each, each, machine.device, accelerator, system, machine.ram_gb)]
    return [
        Part(
            connection, count, 1, device,
            row_of(connection, "accelerators", "accelerator_id", device.accelerator_id), None,
            machine.ram_gb if device is machine.device else None,
        )
        for device, count in machine.kinds
    ]  # fmt: skip


def hardware_columns(part: Part) -> dict[str, Any]:
    """Return what is ordered as flat columns; None is unknown, or has no meaning for a device without a system.

    Power: `tdp_w` is of one device, `tdp_w_total` the sum over devices, `max_power_w` the most that one system draws.
    """
    device, accelerator, system = part.device, part.accelerator, part.system
    bandwidth, power = part.of_device("memory_bandwidth_gb_s"), part.of_device("tdp_w")
    row: dict[str, Any] = {
        "part_name": system["name"] if system else device.name,
        "vendor": system["provider"] if system else accelerator["vendor"],
        "kind": system["kind"] if system else "accelerator",
        "form_factor": accelerator["form_factor"],
        "quantity": part.quantity,
        "accelerator": accelerator["name"],
        "accelerator_vendor": accelerator["vendor"],
        "devices_per_unit": part.devices_each,
        "devices": part.devices,
        "memory_gb_per_device": part.label_gb,
        "usable_gib_per_device": round(device.memory_bytes / GIB, 2),
        "memory_gib_per_unit": round(part.devices_each * device.memory_bytes / GIB, 2),
        "memory_gib_total": round(part.devices * device.memory_bytes / GIB, 2),
        "memory_type": accelerator["memory_type"],
        "memory_bandwidth_gb_s": bandwidth,
        "memory_bandwidth_gb_s_total": times(bandwidth, part.devices),
        **{f"{name}_dense_tflops": part.rates.get(name) for name in RATES},
        "link": part.of_system("intra_node_link") or part.of_device("scaleup_interconnect"),
        "link_total_gb_s": part.of_device("scaleup_total_bidir_gb_s"),
        "pcie": accelerator["pcie"],
        "tdp_w": power,
        "tdp_w_total": times(power, part.devices),
    }
    facility = ("max_power_w", "rack_units", "weight_kg", "depth_mm")
    for name in facility:
        row[name] = part.of_system(name)
        if name != "depth_mm":
            row[f"{name}_total"] = times(row[name], part.quantity)
    described = ("cooling", "psu_count", "cpu", "host_ram_gb", "nvme_tb", "nic_count", "nic_model", "inter_node_gbps")
    return {**row, **{name: part.of_system(name) for name in described}}


def times(figure: float | None, count: float) -> float | None:
    """Return a total; of what is unknown the total is unknown."""
    return None if figure is None else figure * count


def unknown(row: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Return the columns without a value among so many."""
    return [name for name in names if row.get(name) is None]
