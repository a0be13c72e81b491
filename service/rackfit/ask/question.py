"""A fit question as people put it, and the records that its names stand for."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field, replace
from typing import Any

from rackfit.catalog.context import read_context
from rackfit.catalog.read import device_of, device_with_ram, read_model, row_of, rows_of
from rackfit.catalog.resolve import NEAR_NAMES, Resolved, resolve, resolve_first
from rackfit.errors import UnknownNameError, UnsupportedError, UsageError
from rackfit.fit.hardware_expression import HardwareExpression, Part, count_in_front, parse_hardware
from rackfit.fit.shapes import memory_options
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Device
from rackfit.memory.published import PublishedFile

DEFAULT_CONTEXT = 8192
SIXTEEN_BIT_CACHE = "kv_bf16"
HARDWARE_KINDS = ("accelerator", "system")
RAM_SIZE = re.compile(r"(?<![\d.])(\d+)\s*gb\b", re.IGNORECASE)
NO_PEERS = ("MIG slices have no peer-to-peer link: several of them are as many devices, each with a whole model",)


WHOLE_NUMBERS = (
    "context", "sequences", "tp", "pp", "ep", "dp", "dcp", "max_batched_tokens", "max_sequences", "lora_slots",
    "lora_rank", "images", "limit",
)  # fmt: skip
"""Figures of a question that count something."""


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """What a user asks. None means that the user did not say, and the default is echoed in the answer."""

    model: str | Subject | None = None
    """A name, or a model that was read from a file."""
    on: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    context: int | None = None
    sequences: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    dcp: int | None = None
    """Decode context parallel: TP ranks over which a cache is striped that each of them would keep a copy of."""
    runtime: str | None = None
    utilization: float | None = None
    max_batched_tokens: int | None = None
    max_sequences: int | None = None
    usable_gib: float | None = None
    reserve_gib: float | None = None
    max_price: float | None = None
    gpu_layers: int | str | None = None
    """Layers on devices as llama.cpp counts them, or `auto` for the most that fit."""
    cpu_experts: int | str | None = None
    """First layers whose experts lie in RAM, `all`, or `auto` for the fewest that make it fit."""
    host_ram_gib: float | None = None
    draft: str | Subject | None = None
    mtp: bool = False
    text_only: bool = False
    """Images are switched off in the engine, which then sets nothing aside for them."""
    lora_slots: int | None = None
    lora_rank: int | None = None
    images: int | None = None
    split: tuple[int, ...] | None = None
    """Layers on each device, first to last."""
    limit: int = 50

    @property
    def offloads(self) -> bool:
        """Whether part of the model may lie in RAM."""
        return self.gpu_layers is not None or self.cpu_experts is not None

    def check(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the first figure, its value and what was expected.
        """
        for name in WHOLE_NUMBERS:
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 2**40:
                raise UsageError(f"{name} = {value}: expected a whole number from 1")
        for name in ("usable_gib", "max_price", "host_ram_gib"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise UsageError(f"{name} = {value}: expected a number above 0")
        if self.reserve_gib is not None and not 0 <= self.reserve_gib < 1e6:
            raise UsageError(f"reserve_gib = {self.reserve_gib}: expected a number from 0")
        if self.utilization is not None and not 0 < self.utilization <= 1:
            raise UsageError(f"utilization = {self.utilization}: expected a share above 0, at most 1")
        for name, words in (("gpu_layers", ("auto",)), ("cpu_experts", ("auto", "all"))):
            value = getattr(self, name)
            if not (value is None or value in words or (isinstance(value, int) and 0 <= value <= 2**20)):
                raise UsageError(f"{name} = {value}: expected a whole number from 0, or {' or '.join(words)}")
        if self.split is not None and (not self.split or not all(0 <= count <= 2**20 for count in self.split)):
            raise UsageError(f"split = {self.split}: expected the layers of each device, such as 16,32")


@dataclass(frozen=True)
class Subject:
    """The model asked about: architecture, and the precision and context of the checkpoint where one was named."""

    anatomy: Anatomy
    shown: str
    checkpoint_id: str | None
    precision_id: str | None
    max_context: int | None
    file: PublishedFile | None = None
    """The published file that was named, where its bytes are on record."""
    notes: tuple[str, ...] = ()
    """What had to be assumed where the model was read from a file."""

    def __str__(self) -> str:
        """Return the name as answers show it."""
        return self.shown

    taken_for: str | None = None
    """What was assumed where the name is not on record as it was written."""


@dataclass(frozen=True)
class Machine:
    """The devices asked about: `count` alike, in `nodes` machines, with `per_domain` on one fast link."""

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


def find_model(connection: sqlite3.Connection, name: str | Subject) -> Subject:
    """Return the model that a name stands for; one that was read from a file is itself.

    Raises:
        UnknownNameError, AmbiguousNameError: from resolution.
    """
    if isinstance(name, Subject):
        return name
    named = _published(connection, name)
    if named is not None:
        return named
    found = resolve(connection, "model", name)
    row = row_of(connection, "models", "model_id", found.id)
    limit = row["max_context"]
    precision = found.precision_id or row["native_precision_id"]
    if found.checkpoint_id:
        checkpoint = row_of(connection, "checkpoints", "checkpoint_id", found.checkpoint_id)
        limit = checkpoint["max_context"] or limit
        precision = found.precision_id or checkpoint["native_precision_id"]
    taken_for = f"model: {name!r} is not on record, read as {found.id}" if found.respelled else None
    return Subject(
        Anatomy(read_model(connection, found.id)), found.id, found.checkpoint_id, precision, limit, taken_for=taken_for
    )  # fmt: skip


def _published(connection: sqlite3.Connection, name: str) -> Subject | None:
    """Return the model of a published file, with its bytes; None where the name is not that of a file on record."""
    found = rows_of(
        connection,
        "select artifacts.*, models.max_context from artifacts join models using (model_id) "
        "where lower(artifact_id) = ? and precision_id is not null and instr(lower(artifact_id), 'mmproj') = 0",
        name.strip().casefold(),
    )
    if not found:
        return None
    row, checkpoint = found[0], name.strip().casefold()
    known = rows_of(connection, "select max_context from checkpoints where checkpoint_id = ?", checkpoint)
    limit = (known[0]["max_context"] if known else None) or row["max_context"]
    file = PublishedFile(row["artifact_id"], row["bytes"], ".gguf" not in checkpoint)
    return Subject(
        Anatomy(read_model(connection, row["model_id"])), row["model_id"], checkpoint if known else None,
        row["precision_id"], limit, file,
    )  # fmt: skip


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
        if not all(_may_have(connection, found.kind, target, size) for target in found.ids):
            raise
        return found


def _may_have(connection: sqlite3.Connection, kind: str, target: str, size: float) -> bool:
    """Return whether a device is sold with so many GB: one of its sizes of shared memory, or its one size."""
    if kind != "accelerator":
        return False
    row = row_of(connection, "accelerators", "accelerator_id", target)
    return bool(memory_options(row)) or row["memory_gb"] == size


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
    """Return the machine of a record: several where a chip's name leaves open how much shared memory it has."""
    nodes, notes, ram = expression.nodes, [], None
    if found.kind == "system":
        system = row_of(connection, "systems", "system_id", target)
        if not system["accelerator_id"]:
            raise UnsupportedError(f"{target} has no accelerator on record")
        row = row_of(connection, "accelerators", "accelerator_id", system["accelerator_id"])
        ram = system["host_ram_gb"]
        per_node = system["accelerator_count"]
        nodes, count = nodes * count, per_node * nodes * count
        shown = target if nodes == 1 else f"{nodes} nodes x {target}"
    else:
        row = row_of(connection, "accelerators", "accelerator_id", target)
        count = count * nodes
        shown = f"{count}x {target}" if nodes == 1 else f"{nodes} nodes x {count // nodes}x {target}"
    others = tuple(_other(connection, part, part.count * nodes) for part in expression.parts[1:])
    sliced = any(part.profile for part in expression.parts)
    if row["fit_memory_bytes"] is None and expression.usable_gib is None:
        raise UnsupportedError(f"{row['accelerator_id']}: its memory is not known, so nothing can be fitted")
    if not row["multi_device"] and count > 1 and found.kind != "system":
        notes.append(f"{row['name']} is not sold with several in one host: {count} of them would be as many machines")
    link = row["scaleup_interconnect"] or row["pcie"]
    profile = expression.parts[0].profile
    if profile is not None:
        slice_ = _slice(connection, row, profile)
        text = f"{shown}/{profile}"
        return [Machine(slice_, count, nodes, 1, text, expression.usable_gib, None, others, NO_PEERS, sliced=True)]
    return [
        Machine(
            device,
            count,
            nodes,
            count // nodes,
            text,
            expression.usable_gib,
            link,
            others,
            tuple(notes),
            sliced=sliced,
            ram_gb=size,
        )
        for device, text, size in _sized(connection, row, shown, expression.parts[0].name, ram)
    ]


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


def _other(connection: sqlite3.Connection, part: Part, count: int) -> tuple[Device, int]:
    """Return an unlike device of the same machine with its count, a MIG slice of it where one is named."""
    found = resolve(connection, "accelerator", part.name)
    row = row_of(connection, "accelerators", "accelerator_id", found.id)
    return (_slice(connection, row, part.profile) if part.profile else device_of(row)), count


__all__ = [
    "FitQuestion",
    "Machine",
    "Subject",
    "find_machines",
    "find_model",
    "read_context",
]
