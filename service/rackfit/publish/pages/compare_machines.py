"""The part of /compare that sets machines side by side: lines of what each is, costs, and makes of the same models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rackfit.ask import figures
from rackfit.export.side_by_side import machine_lines
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.form import PageForm


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
    items = [
        {"id": fact["hardware"], "name": fact["name"], "accelerator": fact["accelerator"]} for fact in found["machines"]
    ]
    return {"kind": "machine", "items": items, "rows": machine_lines(found), "fits": [], "fits_on": [], **found}


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
