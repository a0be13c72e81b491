"""The words of a training case: framework, method, sharding, recompute, offload. No arithmetic."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rackfit.accuracy.cases import Case
from rackfit.memory.training import overheads
from rackfit.memory.training.domain import Rules

FRAMEWORKS = (
    ("qwen-vl", overheads.QWEN),
    ("qwen finetune", overheads.QWEN),
    ("litgpt", overheads.LITGPT),
    ("torchtune", overheads.TORCHTUNE),
    ("torchtitan", overheads.TORCHTITAN),
    ("fsdp_qlora", overheads.FSDP_QLORA),
    ("colossal", overheads.COLOSSAL),
    ("megatron-bridge", overheads.MEGATRON_BRIDGE),
    ("megatron bridge", overheads.MEGATRON_BRIDGE),
    ("megatron", overheads.MEGATRON),
    ("arctictraining", overheads.ALST),
    ("alst", overheads.ALST),
    ("axolotl", overheads.AXOLOTL),
    ("unsloth", overheads.UNSLOTH),
    ("llm-foundry", overheads.LLM_FOUNDRY),
    ("nemo", overheads.NEMO),
    ("mlx", overheads.MLX),
    ("swift", overheads.MS_SWIFT),
    ("fsdp", overheads.TRANSFORMERS),
    ("deepspeed", overheads.DEEPSPEED),
    ("xtuner", overheads.DEEPSPEED),
    ("peft", overheads.PEFT),
    ("liger", overheads.TRANSFORMERS),
    ("transformers", overheads.TRANSFORMERS),
)
"""Word in the engine's name -> rules."""
CHECKPOINTED = frozenset({"qwen", "fsdp_qlora", "unsloth", "alst", "deepspeed", "torchtune", "ms-swift"})
"""Frameworks whose own recipes recompute whole layers unless told otherwise."""
LOSS_WORDS = (
    ("cut", "cut"),
    ("cce", "cut"),
    ("liger", "fused_linear"),
    ("fused", "fused_linear"),
    ("chunked_ce128", "chunked_128"),
    ("chunk1024", "chunked_1024"),
    ("chunked_nll", "chunked_256"),
    ("chunked", "chunked"),
    ("full_logits_bf16", "bf16"),
    ("full_bf16", "bf16"),
    ("full_logits_fp32", "full_fp32_ce"),
    ("full_logits", "full"),
)


@dataclass(frozen=True, slots=True)
class Degrees:
    """How a case spreads its job."""

    stage: int
    devices: int
    dp: int
    tp: int
    pp: int
    cp: int
    ep: int
    distributed_optimizer: bool = False


def framework_of(case: Case) -> tuple[Rules, str | None]:
    """Return the rules of the case's framework, and what was assumed where it names none."""
    said = f"{case.engine} {case.settings.get('stack', '')} {case.settings.get('framework', '')}".casefold()
    for word, rules in FRAMEWORKS:
        if word in said:
            return _reserving(case, _variant(case, rules, said)), None
    if case.dp_or_zero.casefold().startswith("zero"):
        return _reserving(case, overheads.DEEPSPEED), "framework: rules of DeepSpeed assumed"
    return _reserving(case, overheads.TRANSFORMERS), "framework: rules of Transformers assumed"


WHOLE_SEGMENTS = 1.02
"""Reserved per allocated byte with expandable segments, which leave no holes (torch, notes on CUDA memory)."""


def _reserving(case: Case, rules: Rules) -> Rules:
    """Return the rules with what a case says of the allocator and the driver."""
    if case.settings.get("expandable_segments", "").casefold() in ("true", "1"):
        rules = replace(
            rules,
            reserved=min(rules.reserved, WHOLE_SEGMENTS),
            reserved_full=min(rules.reserved_full, WHOLE_SEGMENTS),
            varying=0.0,
        )
    context = case.number("cuda_context_mib")
    return rules if context is None else replace(rules, context_bytes=round(context * 2**20))


SHARDED_SPREAD = 0.28
"""litgpt's figures under FSDP: 19 % below to 26 % above, one device 12 % (resource tables, configuration comments)."""
EXPERTS_SPREAD, EXPERTS_SPREAD_HIGH = 0.3, 0.6
"""torchtitan with experts or under its graph trainer: buffers of dispatch and of captured graphs are not counted."""


def _variant(case: Case, rules: Rules, said: str) -> Rules:
    if rules.name == "ms-swift" and case.dp_or_zero.casefold().startswith("zero"):
        rules = overheads.DEEPSPEED
    if case.settings.get("liger") == "true" and rules.name in ("deepspeed", "ms-swift"):
        return replace(rules, loss="fused_linear", norm_kept=4.0, gated_tensors=2.0, varying=0.0)
    if case.settings.get("liger") == "true":
        return replace(overheads.LIGER, prints=rules.prints)
    techniques = case.settings.get("cumulative", "")
    fused = (
        case.settings.get("compile", "false") not in ("false", "")
        or "compile" in techniques
        or techniques.startswith("all")
    )
    if rules.name.startswith("megatron") and ("fp8" in case.precision.casefold() or "fp8" in case.settings):
        rules = replace(rules, fp8_inputs=True)
    if rules.name == "litgpt" and "fsdp" in case.dp_or_zero.casefold():
        rules = replace(rules, spread=max(rules.spread, SHARDED_SPREAD))
    if rules.name == "torchtitan" and (
        case.settings.get("moe") == "true" or "graph" in case.settings.get("compile", "")
    ):
        rules = replace(rules, spread=EXPERTS_SPREAD, spread_high=EXPERTS_SPREAD_HIGH)
    if rules.name in ("torchtune", "torchtitan") and fused:
        return overheads.compiled(rules, loss_too=rules.name == "torchtune" or compiles_loss(said) is not False)
    if "torchtune 0.1" in said:
        return replace(rules, prints="reserved")
    return rules


def compiles_loss(said: str) -> bool | None:
    """Return whether torchtitan at the version that an engine's name states compiles its loss, None without version.

    The call stood in its training script as a comment until pull request 859 (2025-02-20); torch 2.7 is of that spring.
    """
    day = next((day for commit, day in TITAN_COMMITS.items() if commit in said), None)
    stated = re.search(r"\b(20\d\d)-(\d\d)", said)
    if day is None and stated:
        day = f"{stated[1]}-{stated[2]}"
    if day is not None:
        return day >= "2025-02-20"
    torch = re.search(r"torch\s*v?(\d+)\.(\d+)", said)
    return None if torch is None else (int(torch[1]), int(torch[2])) >= (2, 7)


TITAN_COMMITS = {"9dec370": "2024-12-26", "820504e": "2025-06-13", "e7c0cae": "2025-06-13"}
"""Commits that torchtitan's benchmark pages name -> their dates on the same pages (benchmarks/*.md)."""


def degrees_of(case: Case) -> Degrees:
    """Return stage and degrees: devices that no degree claims are data-parallel."""
    said = case.dp_or_zero.casefold()
    stage = 0
    match = re.search(r"zero-?(\d)", said)
    if match:
        stage = int(match[1])
    elif "shard_grad_op" in said:
        stage = 3  # sharded states; gathered weights stay until the backward pass is over
    elif "no-shard" in said or "ddp" in said:
        stage = 0
    elif "fsdp" in said or "full_shard" in said:
        stage = 3
    distributed = "distributed optimizer" in said
    stage = 1 if distributed else stage
    stated = re.search(r"(?:=|dp=)\s*(\d+)", said)
    tp, pp = case.tp or 1, case.pp or 1
    cp = int(case.number("cp") or case.number("sp") or 1)
    ranks = int(stated[1]) if stated else None
    devices = case.gpu_count or (ranks or 1) * tp * pp
    if case.settings.get("sp", "").isdigit() and ranks == devices // (tp * pp):
        ranks = ranks // cp if ranks else None  # the sequence is divided over ranks that also shard the states
    dp = ranks or max(1, devices // (tp * pp * cp))
    ep = int(case.number("ep") or 1)
    return Degrees(stage, devices, dp, tp, pp, cp, ep, distributed)


def recompute_of(case: Case, rules: Rules) -> tuple[str, int]:
    """Return the recompute mode and the layers between checkpoints."""
    said = (case.settings.get("act_ckpt") or case.settings.get("ac") or "").casefold()
    techniques = case.settings.get("cumulative")
    if not said and rules.name == "torchtitan":
        return "selective_op", 1
    if techniques is not None:
        return ("full" if "activation_ckpt" in techniques or techniques.startswith("all") else "none"), 1
    every = re.search(r"every_(\d)", said)
    if every:
        return "full", int(every[1])
    if said.startswith(("selective_op", "selective")):
        return ("selective_op" if rules.name == "torchtitan" else "selective"), 1
    if said in ("none", "false"):
        return "none", 1
    if said.startswith(("full", "true", "unsloth")):
        return "full", 1
    if rules.name == "litgpt" and degrees_of(case).stage == 3:
        return "full", 1
    if "nf4" in case.precision.casefold() and rules.name == "transformers":
        return "full", 1  # k-bit preparation of PEFT turns checkpointing on
    return ("full" if rules.name in CHECKPOINTED else "none"), 1


DROPS = {"moe": "moe", "mlp": "mlp", "layernorm": "norm", "moe_act": "act"}


def drops_of(case: Case) -> frozenset[str]:
    """Return the parts that selective recompute drops, by Megatron's names."""
    words = case.settings.get("recompute_modules", "").split("+")
    return frozenset(DROPS[word] for word in words if word in DROPS)


def loss_of(case: Case, rules: Rules, method: str) -> str | None:
    """Return the loss that a case names, None for the framework's."""
    said = case.settings.get("loss", "").casefold()
    techniques = case.settings.get("cumulative")
    if techniques is not None and "chunked_ce" not in techniques and not techniques.startswith("all"):
        return "compiled" if "compile" in techniques else "full_fp32_ce"
    if (method in ("full", "qlora") and rules.name == "qwen") or (degrees_of(case).stage and rules.name == "qwen"):
        return "bf16"  # the engine halves the whole model: no widened logits
    if "chunked_ce" in case.settings.get("cumulative", "") or case.settings.get("cumulative", "").startswith("all"):
        return "chunked_compiled"
    if (rules.name == "transformers" and said.startswith("full_logits")) or case.settings.get("liger") == "false":
        return "full_shifted"
    if case.settings.get("task") == "classification":
        return "none"
    return next((name for word, name in LOSS_WORDS if said and word in said), None)


def method_of(case: Case) -> str:
    """Return full, lora, qlora, or the name of another method."""
    said = case.settings.get("method", "").casefold()
    quantised = any(word in case.precision.casefold() for word in ("nf4", "int4", "gptq", "int8", "4bit"))
    if "qlora" in said:
        return "qlora"
    if said in FULL or said.startswith(("full", "pretrain")):
        return "full"
    if "lora" in said or "adapter" in said or said in TUNING:
        return "qlora" if quantised else "lora"
    if not said and case.settings.get("trainable"):
        return "qlora" if quantised else "lora"
    return "full"


FULL = frozenset({"full", "pretrain", "sft", "finetune_full", "osf", "dpo", "simpo", "orpo", "kto", "ppo", "grpo"})
TUNING = frozenset(
    {
        "dora",
        "loha",
        "lokr",
        "oft",
        "boft",
        "ia3",
        "vera",
        "ln-tuning",
        "prefix-tuning",
        "prompt-tuning",
        "p-tuning",
        "p-tuning-v2",
        "trainable-tokens",
        "miss",
        "fourierft",
        "hira",
        "adalora",
        "lora-fa",
    }
)


def before_sdpa(engine: str) -> bool:
    """Return whether an engine's name states a Transformers that wrote every attention out: before 4.36 (PR 26572).

    The scripts of the QLoRA paper pin 4.31 (artidoro/qlora, requirements.txt).

    >>> before_sdpa("transformers 4.31"), before_sdpa("peft 0.19, transformers 5.13"), before_sdpa("fsdp_qlora")
    (True, False, False)
    """
    said = engine.casefold().strip()
    version = re.search(r"transformers\D{0,3}(\d+)\.(\d+)", said)
    if version is not None:
        return (int(version[1]), int(version[2])) < (4, 36)
    return said.startswith(("qlora", "artidoro/qlora"))


def widens_head_gradient(engine: str) -> bool | None:
    """Return whether Liger at the version that an engine's name states widens the head's gradient, None without one.

    From 0.6.2 (2025-08) to 0.7 it added `torch.mm(...).float()`; before and after, it accumulates in place.

    >>> [widens_head_gradient(said) for said in ("liger 0.5.2", "trl, liger-kernel 0.6.4", "Liger")]
    [False, True, None]
    """
    version = re.search(r"liger[a-z_-]*\D{0,3}(\d+)\.(\d+)(?:\.(\d+))?", engine.casefold())
    if version is None:
        return None
    return (0, 6, 2) <= (int(version[1]), int(version[2]), int(version[3] or 0)) < (0, 8, 0)
