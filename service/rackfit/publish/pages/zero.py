"""/zero: what the stages of ZeRO and FSDP divide, for any model, recipe and number of devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rackfit.errors import UsageError
from rackfit.memory.training.recipes import MIXED_ADAM
from rackfit.memory.training.sharding import STAGES, bytes_per_parameter, explained, smallest_count
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.form import PageForm
from rackfit.publish.pages.respond import Question, respond
from rackfit.tabular.table import Table

DEVICES = 64
MEMORY_GB = 80
MOST_GB = 10**6
RECIPE = "adam_mixed_16"
PAPER_SIZES = (7.5e9, 128e9, 1e12)
PAPER_DEVICES = (1, 4, 16, 64, 256, 1024)
"""Models and degrees of Table 1 in Rajbhandari et al., ZeRO (arXiv 1910.02054)."""


@dataclass(frozen=True)
class ZeroForm(PageForm):
    """What the page was asked."""

    model: str = ""
    devices: str = ""
    recipe: str = ""
    memory: str = ""

    def count(self, name: str, usual: int, most: int) -> int:
        """Return a figure of the form, `usual` where it was left out.

        Raises:
            UsageError: it is no whole number between 1 and `most`.
        """
        found = self.number(name) or usual
        if found > most:
            raise UsageError(f"{name} = {found}: expected a whole number from 1 to {most:,}")
        return found


def answer(answers: Answers, form: ZeroForm) -> dict[str, Any]:
    """Return the stages of a model: bytes per device, reduction, communication, fewest devices for the states alone.

    Raises:
        RackfitError: a name or figure that cannot be read.
    """
    from rackfit.ask.train_recipes import recipe_for

    if not form.model:
        raise UsageError("name a model")
    devices = form.count("devices", DEVICES, 2**20)
    memory = form.count("memory", MEMORY_GB, MOST_GB)
    subject = answers.subject(form.model)
    recipe = recipe_for(answers.connection, subject.anatomy, form.recipe or RECIPE, None)
    if recipe.method != "full":
        raise UsageError(f"recipe {recipe.recipe_id} trains adapters: expected one that trains every parameter")
    params = subject.anatomy.model.params_total
    rows = explained(params, recipe.state, devices)
    for row, stage in zip(rows, STAGES, strict=True):
        row["fewest_devices"] = smallest_count(params, recipe.state, stage, memory * 1e9)
    return {
        "model": subject.shown, "params": params, "recipe": recipe.recipe_id, "recipe_name": recipe.name,
        "bytes_per_parameter": recipe.state.total, "devices": devices, "memory_gb": memory, "stages": rows,
    }  # fmt: skip


def paper() -> list[dict[str, Any]]:
    """Return Table 1 of the ZeRO paper by our formulas: GB per device, by degree, model and stage."""
    return [
        {"devices": count}
        | {
            "gb": [
                size * bytes_per_parameter(MIXED_ADAM, stage, count) / 1e9
                for size in PAPER_SIZES
                for stage in STAGES[1:]
            ]
        }
        for count in PAPER_DEVICES
    ]


def _table(answers: Answers, form: ZeroForm, found: dict[str, Any]) -> Table:
    from rackfit.export.page_tables import ZERO, page_table

    return page_table(answers.connection, ZERO, found["stages"], form.asked)


async def _context(datasette: Any, form: ZeroForm, found: Any, problem: Any) -> dict[str, Any]:
    urls, asked = datasette.urls, render.query_string(form.asked)
    database = open_database(datasette).name
    return {
        "form": form, "found": found, "problem": problem, "paper": paper(), "sizes": ("7.5B", "128B", "1T"),
        "near": form.near_links(urls.path("/zero"), problem),
        "model_href": render.page_link(urls, "model_id", found["model"]) if found else None,
        "recipe_href": render.row_link(urls, database, "recipes", found["recipe"]) if found else None,
        "json_href": f"{urls.path('/zero.json')}?{asked}",
        "csv_href": f"{urls.path('/zero.csv')}?{asked}",
    }  # fmt: skip


QUESTION = Question(ZeroForm, answer, _table, "rackfit_zero.html", _context)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /zero, /zero.json, /zero.csv and /zero.xlsx."""
    return await respond(request, datasette, QUESTION)
