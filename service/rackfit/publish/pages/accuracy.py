"""/accuracy: every published measurement beside its estimate, misses included; as a page, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasette.utils import tilde_encode

from rackfit.accuracy import summary
from rackfit.accuracy.summary import Row
from rackfit.errors import RackfitError
from rackfit.export.page_tables import CASES, PAGE_TABLES
from rackfit.publish import render
from rackfit.publish.pages import accuracy_rows as scored
from rackfit.publish.pages import scatter
from rackfit.publish.pages.accuracy_rows import Catalogued, Filters
from rackfit.publish.pages.common import ask, ending_of, error_body, html_response, json_response, open_database
from rackfit.publish.pages.download import OFFERED, rows_file

GROUPED = (
    ("kind", "kind", "By kind of case"),
    ("quantity", "quantity", "By quantity"),
    ("engine", "engine", "By engine rules"),
    ("precision", "precision", "By precision family"),
    ("confidence", "confidence", "By confidence of the source"),
)
"""Field of a case, filter that chooses one of its values, heading."""

MOST_REASONS = 30
MOST_SHOWN = 50
"""Cases of the list of the furthest off that are open; the rest unfolds."""


def read_filters(arguments: Any) -> Filters:
    """Return the filters of a request."""
    return Filters(**{name: (arguments.get(name) or "").strip() for name in Filters.__dataclass_fields__})


def as_entry(row: Row) -> dict[str, Any]:
    """Return a case as JSON and CSV have it."""
    return {name: getattr(row, name) for name in PAGE_TABLES[CASES]}


def report(rows: Sequence[Row], filters: Filters) -> dict[str, Any]:
    """Return everything that is said of the chosen cases."""
    return {
        "ok": True,
        "filters": filters.asked,
        "summary": summary.summary(rows),
        "groups": {field: summary.groups(rows, field) for field, _, _ in GROUPED},
        "fits": summary.confusion(rows),
        "absolute": summary.absolute(rows),
        "refused": summary.refusals(rows),
        "wrong_verdicts": [row.case_id for row in summary.wrong_verdicts(rows)],
        "worst": [row.case_id for row in summary.worst(rows)],
        "cases": [as_entry(row) for row in rows],
    }


async def page(request: Any, datasette: Any) -> Any:
    """Answer /accuracy, /accuracy.json and /accuracy.csv."""
    ending = ending_of(request)
    filters = read_filters(request.args)
    problem, found = None, None
    rows: tuple[Row, ...] = ()
    names = [name for name in request.args if not name.startswith("_")]
    try:
        found = await ask(open_database(datasette), scored.read)
        filters.check(found.choices, names)
        rows = tuple(row for row in found.rows if filters.keeps(row))
    except RackfitError as error:
        problem = error_body(error)
    if ending == "json":
        return json_response(report(rows, filters), problem)
    if ending in OFFERED:
        return await rows_file(open_database(datasette), ending, CASES, map(as_entry, rows), filters.asked, problem)
    context = _context(datasette, filters, found, rows, problem)
    return await html_response(datasette, "rackfit_accuracy.html", context, request, problem)


def case_address(urls: Any, case_id: str) -> str:
    """Return the address of a case's page."""
    return f"{urls.path('/accuracy')}/{tilde_encode(case_id)}"


def _context(
    datasette: Any,
    filters: Filters,
    found: Catalogued | None,
    rows: Sequence[Row],
    problem: dict[str, Any] | None,
) -> dict[str, Any]:
    urls = datasette.urls
    choices = found.choices if found else {}
    shown: dict[str, Any] = {
        "filters": filters,
        "problem": problem,
        "choices": {name: _choices(filters, name, values) for name, values in choices.items()},
        "kinds": scored.KINDS,
        "figure": scatter.figure,
        "case_href": lambda case_id: case_address(urls, case_id),
        "rows": len(rows),
        "everything": len(found.rows) if found else 0,
    }
    if problem is not None or found is None:
        return shown
    asked = render.query_string(filters.asked)
    return shown | {
        "report": _figures(rows),
        "tables": [_table(urls, filters, rows, *entry) for entry in GROUPED],
        "panels": scatter.panels(rows, f"{urls.path('/accuracy')}/"),
        "key": scatter.key,
        "json_href": f"{urls.path('/accuracy.json')}?{asked}",
        "csv_href": f"{urls.path('/accuracy.csv')}?{asked}",
        "measurements_href": urls.table(open_database(datasette).name, "measurements"),
        "estimates_href": urls.table(open_database(datasette).name, "estimates"),
    }


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    reasons, worst = summary.refusals(rows), summary.worst(rows)
    return {
        "summary": summary.summary(rows),
        "fits": summary.confusion(rows),
        "absolute": summary.absolute(rows),
        "refused": reasons[:MOST_REASONS],
        "other_reasons": sum(entry["cases"] for entry in reasons[MOST_REASONS:]),
        "wrong": summary.wrong_verdicts(rows),
        "worst": worst[:MOST_SHOWN],
        "more": worst[MOST_SHOWN:],
        "sources": len({row.source_url for row in rows}),
    }


def _choices(filters: Filters, name: str, values: Sequence[str]) -> list[dict[str, Any]]:
    """Return the options of one filter; what was typed stays chosen, known or not."""
    chosen = getattr(filters, name)
    listed = [*values] if not chosen or chosen in values else [*values, chosen[:60]]
    return [
        {
            "value": value,
            "name": f"{value} {scored.KINDS[value]}" if name == "kind" and value in scored.KINDS else value,
            "chosen": value == chosen[:60] or value == chosen,
        }
        for value in listed
    ]


def _table(urls: Any, filters: Filters, rows: Sequence[Row], field: str, parameter: str, title: str) -> dict[str, Any]:
    entries = []
    for name, figures in summary.groups(rows, field).items():
        address = render.query_string({**filters.asked, parameter: name})
        entries.append(
            {
                "name": name,
                "note": scored.KINDS.get(name) if field == "kind" else None,
                "href": f"{urls.path('/accuracy')}?{address}",
                **figures,
            }
        )
    return {"title": title, "field": field, "entries": entries}
