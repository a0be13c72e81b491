"""Pages of one record: the name resolved, the record read, shown as a page or as JSON; near names where it is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from datasette.utils.asgi import Response

from rackfit.catalog.read import rows_of
from rackfit.catalog.resolve import resolve
from rackfit.errors import RackfitError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask, ending_of, error_body, html_response, json_response, open_database
from rackfit.publish.pages.form import LONGEST

COLUMNS = {"model": "model_id", "accelerator": "accelerator_id", "system": "system_id"}
"""Kind of record that has a page -> name of its key."""

TABLES = {"model": "models", "accelerator": "accelerators", "system": "systems"}


@dataclass(frozen=True)
class RecordPage:
    """One kind of page. `read` makes the JSON body of a key, `show` what the template needs beside it."""

    kind: str
    template: str
    read: Callable[[Answers, str], dict[str, Any]]
    show: Callable[[Any, str, dict[str, Any]], dict[str, Any]]


def check_name(name: str) -> None:
    """Refuse what is too long to be a name.

    Raises:
        UsageError: with the length.
    """
    if len(name) > LONGEST:
        raise UsageError(f"the name has {len(name)} characters: expected at most {LONGEST}")


def _find(answers: Answers, page: RecordPage, name: str) -> tuple[str, dict[str, Any] | None]:
    """Return the key of a name, and the record where the name is the key itself."""
    check_name(name)
    known = answers.connection.execute(
        f"select 1 from {TABLES[page.kind]} where {COLUMNS[page.kind]} = ?", (name,)
    ).fetchone()
    if known is None:
        return resolve(answers.connection, page.kind, name).id, None
    return name, page.read(answers, name)


async def answer(request: Any, datasette: Any, page: RecordPage) -> Any:
    """Answer the page of one record; another name of it is a redirect to its own."""
    name = unquote(request.url_vars["name"]).strip()
    as_json = bool(ending_of(request))
    problem, found = None, None
    try:
        key, found = await ask(open_database(datasette), lambda answers: _find(answers, page, name))
        if found is None:
            place = render.page_link(datasette.urls, COLUMNS[page.kind], key)
            return Response.redirect(place + (".json" if as_json else ""))
    except RackfitError as error:
        problem = error_body(error)
    if as_json:
        return json_response({"ok": True, **(found or {})}, problem)
    context = _context(datasette, page, name, found, problem)
    return await html_response(datasette, page.template, context, request, problem)


def _context(
    datasette: Any, page: RecordPage, name: str, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls, column = datasette.urls, COLUMNS[page.kind]
    shown: dict[str, Any] = {
        "asked": name[:LONGEST],
        "kind": page.kind,
        "problem": problem,
        "near": [(near, render.page_link(urls, column, near)) for near in (problem or {}).get("near", [])],
        "record": found,
    }
    if found is None:
        return shown
    database = open_database(datasette).name
    return shown | helpers(urls, database) | {
        "json_href": render.page_link(urls, column, found["id"]) + ".json",
        "row_href": render.row_link(urls, database, TABLES[page.kind], found["id"]),
        "cell": lambda fact: fact_cell(fact, TABLES[page.kind], database, urls),
        **page.show(urls, database, found),
    }  # fmt: skip


def helpers(urls: Any, database: str) -> dict[str, Any]:
    """Return what every template of these pages uses to show sizes, links and verdicts."""
    return {
        "size": render.size,
        "large": render.large,
        "empty": render.EMPTY,
        "verdict": render.verdict,
        "web_link": render.web_link,
        "model_href": lambda key: render.page_link(urls, "model_id", key),
        "device_href": lambda key: render.page_link(urls, "accelerator_id", key),
        "system_href": lambda key: render.page_link(urls, "system_id", key),
        "source_href": lambda key: render.row_link(urls, database, "sources", key),
        "link_href": lambda key: render.row_link(urls, database, "interconnects", key),
        "precision_href": lambda key: render.row_link(urls, database, "precisions", key),
        "why_href": lambda **asked: f"{urls.path('/why')}?{render.query_string(asked)}",
        "train_href": lambda **asked: render.asking(urls.path("/train"), asked),
        "query_href": lambda slug, **asked: f"{urls.query(database, slug)}?{render.query_string(asked)}",
        "table_href": lambda table, **asked: f"{urls.table(database, table)}?{render.query_string(asked)}",
    }


def fact_cell(fact: dict[str, Any], table: str, database: str, urls: Any) -> Any:
    """Return the value of a fact as tables show it."""
    value = fact["value"]
    if isinstance(value, bool):
        return "yes" if value else "no"
    shown = render.cell(value, fact["field"], table, database, urls)
    if shown is not None:
        return shown
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else value


OFFERS = """
select * from (
    select offer_id, kind, provider, product, device_count, price, price_per_device, currency, region, term, tier,
        price_kind, valid_from, valid_until, source_id, flag,
        row_number() over (
            partition by kind, provider, device_count, term, tier, currency order by valid_from desc, price
        ) as place
    from offers where {condition}
) where place = 1
order by flag is not null, kind, device_count, currency <> 'USD', price limit ?
"""


def offers(answers: Answers, condition: str, *values: Any, most: int = 15) -> list[dict[str, Any]]:
    """Return the newest price of each provider, count, term and tier; flagged ones last."""
    return rows_of(answers.connection, OFFERS.format(condition=condition), *values, most)
