"""What the forms of a fit and of a training question ask for, group by group: label, default, choices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rackfit.ask.train import JOBS
from rackfit.ask.train_recipes import BASES, SHORT
from rackfit.memory.training.domain import RECOMPUTE
from rackfit.memory.training.logits import LOSSES
from rackfit.memory.training.overheads import TABLE
from rackfit.memory.training.recipes import OPTIMIZER_BYTES


@dataclass(frozen=True)
class Field:
    """One parameter. `choices` make it a list to choose from, `known` names a list of names that completes it."""

    name: str
    label: str
    empty: str = ""
    choices: tuple[str, ...] = ()
    known: str = ""
    wide: bool = False
    help: str = ""
    lines: int = 0
    """Lines of a text; 0: one line of input."""


@dataclass(frozen=True)
class Group:
    """Parameters that belong together; the first group of a form is always open."""

    title: str
    fields: tuple[Field, ...] = field(default_factory=tuple)


def _words(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(words)


MODEL = Field("model", "Model", "qwen3-32b", known="models", wide=True)
HARDWARE = Field(
    "on", "Hardware", "2x rtx-4090", known="hardware", wide=True,
    help="a device, a system, or an expression: 8x h100-sxm5-80gb, 2 nodes x dgx-h100, a100-sxm4-80gb/2g.20gb",
)  # fmt: skip

PRECISION = Field("precision", "Weights", "as released", known="precisions")
CACHE = Field("kv_precision", "Cache", "16 bits", known="caches")
CONTEXT = Field("context", "Context, tokens", "8192", help="32k is 32,768")
SEQUENCES = Field("sequences", "Sequences", "1", help="requests at a time")
ENGINE = Field("runtime", "Engine", "by format", known="runtimes", help="a version may follow: vllm 0.11.0")
PRICES = Group("Which prices count", (
    Field("currency", "Currency", "USD"),
    Field("term", "Term", "on-demand", help="spot, reserved, any"),
    Field("tier", "Tier", "any"),
    Field("provider", "Provider", "any"),
    Field("region", "Region", "any"),
    Field("date", "On the day", "today"),
    Field("since", "Priced since", "any day"),
))  # fmt: skip
"""What every question of money can be asked about its offers."""

FIT = (
    Group("Question", (
        MODEL,
        HARDWARE,
        PRECISION,
        CACHE,
        CONTEXT,
        SEQUENCES,
        ENGINE,
    )),
    Group("Layout and memory of the devices", (
        Field("tp", "Tensor parallel", "best"),
        Field("pp", "Pipeline stages", "best"),
        Field("ep", "Expert parallel", "best"),
        Field("dp", "Replicas", "best"),
        Field("dcp", "Context parallel", "none", help="TP ranks that share one copy of the cache"),
        Field("split", "Layers per device", "even", help="24,12 over two unlike devices"),
        Field("usable_gib", "Usable, GiB", "by driver", help="memory per device, where you know it"),
        Field("reserve_gib", "Kept free, GiB", "0"),
    )),
    Group("Settings of the engine", (
        Field("utilization", "Share of memory", "the engine's", help="vLLM's gpu_memory_utilization: 0.9"),
        Field("max_batched_tokens", "Batched tokens", "the engine's"),
        Field("max_sequences", "Most sequences", "the engine's"),
        Field("eager", "No captured graphs", choices=("yes",), empty="no", help="less memory, and slower"),
    )),
    Group("Beside the model: draft, adapters, images", (
        Field("draft", "Draft model", "none", known="models", wide=True),
        Field("mtp", "Prediction heads", choices=("yes",), empty="no"),
        Field("lora_slots", "Adapter slots", "none"),
        Field("lora_rank", "Adapter rank", "16"),
        Field("images", "Images per request", "none"),
        Field("text_only", "Images switched off", choices=("yes",), empty="no", help="vLLM then profiles none"),
    )),
    Group("Part of the model in RAM (llama.cpp)", (
        Field("gpu_layers", "Layers on devices", "all", help="a count, or auto for the most that fit"),
        Field("cpu_experts", "Layers with experts in RAM", "none", help="a count, all, or auto for the fewest"),
        Field("host_ram_gib", "RAM, GiB", "the system's record"),
    )),
    Group("Price, where only a model is named", (
        Field("max_price", "Most US dollars per hour", "any"),
    )),
)  # fmt: skip
"""Everything that `rackfit fit` can be asked."""

TRAIN = (
    Group("Question", (
        MODEL,
        HARDWARE,
        Field("recipe", "Recipe", "full", known="recipes"),
        Field("sequence_length", "Sequence, tokens", "4096", help="8k is 8192"),
        Field("micro_batch", "Micro-batch", "1", help="sequences per device at a time"),
        Field("accumulation", "Micro-batches per update", "1", help="their gradients are summed"),
        Field("tokens", "Tokens of the run", "not asked", help="1e12: gives the days"),
    )),
    Group("Strategy: sharding, recompute, offload, parallelism", (
        Field("zero", "ZeRO / FSDP stage", choices=("0", "1", "2", "3"), empty="lowest that fits"),
        Field("recompute", "Recompute", choices=_words(RECOMPUTE), empty="least that fits"),
        Field("offload", "Offload", "least", help="none, optimizer, params, activations, all; each with =nvme"),
        Field("tp", "Tensor parallel", "best"),
        Field("pp", "Pipeline stages", "1"),
        Field("cp", "Context parallel", "1", help="devices that share one sequence"),
        Field("ep", "Expert parallel", "1"),
        Field("shards", "Ranks that divide the states", "all"),
        Field("host_ram_gib", "RAM of each machine, GiB", "the system's record"),
        Field("reshard", "Drop gathered weights after forward", choices=("no",), empty="yes"),
    )),
    Group("Adapters (LoRA, DoRA, QLoRA)", (
        Field("rank", "Rank", "16"),
        Field("targets", "Matrices", "all linear", help="q+v, attn+mlp, all"),
        Field("base", "Frozen base", choices=_words(BASES), empty="the recipe's"),
    )),
    Group("Optimizer, framework and loss", (
        Field("optimizer", "Optimizer", choices=_words(sorted(OPTIMIZER_BYTES)), empty="the recipe's"),
        Field("framework", "Framework", choices=_words(sorted(TABLE)), empty="eager PyTorch"),
        Field("loss", "Loss", choices=_words(LOSSES), empty="the framework's"),
        Field("fused_update", "Update inside the backward pass", choices=("yes",), empty="no"),
        Field("flash", "Fused attention", choices=("yes", "no"), empty="as the framework does"),
    )),
    Group("Kind of job", (
        Field("job", "Job", choices=_words(JOBS), empty="sft"),
        Field("teacher", "Teacher, for distill", "none", known="models"),
        Field("rollout_share", "Share of a rollout engine", "0", help="part of each device, below 1"),
    )),
)  # fmt: skip
"""Everything that `rackfit train` can be asked."""

OWN = Group("A model without a record", (
    Field(
        "config", "Its config.json", '{"model_type": "llama", "hidden_size": 4096, ...}', lines=6,
        help="paste the file; the model above is then only its name",
    ),
))  # fmt: skip
"""The model in place of a name, on the calculator."""

RECIPES = tuple(SHORT)
