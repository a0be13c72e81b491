"""The machine around the devices of a training job: its RAM and NVMe, and what loading takes of them."""

from __future__ import annotations

import sqlite3

from rackfit.ask.machines import Machine
from rackfit.catalog.read import row_of
from rackfit.fit.training_search import Host
from rackfit.memory.budget import GIB
from rackfit.memory.training.offload import load_bytes

ROLLOUT_WORKER = 11.1e9
"""Host bytes of one worker of a reinforcement-learning run: 11.0 to 11.2 GB at 7B (verl issue 224, eight workers)."""
ROLLED_OUT = frozenset({"grpo", "ppo"})
"""Jobs whose workers hold a rollout engine beside the training process."""


def host_of(
    connection: sqlite3.Connection, machine: Machine, stated_gib: float | None, job: str, assumed: list[str]
) -> Host:
    """Return memory and NVMe of one machine: as stated, else of the system's record, else unknown.

    RAM modules are binary gigabytes. What is not known or rests on one report is noted in `assumed`.
    """
    ranks = max(1, machine.count // max(machine.nodes, 1))
    each = ROLLOUT_WORKER if job in ROLLED_OUT else 0.0
    if each:
        assumed.append(f"host: {each / 1e9:.1f} GB for each rollout worker, as one report of a 7B run measured")
    system = None if machine.system_id is None else row_of(connection, "systems", "system_id", machine.system_id)
    nvme = system["nvme_tb"] if system else None
    ram = system["host_ram_gb"] if system else None
    if machine.device.unified and stated_gib is None:
        return Host(0.0, None, ranks, each)
    if stated_gib is None and ram is None:
        assumed.append("host: its memory is not on record, so what lies there is not checked (--host-ram GIB)")
    stated = stated_gib if stated_gib is not None else ram
    return Host(None if stated is None else stated * GIB, None if nvme is None else nvme * 1e12, ranks, each)


def warn_of_loading(params: float, host: Host, assumed: list[str]) -> None:
    """Note where a whole copy of the weights on every rank, as a plain load makes it, is more than the RAM."""
    if not host.ram_bytes:
        return
    for name, width in (("16-bit", 2), ("fp32", 4)):
        every, one = (load_bytes(params, width, host.ranks, alone) for alone in (False, True))
        if every > host.ram_bytes:
            assumed.append(
                f"load: {name} weights on each of {host.ranks} ranks take {every / GIB:.0f} GiB of "
                f"{host.ram_bytes / GIB:.0f} GiB; loaded on one rank alone {one / GIB:.0f} GiB"
            )
            return
