"""The machine that a hardware expression stands for, and the records that its names stand for."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import Any

from rackfit.catalog.read import device_of, device_with_ram, row_of, rows_of
from rackfit.catalog.resolve import NEAR_NAMES, Resolved, resolve_first
from rackfit.errors import UnknownNameError, UnsupportedError, UsageError
from rackfit.fit.hardware_expression import GIB, HardwareExpression, Part, count_in_front, parse_hardware
from rackfit.fit.shapes import memory_options
from rackfit.memory.domain import Device

HARDWARE_KINDS = ("accelerator", "system")
RAM_SIZE = re.compile(r"(?<![\d.])(\d+)\s*gb\b", re.IGNORECASE)
NO_PEERS = ("MIG slices have no peer-to-peer link: several of them are as many devices, each with a whole model",)


@dataclass(frozen=True)
class Machine:
    """The devices asked about: `count` alike, in `nodes` machines, with `per_domain` on one fast link.

    `shown` is the expression that stands for the same machine, unlike devices included.
    """

    device: Device
    count: int
    nodes: int
    per_domain: int
    shown: str
    usable_gib: float | None = None
    link: str | None = None
    others: tuple[tuple[Device, int], ...] = ()
    """Unlike devices of the same machine, with their counts."""
    notes: tuple[str, ...] = field(default_factory=tuple)
    system_id: str | None = None
    """The system whose record was named, with the host around the devices."""
    sliced: bool = False
    """Whether any device is a MIG slice: slices do not work together on one model."""
    ram_gb: float | None = None
    """Shared memory, for chips that are sold with several sizes."""
    unlike: bool = False
    """Whether `device` stands for unlike ones, each of which has the same share of the work."""

    @property
    def kinds(self) -> tuple[tuple[Device, int], ...]:
        """Every kind of device with its count."""
        return ((self.device, self.count), *self.others)

    @property
    def memory_bytes(self) -> int:
        """Memory of all devices together: an upper bound of what they hold, never a verdict."""
        return sum(device.memory_bytes * count for device, count in self.kinds)

    @property
    def devices(self) -> int:
        """Devices of all kinds."""
        return sum(count for _, count in self.kinds)


def find_machines(connection: sqlite3.Connection, text: str) -> list[Machine]:
    """Return the machines that a hardware expression stands for: one, or one per candidate of a class name.

    Raises:
        UsageError, UnknownNameError: the expression or a name in it cannot be read.
        UnsupportedError: a device whose memory is not known.
    """
    stored = rows_of(connection, "select * from configurations where configuration_id = ?", text.strip().casefold())
    if stored:
        return stored_machines(connection, stored)
    expression = parse_hardware(text)
    first = expression.parts[0]
    try:
        found = _hardware(connection, first.name)
    except UnknownNameError:
        turned = count_in_front(text)
        if turned is None:
            raise
        return find_machines(connection, turned)
    targets = _with_profile(connection, found, first.profile)
    return [
        replace(machine, system_id=target if found.kind == "system" else None)
        for target in targets
        for machine in _machines(connection, expression, found, target, first.count)
    ]


def _with_profile(connection: sqlite3.Connection, found: Resolved, profile: str | None) -> tuple[str, ...]:
    """Return the candidates of a class that have the MIG profile asked for; all where none has it."""
    if profile is None or len(found.ids) == 1:
        return found.ids
    rows = rows_of(connection, "select accelerator_id from mig_profiles where profile = ?", profile)
    known = {row["accelerator_id"] for row in rows}
    return tuple(target for target in found.ids if target in known) or found.ids


def _hardware(connection: sqlite3.Connection, name: str) -> Resolved:
    """Return the device or system that a name stands for; a memory size behind a chip's own name does not matter."""
    try:
        return resolve_first(connection, HARDWARE_KINDS, name, allow_class=True)
    except UnknownNameError as first:
        shorter = RAM_SIZE.sub("", name).strip(" -")
        if shorter in ("", name):
            raise
        try:
            found = resolve_first(connection, HARDWARE_KINDS, shorter, allow_class=True)
        except UnknownNameError as second:
            near = [*first.near, *second.near] if len(first.near) < len(second.near) else first.near
            raise UnknownNameError(first.kind, name, list(dict.fromkeys(near))[:NEAR_NAMES]) from None
        stated = RAM_SIZE.search(name)
        size = float(stated[1]) if stated else 0.0
        fitting = tuple(target for target in found.ids if _may_have(connection, found.kind, target, size))
        if not fitting:
            raise
        return replace(found, ids=fitting)


def _may_have(connection: sqlite3.Connection, kind: str, target: str, size: float) -> bool:
    """Return whether a device has so many GB: sizes of shared memory that it is sold with, its label, or what it shows.

    Notebooks write a T4 as 15 GB, which is what its driver prints of 16.
    """
    if kind != "accelerator":
        return False
    row = row_of(connection, "accelerators", "accelerator_id", target)
    driver = (row["usable_memory_bytes"] or 0) / GIB
    return bool(memory_options(row)) or size == row["memory_gb"] or size in (floor(driver), ceil(driver))


def stored_machines(connection: sqlite3.Connection, shapes: list[dict[str, Any]]) -> list[Machine]:
    """Return the machines of rows of `configurations`, in their order."""
    rows = {row["accelerator_id"]: row for row in _accelerators(connection, shapes)}
    devices: dict[tuple[str, int | None], Device] = {}
    found = []
    for shape in shapes:
        key = (shape["accelerator_id"], shape["ram_gb"])
        if key not in devices:
            row = rows[key[0]]
            devices[key] = device_with_ram(connection, row, key[1]) if key[1] else device_of(row)
        machine = Machine(
            devices[key], shape["device_count"], shape["node_count"], shape["devices_per_domain"],
            shape["configuration_id"], link=shape["link"], ram_gb=shape["ram_gb"],
        )  # fmt: skip
        found.append(machine)
    return found


def _accelerators(connection: sqlite3.Connection, shapes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(shapes) == 1:
        return [row_of(connection, "accelerators", "accelerator_id", shapes[0]["accelerator_id"])]
    return rows_of(connection, "select * from accelerators")


def _machines(
    connection: sqlite3.Connection, expression: HardwareExpression, found: Resolved, target: str, count: int
) -> list[Machine]:
    """Return the machine of a record: several where a chip's name leaves open how much shared memory it has.

    Raises:
        UnsupportedError: a system without accelerators, or a device whose memory is not known.
    """
    named = _named(connection, found, target, count, expression.nodes)
    row, count, nodes = named.row, named.count, named.nodes
    others, beside, alone = _unlike(connection, expression, nodes)
    notes = [
        f"{name} is not sold with other devices in one host: these would be several machines"
        for name in (*([] if row["multi_device"] or not others else [row["name"]]), *alone)
    ]
    if row["fit_memory_bytes"] is None and expression.usable_gib is None:
        raise UnsupportedError(f"{row['accelerator_id']}: its memory is not known, so nothing can be fitted")
    if not row["multi_device"] and count > 1 and found.kind != "system":
        notes.append(f"{row['name']} is not sold with several in one host: {count} of them would be as many machines")
    profile, usable = expression.parts[0].profile, expression.usable_gib
    if profile is not None:
        shown = f"{named.shown}/{profile}{beside}"
        slice_ = _slice(connection, row, profile)
        told = (*NO_PEERS, *_cards_needed(connection, row, profile, count))
        return [Machine(slice_, count, nodes, 1, shown, usable, None, others, told, sliced=True)]
    per_domain = (count + sum(number for _, number in others)) // nodes
    link, sliced = row["scaleup_interconnect"] or row["pcie"], any(part.profile for part in expression.parts)
    machines = [
        Machine(
            device, count, nodes, per_domain, text + beside, usable, link, others, tuple(notes), sliced=sliced,
            ram_gb=size,
        )
        for device, text, size in _sized(connection, row, named.shown, expression.parts[0].name, named.ram)
    ]  # fmt: skip
    return [_as_set(connection, machine, row, expression.remark) for machine in machines]


def _as_set(connection: sqlite3.Connection, machine: Machine, row: dict[str, Any], remark: str | None) -> Machine:
    """Return a machine whose devices have the memory of the setting that stands behind them, if one does."""
    if remark is None or machine.usable_gib is not None or machine.others:
        return machine
    from rackfit.ask.memory_settings import under_setting

    device, note = under_setting(connection, machine.device, row, machine.ram_gb, remark)
    shown = machine.shown if device is machine.device else f"{machine.shown} ({remark})"
    return replace(machine, device=device, shown=shown, notes=(*machine.notes, note))


@dataclass(frozen=True, slots=True)
class _Named:
    """What the first part of an expression stands for."""

    row: dict[str, Any]
    """The accelerator's."""
    count: int
    """Devices in all nodes."""
    nodes: int
    shown: str
    ram: float | None = None
    """RAM of one node, GB, where a system was named."""


def _named(connection: sqlite3.Connection, found: Resolved, target: str, count: int, nodes: int) -> _Named:
    """Return the accelerator of a record, and how many of it are in how many nodes.

    Raises:
        UnsupportedError: a system without accelerators.
    """
    if found.kind != "system":
        shown = f"{count}x {target}" if nodes == 1 else f"{nodes} nodes x {count}x {target}"
        return _Named(row_of(connection, "accelerators", "accelerator_id", target), count * nodes, nodes, shown)
    system = row_of(connection, "systems", "system_id", target)
    if not system["accelerator_id"]:
        raise UnsupportedError(f"{target} has no accelerator on record")
    row = row_of(connection, "accelerators", "accelerator_id", system["accelerator_id"])
    nodes *= count
    shown = target if nodes == 1 else f"{nodes} nodes x {target}"
    return _Named(row, system["accelerator_count"] * nodes, nodes, shown, system["host_ram_gb"])


def _unlike(
    connection: sqlite3.Connection, expression: HardwareExpression, nodes: int
) -> tuple[tuple[tuple[Device, int], ...], str, list[str]]:
    """Return the unlike devices with their counts in all nodes, how they are shown, and those that are sold alone."""
    parts = expression.parts[1:]
    rows = [_other_row(connection, part) for part in parts]
    others = tuple(
        (_other(connection, part, other), part.count * each * nodes)
        for part, (other, each) in zip(parts, rows, strict=True)
    )
    shown = "".join(
        f" + {number // nodes}x {device.accelerator_id}{'/' + part.profile if part.profile else ''}"
        for part, (device, number) in zip(parts, others, strict=True)
    )
    return others, shown, [other["name"] for other, _ in rows if not other["multi_device"]]


def _slice(connection: sqlite3.Connection, row: dict[str, Any], profile: str) -> Device:
    """Return a MIG slice as a device of its own.

    Raises:
        UnknownNameError: the device has no such profile.
    """
    profiles = rows_of(
        connection, "select * from mig_profiles where accelerator_id = ? order by profile", row["accelerator_id"]
    )
    found = next((one for one in profiles if one["profile"] == profile), None)
    if found is None:
        raise UnknownNameError(f"MIG profile of {row['name']}", profile, [one["profile"] for one in profiles])
    return replace(
        device_of(row),
        name=f"{row['name']} {profile}",
        memory_bytes=found["fit_memory_bytes"],
        memory_rule=found["fit_memory_rule"],
        memory_spread=found["fit_memory_spread"],
    )


def _sized(
    connection: sqlite3.Connection, row: dict[str, Any], shown: str, name: str, ram: float | None
) -> list[tuple[Device, str, float | None]]:
    """Return the device in each size of shared memory that the name allows, with how it is shown and the size."""
    options = memory_options(row)
    if not options:
        return [(device_of(row), shown, None)]
    stated = RAM_SIZE.search(name)
    if ram is not None:
        return [(device_with_ram(connection, row, ram), shown, ram)]
    if stated is not None:
        if int(stated[1]) not in options:
            sizes = ", ".join(str(size) for size in options)
            raise UsageError(f"hardware {name!r}: {row['name']} is sold with {sizes} GB")
        options = (int(stated[1]),)
    return [(device_with_ram(connection, row, size), f"{shown} {size}gb", float(size)) for size in options]


def _cards_needed(connection: sqlite3.Connection, row: dict[str, Any], profile: str, count: int) -> list[str]:
    """Return on how many cards so many slices of a profile lie, where one card has no room for them all."""
    found = rows_of(
        connection,
        "select max_instances from mig_profiles where accelerator_id = ? and profile = ?",
        row["accelerator_id"], profile,
    )  # fmt: skip
    most = found[0]["max_instances"]
    cards = -(-count // most)
    return [f"{count} slices of {profile} lie on {cards} cards: one has room for {most}"] if cards > 1 else []


def _other_row(connection: sqlite3.Connection, part: Part) -> tuple[dict[str, Any], int]:
    """Return the record of an unlike device, and how many of them one of the part's name is: a system has several.

    Raises:
        UnknownNameError, AmbiguousNameError: from resolution.
        UnsupportedError: a system without accelerators, a device whose memory is not known.
    """
    found, each = resolve_first(connection, HARDWARE_KINDS, part.name), 1
    target: str | None = found.id
    if found.kind == "system":
        system = row_of(connection, "systems", "system_id", found.id)
        target, each = system["accelerator_id"], system["accelerator_count"]
    if target is None:
        raise UnsupportedError(f"{found.id} has no accelerator on record")
    row = row_of(connection, "accelerators", "accelerator_id", target)
    if row["fit_memory_bytes"] is None:
        raise UnsupportedError(f"{target}: its memory is not known, so nothing can be fitted")
    return row, each


def _other(connection: sqlite3.Connection, part: Part, row: dict[str, Any]) -> Device:
    """Return an unlike device of the same machine, a MIG slice of it where one is named."""
    return _slice(connection, row, part.profile) if part.profile else device_of(row)
