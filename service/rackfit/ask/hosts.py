"""The machine around the devices: its RAM as a tier, or as all there is."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.question import FitQuestion
from rackfit.catalog.read import row_of
from rackfit.errors import UsageError
from rackfit.fit.classes import Choice
from rackfit.fit.offload import HOST_FREE_SHARE, Host
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Budget, Device

CPU = "cpu"
"""Hardware name for a machine without accelerators."""


def machines_of(connection: sqlite3.Connection, question: FitQuestion) -> list[Machine]:
    """Return the machines that a question asks about.

    Raises:
        UsageError and its kinds: from the hardware expression; `cpu` without the size of its RAM.
    """
    text = question.on or ""
    if text.strip().casefold() != CPU:
        return find_machines(connection, text)
    if question.host_ram_gib is None:
        raise UsageError(
            "a machine without accelerators needs the size of its RAM: --host-ram GIB, in an address host_ram_gib=GIB"
        )
    return [cpu_machine(question.host_ram_gib)]


def cpu_machine(ram_gib: float) -> Machine:
    """Return a machine without accelerators as one device with so much memory."""
    device = Device(
        accelerator_id=CPU,
        name=f"CPU with {ram_gib:g} GiB of RAM",
        vendor=CPU,
        memory_bytes=round(ram_gib * GIB),
        memory_rule="stated",
        memory_spread=HOST_FREE_SHARE,
        unified=False,
        compute_capability=None,
        segment=CPU,
        bandwidth_gb_s=None,
    )
    note = "RAM: a tenth of the stated size is in doubt; what the operating system takes is on no record"
    return Machine(device, 1, 1, 1, CPU, notes=(note,))


def on_host(budget: Budget, device: Device) -> Budget:
    """Return an engine's rules as they are without accelerators: no driver context, and the embedding counts."""
    if device.vendor != CPU:
        return budget
    return replace(budget, context_bytes=0, embedding_on_host=False)


def host_support(choice: Choice, engine: str, family: str, device: Device) -> Choice:
    """Return the choice on a machine without accelerators: llama.cpp's own kernels read every file type on the CPU.

    `engine` is whose code does the work, `family` that of the format.

    Its tables say so by exception: a type without a kernel for a device "runs on the CPU" (precision_support).
    """
    if device.vendor != CPU or engine != "llama.cpp" or family not in ("gguf", "fp"):
        return choice
    return replace(choice, support="weight_only")


def host_of(connection: sqlite3.Connection, machine: Machine, stated_gib: float | None) -> Host:
    """Return the RAM of a machine: as stated, else of the system's record; modules are binary gigabytes."""
    ram, speed = None, None
    if machine.system_id is not None:
        system = row_of(connection, "systems", "system_id", machine.system_id)
        ram = system["host_ram_gb"] * GIB * machine.nodes if system["host_ram_gb"] else None
        speed = system["ram_bandwidth_gb_s"]
    return Host(stated_gib * GIB if stated_gib is not None else ram, speed)
