"""The text by which a machine is shown stands for the same machine: what asks again with it gets the same answer."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.machines import find_machines


@pytest.mark.parametrize(
    "text",
    [
        "rtx-4090", "8x h100-sxm5-80gb", "2 nodes x 8x h100-sxm5-80gb", "nvidia-dgx-h100", "2 nodes x nvidia-dgx-h100",
        "1x rtx-4090 + 1x rtx-3090", "2 nodes x 1x rtx-4090 + 2x rtx-3090", "2x a100-sxm4-80gb/2g.20gb",
        "1x rtx-3090 + 2x a100-sxm4-80gb/2g.20gb", "apple-m3-ultra 256gb",
    ],
)  # fmt: skip
def test_shown_stands_for_the_machine(connection: sqlite3.Connection, text: str) -> None:
    """Read again, it is the same machine: devices, nodes, unlike ones, slices and shared memory."""
    (machine,) = find_machines(connection, text)
    (again,) = find_machines(connection, machine.shown)
    assert again == machine


def test_unlike_devices_are_counted(connection: sqlite3.Connection) -> None:
    """Counts of an expression are of one node; those of a machine are of all nodes."""
    (machine,) = find_machines(connection, "2 nodes x 1x rtx-4090 + 2x rtx-3090")
    assert [(device.accelerator_id, count) for device, count in machine.kinds] == [
        ("nvidia-rtx-4090", 2), ("nvidia-rtx-3090", 4),
    ]  # fmt: skip
    assert machine.devices == 6
