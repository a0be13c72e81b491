"""One answer taken apart: each term with its bytes, its formula, the figures that went in, and where they are from."""

from __future__ import annotations

from typing import Any

from rackfit.ask.question import FitQuestion
from rackfit.catalog.read import rows_of
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget
from rackfit.memory.kv_cache import CacheShape
from rackfit.memory.profile import encoders
from rackfit.publish.answers import Answers

EQUATIONS = {
    "share_of_total": "utilization x memory that the engine sees on one device - reserve",
    "share_of_free": "share x (memory that is free before weights are loaded) - reserve",
    "share_of_rest": "memory that the engine sees - driver context - reserve; of what weights, workspace and libraries "
    "leave of it, the share becomes cache and the rest stays free",
    "all_of_device": "memory that the engine sees on one device - what lies outside its budget - what it leaves free "
    "- reserve",
}
"""How an engine limits itself; see `memory.budget`."""

MEMORY_FIELDS = ("memory_gb", "memory_unit_label", "memory_type", "usable_memory_bytes")
MODEL_FIELDS = ("layer_groups", "params_total", "kv_elems_per_token_full", "vocab_size")
RECIPE_FIELDS = (
    "weights_bytes",
    "master_bytes",
    "gradient_bytes",
    "optimizer_bytes",
    "total_bytes_per_param",
    "formula",
)
MOST_SOURCES = 12


def terms(answers: Answers, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the terms of one device's bytes: name, bytes, formula, inputs. Empty where nothing can run."""
    if answer["per_device"] is None:
        return []
    per_device, layout = answer["per_device"], answer["layout"]
    subject = answers.subject(answer["model"])
    precision = answers.context.precisions[answer["precision"]]
    budget = next(item for item in answers.context.budgets if item.budget_id == answer["runtime_budget"])
    model = subject.anatomy.model
    shape = answers.cache(answer["model"], answer["kv_precision"])
    degrees = " x ".join(f"{name.upper()} {layout[name]}" for name in ("tp", "pp", "ep", "dp") if layout[name] > 1)
    return [
        {
            "name": "weights", "bytes": per_device["weights_bytes"],
            "formula": "sum over tensor roles of parameters x bits / 8, on the fullest device of the layout",
            "inputs": [
                f"{model.params_total:,} parameters, {model.params_active:,} of them active",
                f"{precision.bits:g} effective bits, {precision.high_bits:g} for what stays in high precision"
                + (f" ({', '.join(sorted(precision.high_roles))})" if precision.high_roles else ""),
                f"layout {degrees}" if degrees else "one device",
            ],
        },
        {
            "name": "kv", "bytes": per_device["kv_bytes"],
            "formula": "sequences x (state + sum over layer kinds of bytes per token x min(tokens, window))",
            "inputs": [
                f"{answer['sequences']:,} x {answer['context']:,} tokens, cache in {answer['kv_precision']}",
                *cache_lines(shape),
                f"the engine reserves {per_device['kv_reserved_bytes']:,} bytes for the same tokens",
            ],
        },
        {
            "name": "workspace", "bytes": per_device["workspace_bytes"],
            "formula": "largest of what one step takes: forward pass (rows x (3 d_ff / TP + hidden states x d) x "
            "bytes), sampler (rows x vocabulary x bytes + what stays), images being encoded",
            "inputs": workspace_lines(subject.anatomy, budget),
        },
        {
            "name": "runtime", "bytes": per_device["runtime_bytes"],
            "formula": "libraries and collective buffers + graphs within the budget + what is reserved beyond the need "
            "+ what is left free beside the cache",
            "inputs": [
                f"{answer['runtime']} from {budget.version_from}, rules {budget.budget_id}",
                f"graphs {budget.graph_bytes:,} bytes, "
                + ("inside the budget" if budget.graphs_in_budget else "outside the budget"),
            ],
        },
    ]  # fmt: skip


def workspace_lines(anatomy: Anatomy, budget: Budget) -> list[str]:
    """Return in words what the peak of a step is made of."""
    rules = budget.for_runner(anatomy.is_dense)
    lines = [
        f"{rules.forward_bytes:g} bytes per row and unit of width, rows by {rules.profiled_tokens}, "
        f"{3 + rules.extra_hidden_states} hidden states",
        f"{rules.sampler_bytes_per_logit:g} bytes per logit, vocabulary {anatomy.model.vocab_size:,}",
    ]
    if anatomy.has_experts and rules.keeps_expert_workspaces:
        lines.append("buffers of the routed experts stay while tokens are sampled")
    if rules.runtime_id == "vllm" and encoders(anatomy):
        lines.append("images of the largest size are encoded, their pixels and features stay for the step")
    return lines


def cache_lines(shape: CacheShape) -> list[str]:
    """Return the cache of one request in words, whole model."""
    lines = []
    for slope, cap in shape.slopes:
        window = f" up to {cap:,} tokens" if cap is not None else ""
        lines.append(f"{slope:,.0f} bytes per token{window}")
    if shape.constant:
        lines.append(f"{shape.constant:,.0f} bytes per sequence, whatever its length")
    return lines or ["nothing is cached"]


def limit(answers: Answers, answer: dict[str, Any], question: FitQuestion) -> dict[str, Any] | None:
    """Return what the bytes are compared with, and the settings of the question that move it."""
    if answer["per_device"] is None:
        return None
    budget = next(item for item in answers.context.budgets if item.budget_id == answer["runtime_budget"])
    return {
        "bytes": answer["per_device"]["usable_bytes"],
        "formula": EQUATIONS[budget.equation],
        "inputs": [
            f"{answer['per_device']['device_bytes']:,.0f} bytes seen on one device"
            + (", as stated" if question.usable_gib else ""),
            f"utilization {question.utilization:g} as asked, {budget.utilization:g} by default"
            if question.utilization
            else f"utilization {budget.utilization:g} by default",
            *([f"{question.reserve_gib:g} GiB kept free, as asked"] if question.reserve_gib else []),
        ],
    }


def sources(answers: Answers, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sources of the model's structure, the device's memory and the engine's rules."""
    return sources_of(
        answers,
        ("models", answer["model"], MODEL_FIELDS),
        ("accelerators", answer["accelerator"], MEMORY_FIELDS),
        ("runtime_budgets", answer["runtime_budget"], ("equation", "utilization", "forward_bytes")),
        ("precisions", answer["precision"], ("effective_bits", "block_size", "nominal_bits")),
    )


def training_sources(answers: Answers, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sources of the model's structure, the device's memory and the recipe's bytes per parameter."""
    return sources_of(
        answers,
        ("models", answer["model"], MODEL_FIELDS),
        ("accelerators", answer["accelerator"], MEMORY_FIELDS),
        ("recipes", answer["recipe"], RECIPE_FIELDS),
    )


def sources_of(answers: Answers, *wanted: tuple[str, str, tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return the sources of some fields of some records: (table, key, fields)."""
    found = []
    for table, key, fields in wanted:
        marks = ", ".join("?" * len(fields))
        rows = rows_of(
            answers.connection,
            "select sources.source_id, sources.title, sources.url, sources.source_class, "
            "group_concat(distinct provenance.field) as fields, max(provenance.second_hand) as second_hand "
            "from provenance join sources using (source_id) "
            f"where table_name = ? and key = ? and field in ({marks}) group by sources.source_id order by min(rank)",
            table, key, *fields,
        )  # fmt: skip
        found += [{"table": table, "key": key, **row} for row in rows[:MOST_SOURCES]]
    return found
