"""Speed with part of the model in RAM: each tier's bytes over its own bandwidth, one after the other."""

from __future__ import annotations

import sqlite3
from typing import Any

from rackfit.ask.setting import Setting
from rackfit.catalog.read_speed import read_chip, read_efficiencies
from rackfit.speed.domain import BOUND, ESTIMATE
from rackfit.speed.efficiency import choose_efficiency, family_of, reached_gb_s

HOST_SHARE = (0.5, 0.75, 1.0)
"""Low, middle and high share of the RAM's bandwidth: no measured case, so half of it up to all of it."""
GB = 1e9


def offloaded_speed(connection: sqlite3.Connection, setting: Setting, fitted: dict[str, Any]) -> dict[str, Any]:
    """Return the decode speed of one sequence; without a bandwidth of the RAM on record there is no figure."""
    from rackfit.ask.speed import shown_efficiency

    chip = read_chip(connection, setting.machine.device.accelerator_id)
    chosen = choose_efficiency(
        read_efficiencies(connection), setting.budget.runtime_id, chip, family_of(setting.precision),
        experts=setting.subject.anatomy.has_experts,
    )  # fmt: skip
    device, host = fitted["offload"]["tiers"]
    notes = [*fitted["assumptions"], *chosen.reasons]
    rows: list[dict[str, Any]] = []
    if host["bandwidth_gb_s"] is None:
        notes.append("the bandwidth of the host's RAM is not on record: name a system, so no speed is said")
    else:
        one = chosen.efficiency
        sizes = [tier["read_bytes_per_token"] + tier["kv_bytes"] for tier in (device, host)]
        fixed = setting.subject.anatomy.model.n_layers * one.layer_ms / 1000
        reached, ram = reached_gb_s(one, chip), host["bandwidth_gb_s"]
        low, value, high = (1 / (sizes[0] / GB / reached + fixed + sizes[1] / GB / (ram * s)) for s in HOST_SHARE)
        bound = 1 / (sizes[0] / GB / float(chip.bandwidth_gb_s or 1) + sizes[1] / GB / ram)
        notes.append("RAM: no measured case of layers in RAM, half to all of its bandwidth taken, range wider")
        in_ram = sizes[1] / ram > sizes[0] / reached
        rows.append(
            {
                "sequences": 1,
                "figure": ESTIMATE,
                "tokens_per_s": round(value, 2),
                "low": round(low * (1 - chosen.below), 2),
                "high": round(min(high * (1 + chosen.above), bound), 2),
                BOUND: round(bound, 2),
                "step_ms": round(1000 / value, 3),
                "device_bytes": round(sizes[0]),
                "host_bytes": round(sizes[1]),
                "bound_by": "bandwidth of RAM" if in_ram else "memory bandwidth",
            }
        )
    return {"decode": rows, "prefill": None, "assumptions": notes, "efficiency": shown_efficiency(chosen)}
