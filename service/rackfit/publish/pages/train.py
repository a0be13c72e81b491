"""/train: can this model be trained on this hardware, how, with how large a batch, and in how many days."""

from __future__ import annotations

from typing import Any

from rackfit.ask.train import TrainQuestion
from rackfit.errors import RackfitError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import explain, names, train_shown
from rackfit.publish.pages.common import ask_once, ending_of, error_body, html_response, json_response, open_database
from rackfit.publish.pages.download import FILES, OFFERED, answer_file
from rackfit.publish.pages.fields import TRAIN
from rackfit.publish.pages.form import TrainForm, train_question_of


def answer(answers: Answers, question: TrainQuestion) -> dict[str, Any]:
    """Return the answer to a question, as `rackfit train --json` gives it.

    Raises:
        RackfitError: a name or figure that cannot be read, or a question without an honest answer.
    """
    from rackfit.ask.train import train_one

    if not question.model or not question.on:
        raise UsageError("name a model and the hardware it should be trained on")
    return train_one(answers.connection, question)


def explained(answers: Answers, form: TrainForm, sources: bool) -> dict[str, Any]:
    """Return the answer to a form, with the sources of what went into it where they are wanted.

    Raises:
        RackfitError: as `answer`.
    """
    found = answer(answers, train_question_of(form))
    if not sources:
        return found
    return {**found, "sources": explain.training_sources(answers, found)}


async def page(request: Any, datasette: Any) -> Any:
    """Answer /train, and the same as .json, .csv and .xlsx."""
    ending = ending_of(request)
    as_json, as_file = bool(ending), ending in OFFERED
    form, database = TrainForm.read(request.args), open_database(datasette)
    found, problem = None, None
    half = bool(form.model) != bool(form.on)
    try:
        if half and not as_json:
            train_question_of(form).check()
        elif form.asked or as_json:
            key = ("train", as_file, form)
            found = await ask_once(database, key, lambda answers: explained(answers, form, not as_file))
    except RackfitError as error:
        problem = error_body(error)
    if as_file:
        return await answer_file(database, ending, found, form.asked, "training", problem)
    if as_json:
        return json_response({"query": form.asked, **(found or {})}, problem)
    urls = datasette.urls
    address = urls.path("/train")
    context: dict[str, Any] = {
        "form": form, "groups": TRAIN, "filled": names.filled, "lists": await names.lists(database, TRAIN),
        "problem": problem, "near": form.near_links(address, problem), "answer": None,
        "json_href": render.asking(urls.path("/train.json"), form.asked),
        "files": [(words, render.asking(urls.path(f"/train.{ending}"), form.asked)) for ending, words in FILES],
    }  # fmt: skip
    if found is not None:
        context |= train_shown.shown(urls, database.name, form, found, address)
    return await html_response(datasette, "rackfit_train.html", context, request, problem)
