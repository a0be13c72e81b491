"""Names for what makes a printed figure differ from its estimate.

A cause is named where a printed figure lies outside the range of its estimate. It is the likeliest one that the
configuration allows, computed from what the log says, and said as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rackfit.intake.log_configuration import Configuration
from rackfit.intake.logs.parsed import COMPONENTS, Log
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Budget

NEAR = 0.05
"""Two differences within this share of one another are taken for the same."""


@dataclass(frozen=True)
class Facts:
    """What causes are named from."""

    log: Log
    configuration: Configuration
    budget: Budget | None
    uniform: bool | None
    """Whether every layer keeps every token at one rate; None where the model is not known."""
    differences: Mapping[str, float]
    """Component -> printed minus predicted, bytes."""


def cause(component: str, facts: Facts) -> str | None:
    """Return a name for the difference of one component."""
    namer = _CAUSES.get(component)
    return namer(facts) if namer is not None else None


def _weights(facts: Facts) -> str:
    over = facts.differences.get("weights", facts.differences.get("consumed", 0)) > 0
    if facts.log.engine in ("llama.cpp", "Ollama"):
        return "other types of single tensors than this file type's usual mix"
    if over and facts.configuration.shown.get("precision") in ("bf16", "fp16"):
        return "more than the language model is loaded: towers, extra heads, a draft model or adapters"
    if over:
        return "the kernel's own layout: packed or padded weights, or tensors that the checkpoint keeps in 16 bits"
    return "fewer bytes than the precision assumed: more tensors are quantised, or the layout is divided further"


def _consumed(facts: Facts) -> str:
    return f"weights and library memory in one figure; {_weights(facts)}"


def _activation(facts: Facts) -> str:
    unknown = [
        option
        for option, name in (
            ("--max-batched-tokens", "max_num_batched_tokens"),
            ("--max-sequences", "max_num_seqs"),
        )
        if name not in facts.configuration.settings
    ]
    if unknown:
        return f"batched tokens and sequence limit are this version's defaults here; give {' and '.join(unknown)}"
    return "the profile run's path of sampler or attention differs from the one on record for this version"


def _non_torch(facts: Facts) -> str:
    if facts.budget is not None and facts.budget.engine == "V0":
        return "V0 counts the driver context of the process as non-torch memory"
    return "collective buffers, or memory of other processes on the device"


def _graphs(facts: Facts) -> str:
    if facts.budget is not None and not facts.budget.graphs_in_budget:
        return "graphs outside the budget in this version; their size follows from the capture sizes"
    return "capture sizes: graphs grow with the largest captured batch"


def _estimated_graphs(facts: Facts) -> str:
    return "the engine's own estimate before capture, charged to the budget; the pool would gain the difference"


def _pool(facts: Facts) -> str:
    known = ("weights", "consumed", "activation", "non_torch")
    others = {name: facts.differences[name] for name in known if name in facts.differences}
    difference = facts.differences["kv_pool"]
    workspace = facts.log.bound("workspace") or 0
    if workspace and abs(difference + workspace) < NEAR * workspace:
        return f"the workspace buffer, {workspace / GIB:.2f} GiB, was taken out of what is left for the pool"
    if others:
        name = max(others, key=lambda key: abs(others[key]))
        if others[name] * difference < 0 and abs(others[name]) > abs(difference) / 3:
            return f"follows from {COMPONENTS[name][0]}, {_signed(others[name])} against the estimate"
    settings = facts.configuration.settings
    if "gpu_memory_utilization" not in settings and "mem_fraction_static" not in settings:
        return "the share of memory is not printed: this version's default is used; give --utilization"
    if facts.log.engine == "vLLM" and "activation" not in facts.differences:
        return "activation peak and sequence limit are not printed: this version's defaults are used"
    return "memory that was not free at the start: other processes on the device"


def _cache(facts: Facts) -> str:
    if facts.uniform is False:
        return "windowed or recurrent layers: cells by slots and micro-batch differ from the defaults used"
    return "cells beyond the context asked for, or another cache format than the one read"


def _compute(facts: Facts) -> str:
    return "without flash attention the score matrix grows with the context; images and other parts add their own"


def _signed(size: float) -> str:
    return f"{size / GIB:+.2f} GiB"


def _free(facts: Facts) -> str:
    return "other processes, or a driver context of another size than the 0.5 GiB on record"


def _host_weights(facts: Facts) -> str:
    return "the embedding has a type of its own in this file, or parts of a draft or vision model lie beside it"


_CAUSES: dict[str, Callable[[Facts], str]] = {
    "weights": _weights,
    "weights_host": _host_weights,
    "consumed": _consumed,
    "activation": _activation,
    "compute": _compute,
    "non_torch": _non_torch,
    "graphs": _graphs,
    "graphs_estimated": _estimated_graphs,
    "kv_pool": _pool,
    "kv": _cache,
    "kv_needed": _cache,
    "device_free": _free,
    "free_after_load": _free,
}
