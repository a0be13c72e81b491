"""/why: does it fit, and why. One cell explained; with only a model or only a machine, the list that answers."""

from __future__ import annotations

from typing import Any

from datasette.utils.asgi import Response
from markupsafe import Markup

from rackfit.errors import RackfitError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import explain, listing
from rackfit.publish.pages.common import ask, error_body, html_response, json_response, open_database
from rackfit.publish.pages.form import Form, question_of

BAR_WIDTH = 1000
BAR_TERMS = ("weights", "kv", "workspace", "runtime")


def answer(answers: Answers, form: Form) -> dict[str, Any]:
    """Return the answer to a form with a model and a machine, with its terms and sources.

    Raises:
        RackfitError: a name or figure that cannot be read, or a question without an honest answer.
    """
    from rackfit.ask.fit import fit_one

    question = question_of(form)
    found = fit_one(answers.connection, question)
    return {
        **found,
        "terms": explain.terms(answers, found),
        "limit_explained": explain.limit(answers, found),
        "sources": explain.sources(answers, found),
    }


def _piece(name: str, x: float, width: float, y: int, height: int, title: str) -> Markup:
    shape = '<rect class="rf-bar-{}" x="{:.1f}" width="{:.1f}" y="{}" height="{}"><title>{}</title></rect>'
    return Markup(shape).format(name, x, width, y, height, title)


def bar(found: dict[str, Any]) -> Markup | None:
    """Return the terms as one bar with the limit marked, inline SVG; the table beside it says the same in words."""
    per_device = found["per_device"]
    if per_device is None:
        return None
    span = max(per_device["high_bytes"], per_device["usable_bytes"], 1)
    at, pieces = 0.0, []
    for name in BAR_TERMS:
        count = per_device[f"{name}_bytes"]
        width = max(count, 0) / span * BAR_WIDTH
        pieces.append(_piece(name, at, width, 8, 34, f"{name}: {count:,} bytes"))
        at += width
    low, high, limit = (per_device[f"{name}_bytes"] / span * BAR_WIDTH for name in ("low", "high", "usable"))
    pieces.append(_piece("range", low, max(high - low, 1), 22, 6, "low to high"))
    pieces.append(_piece("limit", min(limit, BAR_WIDTH - 4), 4, 0, 50, "usable"))
    return Markup(
        '<svg class="rf-bar" viewBox="0 0 {} 50" preserveAspectRatio="none" role="img" '
        'aria-label="bytes per device against the limit; the table below has the figures">{}</svg>'
    ).format(BAR_WIDTH, Markup("").join(pieces))


async def page(request: Any, datasette: Any) -> Any:
    """Answer /why and /why.json."""
    as_json = bool(request.url_vars.get("format"))
    form = Form.read(request.args)
    status, found, problem = 200, None, None
    try:
        if form.model and form.on:
            found = await ask(open_database(datasette), lambda answers: answer(answers, form))
        elif form.model or form.on:
            found = await _list(datasette, form, as_json)
            if isinstance(found, Response):
                return found
        elif as_json or form.asked:
            raise UsageError("name a model, or the hardware it should run on, or both")
    except RackfitError as error:
        status, problem = error.http_status, error_body(error)
    if as_json:
        return json_response(problem or found or {}, status)
    context = _context(datasette, form, found, problem)
    return await html_response(datasette, "rackfit_why.html", context, request, status)


async def _list(datasette: Any, form: Form, as_json: bool) -> Any:
    """Return the list for half a question: a way to the stored one where that has the answer, else computed."""
    database = open_database(datasette)
    question_of(form)
    place = None if as_json else await ask(database, lambda answers: listing.stored(answers, form))
    if place is not None:
        slug, arguments = place
        return Response.redirect(f"{datasette.urls.query(database.name, slug)}?{render.query_string(arguments)}")
    return await ask(database, lambda answers: listing.live(answers, form))


def _context(
    datasette: Any, form: Form, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    shown: dict[str, Any] = {"form": form, "answer": found, "problem": problem, "near": []}
    if problem is not None:
        shown["near"] = _near(urls, form, problem)
    if found is not None and "results" in found:
        return shown | {
            "answer": None,
            "size": render.size,
            "list": listing.rows(urls, form, found["results"]),
            "json_href": f"{urls.path('/why.json')}?{render.query_string(form.asked)}",
        }
    if found is not None:
        database = open_database(datasette).name
        shown |= {
            "verdict": render.verdict(found["verdict"]),
            "bar": bar(found),
            "size": render.size,
            "model_href": render.page_link(urls, "model_id", found["model"]),
            "accelerator_href": render.page_link(urls, "accelerator_id", found["accelerator"]),
            "precision_href": render.row_link(urls, database, "precisions", found["precision"]),
            "json_href": f"{urls.path('/why.json')}?{render.query_string(form.asked)}",
            "suggestions": [_suggestion(urls, form, item) for item in found["suggestions"]],
            "web_link": render.web_link,
            "source_href": lambda key: render.row_link(urls, database, "sources", key),
        }
    return shown


def _near(urls: Any, form: Form, problem: dict[str, Any]) -> list[dict[str, str]]:
    """Return near names with the address that asks again with them."""
    field = _field_of(form, problem["error"])
    return [
        {"name": name, "href": f"{urls.path('/why')}?{render.query_string({**form.asked, field: name})}"}
        for name in problem.get("near", [])
    ]


def _field_of(form: Form, text: str) -> str:
    """Return the field that an error is about."""
    if "KV" in text:
        return "kv_precision"
    kinds = (("model", "model"), ("precision", "precision"), ("runtime", "runtime"))
    start = text.removeprefix("unknown ").split("'")[0]
    return next((field for word, field in kinds if word in start), "on")


def _suggestion(urls: Any, form: Form, item: dict[str, Any]) -> dict[str, Any]:
    changes = {name: item[name] for name in Form.__dataclass_fields__ if name in item}
    address = f"{urls.path('/why')}?{render.query_string({**form.asked, **changes})}"
    return {**item, "href": address if changes else None, "shown": render.verdict(item["verdict"])}
