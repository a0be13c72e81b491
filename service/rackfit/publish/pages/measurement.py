"""/accuracy/<case>: one measurement, its estimate with every component, and what both rest on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from datasette.utils import tilde_decode

from rackfit.accuracy.cases import Case
from rackfit.accuracy.components import Component, components
from rackfit.accuracy.setting import CaseSetting, setting_of
from rackfit.accuracy.summary import NONE, Row
from rackfit.catalog.read import rows_of
from rackfit.errors import RackfitError, UnknownNameError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages import accuracy_rows as scored
from rackfit.publish.pages import scatter
from rackfit.publish.pages.accuracy import as_entry, case_address
from rackfit.publish.pages.common import ask, attempt, ending_of, html_response, json_response, open_database

ALONE = frozenset({"K4", "K5"})
"""Kinds about a file or a device: nothing runs, so there are no components."""

SETTINGS = (
    ("Model", "model_id"), ("Weights", "precision_or_quant"), ("Cache", "kv_dtype"), ("Device", "gpu"),
    ("Devices", "gpu_count"), ("TP", "tp"), ("PP", "pp"), ("DP or ZeRO", "dp_or_zero"),
    ("Context, tokens", "context_tokens"), ("Batch", "batch"), ("Other settings", "other_config"),
    ("Engine", "engine_and_version"),
)  # fmt: skip
ABOUT = {
    "weights": "as loaded",
    "kv": "cache that the requests of the case need",
    "kv pool": "cache that the engine sets aside",
    "workspace": "activation peak of one step",
    "non-torch": "libraries and collective buffers",
    "graphs": "captured graphs",
    "runtime": "libraries, graphs that count, and cache reserved beyond the need",
    "outside the budget": "driver context and what the engine does not count",
    "total": "weights + kv + workspace + runtime",
    "usable": "what weights, cache, workspace and runtime may take together",
    "seen by the engine": "memory of the device as the engine reads it",
}
"""Component -> what it is."""


def taken_apart(answers: Answers, case_id: str) -> dict[str, Any]:
    """Return a case, its estimate, its components and the question that it stands for.

    Raises:
        UnknownNameError: no such case, with near ids.
    """
    found = scored.read(answers)
    row = next((row for row in found.rows if row.case_id == case_id), None)
    if row is None:
        near = [known for known in found.cases if known.startswith(case_id[:5].upper())][:3]
        raise UnknownNameError("case", case_id[:60], near)
    case = found.cases[case_id]
    stated = rows_of(answers.connection, "select * from measurements where case_id = ?", case_id)[0]
    setting = _setting(answers, case) if row.status == "resolved" else None
    return {
        "ok": True,
        **as_entry(row),
        "stated": {name: stated[column] for name, column in SETTINGS if stated[column] not in (None, "")},
        "components": [_entry(one) for one in _components(setting, found.cases.values())],
        "question": _question(setting, row),
        "rules": row.engine if row.engine != NONE else None,
        **_records(answers, case_id),
    }


def _records(answers: Answers, case_id: str) -> dict[str, Any]:
    keys = ("model_id", "accelerator_id", "precision_id")
    return rows_of(answers.connection, f"select {', '.join(keys)} from estimates where case_id = ?", case_id)[0]


def _setting(answers: Answers, case: Case) -> CaseSetting | None:
    try:
        return setting_of(answers.connection, answers.context, case)
    except RackfitError:
        return None


def _components(setting: CaseSetting | None, cases: Iterable[Case]) -> list[Component]:
    if setting is None or setting.case.kind in ALONE or setting.subject is None:
        return []
    return components(setting, cases)


def _entry(one: Component) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Component.__dataclass_fields__}


def _question(setting: CaseSetting | None, row: Row) -> dict[str, str] | None:
    """Return the parameters of /why that ask the same; None for files, devices and what names no machine."""
    if setting is None or setting.case.kind in ALONE or setting.subject is None or setting.machine is None:
        return None
    precision = setting.precision.precision_id if setting.precision else ""
    asked = {
        "model": setting.case.model,
        "on": f"{setting.count}x {setting.machine.device.accelerator_id}",
        "precision": precision,
        "kv_precision": setting.kv_id,
        "context": str(setting.case.context or ""),
        "sequences": str(setting.case.batch or ""),
        "runtime": row.runtime if row.runtime != NONE else "",
    }
    return {name: value for name, value in asked.items() if value}


async def page(request: Any, datasette: Any) -> Any:
    """Answer /accuracy/<case> and /accuracy/<case>.json."""
    case_id = tilde_decode(request.url_vars["case_id"])
    found, problem = await attempt(ask(open_database(datasette), lambda answers: taken_apart(answers, case_id)))
    if ending_of(request):
        return json_response(found or {}, problem)
    context = _context(datasette, case_id, found, problem)
    return await html_response(datasette, "rackfit_measurement.html", context, request, problem)


def _context(
    datasette: Any, case_id: str, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls = datasette.urls
    shown: dict[str, Any] = {
        "case_id": case_id[:60],
        "problem": problem,
        "case": found,
        "about": ABOUT,
        "near": [(name, case_address(urls, name)) for name in (problem or {}).get("near", [])],
        "accuracy_href": urls.path("/accuracy"),
        "figure": scatter.figure,
        "kinds": scored.KINDS,
        "case_href": lambda name: case_address(urls, name),
    }
    if found is None:
        return shown
    database = open_database(datasette).name
    links = {"model_id": "models", "accelerator_id": "accelerators", "precision_id": "precisions"}
    return shown | {
        "records": [
            (links[name], found[name], render.row_link(urls, database, links[name], found[name]))
            for name in links
            if found[name]
        ],
        "rules_href": found["rules"] and render.row_link(urls, database, "runtime_budgets", found["rules"]),
        "row_href": render.row_link(urls, database, "measurements", found["case_id"]),
        "estimate_href": render.row_link(urls, database, "estimates", found["case_id"]),
        "why_href": found["question"] and f"{urls.path('/why')}?{render.query_string(found['question'])}",
        "json_href": f"{case_address(urls, found['case_id'])}.json",
        "web_link": render.web_link,
        "same_kind_href": f"{urls.path('/accuracy')}?{render.query_string({'quantity': found['quantity']})}",
    }
