"""One question, four ways to answer it: as a page, as JSON, and as CSV or workbook, each with the same refusal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rackfit.errors import RackfitError
from rackfit.publish.pages.common import error_body, html_response, json_response
from rackfit.publish.pages.download import OFFERED

Found = Any
"""The answer; None where nothing was asked, or where it was refused."""
Problem = dict[str, Any] | None


def ending_of(request: Any) -> str:
    """Return how a request wants its answer: json, csv or xlsx; empty for a page."""
    return (request.url_vars.get("format") or "").removeprefix(".")


async def respond(
    request: Any,
    datasette: Any,
    template: str,
    answer: Awaitable[Found],
    file: Callable[[str, Found, Problem], Awaitable[Any]],
    context: Callable[[Found, Problem], Awaitable[dict[str, Any]]],
) -> Any:
    """Return the answer to a request in the form that it asks for.

    Args:
        request: the request; the ending of its address says the form.
        datasette: the running Datasette.
        template: template of the page.
        answer: the answer, or the RackfitError that refuses it.
        file: makes a file of an ending.
        context: what the page shows.
    """
    ending, status, found, problem = ending_of(request), 200, None, None
    try:
        found = await answer
    except RackfitError as error:
        status, problem = error.http_status, error_body(error)
    if ending in OFFERED:
        return await file(ending, found, problem)
    if ending:
        return json_response(problem or found or {}, status)
    return await html_response(datasette, template, await context(found, problem), request, status)
