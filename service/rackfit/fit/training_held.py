"""What one device of a training job holds before sharding: parameters of its pipeline stage, by kind."""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.domain import Layout, Precision
from rackfit.memory.stages import stage_counts
from rackfit.memory.training.domain import Job
from rackfit.memory.weights import layer_bytes, outer_bytes, tensor_share

COUNTED = Precision("counted", "fp", 8.0, 8.0, frozenset(), None)
"""A byte per parameter: weight arithmetic then counts parameters."""


@dataclass(frozen=True, slots=True)
class Held:
    """Parameters of one pipeline stage on one device, whole copies before sharding."""

    dense: float
    experts: float
    largest_layer: float
    outer: float
    layers: tuple[int, ...]

    @property
    def total(self) -> float:
        """All parameters on the device."""
        return self.dense + self.experts


def layout_of(job: Job) -> Layout:
    """Return the layout by which whole copies of the weights divide."""
    parallel = job.parallel
    ep = parallel.ep if job.anatomy.has_experts else 1
    return Layout(tp=parallel.tp, pp=parallel.pp, ep=ep)


def held_params(job: Job) -> list[Held]:
    """Return the parameters of each pipeline stage on one device."""
    anatomy, layout = job.anatomy, layout_of(job)
    sizes = layer_bytes(anatomy, COUNTED, layout)
    first, last, tower = outer_bytes(anatomy, COUNTED, layout)
    routed = [
        roles.get("experts", 0) * tensor_share("experts", layout, group.n_kv_heads, group.n_experts)
        for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True)
    ]
    stages = []
    for number, counts in enumerate(stage_counts(anatomy.layer_order, len(sizes), layout.pp)):
        outer = (first if number == 0 else 0.0) + (last if number == layout.pp - 1 else 0.0)
        experts = sum(n * size for n, size in zip(counts, routed, strict=True))
        whole = sum(n * size for n, size in zip(counts, sizes, strict=True))
        largest = max((size for n, size in zip(counts, sizes, strict=True) if n), default=0.0)
        beside = tower if number == 0 else 0.0
        stages.append(Held(whole - experts + outer + beside, experts, largest, outer, counts))
    return stages


def whole_in_pipeline(job: Job) -> bool:
    """Return whether a stage of a pipeline keeps whole weights and gradients from micro-batch to micro-batch."""
    return job.rules.whole_in_pipeline and job.parallel.pp > 1 and job.parallel.zero == 3
