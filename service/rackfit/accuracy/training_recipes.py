"""What a training case trains with: recipe and optimizer, adapters on a frozen base, and what lies on the host."""

from __future__ import annotations

import re
from dataclasses import replace

from rackfit.accuracy.cases import Case
from rackfit.accuracy.training_words import (
    Degrees,
)
from rackfit.catalog.context import Context
from rackfit.memory.domain import Precision
from rackfit.memory.training.domain import Adapter, Offload, Recipe, Rules, StateBytes
from rackfit.memory.training.lora import DEFAULT_TARGETS, WIDE_TARGETS, read_targets
from rackfit.memory.training.recipes import (
    ADAPTER_BF16,
    ADAPTER_FP32,
    BF16_ADAM,
    FP32_ADAM,
    MIXED_ADAM,
    with_optimizer,
)

MEGATRON_ADAM = StateBytes(2, 4, 4, 0, 8)
"""bf16 weights, fp32 main gradients, fp32 master and moments (Megatron-Core, distributed optimizer: 6 + 12/d)."""
PRECISION_AWARE_ADAM = StateBytes(2, 4, 2, 0, 4)
"""The same with gradients and moments in bf16 (Megatron-Core, use_precision_aware_optimizer)."""


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
