"""/calculator: every setting of an inference and of a training question on one page, answered live from its address."""

from __future__ import annotations

from typing import Any

from rackfit.errors import RackfitError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import fit_shown, listing, names, train, train_shown
from rackfit.publish.pages.common import ask_once, ending_of, error_body, html_response, json_response, open_database
from rackfit.publish.pages.fields import FIT, OWN, TRAIN
from rackfit.publish.pages.form import OwnForm, OwnTrainForm, PageForm, question_of, train_question_of, with_own_model

TASKS = ("inference", "training")
SHARED = ("model", "on", "config")
"""Parameters that the form of the other task starts with."""


def inference(answers: Answers, form: OwnForm) -> dict[str, Any]:
    """Return the answer to a form, as `rackfit fit --json` gives it; for half a question the list that answers it.

    Raises:
        RackfitError: a name or figure that cannot be read, or a question without an honest answer.
    """
    from rackfit.ask.fit import fit_one

    question = with_own_model(question_of(form), form)
    if question.model and question.on:
        return fit_one(answers.connection, question)
    if not question.model and not question.on:
        raise UsageError("name a model, or the hardware it should run on, or both")
    return listing.live(answers, form, question)


def training(answers: Answers, form: OwnTrainForm) -> dict[str, Any]:
    """Return the answer to a form, as `rackfit train --json` gives it.

    Raises:
        RackfitError: a name or figure that cannot be read, or a question without an honest answer.
    """
    return train.answer(answers, with_own_model(train_question_of(form), form))


def read_forms(arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return the task and the forms of both tasks: the one that is asked, and the other with the same names in it.

    Raises:
        UsageError: another task.
    """
    task = (arguments.get("task") or TASKS[0]).strip()
    shared = {name: (arguments.get(name) or "").strip() for name in SHARED}
    forms: dict[str, PageForm] = {"inference": OwnForm(**shared), "training": OwnTrainForm(**shared)}
    if task not in TASKS:
        raise UsageError(f"task = {task!r}: expected {' or '.join(TASKS)}")
    forms[task] = type(forms[task]).read(arguments)
    return task, forms


async def page(request: Any, datasette: Any) -> Any:
    """Answer /calculator and /calculator.json."""
    as_json = bool(ending_of(request))
    database = open_database(datasette)
    task, forms = TASKS[0], {"inference": OwnForm(), "training": OwnTrainForm()}
    found, problem = None, None
    try:
        task, forms = read_forms(request.args)
        if forms[task].asked or as_json:
            work: Any = inference if task == "inference" else training
            found = await ask_once(database, forms[task], lambda answers: work(answers, forms[task]))
    except RackfitError as error:
        problem = error_body(error)
    if as_json:
        return json_response({"task": task, "query": forms[task].asked, **(found or {})}, problem)
    context = await _context(datasette, task, forms, found)
    context |= {"problem": problem, "near": forms[task].near_links(_address(datasette.urls, task), problem)}
    return await html_response(datasette, "rackfit_calculator.html", context, request, problem)


def _address(urls: Any, task: str) -> str:
    return render.asking(urls.path("/calculator"), {"task": "" if task == TASKS[0] else task}).rstrip("?")


async def _context(datasette: Any, task: str, forms: dict[str, Any], found: dict[str, Any] | None) -> dict[str, Any]:
    urls, database, form = datasette.urls, open_database(datasette), forms[task]
    asked = {**({"task": task} if task != TASKS[0] else {}), **form.asked}
    shown: dict[str, Any] = {
        "task": task, "forms": forms, "fit_groups": (*FIT, OWN), "train_groups": (*TRAIN, OWN), "filled": names.filled,
        "lists": await names.lists(database, FIT, TRAIN), "answer": None, "form": form,
        "json_href": render.asking(urls.path("/calculator.json"), asked),
    }  # fmt: skip
    if found is None:
        return shown
    if "results" in found:
        return shown | {"size": render.size, "list": listing.rows(urls, form, found["results"])}
    part = fit_shown if task == "inference" else train_shown
    return shown | part.shown(urls, database.name, form, found, _address(urls, task))
