"""Bytes that a training step works with beside its states: activations, logits, gathered weights, buckets, casts."""

from __future__ import annotations

from rackfit.fit.training_held import Held, whole_in_pipeline
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
from rackfit.memory.training.logits import LOSSES, Loss, freed_bytes, loss_bytes
from rackfit.memory.training.lora import trained_params
from rackfit.memory.training.sharding import bucket_bytes, gathered_bytes, reduced_bytes

TILE_TOKENS = 8192
"""Tokens of a piece where feed-forward parts are tiled (about the width of the model, ALST paper, section 3)."""
WHOLE_LOSSES = (None, "full_fp32_ce", "full")
"""Losses that a framework replaces by its own where tensor-parallel ranks divide the vocabulary."""
TILED_ATTENTION = 26.0
"""Bytes per unit of width of an attention block's backward pass where the feed-forward part is tiled: norm 8, queries,
keys and values with their rotated copies 8, output 2, their gradients 8."""
EXCHANGED = 8.0
"""The same for the copies that ranks exchange where the sequence is divided."""


def work_of(job: Job, number: int, held: Held) -> dict[str, float]:
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
        layers = rules.gathered_layers if parallel.reshard and not whole_in_pipeline(job) else sum(held.layers)
        gathered = gathered_bytes(held.largest_layer, held.outer, layers, width)
        gathered = max(gathered, width * min(held.total, rules.live_elements + held.largest_layer))
    parts["gathered"] = gathered
    parts["dequantised"] = _dequantised(job)
    parts["reduced"] = 0.0
    if job.adapter is None and parallel.zero >= 2 and parallel.state_shards > 1:
        parts["reduced"] = reduced_bytes(max(held.largest_layer, held.outer), rules.reduce_bytes)
    parts["buckets"] = _buckets(job, held)
    parts["cast"] = _cast_weights(job, held)
    return parts


def _buckets(job: Job, held: Held) -> float:
    """Return the bytes of buckets in which gradients are reduced.

    Plain data parallelism of torch copies every gradient into a bucket of its own (gradient_as_bucket_view is off).
    """
    parallel, rules = job.parallel, job.rules
    trained = held.total if job.adapter is None else trained_params(job.anatomy, job.adapter)
    if rules.bucket_elements:
        sharded = parallel.zero >= 1 or parallel.dp > 1
        return bucket_bytes(rules.bucket_elements, trained) if sharded else 0.0
    state = job.recipe.state if job.adapter is None else job.adapter.state
    return state.gradients * trained if rules.copies_gradients and parallel.zero == 0 and parallel.dp > 1 else 0.0


def _cast_weights(job: Job, held: Held) -> float:
    """Return the bytes of 16-bit copies that autocast makes of fp32 weights and the backward pass still needs."""
    return 2.0 * held.total if _autocasts(job) and job.parallel.zero != 3 else 0.0


def _autocasts(job: Job) -> bool:
    """Return whether operations cast weights that are kept in 32 bits."""
    widened = job.recipe.state.weights == 4 and job.recipe.compute_bytes == 2
    return job.rules.autocasts and job.adapter is None and widened


def _dequantised(job: Job) -> float:
    """Return the bytes of the one matrix of a quantised base that is widened for its product."""
    if job.adapter is None or job.adapter.base.bits >= 16:
        return 0.0
    model, base = job.anatomy.model, job.adapter.base
    widest = max(max(group.d_ff or 0, group.moe_d_ff or 0) for group in model.groups)
    rows = widest if "head" in base.high_roles else max(widest, model.vocab_size)
    return job.rules.dequantised_bytes * rows * model.d_model / job.parallel.tp


def _loss(job: Job) -> Loss:
    divided_loss = job.rules.split_vocabulary_loss if job.parallel.tp > 1 and job.loss in WHOLE_LOSSES else None
    return LOSSES[divided_loss or job.loss or job.rules.loss]


def _vocabulary_ranks(job: Job) -> int:
    return 1 if job.rules.whole_logits else job.parallel.tp


def _logits(job: Job) -> float:
    model = job.anatomy.model
    train_head = job.adapter is None or job.adapter.trained_embeddings or "head" in job.adapter.targets
    return loss_bytes(
        _loss(job),
        job.tokens * job.head_tokens_factor,
        model.vocab_size,
        model.d_model,
        train_head=train_head,
        ranks=_vocabulary_ranks(job),
    )


def freed_logits(job: Job, number: int) -> float:
    """Return the bytes of copies of logits that are gone and still reserved, on the last stage of a pipeline."""
    if number != job.parallel.pp - 1:
        return 0.0
    tokens = job.tokens * job.head_tokens_factor
    return freed_bytes(_loss(job), tokens, job.anatomy.model.vocab_size, _vocabulary_ranks(job))


def _width(job: Job) -> float:
    """Return bytes of an activation relative to the 16 bits that the terms count."""
    return job.recipe.compute_bytes / 2


def _one_checkpoint(job: Job) -> float:
    over = job.parallel.tp if job.parallel.sequence_parallel else 1
    return _width(job) * checkpoint_kept(job.anatomy.model) * job.tokens * job.head_tokens_factor / over


def _kept(job: Job, held: Held) -> tuple[float, float]:
    """Return (activations of one micro-batch that wait for the backward pass, work of one recomputed layer), bytes."""
    model, parallel, tokens = job.anatomy.model, job.parallel, job.tokens * job.head_tokens_factor
    total, work = 0.0, 0.0
    for group, count in zip(model.groups, held.layers, strict=True):
        if not count:
            continue
        parts = layer_kept(model, group, job.rules, job.adapter, job.drops)
        whole = _width(job) * divided(parts, parallel) * tokens
        if not job.flash and job.recompute in ("none", "full", "selective_op"):
            whole += _width(job) * scores_kept(group, job.sequence_length, _autocasts(job)) * tokens / parallel.tp
        transient = _width(job) * backward_work(model, group) * tokens / parallel.tp
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
