"""Part of a model in RAM: what is left on the devices, what the host must hold, and how fast each tier is read.

Layers or experts in RAM make a model run that no device holds whole, at the speed of the host's memory: such an answer
is a layout of its own and never stands beside one that needs none. On unified memory there is one pool, and nothing
to move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rackfit.fit.cell import Added, Cell, Parts, Question, bind, engine_cache, weight_spread
from rackfit.fit.verdicts import FITS, NO, TIGHT
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import Terms, engine_terms
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.kv_cache import CacheShape, layer_cache
from rackfit.memory.offload import Offload, Tiers, moe_layers, tiers

HOST_FREE_SHARE = 0.1
"""RAM that should stay free: what an operating system and its file cache take is on no record."""


@dataclass(frozen=True, slots=True)
class Host:
    """The machine's own memory, as far as it is known."""

    ram_bytes: float | None
    bandwidth_gb_s: float | None

    def verdict(self, needed: float) -> int | None:
        """Return whether so many bytes fit into RAM; None where its size is not known."""
        if self.ram_bytes is None:
            return None
        if needed > self.ram_bytes:
            return NO
        return FITS if needed <= (1 - HOST_FREE_SHARE) * self.ram_bytes else TIGHT


@dataclass(frozen=True, slots=True)
class Offloaded:
    """The cell of the devices, and what the host holds beside them."""

    cell: Cell
    offload: Offload
    tiers: Tiers
    host_kv: float
    host_workspace: float
    device_kv: float
    """Cache of all devices together, as needed."""

    @property
    def host_needed(self) -> float:
        """Bytes of RAM: weights, cache and compute buffer of what lies there."""
        return self.tiers.host + self.host_kv + self.host_workspace


@dataclass(frozen=True, slots=True)
class Case:
    """A model on one machine whose layers may lie in RAM."""

    anatomy: Anatomy
    precision: Precision
    budget: Budget
    device: Device
    devices: int
    question: Question
    memory: float
    """Bytes that the engine sees on one device."""
    spread: float
    """Relative uncertainty of `memory`."""
    added: Added | None = None

    @property
    def everything(self) -> int:
        """Layers and head: the count at which nothing is offloaded."""
        return self.anatomy.model.n_layers + 1


def evaluate_offload(case: Case, offload: Offload) -> Offloaded:
    """Return the cell of the devices and the needs of the host for one way of offloading."""
    budget, question, layout = case.budget, case.question, Layout(pp=case.devices)
    terms = engine_terms(
        case.anatomy, budget, layout, case.device, case.memory, question.context, question.knobs
    )  # fmt: skip
    placed = tiers(case.anatomy, case.precision, offload, case.devices)
    layers = [
        layer_cache(group, 1, question.kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits)
        for group in case.anatomy.model.groups
    ]
    needs = tuple(_cache(layers, counts) for counts in placed.layers_on)
    stored = needs
    if case.added is not None:
        stored = tuple(own.plus(other) for own, other in zip(needs, case.added.caches, strict=True))
    held = tuple(engine_cache(shape, budget, float(terms.batched_tokens)) for shape in stored)
    extras, doubt = ((), 0.0) if case.added is None else (case.added.extras, case.added.doubt)
    parts = Parts(placed.devices, needs, held, extras, doubt)
    spread = weight_spread(case.precision)
    cell = bind(parts, spread, budget, layout, question, terms, case.spread * case.memory)
    on_host = engine_cache(_cache(layers, placed.layers_on_host), budget, float(terms.batched_tokens))
    return Offloaded(
        cell=_without_devices(cell) if offload.gpu_layers <= 0 else cell,
        offload=offload,
        tiers=placed,
        host_kv=float(on_host.bytes(question.context)) * question.sequences,
        host_workspace=_host_workspace(terms, placed),
        device_kv=sum(float(shape.bytes(question.context)) for shape in needs) * question.sequences,
    )


def _cache(layers: list[CacheShape], counts: tuple[int, ...]) -> CacheShape:
    shape = CacheShape(0.0, ())
    for layer, count in zip(layers, counts, strict=True):
        if count:
            shape = shape.plus(layer.times(count))
    return shape


def _host_workspace(terms: Terms, placed: Tiers) -> float:
    """Return the compute buffer of layers that run on the host: as large as the one of a device."""
    return float(terms.workspace) if any(placed.layers_on_host) else 0.0


def _without_devices(cell: Cell) -> Cell:
    """Return the cell where no layer lies on a device: RAM alone says how long a context may be."""
    return replace(cell, max_context=float("inf"), max_sequences=tuple(float("inf") for _ in cell.max_sequences))


def most_layers(case: Case, experts: int = 0) -> Offloaded:
    """Return the answer with the most layers on devices that still fits; with none of them where none does."""
    return _nearest(case.everything, lambda count: evaluate_offload(case, Offload(case.everything - count, experts)))


def fewest_experts(case: Case) -> Offloaded:
    """Return the answer with the experts of the fewest layers in RAM that fits; of all layers where none does."""
    most = moe_layers(case.anatomy)
    return _nearest(most, lambda count: evaluate_offload(case, Offload(case.everything, count)))


def _nearest(most: int, answer: Callable[[int], Offloaded]) -> Offloaded:
    """Return the answer of the smallest number from 0 to `most` that fits, found by bisection; else the last one."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if answer(middle).cell.verdict == FITS:
            high = middle
        else:
            low = middle + 1
    return answer(low)
