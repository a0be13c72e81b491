"""The nearest other hardware to try: one more device, several times as many, or the next larger card or slice."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from rackfit.ask.machines import find_machines
from rackfit.catalog.read import rows_of
from rackfit.errors import RackfitError
from rackfit.fit.hardware_expression import HardwareExpression, parse_hardware

FACTORS = (2, 4, 8)
MOST_CARDS = 16
"""Sizes of memory that are tried before no other card is named."""


def more_devices(on: str, factor: int) -> str:
    """Return the hardware expression with so many times the devices, as more nodes where it names a system."""
    expression = parse_hardware(on)
    if expression.nodes > 1:
        return str(replace(expression, nodes=expression.nodes * factor))
    parts = tuple(replace(part, count=part.count * factor, counted=True) for part in expression.parts)
    return str(replace(expression, parts=parts))


def one_more(on: str) -> str:
    """Return the hardware expression with one device more, or one node more where there are several."""
    expression = parse_hardware(on)
    if expression.nodes > 1:
        return str(replace(expression, nodes=expression.nodes + 1))
    first, *others = expression.parts
    return str(replace(expression, parts=(replace(first, count=first.count + 1, counted=True), *others)))


def more_of_the_same(connection: sqlite3.Connection, on: str, accelerator: str) -> list[tuple[str, str]]:
    """Return the same machine with more devices, fewest first, where several of them work together: no second Mac."""
    try:
        system = find_machines(connection, on)[0].system_id
    except RackfitError:
        return []
    row = connection.execute(
        "select multi_device or scaleup_interconnect like 'ConnectX%' from accelerators where accelerator_id = ?",
        (accelerator,),
    ).fetchone()
    if row is None or not row[0]:
        return []
    several = system is not None or parse_hardware(on).nodes > 1
    tried = {one_more(on): "one more machine" if several else "one more device"}
    for factor in FACTORS:
        tried.setdefault(more_devices(on, factor), f"{factor} times the devices")
    return [(text, expression) for expression, text in tried.items()]


def larger_cards(connection: sqlite3.Connection, on: str) -> list[tuple[str, str]]:
    """Return the same number of larger devices, the nearest in kind and memory first; for a MIG slice larger slices.

    One device for each size of memory: those of the same maker and segment before others. Nothing for unlike devices
    and for a machine whose usable memory is stated.
    """
    expression = parse_hardware(on)
    try:
        machine = find_machines(connection, on)[0]
    except RackfitError:
        return []
    if len(expression.parts) > 1 or expression.usable_gib is not None or machine.per_domain < 1:
        return []
    if machine.sliced:
        return _larger_slices(connection, expression, machine.device.accelerator_id, machine.device.memory_bytes)
    rows = rows_of(
        connection,
        "select configurations.accelerator_id, ram_gb, name, coalesce(ram_gb, memory_gb) as size, "
        "vendor = ? as same_maker, configurations.segment = ? as same_segment "
        "from configurations join accelerators using (accelerator_id) "
        "where device_count = 1 and memory_bytes_per_device > ? and (multi_device or ? = 1) "
        "order by same_maker desc, same_segment desc, size, configuration_id",
        machine.device.vendor, machine.device.segment, machine.device.memory_bytes, machine.devices,
    )  # fmt: skip
    nearest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        nearest.setdefault((row["same_maker"], row["same_segment"], row["size"]), row)
    each = f"{machine.devices // machine.nodes}x"
    nodes = f"{machine.nodes} nodes x " if machine.nodes > 1 else ""
    return [
        (f"another card: {row['name']}", f"{nodes}{each} {row['accelerator_id']}{_size(row)}")
        for row in list(nearest.values())[:MOST_CARDS]
    ]


def _size(row: dict[str, Any]) -> str:
    return f" {row['ram_gb']:g}gb" if row["ram_gb"] else ""


def _larger_slices(
    connection: sqlite3.Connection, expression: HardwareExpression, accelerator: str, memory: int
) -> list[tuple[str, str]]:
    rows = rows_of(
        connection,
        "select profile from mig_profiles where accelerator_id = ? and fit_memory_bytes > ? "
        "order by fit_memory_bytes, compute_slices",
        accelerator, memory,
    )  # fmt: skip
    part = expression.parts[0]
    return [
        (f"a larger slice: {row['profile']}", str(replace(expression, parts=(replace(part, profile=row["profile"]),))))
        for row in rows
    ]
