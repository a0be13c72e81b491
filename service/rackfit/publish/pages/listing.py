"""Half a question answered live: where a model runs, or what runs on a machine, with the figures that were asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.form import Form, question_of

MOST = 50
"""Answers of one list."""


def stored(answers: Answers, form: Form) -> tuple[str, dict[str, str]] | None:
    """Return the named query that has this list from the stored matrix, with its parameters.

    None where the form asks for more than the matrix holds, such as a MIG slice or one size of shared memory.
    """
    if set(form.asked) - {"model", "on"} - ({"precision"} if form.model else set()):
        return None
    if form.model:
        return "where_a_model_fits", {"model": answers.name("model", form.model), "precision": form.precision}
    from rackfit.ask.machines import find_machines

    machines = find_machines(answers.connection, form.on)
    machine = machines[0]
    shape = answers.connection.execute(
        "select 1 from configurations where accelerator_id = ? and device_count = ? and node_count = 1",
        (machine.device.accelerator_id, machine.count),
    ).fetchone()
    plain = machine.nodes == 1 and not (machine.others or machine.sliced or machine.usable_gib or machine.ram_gb)
    if len(machines) > 1 or not plain or shape is None:
        return None
    return "what_runs_on_a_device", {"device": machine.device.accelerator_id, "count": str(machine.count)}


def live(answers: Answers, form: Form, question: Any = None) -> dict[str, Any]:
    """Return the list computed for this form, best first.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
    """
    from rackfit.ask.lists import what_runs, where_it_runs

    question = replace(question or question_of(form), limit=MOST)
    found = (where_it_runs if question.model else what_runs)(answers.connection, question)
    return {"query": form.asked, "results": found}


def rows(urls: Any, form: Form, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the list as the page shows it: each row with the address that explains it."""
    shown = []
    for item in results:
        own = "config" in form.asked
        asked = {**form.asked, "model": form.model if own else item["model"], "precision": item["precision"]}
        asked["on"] = item["hardware"] if form.model or own else form.on
        shown.append(
            {
                **item,
                "name": item["hardware"] if form.model or own else item["model"],
                "href": render.asking(urls.path("/calculator" if own else "/why"), asked),
                "shown": render.verdict(item["verdict"]),
            }
        )
    return shown
