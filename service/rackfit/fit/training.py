"""One training job on devices: bytes per component on the fullest device and on its host, and the verdict.

The peak is the largest of three moments, not the sum of all terms: the loss (states without gradients, kept
activations, logits), the end of the backward pass (all gradients, one layer's work) and the update (gradients and the
optimizer's temporaries). Allocated, reserved and driver-seen bytes are three figures; the verdict is about reserved
bytes plus the driver's context.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.memory.budget import engine_total
from rackfit.memory.domain import Device, Layout, Precision
from rackfit.memory.stages import stage_counts
from rackfit.memory.training.activations import (
    backward_work,
    checkpoint_kept,
    divided,
    in_flight,
    layer_kept,
    scores_kept,
    scores_work,
    selective_op_kept,
)
from rackfit.memory.training.domain import Job
from rackfit.memory.training.logits import LOSSES, loss_bytes
from rackfit.memory.training.lora import frozen_bytes, outer_params, trained_params
from rackfit.memory.training.offload import BUFFER_FACTOR, offload_refusal, placed
from rackfit.memory.training.sharding import bucket_bytes, gathered_bytes, reduced_bytes
from rackfit.memory.weights import layer_bytes, outer_bytes, role_bits, tensor_share

COUNTED = Precision("counted", "fp", 8.0, 8.0, frozenset(), None)
"""A byte per parameter: weight arithmetic then counts parameters."""
TILE_TOKENS = 8192
"""Tokens of a piece where feed-forward parts are tiled (about the width of the model, ALST paper, section 3)."""

WHOLE_LOSSES = (None, "full_fp32_ce", "full")
"""Losses that a framework replaces by its own where tensor-parallel ranks divide the vocabulary."""
WHOLE_GRADIENT = 4.0
"""Bytes per parameter of gradients that are summed over micro-batches before they are reduced (fp32)."""
TILED_ATTENTION = 26.0
"""Bytes per unit of width of an attention block's backward pass where the feed-forward part is tiled: norm 8, queries,
keys and values with their rotated copies 8, output 2, their gradients 8."""
EXCHANGED = 8.0
"""The same for the copies that ranks exchange where the sequence is divided."""


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
    parts |= _work(job, number, held)
    held_at = _moments(job, parts)
    moments = {name: sum(sizes.values()) for name, sizes in held_at.items()}
    allocated = max(moments.values())
    slack = job.rules.reserved_full if job.recompute == "full" else job.rules.reserved
    reserved = allocated * slack + _beside_main_stream(job, parts, moments)
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
    parts["step"] = 0.0 if kept != "none" else temporary * held.total / shards
    if job.rules.unsharded_gradients and stage >= 2 and parallel.dp > 1:
        parts["gradients"] = state.gradients * held.total
    if _whole_in_pipeline(job):
        parts["accumulation"] = copies * WHOLE_GRADIENT * held.total
    if state.pageable and kept == "none":
        parts["optimizer"] = 0.0  # lies in managed memory, which the allocator does not count
    parts["extra_models"] = job.extra_models * 2.0 * held.total / (parallel.state_shards if stage == 3 else 1)
    return parts, host


def _whole_in_pipeline(job: Job) -> bool:
    """Return whether a stage of a pipeline keeps whole weights and gradients from micro-batch to micro-batch."""
    return job.rules.whole_in_pipeline and job.parallel.pp > 1 and job.parallel.zero == 3


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


def _work(job: Job, number: int, held: Held) -> dict[str, float]:
    """Return the bytes of activations, logits, one layer's work, gathered weights and buckets."""
    parallel, rules = job.parallel, job.rules
    kept, whole_layer = _kept(job, held)
    flights = in_flight(number, parallel)
    carried = kept * flights
    if job.offload.activations:
        carried = min(carried, 2 * _one_checkpoint(job))
    parts = {"activations": carried, "layer_work": whole_layer}
    last = number == parallel.pp - 1
    parts["logits"] = _logits(job) if last else 0.0
    gathered = 0.0
    if parallel.zero == 3 and (parallel.state_shards > 1 or job.offload.parameters != "none"):
        width = rules.gathered_bytes if job.adapter is None else job.adapter.base.bits / 8
        layers = rules.gathered_layers if parallel.reshard and not _whole_in_pipeline(job) else sum(held.layers)
        gathered = gathered_bytes(held.largest_layer, held.outer, layers, width)
        gathered = max(gathered, width * min(held.total, rules.live_elements + held.largest_layer))
    parts["gathered"] = gathered
    parts["dequantised"] = _dequantised(job)
    parts["reduced"] = 0.0
    if job.adapter is None and parallel.zero >= 2 and parallel.state_shards > 1:
        parts["reduced"] = reduced_bytes(max(held.largest_layer, held.outer), rules.reduce_bytes)
    trained = held.total if job.adapter is None else trained_params(job.anatomy, job.adapter)
    sharded = parallel.zero >= 1 or parallel.dp > 1
    parts["buckets"] = bucket_bytes(rules.bucket_elements, trained) if sharded and rules.bucket_elements else 0.0
    return parts


def _dequantised(job: Job) -> float:
    """Return the bytes of the one matrix of a quantised base that is widened for its product."""
    if job.adapter is None or job.adapter.base.bits >= 16:
        return 0.0
    model, base = job.anatomy.model, job.adapter.base
    widest = max(max(group.d_ff or 0, group.moe_d_ff or 0) for group in model.groups)
    rows = widest if "head" in base.high_roles else max(widest, model.vocab_size)
    return job.rules.dequantised_bytes * rows * model.d_model / job.parallel.tp


def _logits(job: Job) -> float:
    model, parallel = job.anatomy.model, job.parallel
    divided_loss = job.rules.split_vocabulary_loss if parallel.tp > 1 and job.loss in WHOLE_LOSSES else None
    loss = LOSSES[divided_loss or job.loss or job.rules.loss]
    train_head = job.adapter is None or job.adapter.trained_embeddings or "head" in job.adapter.targets
    tokens = job.tokens * job.head_tokens_factor
    return loss_bytes(
        loss,
        tokens,
        model.vocab_size,
        model.d_model,
        train_head=train_head,
        ranks=1 if job.rules.whole_logits else parallel.tp,
    )


def _one_checkpoint(job: Job) -> float:
    over = job.parallel.tp if job.parallel.sequence_parallel else 1
    return checkpoint_kept(job.anatomy.model) * job.tokens * job.head_tokens_factor / over


def _kept(job: Job, held: Held) -> tuple[float, float]:
    """Return (activations of one micro-batch that wait for the backward pass, work of one recomputed layer), bytes."""
    model, parallel, tokens = job.anatomy.model, job.parallel, job.tokens * job.head_tokens_factor
    total, work = 0.0, 0.0
    for group, count in zip(model.groups, held.layers, strict=True):
        if not count:
            continue
        parts = layer_kept(model, group, job.rules, job.adapter, job.drops)
        whole = divided(parts, parallel) * tokens
        if not job.flash and job.recompute in ("none", "full", "selective_op"):
            whole += scores_kept(group, job.sequence_length) * tokens / parallel.tp
        transient = backward_work(model, group) * tokens / parallel.tp
        transient += 0.0 if job.flash else scores_work(group, job.sequence_length) * tokens / parallel.tp
        if job.tiled_mlp:
            wide = divided(layer_kept(model, group, job.rules, None), parallel) - divided((parts[0], 0, 0), parallel)
            pieces = min(1.0, TILE_TOKENS / tokens)
            width = TILED_ATTENTION + (EXCHANGED if parallel.cp > 1 else 0.0)
            attention = width * model.d_model * tokens / parallel.tp
            whole, transient = min(whole, attention + pieces * wide * tokens), transient * pieces
        if job.recompute == "full":
            total += count / job.checkpoint_every * _one_checkpoint(job)
            total += count * (1 - 1 / job.checkpoint_every) * whole
            work = max(work, whole + transient)
        elif job.recompute == "selective_op":
            total += count * selective_op_kept(model, group) * tokens / parallel.tp
            work = max(work, whole + transient)
        else:
            total += count * whole
            work = max(work, transient)
    return total, work


def _moments(job: Job, parts: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return what lies on the device at the loss, at the end of the backward pass and at the update, by component."""
    lasting = {name: parts.get(name, 0.0) for name in ("weights", "master", "optimizer", "frozen", "extra_models")}
    gradients = {name: parts[name] for name in ("gradients", "accumulation")}
    if job.fused_update:
        gradients = {"gradients": parts["reduced"]}
    early = gradients if job.keeps_gradients else {"accumulation": parts["accumulation"]}
    work = {name: parts[name] for name in ("gathered", "buckets", "dequantised")}
    largest = "logits" if parts["logits"] > parts["layer_work"] else "layer_work"
    step = {} if job.fused_update else {"step": parts["step"]}
    return {
        "loss": {**lasting, **early, "activations": parts["activations"], **work, largest: parts[largest]},
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
