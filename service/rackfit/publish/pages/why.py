"""/why: does it fit, and why. One cell explained; with only a model or only a machine, the list that answers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from markupsafe import Markup

from rackfit.errors import RackfitError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers, whole
from rackfit.publish.pages import explain
from rackfit.publish.pages.common import ask, error_body, html_response, json_response, open_database

MODEL_LIST, MACHINE_LIST = "where_a_model_fits", "what_runs_on_a_device"
LONGEST = 200
"""Characters of a parameter that are still a name."""

BAR_WIDTH = 1000
BAR_TERMS = ("weights", "kv", "workspace", "runtime")


@dataclass(frozen=True)
class Form:
    """What the page was asked, as it was typed."""

    model: str = ""
    on: str = ""
    precision: str = ""
    kv_precision: str = ""
    context: str = ""
    sequences: str = ""
    runtime: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """The parameters that were filled in."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name)}


def read_form(arguments: Any) -> Form:
    """Return the form of a request."""
    return Form(**{field.name: (arguments.get(field.name) or "").strip() for field in fields(Form)})


def _number(form: Form, name: str) -> int | None:
    text = getattr(form, name).replace(",", "").replace("_", "")
    return whole(name, text) if text else None


def answer(answers: Answers, form: Form) -> dict[str, Any]:
    """Return the answer to a form with a model and a machine, with its terms and sources.

    Raises:
        RackfitError: a name or figure that cannot be read, or a question without an honest answer.
    """
    from rackfit.ask.fit import fit_one
    from rackfit.ask.question import FitQuestion

    for name, value in form.asked.items():
        if len(value) > LONGEST:
            raise UsageError(f"{name} has {len(value)} characters: expected at most {LONGEST}")
    if not form.model or not form.on:
        raise UsageError("name a model and the hardware it should run on")
    question = FitQuestion(
        model=form.model, on=form.on, precision=form.precision or None,
        kv_precision=form.kv_precision or None, context=_number(form, "context"),
        sequences=_number(form, "sequences"), runtime=form.runtime or None,
    )  # fmt: skip
    found = fit_one(answers.connection, question)
    return {
        **found,
        "terms": explain.terms(answers, found),
        "limit_explained": explain.limit(answers, found),
        "sources": explain.sources(answers, found),
    }


def resolved_one(answers: Answers, form: Form) -> tuple[str, dict[str, str]]:
    """Return the named query and its parameters for a form with only a model or only a machine."""
    if form.model:
        return MODEL_LIST, {"model": answers.name("model", form.model), "precision": form.precision}
    from rackfit.ask.question import find_machines

    machine = find_machines(answers.connection, form.on)[0]
    stored = answers.connection.execute(
        "select 1 from configurations where accelerator_id = ? and device_count = ? and node_count = ?",
        (machine.device.accelerator_id, machine.count, machine.nodes),
    ).fetchone()
    if machine.nodes > 1 or machine.others or stored is None:
        raise UsageError(f"{machine.shown}: no stored list for this shape; name a model as well")
    return MACHINE_LIST, {"device": machine.device.accelerator_id, "count": str(machine.count)}


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
    form = read_form(request.args)
    status, found, problem = 200, None, None
    try:
        database = open_database(datasette)
        if form.model and form.on:
            found = await ask(database, lambda answers: answer(answers, form))
        elif form.model or form.on:
            return await _list(datasette, database, form)
        elif as_json or form.asked:
            raise UsageError("name a model and the hardware it should run on")
    except RackfitError as error:
        status, problem = error.http_status, error_body(error)
    if as_json:
        return json_response(problem or found or {}, status)
    return await html_response(
        datasette, "rackfit_why.html", _context(datasette, form, found, problem), request, status
    )


async def _list(datasette: Any, database: Any, form: Form) -> Any:
    from datasette.utils.asgi import Response

    slug, arguments = await ask(database, lambda answers: resolved_one(answers, form))
    return Response.redirect(f"{datasette.urls.query(database.name, slug)}?{render.query_string(arguments)}")


def _context(
    datasette: Any, form: Form, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    shown: dict[str, Any] = {"form": form, "answer": found, "problem": problem, "near": []}
    if problem is not None:
        shown["near"] = _near(urls, form, problem)
    if found is not None:
        database = open_database(datasette).name
        shown |= {
            "verdict": render.verdict(found["verdict"]),
            "bar": bar(found),
            "size": render.size,
            "model_href": render.row_link(urls, database, "models", found["model"]),
            "accelerator_href": render.row_link(urls, database, "accelerators", found["accelerator"]),
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
