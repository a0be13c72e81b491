"""/cost: what a model costs on a machine per hour and per million tokens: rented, owned, against a hosted price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rackfit.ask import figures
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import names
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.fields import (
    CACHE,
    CONTEXT,
    ENGINE,
    HARDWARE,
    MODEL,
    PRECISION,
    PRICES,
    SEQUENCES,
    Field,
    Group,
)
from rackfit.publish.pages.form import PricedForm
from rackfit.publish.pages.respond import Question, respond
from rackfit.tabular.table import Table

AMOUNTS = (
    "price", "other_per_month", "hosted_price", "utilisation", "purchase_price", "life_years", "kwh_price", "pue",
    "power_watts", "idle_power", "overheads", "residual", "discount_rate",
)  # fmt: skip
GROUPS = (
    Group("Question", (
        MODEL, HARDWARE, PRECISION, CACHE, ENGINE, CONTEXT, SEQUENCES,
        Field("utilisation", "Utilisation, share", "1", help="of the hours that are paid"),
    )),
    PRICES,
    Group("Instead of offers, and beside the rent", (
        Field("price", "Own price per hour", "offers on record", help="of the whole machine"),
        Field("other_per_month", "Other costs per month", "0", help="egress, storage, network"),
        Field("hosted_price", "Hosted, per million", "none", help="a hosted service's price of output tokens"),
    )),
    Group("Owning", (
        Field("purchase_price", "Purchase price", "offers on record"),
        Field("life_years", "Years", "4"),
        Field("kwh_price", "Price of a kWh", "needed"),
        Field("pue", "PUE", "1", help="power of the room over that of the machine"),
        Field("power_watts", "Power, W", "on record"),
        Field("idle_power", "Idle power, share", "1"),
        Field("overheads", "Overheads per year", "0", help="room, staff, maintenance"),
        Field("residual", "Residual worth", "0"),
        Field("discount_rate", "Discount rate", "none", help="per year, 0.1 for 10 %"),
    )),
)  # fmt: skip


@dataclass(frozen=True)
class CostForm(PricedForm):
    """What the page was asked, by the names of `rackfit cost`."""

    FIGURES = {
        "context": figures.TOKENS,
        **dict.fromkeys(("sequences", "tp", "pp", "ep", "dp"), figures.WHOLE),
        **dict.fromkeys(AMOUNTS, figures.DECIMAL),
    }

    model: str = ""
    on: str = ""
    precision: str = ""
    kv_precision: str = ""
    runtime: str = ""
    context: str = ""
    sequences: str = ""
    tp: str = ""
    pp: str = ""
    ep: str = ""
    dp: str = ""
    utilisation: str = ""
    price: str = ""
    other_per_month: str = ""
    hosted_price: str = ""
    purchase_price: str = ""
    life_years: str = ""
    kwh_price: str = ""
    pue: str = ""
    power_watts: str = ""
    idle_power: str = ""
    overheads: str = ""
    residual: str = ""
    discount_rate: str = ""


def answer(answers: Answers, form: CostForm) -> dict[str, Any]:
    """Return the answer of `rackfit cost` to a form.

    Raises:
        RackfitError: a name or figure that cannot be read.
    """
    from rackfit.ask.cost import cost_one, cost_question

    return cost_one(answers.connection, cost_question(**form.values()))


def _table(answers: Answers, form: CostForm, found: Any) -> Table:
    from rackfit.export.cost_table import cost_table

    return cost_table(answers.connection, found)


async def _context(
    datasette: Any, form: CostForm, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    shown: dict[str, Any] = {
        "form": form, "found": found, "problem": problem, "near": form.near_links(urls.path("/cost"), problem),
        "groups": GROUPS, "filled": names.filled, "lists": await names.lists(open_database(datasette), GROUPS),
    }  # fmt: skip
    if found is None:
        return shown
    asked = render.query_string(form.asked)
    database = open_database(datasette).name
    tokens = [row for row in (found["offers"][:1], [one for one in found["owned"] if one["per_million"]][:1]) if row]
    return shown | {
        "verdict": render.verdict(found["verdict"]),
        "model_href": render.page_link(urls, "model_id", found["model"]),
        "accelerator_href": render.page_link(urls, "accelerator_id", found["accelerator"]),
        "source_href": lambda key: render.row_link(urls, database, "sources", key),
        "speed_href": render.asking(urls.path("/speed"), {
            name: form.asked.get(name) for name in ("model", "on", "precision", "context", "sequences")
        }),
        "lowest": [("rented" if "price_per_hour" in row[0] else "owned", row[0]) for row in tokens],
        "json_href": f"{urls.path('/cost.json')}?{asked}",
        "csv_href": f"{urls.path('/cost.csv')}?{asked}",
        "money": money,
    }  # fmt: skip


def money(value: float | None) -> str:
    """Return an amount with four digits, thousands apart; a dash where there is none."""
    if value is None:
        return "\u2014"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


QUESTION = Question(CostForm, answer, _table, "rackfit_cost.html", _context)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /cost, /cost.json, /cost.csv and /cost.xlsx."""
    return await respond(request, datasette, QUESTION)
