"""One question, four ways to answer it: as a page, as JSON, and as CSV or workbook, each with the same refusal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rackfit.errors import RackfitError
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import (
    Problem,
    ask,
    ask_once,
    ending_of,
    error_body,
    html_response,
    json_response,
    open_database,
)
from rackfit.publish.pages.download import OFFERED, table_file
from rackfit.publish.pages.form import PageForm
from rackfit.tabular.table import Table

AnyForm = TypeVar("AnyForm", bound=PageForm)
Found = Any
"""The answer; None where nothing was asked, or where it was refused."""


@dataclass(frozen=True, slots=True)
class Question(Generic[AnyForm]):
    """What a page asks, how it is answered, and what its page and its files show of the answer.

    `answer` raises the RackfitError that refuses a form, one in which something is missing too.
    """

    form: type[AnyForm]
    answer: Callable[[Answers, AnyForm], Found]
    table: Callable[[Answers, AnyForm, Found], Table]
    template: str
    context: Callable[[Any, AnyForm, Found, Problem], Awaitable[dict[str, Any]]]
    keep: bool = True
    """Whether an answer is kept for the next who asks the same: not where it is large."""


async def respond(request: Any, datasette: Any, question: Question[Any]) -> Any:
    """Return the answer to a request in the form that the ending of its address asks for.

    An empty form is a page without an answer; without a page there is nothing to fill in, so that it is refused.
    """
    form, database, ending = question.form.read(request.args), open_database(datasette), ending_of(request)
    found, problem = None, None
    try:
        if ending or form.asks:
            form.checked()
            found = await (
                ask_once(database, form, lambda answers: question.answer(answers, form))
                if question.keep
                else ask(database, lambda answers: question.answer(answers, form))
            )
    except RackfitError as error:
        problem = error_body(error)
    if ending in OFFERED:
        locale = request.args.get("_locale") or ""
        return await table_file(database, ending, lambda answers: question.table(answers, form, found), problem, locale)
    if ending:
        return json_response(found or {}, problem)
    context = await question.context(datasette, form, found, problem)
    return await html_response(datasette, question.template, context, request, problem)
