"""From a training case to the jobs that it may mean: one where everything is stated, several where it is not."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, replace

from rackfit.accuracy.cases import Case
from rackfit.accuracy.training_models import anatomy_of
from rackfit.accuracy.training_open import left_open, lengths_of
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
from rackfit.memory.domain import Precision
from rackfit.memory.training.domain import Adapter, Job, Offload, Parallel, Recipe, Rules, StateBytes
from rackfit.memory.training.lora import DEFAULT_TARGETS, WIDE_TARGETS, read_targets
from rackfit.memory.training.recipes import (
    ADAPTER_BF16,
    ADAPTER_FP32,
    BF16_ADAM,
    FP32_ADAM,
    MIXED_ADAM,
    with_optimizer,
)

BATCHES = (1, 1, 4)
MEGATRON_ADAM = StateBytes(2, 4, 4, 0, 8)
"""bf16 weights, fp32 main gradients, fp32 master and moments (Megatron-Core, distributed optimizer: 6 + 12/d)."""
PRECISION_AWARE_ADAM = StateBytes(2, 4, 2, 0, 4)
"""The same with gradients and moments in bf16 (Megatron-Core, use_precision_aware_optimizer)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The jobs that a case may mean, likely first, and what was assumed."""

    jobs: tuple[Job, ...]
    model_id: str
    precision_id: str
    assumed: tuple[str, ...]
    beside: tuple[Job, ...] = ()
    """Jobs that a setting which is not stated leaves open: they widen a figure's range, and decide no verdict."""


def base_precision(context: Context, case: Case, method: str) -> Precision:
    """Return the precision of a frozen base: as the case says, 16 bits else."""
    said = case.precision.casefold()
    if method != "qlora":
        return context.precisions["bf16"]
    if "int8" in said:
        names: tuple[str, ...] = ("bnb_llm_int8",)
    elif "gptq" in said or "int4" in said or "int4" in case.settings.get("method", "").casefold():
        names = ("gptq_int4_g128",)
    else:
        names = ("bnb_nf4_double",) if "dq" in said or "double" in said else ("bnb_nf4",)
    for name in names:
        if name in context.precisions:
            return context.precisions[name]
    return next(one for key, one in sorted(context.precisions.items()) if key.startswith(("nf4", "bnb_nf4")))


def adapter_of(context: Context, case: Case, rules: Rules, method: str) -> Adapter:
    """Return the adapters of a case under its framework's defaults of rank, targets and dtype."""
    said = case.settings.get("method", "").casefold()
    base = base_precision(context, case, method)
    targets = read_targets(case.settings.get("targets", ""))
    rank = int(case.number("rank") or 0)
    wide = rules.name in ("qwen", "deepspeed", "unsloth", "axolotl", "transformers", "ms-swift")
    if rules.name == "qwen":
        rank = rank or 64
    trained = case.number("trainable")
    bitsandbytes = method == "qlora" and rules.name in ("litgpt",)
    low = rules.name in ("litgpt", "torchtune", "fsdp_qlora", "unsloth")
    if method == "qlora" and rules.name == "litgpt":
        base = replace(base, high_roles=frozenset(base.high_roles - {"head"}))
    if method == "qlora" and rules.name == "torchtune" and targets:
        base = _quantised_where_adapted(base, targets)
    prompts = "adapter" in said or said in PROMPTS
    return Adapter(
        rank or 8,
        frozenset() if prompts else targets or (WIDE_TARGETS if wide else DEFAULT_TARGETS),
        ADAPTER_BF16 if low else ADAPTER_FP32,
        base,
        dora="dora" in said,
        trained_embeddings="embedding" in said,
        trained=int(trained) if trained else None,
        dropout=rules.name in ("litgpt", "qwen", "fsdp_qlora", "deepspeed"),
        upcast_outer=method == "qlora" and rules.name in ("qwen", "transformers", "deepspeed", "axolotl", "ms-swift"),
        saves_inputs=bitsandbytes,
        saves_outputs="adapter_v2" in said,
    )


def _quantised_where_adapted(base: Precision, targets: frozenset[str]) -> Precision:
    """Return the base of a stack that quantises adapted matrices alone (torchtune); others keep 16 bits."""
    pairs = {"attention_qo": ("q", "o"), "attention_kv": ("k", "v"), "ffn": ("gate", "up", "down")}
    bits = tuple(
        (role, base.bits + (16 - base.bits) * (1 - len(targets.intersection(names)) / len(names)))
        for role, names in pairs.items()
    )
    return replace(base, role_bits=bits)


PROMPTS = frozenset(
    {"ln-tuning", "prefix-tuning", "prompt-tuning", "p-tuning", "p-tuning-v2", "trainable-tokens", "tinylora"}
)


def recipe_of(case: Case, rules: Rules, degrees: Degrees) -> Recipe:
    """Return the recipe of a full run: the framework's, unless the case says otherwise."""
    said = case.precision.casefold()
    state = {
        "torchtune": BF16_ADAM,
        "litgpt": BF16_ADAM,
        "peft": BF16_ADAM,
        "torchtitan": FP32_ADAM,
        "nemo-automodel": BF16_ADAM,
        "megatron": MEGATRON_ADAM,
        "megatron-bridge": MEGATRON_ADAM,
        "llm-foundry": FP32_ADAM,
        "axolotl": BF16_ADAM,
        "unsloth": BF16_ADAM,
        "ms-swift": BF16_ADAM,
        "mlx": BF16_ADAM,
    }.get(rules.name, MIXED_ADAM)
    if degrees.distributed_optimizer:
        state = MEGATRON_ADAM
    elif "weights, grads and states" in said:
        state = BF16_ADAM
    elif rules.name in ("transformers", "liger"):
        state = BF16_ADAM if "pure" in said else FP32_ADAM
    elif rules.name == "llm-foundry" and case.settings.get("mixed_precision") == "PURE":
        state = BF16_ADAM
    if state == MEGATRON_ADAM and reduces_in_16_bits(case, rules):
        state = MIXED_ADAM
    compute = 4.0 if re.fullmatch(r"fp32|float32", said) and rules.name != "torchtitan" else 2.0
    recipe = Recipe(f"{rules.name}-full", f"{rules.name}'s full recipe", state, compute_bytes=compute)
    named = optimizer_named(case.settings.get("optimizer", ""))
    single = degrees.devices == 1 and rules.name == "torchtune" and "cumulative" not in case.settings
    if single or "paged 8bit" in case.settings.get("extra", ""):
        recipe = with_optimizer(recipe, "paged_adamw_8bit")  # torchtune's single-device configurations
    elif "adamw8bit" in case.settings.get("cumulative", ""):
        recipe = with_optimizer(recipe, "adamw_8bit")
    elif named is not None:
        recipe = with_optimizer(recipe, named)
    return recipe


def reduces_in_16_bits(case: Case, rules: Rules) -> bool:
    """Return whether Megatron keeps its gradients in 16 bits: as stated, else as Megatron-Bridge's own recipes do.

    Its performance recipes set grad_reduce_in_fp32 = False (perf_recipes/_common.py); Megatron-LM accumulates in fp32.
    """
    stated = case.settings.get("grad_reduce", "").casefold()
    return stated == "bf16" or (not stated and rules.name == "megatron-bridge")


OPTIMIZERS = (
    ("adafactor", "adafactor"), ("muon", "muon"), ("momentum", "sgd_momentum"), ("sgd", "sgd"), ("lomo", "sgd"),
)  # fmt: skip
"""Word in an optimizer's name -> name whose states it has, where no width is said."""


def optimizer_named(text: str) -> str | None:
    """Return the optimizer whose states replace the recipe's, None for Adam as the recipe has it."""
    said = text.casefold().replace(" ", "_").replace("-", "_")
    if "8bit" in said:
        return "lion_8bit" if "lion" in said else "paged_adamw_8bit" if "paged" in said else "adamw_8bit"
    if "4bit" in said:
        return "adamw_4bit"
    if "paged" in said:
        return "paged_adamw_32bit"
    if "lion" in said:
        return "lion"
    return next((name for word, name in OPTIMIZERS if word in said), None)


def offload_of(case: Case, degrees: Degrees) -> Offload:
    """Return what a case moves to the host: parameter offload of FSDP moves the optimizer with it."""
    settings, techniques = case.settings, case.settings.get("cumulative", "") + case.settings.get("extra", "")
    optimizer = settings.get("offload_optimizer", "none")
    parameters = settings.get("offload_param", "none")
    both = settings.get("offload", "") or settings.get("cpu_offload", "")
    if both in ("cpu", "true") or "CPU offload" in techniques:
        optimizer = parameters = "cpu"
    if parameters in ("cpu", "nvme") and degrees.stage == 3 and optimizer == "none":
        optimizer = parameters
    if parameters != "none" and degrees.stage != 3:
        parameters = "none"
    activations = settings.get("act_offload", "none") in ("true", "cpu") or "act_offload" in techniques
    activations = activations or techniques.startswith("all") or settings.get("act_ckpt") == "unsloth"
    return Offload(optimizer, parameters, activations, case.number("offload_ratio") or 1.0)


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
