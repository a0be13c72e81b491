"""/why: does it fit, and why. One cell explained; with only a model or only a machine, the list that answers."""

from __future__ import annotations

from typing import Any

from datasette.utils.asgi import Response

from rackfit.errors import RackfitError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import explain, fit_shown, listing
from rackfit.publish.pages.common import (
    ask,
    ask_once,
    ending_of,
    error_body,
    html_response,
    json_response,
    open_database,
)
from rackfit.publish.pages.download import FILES, OFFERED, answer_file
from rackfit.publish.pages.form import Form, question_of

PLAIN = ("model", "on", "precision", "kv_precision", "context", "sequences", "runtime")
"""What the page's own form asks for; other settings are kept as they came."""


def answer(answers: Answers, form: Form, explained: bool = True) -> dict[str, Any]:
    """Return the answer to a form with a model and a machine, where it is explained with its terms and sources.

    Raises:
        RackfitError: a name or figure that cannot be read, or a question without an honest answer.
    """
    from rackfit.ask.fit import fit_one

    question = question_of(form)
    found = fit_one(answers.connection, question)
    if not explained:
        return found
    return {
        **found,
        "terms": explain.terms(answers, found),
        "limit_explained": explain.limit(answers, found, question),
        "sources": explain.sources(answers, found),
    }


async def page(request: Any, datasette: Any) -> Any:
    """Answer /why, and the same as .json, .csv and .xlsx."""
    ending = ending_of(request)
    as_json, as_file = bool(ending), ending in OFFERED
    form = Form.read(request.args)
    found, problem = None, None
    try:
        if form.model and form.on:
            database = open_database(datasette)
            found = await ask_once(database, ("why", as_file, form), lambda answers: answer(answers, form, not as_file))
        elif form.model or form.on:
            found = await _list(datasette, form, as_json)
            if isinstance(found, Response):
                return found
        elif as_json or form.asked:
            raise UsageError("name a model, or the hardware it should run on, or both")
    except RackfitError as error:
        problem = error_body(error)
    if as_file:
        return await answer_file(open_database(datasette), ending, found, form.asked, "fit", problem)
    if as_json:
        return json_response(found or {}, problem)
    context = _context(datasette, form, found, problem)
    return await html_response(datasette, "rackfit_why.html", context, request, problem)


async def _list(datasette: Any, form: Form, as_json: bool) -> Any:
    """Return the list for half a question: a way to the stored one where that has the answer, else computed."""
    database = open_database(datasette)
    question_of(form).check()
    place = None if as_json else await ask(database, lambda answers: listing.stored(answers, form))
    if place is not None:
        slug, arguments = place
        return Response.redirect(f"{datasette.urls.query(database.name, slug)}?{render.query_string(arguments)}")
    return await ask_once(database, ("list", form), lambda answers: listing.live(answers, form))


def _context(
    datasette: Any, form: Form, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    shown: dict[str, Any] = {
        "form": form, "answer": None, "problem": problem, "near": form.near_links(urls.path("/why"), problem),
        "hidden": [name for name in form.asked if name not in PLAIN],
        "settings_href": render.asking(urls.path("/calculator"), form.asked),
        "json_href": render.asking(urls.path("/why.json"), form.asked),
        "files": [(words, render.asking(urls.path(f"/why.{ending}"), form.asked)) for ending, words in FILES],
    }  # fmt: skip
    if found is None:
        return shown
    if "results" in found:
        return shown | {"size": render.size, "list": listing.rows(urls, form, found["results"])}
    database = open_database(datasette).name
    return shown | fit_shown.shown(urls, database, form, found, urls.path("/why")) | {
        "web_link": render.web_link,
        "source_href": lambda key: render.row_link(urls, database, "sources", key),
    }  # fmt: skip
