"""Model states divided over data-parallel ranks: ZeRO stages 0 to 3 and FSDP, in one general form.

Bytes per parameter on a rank = what every rank keeps + what is divided / N. Source of the stages and of Table 1:
Rajbhandari et al., ZeRO (arXiv 1910.02054), sections 3 and 5; DeepSpeed documentation, zero3.
"""

from __future__ import annotations

from rackfit.memory.training.domain import StateBytes

STAGES = (0, 1, 2, 3)
COMPONENT_STAGE = {"weights": 3, "master": 1, "gradients": 2, "accumulation": 2, "optimizer": 1}
"""Component of the state -> stage from which it is divided."""
PARTITIONED = {
    0: "nothing",
    1: "optimizer states",
    2: "optimizer states and gradients",
    3: "optimizer states, gradients and parameters",
}
COMMUNICATION = {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.5}
"""Bytes sent per step relative to plain data parallelism (2 x parameters): stage 3 gathers once more (section 7)."""


def state_shares(state: StateBytes, stage: int, shards: int) -> dict[str, float]:
    """Return bytes per parameter on one rank, by component.

    >>> from rackfit.memory.training.recipes import MIXED_ADAM
    >>> sum(state_shares(MIXED_ADAM, 2, 8).values())
    3.75
    """
    return {
        name: getattr(state, name) / (shards if stage >= divided_from else 1)
        for name, divided_from in COMPONENT_STAGE.items()
    }


def bytes_per_parameter(state: StateBytes, stage: int, shards: int) -> float:
    """Return all bytes per parameter on one rank: 16, 4 + 12/N, 2 + 14/N, 16/N for mixed-precision Adam."""
    return sum(state_shares(state, stage, shards).values())


def reduction(state: StateBytes, stage: int, shards: int) -> float:
    """Return how many times smaller the state is than without sharding; nears 4, 8 and N (ZeRO paper, section 1)."""
    return state.total / bytes_per_parameter(state, stage, shards)


def replicated_bytes(state: StateBytes, stage: int) -> float:
    """Return the bytes per parameter that every rank keeps whole: 16, 4, 2 and 0 for mixed-precision Adam."""
    return sum(getattr(state, name) for name, divided in COMPONENT_STAGE.items() if stage < divided)


def formula(state: StateBytes, stage: int) -> str:
    """Return bytes per parameter on one of N ranks as people write it.

    >>> from rackfit.memory.training.recipes import MIXED_ADAM
    >>> [formula(MIXED_ADAM, stage) for stage in STAGES]
    ['16', '4 + 12/N', '2 + 14/N', '16/N']
    """
    whole = replicated_bytes(state, stage)
    divided = state.total - whole
    return " + ".join(part for part in (f"{whole:.4g}" if whole else "", f"{divided:.4g}/N" if divided else "") if part)


def smallest_count(params: float, state: StateBytes, stage: int, usable: float, limit: int = 2**20) -> int | None:
    """Return the fewest ranks on which the states alone fit `usable` bytes, None where none do.

    >>> from rackfit.memory.training.recipes import MIXED_ADAM
    >>> smallest_count(70e9, MIXED_ADAM, 3, 80e9)
    14
    """
    whole = replicated_bytes(state, stage)
    room = usable - params * whole
    divided = params * (state.total - whole)
    if room <= 0:
        return None
    count = max(1, int(-(-divided // room)))
    return count if count <= limit else None


def explained(params: float, state: StateBytes, shards: int) -> list[dict[str, object]]:
    """Return the table of stages for a model over N ranks: what is divided, bytes, reduction, communication."""
    rows: list[dict[str, object]] = []
    for stage in STAGES:
        each = bytes_per_parameter(state, stage, shards)
        rows.append(
            {
                "stage": stage,
                "partitioned": PARTITIONED[stage],
                "formula": formula(state, stage),
                "bytes_per_parameter": each,
                "bytes_per_device": params * each,
                "reduction": reduction(state, stage, shards),
                "communication": COMMUNICATION[stage],
            }
        )
    return rows


def gathered_bytes(largest_layer: float, outer: float, layers: float, width: float) -> float:
    """Return the bytes of full weights that stage 3 holds at a time: a few layers, and embedding or head.

    Args:
        largest_layer: parameters of the largest layer on this device.
        outer: parameters of the largest unit outside the layers.
        layers: layers alive at a time, prefetch included.
        width: bytes of a gathered value.
    """
    return width * max(layers * largest_layer, outer + max(layers - 1, 0) * largest_layer)


def reduced_bytes(largest_unit: float, width: float) -> float:
    """Return the bytes of the whole gradient of one unit while it is reduced and scattered."""
    return width * largest_unit


def bucket_bytes(elements: float, params: float, width: float = 2.0, buffers: int = 2) -> float:
    """Return the bytes of DeepSpeed's buckets: `buffers` of up to `elements` values (default 5e8)."""
    return width * buffers * min(elements, params)
