"""Power limits of the accelerators of a machine: the one sum for every answer that has watts."""

from __future__ import annotations

import sqlite3

from rackfit.ask.machines import Machine
from rackfit.catalog.read import rows_of


def accelerators_w(connection: sqlite3.Connection, machine: Machine) -> float | None:
    """Return the power limits (TDP) of all accelerators of a machine together, all nodes, in watts.

    None where the limit of one of them is not on record, and for MIG slices: what a part of a device draws is on no
    record.
    """
    if machine.sliced:
        return None
    total = 0.0
    for device, count in machine.kinds:
        found = rows_of(connection, "select tdp_w from accelerators where accelerator_id = ?", device.accelerator_id)
        if not found or found[0]["tdp_w"] is None:
            return None
        total += found[0]["tdp_w"] * count
    return total


def system_w(connection: sqlite3.Connection, machine: Machine) -> float | None:
    """Return the most that the named system draws, all nodes, in watts; None where none is named or on record."""
    found = rows_of(connection, "select max_power_w from systems where system_id = ?", machine.system_id)
    if not found or found[0]["max_power_w"] is None:
        return None
    return float(found[0]["max_power_w"] * machine.nodes)
