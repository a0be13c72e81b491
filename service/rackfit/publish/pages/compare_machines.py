"""The part of /compare that sets machines side by side: lines of what each is, costs, and makes of the same models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask import figures
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.compare_rows import Line
from rackfit.publish.pages.form import PageForm

FACTS = (
    ("devices", "devices", "", ""), ("memory_bytes", "memory in all", "bytes", "high"),
    ("device_memory_bytes", "memory of one device", "bytes", "high"), ("memory_type", "memory type", "", ""),
    ("bandwidth_gb_s", "bandwidth of one device", "GB/s", "high"),
    ("bf16_tflops", "peak bf16 of one, dense", "TFLOPS", "high"),
    ("fp8_tflops", "peak fp8 of one, dense", "TFLOPS", "high"),
    ("fp4_tflops", "peak fp4 of one, dense", "TFLOPS", "high"),
    ("link", "link between devices", "", ""), ("link_gb_s", "link, one direction", "GB/s", "high"),
    ("accelerator_w", "power of the accelerators", "W", "low"), ("system_w", "system at most", "W", "low"),
    ("price_per_hour", "lowest price per hour", "", "low"), ("currency", "currency", "", ""),
    ("price_provider", "provider", "", ""), ("price_term", "term", "", ""), ("price_date", "price of", "", ""),
    ("purchase_price", "lowest price to buy", "", "low"), ("purchase_basis", "which covers", "", ""),
    ("purchase_date", "that price of", "", ""),
)  # fmt: skip
CELLS = (
    ("verdict", "verdict", "", ""), ("precision", "format", "", ""),
    ("margin_bytes", "left on a device", "bytes", "high"),
    ("max_context", "longest context", "tokens", "high"), ("sequences_likely", "most sequences", "", "high"),
    ("tokens_per_s", "tokens/s, estimate", "", "high"), ("tokens_per_s_low", "tokens/s, low end", "", "high"),
    ("tokens_per_s_bound", "tokens/s, bound", "", ""), ("full_batch", "full batch, sequences", "", ""),
    ("full_batch_tokens_per_s", "full batch, tokens/s, estimate", "", "high"),
    ("prompt_tokens_per_s", "prompt, tokens/s, estimate", "", "high"), ("ttft_s", "first token, estimate", "s", "low"),
    ("price_per_million_tokens", "price of a million tokens, estimate", "", "low"),
)  # fmt: skip
"""(key, words, unit, better end) of the lines of machines, and of each model on them."""


@dataclass(frozen=True)
class MachinesForm(PageForm):
    """What machines are compared by."""

    FIGURES = {**dict.fromkeys(("context", "prompt"), figures.TOKENS), "sequences": figures.WHOLE}

    models: str = ""
    context: str = ""
    sequences: str = ""
    prompt: str = ""
    precision: str = ""


def machines(answers: Answers, asked: list[str], form: MachinesForm) -> dict[str, Any]:
    """Return the comparison of machines as the page has comparisons: items and lines, with the whole answer beside.

    Raises:
        RackfitError: a name or figure that cannot be read.
    """
    from rackfit.ask.compare import compare_machines
    from rackfit.ask.prices import read_choice
    from rackfit.ask.question import FitQuestion

    said = form.values()
    prompt, models = said.pop("prompt", None), [name.strip() for name in form.models.split(",") if name.strip()]
    said.pop("models", None)
    choice = read_choice(answers.connection)
    found = compare_machines(answers.connection, asked, models, FitQuestion(**said), choice, prompt)
    rows = [_line(found["machines"], *fact) for fact in FACTS]
    for model in found["models"]:
        rows += [replace(_line(model["cells"], *one), name=f"{model['model']}: {one[1]}") for one in CELLS]
    items = [
        {"id": fact["hardware"], "name": fact["name"], "accelerator": fact["accelerator"]} for fact in found["machines"]
    ]
    kept = [row for row in rows if any(value is not None for value in row.values)]
    return {"kind": "machine", "items": items, "rows": kept, "fits": [], "fits_on": [], **found}


def _line(columns: list[dict[str, Any]], key: str, words: str, unit: str, best: str) -> Line:
    return Line(words, tuple(column[key] for column in columns), unit, best)


def details(urls: Any, found: dict[str, Any], asked: list[str], form: MachinesForm) -> list[dict[str, Any]]:
    """Return for each model the addresses that explain its speed on each machine: bound, parts, what was assumed."""

    def address(model: dict[str, Any], place: int) -> str:
        query = {
            "model": model["model"], "on": asked[place], "precision": model["cells"][place]["precision"],
            "context": form.context, "sequences": form.sequences, "prompt": form.prompt,
        }  # fmt: skip
        return f"{urls.path('/speed')}?{render.query_string(query)}"

    return [
        {"model": model["model"], "links": [(name, address(model, place)) for place, name in enumerate(asked)],
         "notes": [(asked[place], note) for place, cell in enumerate(model["cells"]) for note in cell["notes"]]}
        for model in found["models"]
    ]  # fmt: skip
