"""Memory under a setting in brackets: error correction, macOS and its limit, firmware; a remark is never left out."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.machines import find_machines
from rackfit.errors import UsageError

GIB, MIB = 2**30, 2**20


@pytest.mark.parametrize(
    ("on", "size"),
    [
        # nvidia-smi prints 46068 MiB with ECC on and 49140 with it off (shared cases, README, units)
        ("a40", 46068 * MIB),
        ("a40 (ECC on)", 46068 * MIB),
        ("a40 (ECC off)", 49140 * MIB),
        ("rtx-a6000 (ECC on)", 46068 * MIB),
        ("rtx-a6000 (no ECC)", 49140 * MIB),
        # HBM has bits of its own for it, GDDR7 corrects on the die
        ("h100-sxm5-80gb (ECC off)", 81559 * MIB),
        ("rtx-pro-6000-blackwell-ws (ECC on)", 97887 * MIB),
        # recommendedMaxWorkingSetSize before macOS 26: 36864 MiB of 48 GB, 21845 MiB of 32 GB
        ("m3-max-48gb (macOS 15)", 36864 * MIB),
        ("m2-max-32gb (macOS 14)", 21845 * MIB),
        # sysctl iogpu.wired_limit_mb=114688 makes 112.00 GiB
        ("m5-max-128gb (wired limit 114688)", 112 * GIB),
        ("m5-max-128gb (wired_limit_mb=114688)", 112 * GIB),
        # a Strix Halo with 96 GB set aside under Windows prints 98304 MiB
        ("strix-halo 128gb (Windows VGM)", 98304 * MIB),
    ],
)
def test_memory_under_a_setting(connection: sqlite3.Connection, on: str, size: int) -> None:
    """The figure that the driver prints under that setting, whatever the default is."""
    for machine in find_machines(connection, on):
        assert machine.device.memory_bytes == pytest.approx(size, rel=0.001)


@pytest.mark.parametrize("on", ["a40 (blue)", "h100-sxm5-80gb (ECC on)", "a40 (ECC on)", "a40 (ECC off)"])
def test_what_became_of_a_remark_is_said(connection: sqlite3.Connection, on: str) -> None:
    """A remark that changes something, and one that changes nothing, each has its line."""
    machine = find_machines(connection, on)[0]

    assert [note for note in machine.notes if note.startswith("memory: ")]


def test_a_setting_stays_with_the_machine(connection: sqlite3.Connection) -> None:
    """The name under which an answer shows a machine leads to the same memory again."""
    for on in ("a40 (ECC off)", "m3-max-48gb (macOS 15)", "2x rtx-a6000 (ECC on)"):
        machine = find_machines(connection, on)[0]
        again = find_machines(connection, machine.shown)[0]
        assert (again.device, again.count) == (machine.device, machine.count)


def test_a_limit_above_the_memory(connection: sqlite3.Connection) -> None:
    """A limit of 200 GB on a machine of 128 is a slip."""
    with pytest.raises(UsageError, match="128"):
        find_machines(connection, "m4-max-128gb (wired limit 200 GB)")
