"""A model between device and host memory: whole layers, or the routed experts of the first layers, in RAM.

llama.cpp counts layers from the back: `-ngl N` puts the output head and the last N - 1 layers on devices, so that all
of a model is its layers + 1. `--n-cpu-moe N` keeps the expert tensors of the first N layers in RAM; attention, router,
shared experts and cache stay with their layer. A layer's cache lies where the layer lies, the token embedding always in
RAM. Sources: runtime_rules, terms n_cpu_moe and host_tensors; llama.cpp, src/llama-model.cpp, load_tensors.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Layout, Precision
from rackfit.memory.stages import stage_sizes
from rackfit.memory.weights import outer_bytes, role_bits, table_bytes


@dataclass(frozen=True, slots=True)
class Offload:
    """What stays on devices, in llama.cpp's own counts."""

    gpu_layers: int
    """Layers on devices, counted from the back, the output head as one: layers + 1 is everything."""
    cpu_experts: int
    """First layers of the model whose routed experts lie in RAM."""


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weight bytes of one layer: of its routed experts, and of all the rest."""

    experts: float
    rest: float
    active_share: float
    """Part of the routed experts that one token visits."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """Weight bytes per tier, what one token reads of them, and where the layers (and so their caches) lie."""

    devices: tuple[float, ...]
    host: float
    devices_read: float
    """Bytes of weights on devices that one token reads, all devices together."""
    host_read: float
    layers_on: tuple[tuple[int, ...], ...]
    """Per device, the number of layers of each group."""
    layers_on_host: tuple[int, ...]
    """Number of layers of each group."""


def layer_weights(anatomy: Anatomy, precision: Precision) -> tuple[LayerWeights, ...]:
    """Return the weight bytes of one layer of each group, routed experts apart."""
    found = []
    for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True):
        sizes = {role: count * role_bits(precision, role) / 8 for role, count in roles.items()}
        experts = sizes.pop("experts", 0.0)
        found.append(LayerWeights(experts, sum(sizes.values()), _active_share(group)))
    return tuple(found)


def _active_share(group: LayerGroup) -> float:
    return (group.n_experts_active or 0) / group.n_experts if group.n_experts else 0.0


def moe_layers(anatomy: Anatomy) -> int:
    """Return how many layers from the first on hold all layers with routed experts; 0 without experts."""
    groups = anatomy.model.groups
    return max((at + 1 for at, number in enumerate(anatomy.layer_order) if groups[number].n_experts), default=0)


def tiers(anatomy: Anatomy, precision: Precision, offload: Offload, devices: int = 1) -> Tiers:
    """Return what lies where, with the device layers and the head spread evenly over so many devices, first to last."""
    per_layer, order = layer_weights(anatomy, precision), anatomy.layer_order
    loads, reads = [0.0] * devices, 0.0
    host = host_read = 0.0
    counts = [[0] * len(per_layer) for _ in range(devices)]
    on_host = [0] * len(per_layer)
    first = max(len(order) + 1 - offload.gpu_layers, 0)
    sizes = stage_sizes(max(len(order) - first, 0), devices, head_slot=True)
    homes = [at for at, size in enumerate(sizes) for _ in range(size)]
    for at, number in enumerate(order):
        layer = per_layer[number]
        active = layer.experts * layer.active_share
        if at < first:
            host, host_read = host + layer.experts + layer.rest, host_read + active + layer.rest
            on_host[number] += 1
            continue
        home = homes[at - first]
        counts[home][number] += 1
        loads[home], reads = loads[home] + layer.rest, reads + layer.rest
        if at < offload.cpu_experts:
            host, host_read = host + layer.experts, host_read + active
        else:
            loads[home], reads = loads[home] + layer.experts, reads + active
    embedding, head, tower = outer_bytes(anatomy, precision, Layout())
    tied = embedding - table_bytes(anatomy, precision) if anatomy.model.tied_embeddings else 0.0
    host, host_read = host + embedding, host_read + embedding / max(anatomy.model.vocab_size, 1)
    if offload.gpu_layers > 0:
        loads[-1] += head + tied
        loads[0] += tower
        reads += head + tied
    else:
        host, host_read = host + tower + head, host_read + head + tied
    return Tiers(tuple(loads), host, reads, host_read, tuple(tuple(row) for row in counts), tuple(on_host))
