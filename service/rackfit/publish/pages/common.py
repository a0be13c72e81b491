"""What every page needs: the open catalog, work in Datasette's threads, answers as HTML or JSON."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from datasette.utils.asgi import Response

from rackfit.errors import CatalogError, RackfitError
from rackfit.publish.answers import Answers
from rackfit.publish.settings import is_catalog

Result = TypeVar("Result")
Problem = dict[str, Any] | None
"""An error as `error_body` has it; None where there is none."""
MOST_KEPT = 256
"""Answers that are kept for the next who asks the same: some 20 KB each."""
_threads = threading.local()


def open_database(datasette: Any) -> Any:
    """Return the first database that is a catalog.

    Raises:
        CatalogError: none is open.
    """
    for database in datasette.databases.values():
        if is_catalog(database.path):
            return database
    raise CatalogError("no Rackfit catalog is open")


async def ask(database: Any, work: Callable[[Answers], Result]) -> Result:
    """Run work on the answers of a catalog in one of Datasette's threads, which keeps them for the next question."""
    path = Path(database.path)

    def in_thread(_: Any) -> tuple[Result | None, RackfitError | None]:
        kept: dict[tuple[Path, int], Answers] = _threads.__dict__.setdefault("answers", {})
        key = (path, path.stat().st_mtime_ns)
        answers = kept.setdefault(key, Answers(path))
        try:
            return work(answers), None
        except RackfitError as error:
            return None, error
        except StopIteration as error:
            # No future can carry it: the request would wait for ever instead of failing.
            raise RuntimeError("a search for what must be there found nothing") from error

    result, error = await database.execute_fn(in_thread)
    if error is not None:
        raise error
    return result  # type: ignore[return-value, unused-ignore]


async def ask_once(database: Any, key: Any, work: Callable[[Answers], Result]) -> Result:
    """Return what was answered to the same question today, else ask and keep the answer; a catalog never changes.

    Prices count by the day, hence today. Errors are not kept. The answer is shared: who shows it must not change it.
    """
    key = (date.today(), key)
    kept: dict[Any, Any] = database.__dict__.setdefault("_rackfit_kept", {})
    if key in kept:
        found: Result = kept[key]
        return found
    found = await ask(database, work)
    while len(kept) >= MOST_KEPT:
        kept.pop(next(iter(kept)))
    kept[key] = found
    return found


def ending_of(request: Any) -> str:
    """Return how a request wants its answer: json, csv or xlsx; empty for a page."""
    return (request.url_vars.get("format") or "").removeprefix(".")


async def attempt(asked: Awaitable[Result]) -> tuple[Result | None, Problem]:
    """Return an answer, or in its place the error that refuses it."""
    try:
        return await asked, None
    except RackfitError as error:
        return None, error_body(error)


def json_response(body: dict[str, Any], problem: Problem = None) -> Response:
    """Return an answer as JSON, or the problem in its place, with its status."""
    return Response.json(problem or body, status=_status(problem))


async def html_response(
    datasette: Any, template: str, context: dict[str, Any], request: Any, problem: Problem = None
) -> Response:
    """Return a rendered page, with the status of the problem that it shows."""
    return Response.html(await datasette.render_template(template, context, request=request), status=_status(problem))


def _status(problem: Problem) -> int:
    return 200 if problem is None else int(problem["status"])


def error_body(error: RackfitError) -> dict[str, Any]:
    """Return an error as JSON, with the name that is not known and near names where there are any."""
    body: dict[str, Any] = {"ok": False, "error": str(error), "status": error.http_status}
    near = getattr(error, "near", None) or getattr(error, "candidates", None)
    if near:
        body["near"] = list(near)
    if name := getattr(error, "name", None):
        body["name"] = name
    return body
