"""From recipe records to bytes per parameter, by component and by where they live.

Records that give a figure per component are taken as they are; those whose optimizer state depends on the shapes
of the matrices (Adafactor, Muon, GaLore) are computed from the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.training.domain import Recipe, StateBytes

MIXED_ADAM = StateBytes(weights=2, master=4, gradients=2, accumulation=0, optimizer=8)
"""16 bytes: ZeRO paper, section 3.1."""
FP32_ADAM = StateBytes(weights=4, master=0, gradients=4, accumulation=0, optimizer=8, step=4)
"""16 bytes; the fp32 shards of FSDP2 in torchtitan. The foreach update makes one fp32 temporary per parameter."""
BF16_ADAM = StateBytes(weights=2, master=0, gradients=2, accumulation=0, optimizer=4, step=2)
"""8 bytes: torch keeps the states in the dtype of the parameter."""
ADAPTER_FP32 = StateBytes(weights=4, master=0, gradients=4, accumulation=0, optimizer=8, step=8)
"""16 bytes per trained adapter parameter."""
ADAPTER_BF16 = StateBytes(weights=2, master=0, gradients=2, accumulation=0, optimizer=4, step=4)

OPTIMIZER_BYTES = {
    "adamw": 8.0, "adam": 8.0, "adamw_torch": 8.0, "adamw_fused": 8.0, "cpu_adam": 8.0, "hybridadam": 8.0,
    "adamw_8bit": 2.03125, "adam8bit": 2.03125, "adamw_bnb_8bit": 2.03125, "paged_adamw_8bit": 2.03125,
    "paged_adamw_32bit": 8.0, "paged_adamw": 8.0, "adamw_4bit": 1.0625, "adamw_fp8": 2.03125,
    "lion": 4.0, "lion_8bit": 1.015625, "sgd": 0.0, "sgd_momentum": 4.0, "muon": 4.0, "adafactor": 0.0,
}  # fmt: skip
"""Optimizer -> state bytes per parameter beside fp32 weights. Sources: recipe records of the same names."""
PAGED = frozenset({"paged_adamw_8bit", "paged_adamw_32bit", "paged_adamw"})
"""Optimizers of bitsandbytes whose states lie in unified memory and give way under pressure."""
BITSANDBYTES = frozenset({"qlora_nf4", "adam8bit_bnb_bf16", "adam8bit_bnb_fp32master", "lion8bit_bnb"})
"""Recipes that need the kernels of bitsandbytes."""
BITSANDBYTES_VENDORS = frozenset({"nvidia", "amd", "intel"})
"""Vendors for whose devices bitsandbytes has kernels (CUDA, ROCm, XPU; installation page of its documentation)."""
GALORE_RANK = 128
"""Rank of GaLore's own 7B example (galore-torch 1.0)."""
FACTORED = "adafactor_no_momentum"
METHODS = {"lora_bf16": "lora", "dora": "lora", "qlora_nf4": "qlora"}


def runs_bitsandbytes(vendor: str) -> bool:
    """Return whether bitsandbytes has kernels for a vendor's devices."""
    return vendor.casefold() in BITSANDBYTES_VENDORS


def state_of(row: Mapping[str, Any], anatomy: Anatomy) -> StateBytes | None:
    """Return the bytes per parameter of a row of `recipes` for a model; None where the row is no recipe of states."""
    parts = [row[name] for name in ("weights_bytes", "master_bytes", "gradient_bytes", "gradient_accumulation_bytes")]
    if row["section"] != "recipe" or None in parts:
        return None
    weights, master, gradients, accumulation = (float(part) for part in parts)
    optimizer, pageable = row["optimizer_bytes"], 0.0
    if optimizer is None:
        optimizer = special_optimizer(row["recipe_id"], anatomy)
    if row["recipe_id"].startswith("paged_"):
        pageable = float(optimizer)
    return StateBytes(weights, master, gradients, accumulation, float(optimizer), step_bytes(weights, row), pageable)


def step_bytes(weights: float, row: Mapping[str, Any]) -> float:
    """Return the temporary bytes per parameter of the update.

    torch.optim's foreach path makes one list of temporaries in the parameters' dtype (the square root of the second
    moment); 8-bit optimizers update in place.
    """
    return (
        0.0
        if "8bit" in row["recipe_id"] or "4bit" in row["recipe_id"]
        else max(weights, 4.0 * bool(row["master_bytes"]))
    )


def special_optimizer(recipe_id: str, anatomy: Anatomy) -> float:
    """Return the optimizer bytes per parameter of recipes whose state follows the shapes of the matrices.

    Raises:
        ValueError: a recipe without a figure and without a rule.
    """
    if recipe_id == FACTORED:
        return factored_bytes(anatomy)
    if recipe_id == "muon_bf16_fp32mom":
        return muon_bytes(anatomy)
    if recipe_id == "galore_adam":
        return galore_bytes(anatomy, GALORE_RANK)
    if recipe_id.startswith("paged_"):
        return 2.03125 if recipe_id.endswith("8bit") else 8.0
    raise ValueError(f"{recipe_id}: neither optimizer_bytes nor a rule gives its state")


def matrix_side(anatomy: Anatomy) -> float:
    """Return the typical short side of the model's matrices: its width."""
    return float(anatomy.model.d_model)


def factored_bytes(anatomy: Anatomy) -> float:
    """Return Adafactor's fp32 state per parameter: a row and a column of sums per matrix, about 2 x 4 / width."""
    return 8.0 / matrix_side(anatomy)


def muon_bytes(anatomy: Anatomy) -> float:
    """Return Muon's mean state per parameter: 4 on hidden matrices, 8 (Adam) on embedding, head and vectors."""
    outer = sum(anatomy.outer_roles.values())
    vectors = sum(
        group.count * roles.get("norms", 0)
        for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True)
    )
    share = (outer + vectors) / anatomy.model.params_text
    return 4.0 * (1 - share) + 8.0 * share


def galore_bytes(anatomy: Anatomy, rank: int) -> float:
    """Return GaLore's 16-bit state per parameter: two moments of rank x long side and a projector of rank x width.

    Per m x n matrix with m <= n: 2 n r + m r values (galore-torch 1.0); embedding, head and vectors keep Adam.
    """
    width = matrix_side(anatomy)
    outer = sum(anatomy.outer_roles.values()) / anatomy.model.params_text
    return 4.0 * outer + (1 - outer) * 2.0 * (2 * rank / width + rank / max(anatomy.widest_ffn, width))


def with_optimizer(recipe: Recipe, optimizer: str) -> Recipe:
    """Return the recipe with another optimizer: its states replace the recipe's.

    Adam-like states are as wide as the weights where no fp32 copy is kept. Kernels of bitsandbytes and torchao update a
    tensor in place, without temporaries.

    Raises:
        KeyError: an optimizer without a figure.
    """
    known = OPTIMIZER_BYTES[optimizer]
    state = recipe.state
    if known in (8.0, 4.0) and state.master == 0 and state.weights == 2:
        known /= 2
    changed = StateBytes(
        state.weights, state.master, state.gradients, state.accumulation, known,
        0.0 if optimizer in PAGED or optimizer.endswith("bit") else state.step, known if optimizer in PAGED else 0.0,
    )  # fmt: skip
    return Recipe(recipe.recipe_id, f"{recipe.name}, {optimizer}", changed, recipe.method, recipe.compute_bytes)
