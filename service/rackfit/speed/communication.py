"""What devices have to tell each other, and how long it takes over a link.

Costs follow the usual algorithms over n devices (Thakur et al., Optimization of Collective Communication Operations
in MPICH, 2005; NCCL's documentation): an all-reduce moves 2 (n - 1) / n of the data per device and direction, an
all-gather or reduce-scatter half of that, an all-to-all (n - 1) / n. Steps: over a ring one per hop; where every
device reaches every other directly (a switch, a full mesh), one for each half.

Efficiency of a strategy = compute / (compute + communication), with no overlap assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.elementwise import Number, choose

DIRECT = frozenset({"switched", "full mesh", "pair"})
"""Topologies in which every device reaches every other in one step."""
GB, US = 1e9, 1e-6
ACTIVATION_BYTES = 2
"""Bytes of an activation that is passed on: 16 bits."""


class Wire(Protocol):
    """What the costs below know of a link: one link, or arrays of many."""

    @property
    def effective_gb_s(self) -> Number:
        """Rate of one device and direction while all of them send."""
        ...

    @property
    def latency_us(self) -> Number:
        """Time of one step."""
        ...

    def steps(self, devices: Number) -> Number:
        """Return the steps of a reduce-scatter or an all-gather."""
        ...


@dataclass(frozen=True, slots=True)
class Link:
    """What one device gets of the link between the devices of a group."""

    name: str
    topology: str
    """switched | full mesh | pair | ring | torus | PCIe tree | network."""
    per_direction_gb_s: float
    """Printed rate of one device and direction."""
    sharing: int
    """Devices that share that rate: two on one PCIe uplink, all of a node on its NICs."""
    latency_us: float
    """Time of one step, by the class that the link's record names."""
    basis: str
    """Where the figures come from, in words."""

    @property
    def effective_gb_s(self) -> float:
        """Rate of one device and direction while all of them send."""
        return self.per_direction_gb_s / self.sharing

    @property
    def direct(self) -> bool:
        """Whether every device reaches every other in one step."""
        return self.topology in DIRECT

    def steps(self, devices: int) -> int:
        """Return the steps of a reduce-scatter or an all-gather."""
        return 1 if self.direct else devices - 1


@dataclass(frozen=True, slots=True)
class Links:
    """The links of many configurations: arrays in their order. An infinite rate without latency: nothing is charged."""

    effective_gb_s: Number
    latency_us: Number
    direct: Number

    def steps(self, devices: Number) -> Number:
        """Return the steps of a reduce-scatter or an all-gather."""
        return choose(self.direct, 1, devices - 1)


def all_reduce_s(size: Number, devices: Number, link: Wire) -> Number:
    """Return the seconds of an all-reduce of `size` bytes per device: a reduce-scatter, then an all-gather."""
    return reduce_scatter_s(size, devices, link) + all_gather_s(size, devices, link)


def all_gather_s(size: Number, devices: Number, link: Wire) -> Number:
    """Return the seconds after which every device has all of `size` bytes, of which each held an equal part."""
    share = (devices - 1) / devices
    spent = share * size / GB / link.effective_gb_s + link.steps(devices) * link.latency_us * US
    return choose(devices > 1, spent, 0.0)


def reduce_scatter_s(size: Number, devices: Number, link: Wire) -> Number:
    """Return the seconds after which every device has its part of the sum of `size` bytes."""
    return all_gather_s(size, devices, link)


def all_to_all_s(size: Number, devices: Number, link: Wire) -> Number:
    """Return the seconds in which every device sends an equal part of its `size` bytes to every other."""
    return all_gather_s(size, devices, link)


def send_s(size: Number, link: Wire) -> Number:
    """Return the seconds in which one device passes `size` bytes to the next."""
    return size / GB / link.effective_gb_s + link.latency_us * US


def tensor_parallel_s(anatomy: Anatomy, tokens: Number, degree: Number, link: Wire) -> Number:
    """Return the seconds of one pass that tensor parallelism spends: two all-reduces per layer of tokens x d x 2 bytes.

    One after attention, one after the feed-forward part (Megatron-LM, arXiv 1909.08053, section 3).
    """
    return 2 * anatomy.n_layers * all_reduce_s(tokens * anatomy.model.d_model * ACTIVATION_BYTES, degree, link)


def pipeline_s(anatomy: Anatomy, tokens: Number, degree: Number, link: Wire) -> Number:
    """Return the seconds of one pass that a pipeline spends: tokens x d x 2 bytes over each boundary."""
    return (degree - 1) * send_s(tokens * anatomy.model.d_model * ACTIVATION_BYTES, link)


def expert_parallel_s(anatomy: Anatomy, tokens: Number, degree: Number, link: Wire) -> Number:
    """Return the seconds of one pass that expert parallelism spends: each layer with experts sends tokens and back.

    Every rank holds tokens / n of the batch and sends each of its tokens to k experts, of which (n - 1) / n are
    elsewhere; the results come back (GShard, arXiv 2006.16668, section 3).
    """
    model = anatomy.model
    width = model.moe_latent_dim or model.d_model
    total: Number = 0.0
    for group in model.groups:
        if group.n_experts and group.n_experts_active:
            size = tokens / degree * group.n_experts_active * width * ACTIVATION_BYTES
            total = total + group.count * 2 * all_to_all_s(size, degree, link)
    return total


def bytes_per_token(anatomy: Anatomy, strategy: str, degree: int) -> float:
    """Return the bytes that one token costs one device's link in one direction: TP, PP (a boundary), EP; else 0."""
    model, parts = anatomy.model, (degree - 1) / degree
    if degree == 1 or strategy not in ("TP", "PP", "EP"):
        return 0.0
    size = model.d_model * ACTIVATION_BYTES
    if strategy == "PP":
        return float(size)
    if strategy == "TP":
        return 2 * model.n_layers * 2 * parts * size
    width = (model.moe_latent_dim or model.d_model) * ACTIVATION_BYTES
    visits = sum(group.count * (group.n_experts_active or 0) for group in model.groups if group.n_experts)
    return 2 * parts * visits * width / degree


def efficiency(compute_s: float, communication_s: float) -> float:
    """Return compute / (compute + communication): the share of time that devices compute, with no overlap.

    >>> efficiency(19.0, 1.0)
    0.95
    """
    return compute_s / (compute_s + communication_s) if compute_s + communication_s else 1.0
