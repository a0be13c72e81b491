"""Recipes as people name them, and the adapters that go with LoRA and QLoRA."""

from __future__ import annotations

import sqlite3
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rackfit.ask.question import Subject
from rackfit.catalog.context import Context
from rackfit.catalog.read import rows_of
from rackfit.errors import UnknownNameError, UnsupportedError, UsageError
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Precision
from rackfit.memory.training.domain import Adapter, Recipe
from rackfit.memory.training.lora import WIDE_TARGETS, read_targets
from rackfit.memory.training.recipes import ADAPTER_FP32, METHODS, OPTIMIZER_BYTES, state_of, with_optimizer

if TYPE_CHECKING:
    from rackfit.ask.train import TrainQuestion

ADAPTING = frozenset(METHODS.values())
"""Methods that train adapters and leave the model as it is."""
DEFAULT_RANK = 16
SHORT = {
    "full": "adam_mixed_16",
    "mixed": "adam_mixed_16",
    "adam": "adam_mixed_16",
    "adamw": "adam_mixed_16",
    "fp32": "adam_fp32",
    "bf16": "adamw_pure_bf16",
    "pure-bf16": "adamw_pure_bf16",
    "8bit": "adam8bit_bnb_bf16",
    "8-bit": "adam8bit_bnb_bf16",
    "lora": "lora_bf16",
    "qlora": "qlora_nf4",
    "dora": "dora",
    "megatron": "adam_megatron_bf16_fp32grad",
    "muon": "muon_bf16_fp32mom",
    "galore": "galore_adam",
    "adafactor": "adafactor_no_momentum",
    "lion": "lion_fp32state",
    "fp8": "fp8_te_autocast",
    "sgd": "sgd",
}
"""Short names; everything else is a recipe's id, name or alias."""
FULL_PRECISION = frozenset({"adam_fp32"})
"""Recipes that also multiply in 32 bits: every activation is twice as wide, and no 16-bit copy is made."""


def recipe_for(connection: sqlite3.Connection, anatomy: Anatomy, name: str, optimizer: str | None) -> Recipe:
    """Return the recipe that a name stands for, with another optimizer where one is given.

    Raises:
        UnknownNameError: a recipe or optimizer that is not known.
        UnsupportedError: a record that gives no bytes per parameter.
    """
    row = _row(connection, name)
    recipe_id = str(row["recipe_id"])
    if recipe_id in METHODS:
        recipe = Recipe(recipe_id, str(row["name"]), ADAPTER_FP32, METHODS[recipe_id])
    else:
        state = state_of(row, anatomy)
        if state is None:
            raise UnsupportedError(
                f"recipe {recipe_id} states a rule of sharding or activations, no bytes per parameter"
            )
        recipe = Recipe(recipe_id, str(row["name"]), state, compute_bytes=4.0 if recipe_id in FULL_PRECISION else 2.0)
    if optimizer is None:
        return recipe
    known = optimizer.casefold().replace("-", "_")
    if known not in OPTIMIZER_BYTES:
        raise UnknownNameError(
            "optimizer", optimizer, get_close_matches(known, OPTIMIZER_BYTES, 5) or list(OPTIMIZER_BYTES)
        )
    return with_optimizer(recipe, known)


def _row(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    wanted = SHORT.get(name.casefold(), name.casefold())
    rows = rows_of(connection, "select * from recipes where section = 'recipe' order by recipe_id")
    for row in rows:
        if wanted in (row["recipe_id"], str(row["name"]).casefold()):
            return row
    names = [*SHORT, *(str(row["recipe_id"]) for row in rows)]
    raise UnknownNameError("recipe", name, get_close_matches(wanted, names, 5) or list(SHORT)[:8])


def adapter_for(
    context: Context, subject: Subject, recipe: Recipe, question: TrainQuestion, assumed: list[str]
) -> Adapter:
    """Return the adapters of a LoRA, DoRA or QLoRA run: rank 16 on all linear matrices unless said otherwise.

    Raises:
        UsageError: targets that name no matrix.
    """
    targets = WIDE_TARGETS if question.targets is None else read_targets(question.targets)
    if not targets:
        raise UsageError(f"targets = {question.targets!r}: expected q, k, v, o, gate, up, down, head, attn, mlp or all")
    base = _base(context, recipe, question.base)
    if question.rank is None:
        assumed.append(f"adapters: rank {DEFAULT_RANK}")
    if question.targets is None:
        assumed.append("adapters: on all linear matrices of the layers, none on experts, embedding or head")
    own = subject.precision_id
    if own and own in context.precisions and context.precisions[own].bits < 16:
        assumed.append(f"frozen base: the checkpoint's {own} is widened or requantised to {base.precision_id} to train")
    if base.bits < 16:
        assumed.append(
            "frozen base under ZeRO-3 / FSDP: sharded only where its quantised weights lie in a 16-bit storage type"
        )
    return Adapter(
        question.rank or DEFAULT_RANK,
        targets,
        recipe.state,
        base,
        dora=recipe.recipe_id == "dora",
        dropout=False,
        upcast_outer=base.bits < 16,
    )


BASES = {
    "bf16": "bf16", "int8": "bnb_llm_int8", "nf4": "bnb_nf4_double", "nf4-single": "bnb_nf4", "fp4": "bnb_fp4",
    "gptq": "gptq_int4_g128", "awq": "awq_int4_g128",
}  # fmt: skip
"""Names of formats that a frozen base is kept in -> precision."""


def _base(context: Context, recipe: Recipe, name: str | None) -> Precision:
    """Return the format of the frozen base: the recipe's, unless one is named.

    Raises:
        UnknownNameError: a format that no stack trains adapters on.
    """
    if name is None:
        return context.precisions["bf16" if recipe.method == "lora" else "bnb_nf4_double"]
    known = BASES.get(name.casefold())
    if known is None:
        raise UnknownNameError("base", name, list(BASES))
    return context.precisions[known]
