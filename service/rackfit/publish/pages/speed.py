"""/speed: how fast a model runs on a machine, how it spreads over the links, and attention in the memory hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rackfit.ask import figures
from rackfit.errors import UnsupportedError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.drawings import hierarchy
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.form import PageForm
from rackfit.publish.pages.respond import Question, respond
from rackfit.publish.sql_speed import scaling_rows
from rackfit.tabular.table import Table

DEGREES = ("tp", "pp", "ep", "dp")


@dataclass(frozen=True)
class SpeedForm(PageForm):
    """What the page was asked."""

    FIGURES = {
        **dict.fromkeys(("context", "prompt"), figures.TOKENS),
        **dict.fromkeys(("sequences", *DEGREES), figures.WHOLE),
    }

    model: str = ""
    on: str = ""
    precision: str = ""
    kv_precision: str = ""
    runtime: str = ""
    context: str = ""
    sequences: str = ""
    prompt: str = ""
    tp: str = ""
    pp: str = ""
    ep: str = ""
    dp: str = ""
    degrees: str = ""
    tokens: str = ""


def answer(answers: Answers, form: SpeedForm) -> dict[str, Any]:
    """Return the three answers to a form with a model and a machine; what has none says why.

    Raises:
        RackfitError: a name or figure that cannot be read.
    """
    from rackfit.ask.attention import attention
    from rackfit.ask.question import FitQuestion
    from rackfit.ask.speed import speed_one

    if not form.model or not form.on:
        raise UsageError("name a model and the hardware it should run on")
    context = form.value("context")
    question = FitQuestion(
        model=form.model, on=form.on, context=context,
        **{name: form.value(name) for name in ("precision", "kv_precision", "runtime", "sequences", *DEGREES)},
    )  # fmt: skip
    found: dict[str, Any] = {"speed": speed_one(answers.connection, question, form.value("prompt"))}
    parts = {
        "scaling": lambda: scaling_rows(
            answers, form.model, form.on, form.degrees, form.tokens, form.precision or None
        ),
        "attention": lambda: attention(answers.connection, form.model, form.on, context or 131072),
    }  # fmt: skip
    for name, part in parts.items():
        try:
            found[name] = part()
        except UnsupportedError as error:
            found |= {name: None, f"{name}_missing": str(error)}
    return found


def _table(answers: Answers, form: SpeedForm, found: dict[str, Any]) -> Table:
    from rackfit.export.page_tables import SCALING, page_table

    return page_table(answers.connection, SCALING, found["scaling"] or [], form.asked)


async def _context(
    datasette: Any, form: SpeedForm, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    shown: dict[str, Any] = {"form": form, "found": found, "problem": problem}
    shown["near"] = form.near_links(urls.path("/speed"), problem)
    if found is None:
        return shown
    asked, speed = render.query_string(form.asked), found["speed"]
    attention = found["attention"]
    levels = []
    if attention:
        own = attention["hierarchy"]
        levels = hierarchy.levels([row for row in own["levels"] if row["capacity_bytes"]], own["compute_units"])
    return shown | {
        "verdict": render.verdict(speed["verdict"]),
        "model_href": render.page_link(urls, "model_id", speed["model"]),
        "accelerator_href": render.page_link(urls, "accelerator_id", speed["accelerator"]),
        "efficiency_href": render.row_link(
            urls, open_database(datasette).name, "efficiencies", (speed["efficiency"] or {}).get("efficiency_id", "")
        ),
        "json_href": f"{urls.path('/speed.json')}?{asked}",
        "csv_href": f"{urls.path('/speed.csv')}?{asked}",
        "picture": hierarchy.picture(levels),
        "gb": lambda size: f"{size / 1e9:,.4g} GB",
    }


QUESTION = Question(SpeedForm, answer, _table, "rackfit_speed.html", _context)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /speed, /speed.json, /speed.csv and /speed.xlsx (the rows of scaling)."""
    return await respond(request, datasette, QUESTION)
