"""The matrix of the front page: well-known models on well-known hardware, stored or computed for the figures asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from datasette.database import QueryInterrupted

from rackfit.errors import RackfitError
from rackfit.fit.verdicts import RUNNING, WORST_FIRST
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask_once
from rackfit.publish.pages.form import Form, question_of

MODELS = (
    ("qwen/qwen3-4b", "Qwen3 4B"),
    ("meta-llama/llama-3.1-8b", "Llama 3.1 8B"),
    ("qwen/qwen3-8b", "Qwen3 8B"),
    ("google/gemma-3-12b-pt", "Gemma 3 12B"),
    ("openai/gpt-oss-20b", "gpt-oss 20B"),
    ("google/gemma-3-27b-pt", "Gemma 3 27B"),
    ("qwen/qwen3-30b-a3b", "Qwen3 30B-A3B"),
    ("qwen/qwen3-32b", "Qwen3 32B"),
    ("meta-llama/llama-3.1-70b", "Llama 3.1 70B"),
    ("openai/gpt-oss-120b", "gpt-oss 120B"),
    ("qwen/qwen3-235b-a22b", "Qwen3 235B-A22B"),
    ("deepseek-ai/deepseek-v3", "DeepSeek V3"),
)
"""Rows of the matrix: what people ask for most, by size."""

CONFIGURATIONS = (
    ("1x-nvidia-rtx-4060-ti-16gb", "RTX 4060 Ti 16 GB"),
    ("1x-nvidia-rtx-4090", "RTX 4090"),
    ("1x-nvidia-rtx-5090", "RTX 5090"),
    ("1x-apple-m4-max-40c-128gb", "M4 Max 128 GB"),
    ("1x-nvidia-gb10", "DGX Spark"),
    ("1x-nvidia-l40s", "L40S"),
    ("1x-nvidia-h100-sxm5-80gb", "H100 80 GB"),
    ("8x-nvidia-h100-sxm5-80gb", "8 x H100"),
    ("8x-nvidia-h200-sxm-141gb", "8 x H200"),
)
"""Columns of the matrix; those that a catalog lacks are left out."""

FORMATS = (("", "released, else widest that fits"), ("bf16", "16-bit"), ("fp8", "FP8"), ("int8", "INT8"),
           ("int4", "INT4"), ("q4_k_m", "GGUF Q4_K_M"))  # fmt: skip
"""Weight formats that the form offers, and their words."""

MATRIX = """
select fit_models.model_id, configurations.configuration_id, cells.verdict, precisions.effective_bits,
    precisions.precision_id, models.native_precision_id = precisions.precision_id as is_native
from configurations
cross join inference_cells as cells on cells.configuration_key = configurations.configuration_key
join fit_models on fit_models.model_key = cells.model_key
join models on models.model_id = fit_models.model_id
join fit_precisions on fit_precisions.precision_key = cells.precision_key
join precisions on precisions.precision_id = fit_precisions.precision_id
where configurations.configuration_id in ({configurations}) and +fit_models.model_id in ({models})
"""
"""`inference_fits`, with the order of joins fixed: through the view SQLite may read every cell."""


@dataclass(frozen=True)
class Cell:
    """One verdict. `precision` is the format that it is about, `bits` its effective bits."""

    verdict: str
    precision: str
    bits: float
    note: str


@dataclass(frozen=True)
class Asked:
    """What the matrix is asked for, as it was typed."""

    precision: str = ""
    context: str = ""
    sequences: str = ""

    @property
    def form(self) -> Form:
        """The same as the form of /why has it."""
        return Form(precision=self.precision, context=self.context, sequences=self.sequences)


Cells = dict[tuple[str, str], Cell]


def read_asked(arguments: Any) -> Asked:
    """Return what a request asks for; the defaults of the stored matrix are as good as nothing."""
    typed = {name: (arguments.get(name) or "").strip() for name in Asked.__dataclass_fields__}
    usual = {"context": "8192", "sequences": "1"}
    return Asked(**{name: "" if usual.get(name) == value else value for name, value in typed.items()})


def width(bits: float) -> str:
    """Return a format's width as people say it; Q4_K_M is a 4-bit format of 4.8 effective bits."""
    return "16-bit" if bits > 10 else "8-bit" if bits > 6 else "4-bit" if bits > 3.5 else f"{round(bits)}-bit"


async def stored(database: Any) -> Cells:
    """Return for each cell the format with the best verdict; among equals the released one, else that of most bits."""
    ids = {f"m{number}": name for number, (name, _) in enumerate(MODELS)}
    shapes = {f"c{number}": name for number, (name, _) in enumerate(CONFIGURATIONS)}
    sql = MATRIX.format(
        models=", ".join(f":{name}" for name in ids), configurations=", ".join(f":{name}" for name in shapes)
    )
    try:
        found = await database.execute(sql, {**ids, **shapes})
    except QueryInterrupted:
        return {}
    best: Cells = {}
    for row in sorted(
        found.rows, key=lambda row: (WORST_FIRST.index(row["verdict"]), row["is_native"] or 0, row["effective_bits"])
    ):
        note = f"{row['precision_id']}: {row['effective_bits']:g} effective bits"
        key = (row["model_id"], row["configuration_id"])
        best[key] = Cell(row["verdict"], row["precision_id"], row["effective_bits"], note)
    return best


def live(answers: Answers, asked: Asked) -> Cells:
    """Return the matrix computed for these figures.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
    """
    question_of(asked.form)
    if asked.precision:
        answers.precision(asked.precision)
    machines = {}
    for key, _ in CONFIGURATIONS:
        try:
            machines[key] = _machine(answers, key)
        except RackfitError:
            continue
    found: Cells = {}
    for model_id, _ in MODELS:
        for key, machine in machines.items():
            cell = _best(answers, asked, model_id, machine)
            if cell is not None:
                found[(model_id, key)] = cell
    return found


def _machine(answers: Answers, key: str) -> Any:
    from rackfit.ask.machines import find_machines

    return find_machines(answers.connection, key)[0]


def _best(answers: Answers, asked: Asked, model_id: str, machine: Any) -> Cell | None:
    """Return the best verdict among the formats that may be tried; the first of equals."""
    from dataclasses import replace

    from rackfit.ask.fit import answer_for
    from rackfit.ask.lists import FAMILY_WIDTHS

    question = replace(question_of(asked.form), model=model_id, on="one machine")
    best: Cell | None = None
    for name in (asked.precision,) if asked.precision else (None, *FAMILY_WIDTHS):
        try:
            subject = answers.subject(model_id)
            answer = answer_for(
                answers.connection, replace(question, precision=name), answers.context, subject, machine
            )
        except RackfitError:
            continue
        precision = answers.context.precisions[answer["precision"]]
        cell = Cell(answer["verdict"], answer["precision"], precision.bits, answer["reason"])
        if best is None or WORST_FIRST.index(cell.verdict) > WORST_FIRST.index(best.verdict):
            best = cell
        if cell.verdict == "fits":
            break
    return best


async def cells(database: Any, asked: Asked) -> Cells:
    """Return the matrix for what is asked, from the catalog where it is stored there, else computed and kept."""
    if asked == Asked():
        return await stored(database)
    return await ask_once(database, asked, lambda answers: live(answers, asked))


def table(found: Cells, asked: Asked, database: Any, urls: Any) -> dict[str, Any]:
    """Return the columns and rows as the page shows them: each cell with its words and its reason's address."""
    columns = [(key, name) for key, name in CONFIGURATIONS if any(cell == key for _, cell in found)]
    rows = []
    for model_id, name in MODELS:
        if not any((model_id, key) in found for key, _ in columns):
            continue
        shown = []
        for key, _ in columns:
            cell = found.get((model_id, key))
            question = {"model": model_id, "on": key, **asked.form.asked}
            if cell is not None and cell.verdict in RUNNING:
                question["precision"] = cell.precision
            address = render.asking(urls.path("/why"), question) if cell is not None else None
            shown.append({"html": _shown(cell, asked), "href": address, "configuration": key, "cell": cell})
        href = render.page_link(urls, "model_id", model_id)
        rows.append({"name": name, "model": model_id, "href": href, "cells": shown})
    heads = [{"name": name, "href": render.asking(urls.path("/why"), {"on": key})} for key, name in columns]
    return {"columns": heads, "rows": rows}


def words(cell: Cell, asked: Asked) -> str:
    """Return a verdict with the width of the format that it is about, where the question leaves that open."""
    plain = cell.verdict.replace("_", " ")
    return plain if cell.verdict in ("no", "cannot_run") or asked.precision else f"{plain} {width(cell.bits)}"


def said(asked: Asked) -> str:
    """Return in a line what the matrix answers."""
    formats = f"Weights in {asked.precision}" if asked.precision else "The released format, else the widest that fits"
    users = f"{asked.sequences} sequences" if asked.sequences else "one sequence"
    return f"{formats}; {asked.context or '8192'} tokens, {users}"


def _shown(cell: Cell | None, asked: Asked) -> Any:
    if cell is None:
        return render.EMPTY
    return render.verdict(cell.verdict, words(cell, asked), "" if cell.verdict == "no" else cell.note)
