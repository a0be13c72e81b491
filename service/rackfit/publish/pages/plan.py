"""/plan: which configurations serve so many users of a model, at the context, speed, price and power that are asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask import figures
from rackfit.ask.plan.question import ANY, CHEAPEST, HOUR, ORDERS, PER_MONEY, PER_WATT, PURCHASE, SMALLEST
from rackfit.errors import UsageError
from rackfit.money.offers import OFFER_WORDS
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import names
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.fields import CACHE, ENGINE, MODEL, PRECISION, PRICES, Field, Group
from rackfit.publish.pages.form import PricedForm
from rackfit.publish.pages.respond import Question, respond
from rackfit.tabular.table import Table

MOST_ROWS = 200
"""Rows of a page; files have as many as are asked for."""
QUOTED = 5
"""Configurations of the plan that its purchase list compares: as many as print on one sheet."""
TITLES = {
    SMALLEST: "Smallest",
    CHEAPEST: "Cheapest",
    PER_WATT: "Most tokens/s per watt",
    PER_MONEY: "Most tokens/s per money",
}
NAMES = figures.Figure(
    lambda text: tuple(name.strip() for name in text.split(",") if name.strip()) or None, "names with commas between"
)
GROUPS = (
    Group("Load and promise", (
        MODEL,
        Field("users", "Users", "1"),
        Field("concurrency", "Share of them at once", "1", help="1: every user has a request running"),
        Field("headroom", "Spare, share", "0", help="0.2: a fifth more sequences"),
        Field("context", "Context, tokens", "8192", help="prompt and answer together"),
        Field("tokens_per_second", "Tokens/s each", "not asked"),
        Field("ttft", "First token within, s", "not asked"),
        Field("prompt", "Prompt, tokens", "the context"),
        Field("output", "Answer, tokens", "not asked", help="charges the prompts of all users"),
    )),
    Group("Model and engine", (
        Field("workload", "Workload", "none", help="serve-8k-16 sets context and users"),
        replace(PRECISION, help="any: 16, 8 and 4 bits and Q4_K_M"),
        CACHE,
        ENGINE,
        Field("likely", "Plan by likely figures", choices=("yes",), empty="no: by low ends"),
    )),
    Group("Hardware and limits", (
        Field("accelerators", "Only these devices", "all", help="l40s, h100"),
        Field("vendors", "Only these makers", "all"),
        Field("max_devices", "Most devices", "any"),
        Field("replicas", "Most copies", "8"),
        Field("power_limit", "Most watts", "any"),
        Field("budget", "Budget", "any"),
    )),
    Group("Order and kind of price", (
        Field("pay", "Price", choices=(PURCHASE,), empty="per hour"),
        Field("by", "Order", choices=tuple(name for name in ORDERS if name != SMALLEST), empty=SMALLEST),
        Field("limit", "Rows", "10"),
    )),
    PRICES,
)  # fmt: skip


@dataclass(frozen=True)
class PlanForm(PricedForm):
    """What the page was asked, by the names of `rackfit plan`."""

    FIGURES = {
        **dict.fromkeys(("context", "prompt", "output"), figures.TOKENS),
        **dict.fromkeys(("users", "max_devices", "replicas", "limit"), figures.WHOLE),
        **dict.fromkeys(
            ("concurrency", "headroom", "tokens_per_second", "ttft", "budget", "power_limit"), figures.DECIMAL
        ),
        **dict.fromkeys(("accelerators", "vendors"), NAMES),
        "likely": figures.FLAG,
    }

    model: str = ""
    users: str = ""
    concurrency: str = ""
    headroom: str = ""
    context: str = ""
    tokens_per_second: str = ""
    ttft: str = ""
    prompt: str = ""
    output: str = ""
    workload: str = ""
    precision: str = ""
    kv_precision: str = ""
    runtime: str = ""
    likely: str = ""
    accelerators: str = ""
    vendors: str = ""
    max_devices: str = ""
    replicas: str = ""
    power_limit: str = ""
    budget: str = ""
    pay: str = ""
    by: str = ""
    limit: str = ""

    def precision_of(self, row: dict[str, Any]) -> str:
        """Return the format by which a row is asked for alone: as it was asked, or the row's own of several."""
        return str(row["precision"]) if self.precision.casefold() == ANY else self.precision


def answer(answers: Answers, form: PlanForm) -> dict[str, Any]:
    """Return the answer of `rackfit plan` to a form.

    Raises:
        RackfitError: a name or figure that cannot be read.
    """
    from rackfit.ask.plan.answer import plan
    from rackfit.ask.plan.question import PlanQuestion

    if not form.model:
        raise UsageError("name a model")
    return plan(answers.connection, PlanQuestion(**form.values()))


def _table(answers: Answers, form: PlanForm, found: Any) -> Table:
    from rackfit.export.plan_table import plan_table

    return plan_table(answers.connection, found)


async def _context(
    datasette: Any, form: PlanForm, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    place = urls.path("/plan")
    shown: dict[str, Any] = {
        "form": form, "found": found, "problem": problem, "groups": GROUPS, "filled": names.filled,
        "lists": await names.lists(open_database(datasette), GROUPS), "near": form.near_links(place, problem),
    }  # fmt: skip
    if found is None:
        return shown
    asked, query, database = render.query_string(form.asked), found["query"], open_database(datasette).name

    def about(page: str, row: dict[str, Any]) -> str:
        """Return the address of the page that explains one row: the same configuration, layout and load."""
        named = {
            "model": query["model"], "on": row["configuration"], "precision": form.precision_of(row),
            "kv_precision": form.kv_precision, "runtime": form.runtime, "context": query["context"],
            "sequences": row["sequences_each"], **{name: row[name] for name in ("tp", "pp", "ep", "dp")},
        }  # fmt: skip
        if page == "/speed":
            named["prompt"] = query["prompt"]
        return f"{urls.path(page)}?{render.query_string(named)}"

    return shown | {
        "titles": TITLES,
        "rows": found["results"][:MOST_ROWS],
        "hidden_rows": len(found["results"]) - MOST_ROWS,
        "verdict": render.verdict,
        "fit_href": lambda row: about("/why", row),
        "speed_href": lambda row: about("/speed", row),
        "offer_href": lambda row: render.row_link(urls, database, "offers", row["offer_id"]),
        "device_href": lambda row: render.page_link(urls, "accelerator_id", row["accelerator"]),
        "model_href": render.page_link(urls, "model_id", query["model"]),
        "relaxed": [(row, f"{place}?{render.query_string(_relaxed(form, row))}") for row in found["relaxations"]],
        "per": "per hour" if query["pay"] == HOUR else "to buy",
        "quote_href": render.asking(urls.path("/quote"), _quoted(form, query, found["results"])),
        "json_href": f"{urls.path('/plan.json')}?{asked}",
        "csv_href": f"{urls.path('/plan.csv')}?{asked}",
    }


def _quoted(form: PlanForm, query: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the question that makes a purchase list of the first configurations."""
    machines = list(dict.fromkeys(row["configuration"] for row in rows))[:QUOTED]
    kept = {name: getattr(form, name) for name in ("kv_precision", "runtime", *OFFER_WORDS)}
    several = form.precision.casefold() == ANY
    return {
        "models": query["model"], "on": ", ".join(machines), "context": query["context"],
        "sequences": query["sequences"], "precision": "" if several else form.precision, **kept,
    }  # fmt: skip


def _relaxed(form: PlanForm, row: dict[str, Any]) -> dict[str, str]:
    """Return the question with one requirement given up as far as is said."""
    value = "yes" if row["value"] is True else str(row["value"])
    return {**form.asked, row["requirement"]: value}


QUESTION = Question(PlanForm, answer, _table, "rackfit_plan.html", _context)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /plan, /plan.json, /plan.csv and /plan.xlsx."""
    return await respond(request, datasette, QUESTION)
