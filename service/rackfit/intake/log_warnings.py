"""What a reader of a log must know before using its figures."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from rackfit.ask.machines import find_machines
from rackfit.errors import RackfitError
from rackfit.intake.log_configuration import device_name
from rackfit.intake.logs.llama_cpp import is_host
from rackfit.intake.logs.parsed import COMPONENTS, DeviceLine, Log
from rackfit.memory.budget import GIB, MIB

MORE_THAN_CARD = 1.01
"""Free memory above this share of a card's own cannot be the card's."""
UNEVEN = 64 * MIB
"""Difference between ranks that is worth a word."""
LARGE_ESTIMATE = 2.0
LARGE_WORKSPACE = GIB
GROUP_DEVICE = "Meta"
"""Name under which llama.cpp shows several cards of a tensor split as one device."""


def warnings(connection: sqlite3.Connection, log: Log) -> list[str]:
    """Return the warnings of a log, the gravest first."""
    return [*log.warnings, *_estimates(log), *_devices(connection, log), *_buffers(log), *_ranks(log)]


def _estimates(log: Log) -> Iterator[str]:
    if log.estimate:
        yield "an estimate made before loading, not an allocation: the engine may place other layers in the end"
    planned, done = log.settings.get("layers_placed"), log.settings.get("layers_offloaded")
    if planned is not None and done is not None and planned != done:
        yield f"the plan placed {planned} layers on devices, {done} were placed in the end"
    if log.loads > 1:
        yield f"{log.loads} loads in this log: the figures of one are shown"
    actual, guess = log.bound("graphs"), log.bound("graphs_estimated")
    if actual and guess and guess > LARGE_ESTIMATE * actual:
        yield f"the engine charged {guess / actual:.1f} times the graph memory that it then used"


def card_bytes(connection: sqlite3.Connection, device: DeviceLine) -> tuple[str, int] | None:
    """Return the catalog's name and bytes of the card that a device line means, None where it is not known."""
    for name in dict.fromkeys((device.name, device_name(device.name))):
        try:
            machines = find_machines(connection, name)
        except RackfitError:
            continue
        if any(machine.device.unified for machine in machines):
            return None
        largest = max((machine.device for machine in machines), key=lambda one: one.memory_bytes)
        return largest.name, largest.memory_bytes
    return None


def impossible(connection: sqlite3.Connection, device: DeviceLine) -> int | None:
    """Return the card's own bytes where a driver reports more than they are, else None."""
    seen = max(device.free_bytes or 0, device.total_bytes or 0)
    known = card_bytes(connection, device)
    return known[1] if known is not None and seen > MORE_THAN_CARD * known[1] else None


def _devices(connection: sqlite3.Connection, log: Log) -> Iterator[str]:
    for device in log.devices:
        size = impossible(connection, device)
        if size is not None:
            seen = max(device.free_bytes or 0, device.total_bytes or 0)
            yield (
                f"{device.rank} ({device.name}) reports {seen / MIB:,.0f} MiB, more than the card's {size / MIB:,.0f} "
                f"MiB: the driver adds shared host memory; {size / MIB:,.0f} MiB is used"
            )


def _buffers(log: Log) -> Iterator[str]:
    if any(rank.startswith(GROUP_DEVICE) for ranks in log.amounts.values() for rank in ranks):
        yield f"{GROUP_DEVICE}() is no card: it stands for the cards of a tensor split together"
    state, buffers = log.total("state"), log.total("state_buffer")
    if state and buffers and buffers < 0.99 * state:
        yield (
            f"recurrent state is {state / MIB:,.2f} MiB in all, {buffers / MIB:,.2f} MiB of it in the buffers printed: "
            "the total and the devices' shares are different figures"
        )
    encoder, weights = log.bound("projector_graph"), log.bound("weights")
    if encoder and weights:
        terms = ("projector_graph", "kv", "projector_weights", "graph_full", "graph_partial")
        largest = max(terms, key=lambda name: log.bound(name) or 0)
        if largest == "projector_graph":
            yield f"the image encoder's workspace, {encoder / GIB:.1f} GiB, is the largest term after the weights"
    workspace = log.bound("workspace")
    if workspace and workspace > LARGE_WORKSPACE:
        yield f"a workspace buffer of {workspace / GIB:.2f} GiB lies outside weights and cache"


def _ranks(log: Log) -> Iterator[str]:
    pools = {rank: size for rank, size in log.amounts.get("kv_pool", {}).items() if not is_host(rank)}
    if len(pools) > 1 and max(pools.values()) - min(pools.values()) > UNEVEN:
        least = min(pools, key=lambda rank: pools[rank])
        yield f"pools differ by rank: the smallest, {pools[least] / GIB:.2f} GiB on {least or 'one'}, binds all"
    loads = log.amounts.get("weights", {})
    if log.engine == "vLLM" and len(loads) > 1 and max(loads.values()) - min(loads.values()) > UNEVEN:
        yield f"{COMPONENTS['weights'][0]} differ by rank: the fullest is compared"
