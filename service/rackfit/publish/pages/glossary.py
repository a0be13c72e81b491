"""/glossary: terms of the field in plain words, and the tables they rest on, computed from the catalog."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from rackfit.catalog.read import rows_of
from rackfit.memory.training.domain import StateBytes
from rackfit.memory.training.sharding import bytes_per_parameter, formula, reduction
from rackfit.publish.answers import Answers
from rackfit.publish.drawings import hierarchy
from rackfit.publish.pages.common import ask, attempt, ending_of, html_response, json_response, open_database
from rackfit.publish.pages.record import helpers

SIZES = (7, 13, 70, 405)
"""Parameters of the examples, in units of 10^9."""

FORMATS = ("fp32", "bf16", "fp16", "fp8_e4m3_per_channel", "int8_w8a8", "ggufmix_q4_k_m", "bnb_nf4", "nvfp4", "mxfp4",
           "awq_int4_g128", "bnb_nf4_double")  # fmt: skip
RECIPES = ("adam_amp_hf", "adam_mixed_16", "adam8bit_bnb_bf16", "adamw_pure_bf16")
DEVICES = ("nvidia-a100-sxm4-80gb", "nvidia-h100-sxm5-80gb", "nvidia-b200-sxm-180gb", "amd-mi300x")
COUNTS = (8, 64)
"""Devices among which the ZeRO examples share."""

STAGES = (
    ("0, plain data parallel", "", "one all-reduce of the gradients"),
    ("1", "optimizer state", "the same volume: gradients reduced to their owners, weights gathered"),
    ("2", "optimizer state and gradients", "the same volume as stage 1"),
    ("3, as FSDP", "optimizer state, gradients and weights", "about half as much again: weights gathered twice"),
)
"""Stage, what it shares, what it sends in one step."""

ATTENTION_TOKENS = 128 * 1024


@cache
def sections() -> list[dict[str, Any]]:
    """Return the sections with their terms, each with the anchor that links to it."""
    found = tomllib.loads((Path(__file__).parent / "glossary.toml").read_text(encoding="utf-8"))["section"]
    for section in found:
        for term in section["term"]:
            words = "".join(letter if letter.isalnum() else " " for letter in term["name"].lower()).split()
            term["anchor"] = "-".join(words)
    return list(found)


def read(answers: Answers) -> dict[str, Any]:
    """Return the terms and the tables."""
    return {
        "sections": sections(),
        "formats": formats(answers),
        "recipes": recipes(answers),
        "zero": zero(answers),
        "levels": levels(answers),
        "links": rows_of(
            answers.connection,
            "select interconnect_id, name, family, scope, per_direction_gb_s, total_gb_s, latency_class "
            "from interconnects where coalesce(per_direction_gb_s, total_gb_s) is not null "
            "order by family, total_gb_s, name",
        ),
        "attention": {"tokens": ATTENTION_TOKENS, "bytes": ATTENTION_TOKENS**2 * 2},
    }


def _in_order(answers: Answers, table: str, key: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    marks = ", ".join("?" * len(keys))
    rows = {
        row[key]: row for row in rows_of(answers.connection, f"select * from {table} where {key} in ({marks})", *keys)
    }
    return [rows[name] for name in keys if name in rows]


def formats(answers: Answers) -> list[dict[str, Any]]:
    """Return weight formats with bytes per parameter, nominal and effective, and what models of each size take."""
    wanted = ("precision_id", "name", "nominal_bits", "effective_bits", "nominal_bytes_per_param", "bytes_per_param")
    return [
        {name: row[name] for name in wanted}
        | {"bytes": {size: round(size * 1e9 * row["bytes_per_param"]) for size in SIZES}}
        for row in _in_order(answers, "precisions", "precision_id", FORMATS)
    ]


def recipes(answers: Answers) -> list[dict[str, Any]]:
    """Return ways to train with bytes per parameter of each part, and the model state of each size."""
    wanted = ("recipe_id", "name", "weights_bytes", "master_bytes", "gradient_bytes", "optimizer_bytes",
              "total_bytes_per_param")  # fmt: skip
    return [
        {name: row[name] for name in wanted}
        | {"bytes": {size: round(size * 1e9 * row["total_bytes_per_param"]) for size in SIZES}}
        for row in _in_order(answers, "recipes", "recipe_id", RECIPES)
        if row["total_bytes_per_param"]
    ]


def zero(answers: Answers) -> list[dict[str, Any]]:
    """Return bytes per parameter on one of N devices for each ZeRO stage of mixed-precision Adam.

    With weights w, gradients g and optimizer state s: w + g + s, w + g + s/N, w + (g + s)/N, (w + g + s)/N
    (Rajbhandari et al., ZeRO, section 5).
    """
    found = _in_order(answers, "recipes", "recipe_id", ("adam_mixed_16",))
    if not found:
        return []
    row = found[0]
    state = StateBytes(
        row["weights_bytes"], row["master_bytes"], row["gradient_bytes"], row["gradient_accumulation_bytes"],
        row["optimizer_bytes"],
    )  # fmt: skip
    rows = []
    for number, (stage, shared, sent) in enumerate(STAGES):
        at = {count: bytes_per_parameter(state, number, count) for count in COUNTS}
        saved = {count: reduction(state, number, count) for count in COUNTS}
        rows.append(
            {
                "stage": stage,
                "shared": shared,
                "sent": sent,
                "formula": formula(state, number),
                "at": at,
                "saved": saved,
            }
        )
    return rows


def levels(answers: Answers) -> list[dict[str, Any]]:
    """Return the memory levels of a few devices, and how much faster the chip's own memory is than the main one."""
    found = []
    for row in _in_order(answers, "accelerators", "accelerator_id", DEVICES):
        own = rows_of(answers.connection, "select * from memory_levels where accelerator_id = ?", row["accelerator_id"])
        drawn = hierarchy.levels(own, row["compute_units"])
        rates = {level["level"]: level["bandwidth_gb_s"] for level in drawn}
        ratio = rates["l1_shared"] / rates["hbm"] if rates.get("l1_shared") and rates.get("hbm") else None
        found.append({"id": row["accelerator_id"], "name": row["name"], "levels": drawn, "ratio": ratio})
    return found


async def page(request: Any, datasette: Any) -> Any:
    """Answer /glossary and /glossary.json."""
    found, problem = await attempt(ask(open_database(datasette), read))
    if ending_of(request):
        return json_response({"ok": True, **(found or {})}, problem)
    urls = datasette.urls
    context = {
        "problem": problem,
        "found": found,
        "sizes": SIZES,
        "counts": COUNTS,
        "level_names": hierarchy.NAMES,
        "short": hierarchy.short,
        "rate": hierarchy.rate,
        **helpers(urls, open_database(datasette).name),
    }
    return await html_response(datasette, "rackfit_glossary.html", context, request, problem)
