"""One training job on devices: bytes per component on the fullest device and on its host, and the verdict.

The peak is the largest of three moments, not the sum of all terms: the loss (states without gradients, kept
activations, logits), the end of the backward pass (all gradients, one layer's work) and the update (gradients and the
optimizer's temporaries). Allocated, reserved and driver-seen bytes are three figures; the verdict is about reserved
bytes plus the driver's context.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.fit.training_held import Held, held_params, layout_of, whole_in_pipeline
from rackfit.fit.training_work import freed_logits, work_of
from rackfit.memory.budget import engine_total
from rackfit.memory.domain import Device
from rackfit.memory.training.domain import Job
from rackfit.memory.training.lora import frozen_bytes, outer_params, trained_params
from rackfit.memory.training.offload import BUFFER_FACTOR, offload_refusal, placed
from rackfit.memory.weights import role_bits

WHOLE_GRADIENT = 4.0
"""Bytes per parameter of gradients that are summed over micro-batches before they are reduced (fp32)."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of one job on its fullest device and host.

    `components` are the parts of the states and of the work, `moments` the three peaks that they make up, `held_at`
    the components of each of them.
    """

    components: dict[str, float]
    moments: dict[str, float]
    held_at: dict[str, dict[str, float]]
    host: dict[str, float]
    stage: int
    allocated: float
    reserved: float
    driver: float
    spread: float
    freeable: float = 0.0
    """Bytes that lie reserved beside these where lengths vary, and that give way before the device is full."""

    @property
    def moment(self) -> str:
        """Name of the moment of the peak."""
        return max(self.moments, key=lambda name: self.moments[name])

    @property
    def host_bytes(self) -> float:
        """Bytes on the host per device of the job."""
        return sum(self.host.values())


def refusal(job: Job) -> str | None:
    """Return why a job cannot run, with the number that forbids it; None where it can."""
    parallel, model = job.parallel, job.anatomy.model
    if parallel.pp > model.n_layers:
        return f"PP {parallel.pp} needs as many layers, the model has {model.n_layers}"
    for heads, kv_heads in job.anatomy.head_counts:
        if heads % parallel.tp:
            return f"TP {parallel.tp} does not divide {heads} attention heads"
        if kv_heads % parallel.tp and parallel.tp % kv_heads:
            return f"TP {parallel.tp} neither divides {kv_heads} KV heads nor is a multiple of them"
    if parallel.ep > 1:
        counts = [group.n_experts for group in model.groups if group.n_experts]
        if not counts:
            return f"EP {parallel.ep} needs experts, the model has none"
        if any(count % parallel.ep for count in counts):
            return f"EP {parallel.ep} does not divide {counts[0]} experts"
        if (parallel.dp * parallel.cp * parallel.tp) % parallel.ep:
            return f"EP {parallel.ep} does not divide {parallel.dp * parallel.cp * parallel.tp} ranks of a stage"
    if job.sequence_length % parallel.cp:
        return f"CP {parallel.cp} does not divide a sequence of {job.sequence_length} tokens"
    return offload_refusal(job.offload, parallel.zero)


def footprint(job: Job) -> Footprint:
    """Return the bytes of a job on its fullest device. The job must pass `refusal`."""
    stages = [_stage(job, number, held) for number, held in enumerate(held_params(job))]
    return max(stages, key=lambda one: one.driver)


def _stage(job: Job, number: int, held: Held) -> Footprint:
    parts, host = _states(job, held)
    parts |= work_of(job, number, held)
    held_at = _moments(job, parts)
    moments = {name: sum(sizes.values()) for name, sizes in held_at.items()}
    allocated = max(moments.values())
    slack = job.rules.reserved_full if job.recompute == "full" else job.rules.reserved
    cached = max(allocated, moments["loss"] + freed_logits(job, number))
    reserved = cached * slack + _beside_main_stream(job, parts, moments)
    varying = 0.0 if job.packed else job.rules.varying * parts["logits"]
    return Footprint(
        parts, moments, held_at, host, number, allocated, reserved, reserved + job.rules.context_bytes,
        job.rules.spread, varying,
    )  # fmt: skip


def _beside_main_stream(job: Job, parts: dict[str, float], moments: dict[str, float]) -> float:
    """Return reserved bytes of gradients that another stream owns and that are not there at the peak itself."""
    early = moments["loss"] >= max(moments.values()) and not job.keeps_gradients and not job.fused_update
    sharded = job.parallel.zero >= 2 and job.parallel.state_shards > 1
    return parts["gradients"] if job.rules.own_streams and early and sharded else 0.0


def _states(job: Job, held: Held) -> tuple[dict[str, float], dict[str, float]]:
    """Return state bytes on the device and on the host, by component."""
    return _adapter_states(job, held) if job.adapter is not None else _full_states(job, held)


def _full_states(job: Job, held: Held) -> tuple[dict[str, float], dict[str, float]]:
    parallel, state, copies = job.parallel, job.recipe.state, job.trained_models
    dense, dense_away = placed(state, parallel.zero, parallel.state_shards, job.offload)
    routed, routed_away = placed(state, parallel.zero, parallel.expert_shards, job.offload)
    parts = {name: copies * (dense[name] * held.dense + routed[name] * held.experts) for name in dense}
    host = {
        name: copies * BUFFER_FACTOR * (dense_away[name] * held.dense + routed_away[name] * held.experts)
        for name in dense_away
    }
    stage = parallel.zero
    kept = "none" if job.offload.optimizer == "none" else job.offload.optimizer
    temporary = state.step if job.rules.step_bytes is None else job.rules.step_bytes
    shards = parallel.state_shards if stage >= 1 else 1
    updated = held.total / shards
    if stage == 3 and job.rules.step_elements:
        updated = min(updated, job.rules.step_elements)
    parts["step"] = 0.0 if kept != "none" else temporary * updated
    if job.rules.unsharded_gradients and stage >= 2 and parallel.dp > 1:
        parts["gradients"] = state.gradients * held.total
    if whole_in_pipeline(job):
        parts["accumulation"] = copies * WHOLE_GRADIENT * held.total
    if state.pageable and kept == "none":
        parts["optimizer"] = 0.0  # lies in managed memory, which the allocator does not count
    parts["extra_models"] = job.extra_models * 2.0 * held.total / (parallel.state_shards if stage == 3 else 1)
    return parts, host


def _adapter_states(job: Job, held: Held) -> tuple[dict[str, float], dict[str, float]]:
    adapter, parallel = job.adapter, job.parallel
    assert adapter is not None
    base = frozen_bytes(job.anatomy, adapter.base, layout_of(job), adapter.upcast_outer)
    if job.rules.unties_head and job.anatomy.model.tied_embeddings:
        bits = role_bits(adapter.base, "head")
        base += job.anatomy.outer_roles.get("embedding", 0) * bits / 8 / parallel.tp
    shards = parallel.state_shards if parallel.zero == 3 else 1
    whole = parallel.tp * parallel.pp
    outer = outer_params(job.anatomy) / whole if adapter.trained_embeddings else 0.0
    trained = max(trained_params(job.anatomy, adapter) / whole - outer, 0.0)
    state, away = placed(adapter.state, parallel.zero, parallel.state_shards, job.offload)
    copies, _ = placed(adapter.embedding_state, parallel.zero, parallel.state_shards, job.offload)
    parts = {name: value * trained + copies[name] * outer for name, value in state.items()}
    if adapter.state.pageable and job.offload.optimizer == "none":
        parts["optimizer"] = copies["optimizer"] * outer  # the rest lies in managed memory, as under full training
    host = {name: value * trained * BUFFER_FACTOR for name, value in away.items()}
    on_host = job.offload.parameters != "none"
    parts["frozen"] = 0.0 if on_host else base / shards
    if on_host:
        host["frozen"] = base / shards
    over = parallel.state_shards if parallel.zero else 1
    temporary = adapter.state.step if job.rules.step_bytes is None else job.rules.step_bytes
    parts["step"] = (temporary * trained + adapter.embedding_state.step * outer) / over
    if job.rules.unsharded_gradients and parallel.zero >= 2 and parallel.dp > 1:
        parts["gradients"] = adapter.base.bits / 8 * held.total
    parts["extra_models"] = job.extra_models * base / shards
    return parts, host


def _moments(job: Job, parts: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return what lies on the device at the loss, at the end of the backward pass and at the update, by component."""
    lasting = {name: parts.get(name, 0.0) for name in ("weights", "master", "optimizer", "frozen", "extra_models")}
    gradients = {name: parts[name] for name in ("gradients", "accumulation")}
    if job.fused_update:
        gradients = {"gradients": parts["reduced"]}
    early = gradients if job.keeps_gradients else {"accumulation": parts["accumulation"]}
    work = {name: parts[name] for name in ("gathered", "buckets", "dequantised")}
    cast = {"cast": parts["cast"]}
    largest = "logits" if parts["logits"] > parts["layer_work"] else "layer_work"
    step = {} if job.fused_update else {"step": parts["step"]}
    return {
        "loss": {**lasting, **early, "activations": parts["activations"], **work, **cast, largest: parts[largest]},
        "backward": {**lasting, **gradients, "layer_work": parts["layer_work"], "reduced": parts["reduced"], **work},
        "update": {**lasting, **gradients, **step, "buckets": parts["buckets"]},
    }


def usable_bytes(device: Device) -> float:
    """Return the bytes of a device that a training process may hold, driver context included."""
    return float(engine_total(device.memory_bytes, device.vendor, device.unified))


def verdict(found: Footprint, device: Device) -> str:
    """Return fits, tight or no: reserved bytes and context against what the device offers."""
    room = usable_bytes(device)
    high = found.driver + found.spread * found.allocated
    unsure = device.memory_spread * room
    if high <= room - unsure:
        return "fits"
    return "tight" if found.driver <= room else "no"


def limit_of(found: Footprint) -> str:
    """Return the largest component at the peak: what binds."""
    counted = {name: value for name, value in found.components.items() if name != "step" or found.moment == "update"}
    return max(counted, key=lambda name: counted[name])
