"""/quote: machines side by side as a purchase list, judged for the models asked; as JSON, CSV and workbook too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackfit.ask import figures
from rackfit.errors import UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import names, quote_shown
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.download import OFFERED
from rackfit.publish.pages.fields import CACHE, CONTEXT, ENGINE, PRECISION, PRICES, SEQUENCES, Field, Group
from rackfit.publish.pages.form import PricedForm
from rackfit.publish.pages.respond import Question, respond
from rackfit.tabular.table import Table

SEVERAL = re.compile(r"\s*[,;\n]\s*")
"""What stands between several names."""

FIELDS = (
    Group("Need", (
        Field("models", "Models", "qwen3-32b, gpt-oss-120b", wide=True, help="commas between"),
        Field("on", "Machines", "chosen by the wishes below", wide=True,
              help="devices, systems or expressions, commas between: nvidia-dgx-h100, 8x mi300x"),
        CONTEXT,
        SEQUENCES,
        PRECISION,
        CACHE,
        ENGINE,
        Field("quantity", "Machines of each", "1"),
    )),
    Group("Wishes, where no machine is named", (
        Field("vendor", "Maker", "any"),
        Field("segment", "Class", "any", choices=("datacenter", "workstation", "consumer", "laptop", "unified")),
        Field("min_memory", "Least memory, GB", "any", help="of one device, on its label"),
        Field("min_bandwidth", "Least bandwidth, GB/s", "any", help="of one device"),
        Field("max_power", "Most power, W", "any", help="design power of all devices together"),
        Field("max_devices", "Most devices", "any"),
        Field("max_price", "Most price", "any", help="of the whole; without a price on record no answer"),
        Field("price_kind", "That price", "hourly", choices=("hourly", "purchase")),
        Field("limit", "Most machines", "10"),
    )),
    PRICES,
)  # fmt: skip


@dataclass(frozen=True)
class QuoteForm(PricedForm):
    """What the page was asked, by the names of `rackfit export quote`."""

    MOST_CHARACTERS = 1000
    FIGURES = {
        "context": figures.TOKENS,
        **dict.fromkeys(("sequences", "quantity", "max_devices", "limit"), figures.WHOLE),
        **dict.fromkeys(("min_memory", "min_bandwidth", "max_power", "max_price"), figures.DECIMAL),
    }

    models: str = ""
    on: str = ""
    quantity: str = ""
    context: str = ""
    sequences: str = ""
    precision: str = ""
    kv_precision: str = ""
    runtime: str = ""
    vendor: str = ""
    segment: str = ""
    min_memory: str = ""
    min_bandwidth: str = ""
    max_power: str = ""
    max_devices: str = ""
    max_price: str = ""
    price_kind: str = ""
    limit: str = ""

    @property
    def asks(self) -> bool:
        """Whether it asks for a quote: machines alone, as other pages link them, wait for their models."""
        return bool(self.models) or (bool(self.asked) and not self.on)

    def several(self, name: str) -> tuple[str, ...]:
        """Return the names in a list, each once."""
        return tuple(dict.fromkeys(one for one in SEVERAL.split(getattr(self, name)) if one))


def answer(answers: Answers, form: QuoteForm) -> dict[str, Any]:
    """Return the answer of `rackfit export quote --json` to a form; what would make a model fit is left to /why.

    Raises:
        RackfitError: a name or figure that cannot be read.
    """
    from rackfit.ask.quote import QuoteQuestion, quote

    if not form.models:
        raise UsageError("a quote needs a model: models=NAME, several with commas between")
    lists = {"models": form.several("models"), "on": form.several("on")}
    return quote(answers.connection, QuoteQuestion(**{**form.values(), **lists}), explain=False)


def _table(answers: Answers, form: QuoteForm, found: Any) -> Table:
    from rackfit.export.quote_table import quote_table

    return quote_table(answers.connection, found)


async def _context(
    datasette: Any, form: QuoteForm, found: Mapping[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls, database = datasette.urls, open_database(datasette)
    place = urls.path("/quote")
    links = {ending: render.asking(f"{place}.{ending}", form.asked) for ending in ("json", *OFFERED)}
    shown: dict[str, Any] = {
        "form": form, "groups": FIELDS, "lists": await names.lists(database, FIELDS), "filled": names.filled,
        "found": found, "problem": problem, "near": form.near_links(place, problem), "links": links,
        "comma_href": render.asking(f"{place}.csv", {**form.asked, "_locale": "comma"}),
    }  # fmt: skip
    if found is None:
        return shown
    items: Sequence[Mapping[str, Any]] = found["results"]
    return shown | {
        "heads": [quote_shown.head(urls, item) for item in items],
        "lines": quote_shown.lines(items),
        "verdicts": quote_shown.verdicts(urls, form.asked, found),
        "prices": quote_shown.prices(urls, database.name, items),
        "assumed": quote_shown.assumed(items),
        "asked": quote_shown.asked(items),
    }


QUESTION = Question(QuoteForm, answer, _table, "rackfit_quote.html", _context)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /quote, /quote.json, /quote.csv and /quote.xlsx."""
    return await respond(request, datasette, QUESTION)
