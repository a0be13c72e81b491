"""From a training case to the jobs that it may mean: one where everything is stated, several where it is not."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from rackfit.accuracy.cases import Case
from rackfit.accuracy.training_models import anatomy_of
from rackfit.accuracy.training_open import left_open, lengths_of
from rackfit.accuracy.training_recipes import PRECISION_AWARE_ADAM, adapter_of, offload_of, recipe_of
from rackfit.accuracy.training_words import (
    Degrees,
    before_sdpa,
    compiles_loss,
    degrees_of,
    drops_of,
    framework_of,
    loss_of,
    method_of,
    recompute_of,
    widens_head_gradient,
)
from rackfit.catalog.context import Context
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.training.domain import Adapter, Job, Parallel, Rules

BATCHES = (1, 1, 4)


@dataclass(frozen=True, slots=True)
class Reading:
    """The jobs that a case may mean, likely first, and what was assumed."""

    jobs: tuple[Job, ...]
    model_id: str
    precision_id: str
    assumed: tuple[str, ...]
    beside: tuple[Job, ...] = ()
    """Jobs that a setting which is not stated leaves open: they widen a figure's range, and decide no verdict."""


def batches_of(case: Case, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the micro-batch for each length."""
    stated = case.number("micro_batch") or case.batch
    if stated:
        return tuple(int(stated) for _ in lengths)
    return BATCHES if len(lengths) > 1 else (1,)


def read_case(connection: sqlite3.Connection, context: Context, case: Case) -> Reading:
    """Return the jobs that a case may mean.

    Raises:
        RackfitError: a name that resolves to nothing, or a layout that cannot run.
    """
    assumed: list[str] = []
    anatomy = anatomy_of(connection, case, assumed)
    rules, note = framework_of(case)
    if note:
        assumed.append(note)
    lengths = lengths_of(case)
    if len(lengths) > 1:
        assumed.append(f"length: {lengths[0]} tokens assumed, {lengths[1]} to {lengths[2]} in the range")
    batches = batches_of(case, lengths)
    if rules.name == "torchtitan" and (case.pp or 1) > 1:
        pieces = int(case.number("pp_microbatches") or case.pp or 1)  # default: as many as stages
        batches = tuple(max(1, batch // pieces) for batch in batches)
    method = method_of(case)
    adapter = adapter_of(context, case, rules, method) if method in ("lora", "qlora") else None
    jobs = tuple(
        _job(case, anatomy, rules, adapter, method, length, batch)
        for length, batch in zip(lengths, batches, strict=True)
    )
    others: tuple[Job, ...] = ()
    if rules.name == "megatron-bridge" and method == "full" and not case.settings.get("optimizer"):
        jobs, others = _by_moments(jobs)
        assumed.append("optimizer: moments in 16 bits with latent attention, else in 32; both are in the range")
    if (
        compiles_loss(case.engine.casefold()) is None
        and rules.name == "torchtitan"
        and rules.loss == "compiled_with_cast"
    ):
        jobs = (*jobs, *(replace(job, loss="full_fp32_ce") for job in jobs if job.loss is None))
        assumed.append("loss: compiled too, as since February 2025; older versions are in the range")
    if any((job.loss or rules.loss) == "fused_linear" for job in jobs) and method == "full":
        widens = widens_head_gradient(case.engine)
        if not widens:
            added = tuple(replace(job, loss="fused_linear_addmm") for job in jobs)
            jobs = added if widens is False else (*added, *jobs)
        if widens is None:
            assumed.append("Liger: head's gradient added in place; 0.6.2 to 0.7 widen it first and are in the range")
    beside = (*others, *left_open(case, jobs, assumed))
    base = adapter.base.precision_id if adapter else "bf16"
    return Reading(jobs, anatomy.model.model_id, base, tuple(assumed), beside)


def _by_moments(jobs: tuple[Job, ...]) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """Return jobs with the moments of Megatron-Bridge's recipe for the model, and those with the other moments.

    Recipes of latent attention (Moonlight, DeepSeek-V3) take the precision-aware optimizer, most others do not.
    """
    latent = any(group.attention == "mla" for group in jobs[0].anatomy.model.groups)
    narrow = tuple(replace(job, recipe=replace(job.recipe, state=PRECISION_AWARE_ADAM)) for job in jobs)
    return (narrow, jobs) if latent else (jobs, narrow)


def _job(
    case: Case, anatomy: Anatomy, rules: Rules, adapter: Adapter | None, method: str, length: int, batch: int
) -> Job:
    """Return the job of a case at one length and micro-batch."""
    degrees = _unstated(case, degrees_of(case), rules, method, anatomy)
    recompute, every = recompute_of(case, rules)
    said = case.settings.get("method", "").casefold()
    trained, frozen = models_of(case, said, adapter is not None, rules.name)
    techniques = case.settings.get("cumulative", "") + case.settings.get("extra", "")
    return Job(
        anatomy,
        recipe_of(case, rules, degrees),
        _parallel(case, degrees, rules, anatomy, length),
        rules,
        length,
        batch,
        recompute,
        flash=fuses_attention(case, rules, anatomy.model.model_id),
        offload=offload_of(case, degrees),
        adapter=adapter,
        loss=loss_of(case, rules, method),
        head_tokens_factor=preference_factor(case, said),
        extra_models=frozen,
        trained_models=trained,
        accumulates=(case.number("grad_accum") or 1) > 1 or (rules.unsharded_gradients and degrees.stage >= 2),
        tiled_mlp=case.settings.get("tiled_mlp") == "true",
        fused_update="opt_in_bwd" in techniques or "optimizer_in_bwd" in techniques,
        checkpoint_every=every,
        drops=drops_of(case),
        packed="true" in (case.settings.get("packed"), case.settings.get("packing"), case.settings.get("padding_free")),
    )


def models_of(case: Case, said: str, adapted: bool, framework: str) -> tuple[float, float]:
    """Return (models that are trained, frozen copies beside them) of a method; adapters have their base as reference.

    PPO trains actor and critic beside reference and reward model, DPO, KTO and GRPO have a reference, unless its
    answers are computed beforehand; `models` names them. ColossalChat's figures leave no room for a critic's states;
    verl's examples keep the reference on the host (ref.fsdp_config.param_offload).
    """
    named = [word for word in case.settings.get("models", "").casefold().split("+") if word]
    if named and framework != "colossalchat":
        trained = sum(word in ("actor", "critic", "policy", "value") for word in named)
        return float(max(1, trained)), float(len(named) - trained)
    if case.settings.get("precompute_ref") == "true":
        return 1.0, 0.0
    if said.startswith("ppo"):
        if framework == "colossalchat":
            return 1.0, 3.0
        return (1.0, 2.0) if adapted else (2.0, 2.0)
    if "verl" in case.engine.casefold():
        return 1.0, 0.0
    with_reference = said.startswith(("dpo", "kto", "grpo")) and not adapted
    return 1.0, 1.0 if with_reference else 0.0


def fuses_attention(case: Case, rules: Rules, model_id: str) -> bool:
    """Return whether attention runs in a fused kernel: as the case says, else as the framework does for the model."""
    said = case.settings.get("attention", "").casefold()
    if said.startswith("eager") or (not said and before_sdpa(case.engine)):
        return False
    return bool(said) or "flash_attn" in case.settings or rules.fuses_attention(model_id)


def _parallel(case: Case, degrees: Degrees, rules: Rules, anatomy: Anatomy, length: int) -> Parallel:
    reshard = case.settings.get("reshard_after_forward") != "never" and "grad_op" not in case.dp_or_zero.casefold()
    return Parallel(
        degrees.dp,
        degrees.tp,
        degrees.pp,
        degrees.cp if length % degrees.cp == 0 else 1,
        degrees.ep if anatomy.has_experts else 1,
        degrees.stage,
        sequence_parallel=rules.name != "colossalchat" and case.settings.get("sp", "").casefold() not in ("false", "0"),
        micro_batches=int(case.number("pp_microbatches") or (case.pp or 8 if rules.name == "torchtitan" else 8)),
        reshard=reshard,
    )


def _unstated(case: Case, degrees: Degrees, rules: Rules, method: str, anatomy: Anatomy) -> Degrees:
    """Return degrees for a Megatron case that states none: experts over all ranks, else full states over all ranks."""
    if (
        (not rules.name.startswith("megatron") and not degrees.distributed_optimizer)
        or case.tp
        or case.pp
        or degrees.ep > 1
    ):
        return degrees
    counts = [group.n_experts for group in anatomy.model.groups if group.n_experts]
    if counts and counts[0] % degrees.devices == 0:
        return replace(degrees, ep=degrees.devices)
    if method == "full" and all(heads % degrees.devices == 0 for heads, _ in anatomy.head_counts):
        return replace(degrees, tp=degrees.devices, dp=1)
    return degrees


def preference_factor(case: Case, said: str) -> float:
    """Return sequences per sample of a micro-batch: two where chosen and rejected answers go through together."""
    if case.number("sequences_per_batch") and case.batch:
        return float(case.number("sequences_per_batch") or 0) / case.batch
    return 2.0 if said.startswith(("dpo", "simpo", "orpo")) else 1.0
