"""What moves to host memory and NVMe, and DeepSpeed's own estimate of model states.

The estimator's accounting is DeepSpeed's (deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, estimate functions):
bytes per parameter by stage and offload option, four bytes for each parameter of the largest layer on the device at
stage 3, and a factor of 1.5 for buffers on the host.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.training.domain import Offload, StateBytes
from rackfit.memory.training.sharding import state_shares

BUFFER_FACTOR = 1.5
"""Host bytes per byte of state: pinned copies and buffers (DeepSpeed's default)."""


@dataclass(frozen=True, slots=True)
class StateNeed:
    """Bytes of model states on one device and on one host."""

    device: float
    host: float


def largest_module(anatomy: Anatomy) -> int:
    """Return the parameters of the largest single module: embedding, head, or one matrix of a layer."""
    model = anatomy.model
    widths = [max(group.d_ff or 0, group.moe_d_ff or 0) * model.d_model for group in model.groups]
    return max([anatomy.outer_roles.get("embedding", 0), anatomy.outer_roles.get("head", 0), *widths])


def deepspeed_zero2(
    params: float,
    per_node: int,
    nodes: int,
    offload_optimizer: bool,
    *,
    newer: bool = False,
    factor: float = BUFFER_FACTOR,
) -> StateNeed:
    """Return DeepSpeed's estimate for stage 2.

    On devices 4P + 16P/N, as its documentation prints; releases after 0.15 count 2P + 18P/N (`newer`). Offloaded:
    2P on devices and P x max(4N, 16) x factor on the host.

    >>> round(deepspeed_zero2(2851e6, 8, 1, False).device / 2**30, 2)
    15.93
    """
    count = per_node * nodes
    if offload_optimizer:
        return StateNeed(2 * params, params * max(4 * count, 16) * factor)
    whole, divided = (2, 18) if newer else (4, 16)
    return StateNeed(whole * params + divided * params / count, 4 * params * per_node * factor)


def deepspeed_zero3(
    params: float, largest: float, per_node: int, nodes: int, offload_optimizer: bool, offload_params: bool,
    zero_init: bool = True, factor: float = BUFFER_FACTOR,
) -> StateNeed:  # fmt: skip
    """Return DeepSpeed's estimate for stage 3, by offload option.

    >>> round(deepspeed_zero3(8.03e9, 128256 * 4096, 8, 1, False, False).device / 2**30, 1)
    18.8
    """
    layer = 4 * largest
    if offload_optimizer and offload_params:
        device, on_host = layer, 18
    elif offload_optimizer:
        device, on_host = layer + 2 * params / (per_node * nodes), 16
    else:
        device = layer + 18 * params / (per_node * nodes)
        host = layer * per_node if zero_init else 4 * params * per_node
        return StateNeed(device, host * factor)
    host = params * on_host / nodes
    if not zero_init:
        host = max(host, 4 * params * per_node)
    return StateNeed(device, host * factor)


def offload_refusal(offload: Offload, stage: int) -> str | None:
    """Return why an offload cannot run, None where it can (DeepSpeed, config-json page, ZeRO section)."""
    if offload.parameters != "none" and stage != 3:
        return f"parameters are offloaded at stage 3 only, not at stage {stage}"
    if "nvme" in (offload.optimizer, offload.parameters) and stage != 3:
        return f"NVMe is used at stage 3 only, not at stage {stage}"
    return None


def placed(state: StateBytes, stage: int, shards: int, offload: Offload) -> tuple[dict[str, float], dict[str, float]]:
    """Return bytes per parameter of one rank (on the device, elsewhere), by component.

    Optimizer offload moves master copy, moments and reduced gradients; parameter offload moves the 16-bit shard too.
    A share below 1 moves that part of the optimizer only (ratio of DeepSpeed's Twin-Flow).
    """
    shares = state_shares(state, stage, shards)
    away: dict[str, float] = {}
    if offload.optimizer != "none":
        moved = offload.optimizer_share
        for name in ("master", "optimizer"):
            away[name] = shares[name] * moved
            shares[name] *= 1 - moved
        away["gradients"] = (shares["gradients"] + shares["accumulation"]) * moved
        if stage < 2:
            away["gradients"] /= shards
        if stage >= 2:
            shares["gradients"], shares["accumulation"] = shares["gradients"] * (1 - moved), 0.0
    if offload.parameters != "none":
        away["weights"] = shares["weights"]
        shares["weights"] = 0.0
    return shares, away


def host_bytes(away: dict[str, float], params: float, ranks_per_host: int) -> float:
    """Return host bytes of one node: the shards of its ranks, with the buffer factor."""
    return sum(away.values()) * params * ranks_per_host * BUFFER_FACTOR


def load_bytes(params: float, width: float, ranks_per_host: int, rank_zero_only: bool) -> float:
    """Return the host bytes of loading weights: a copy per rank, or one where only the first rank loads.

    >>> load_bytes(70e9, 4, 8, False)
    2240000000000.0
    """
    return float(params * width * (1 if rank_zero_only else ranks_per_host))
