"""The Datasette plugin: thin hooks, those that Datasette 0.65 and 1.0 both have, with the fewest arguments."""

from __future__ import annotations

from typing import Any

from datasette import hookimpl

from rackfit.publish import bad_requests, named_queries, render, security, whole
from rackfit.publish.errors_in_sql import explain_errors
from rackfit.publish.pages import (
    accuracy,
    calculator,
    compare,
    cost,
    glossary,
    hardware,
    home,
    matrix_files,
    measurement,
    model,
    plan,
    quote,
    search,
    sources,
    speed,
    status,
    system,
    tender,
    train,
    why,
    zero,
)
from rackfit.publish.responses import outgoing
from rackfit.publish.settings import is_catalog
from rackfit.publish.sql_functions import register_functions


@hookimpl
async def startup(datasette: Any) -> None:
    """Explain the errors of functions, and store the named queries where Datasette 1.0 keeps them."""
    for name, database in list(datasette.databases.items()):
        if not is_catalog(database.path):
            continue
        explain_errors(database)
        if hasattr(datasette, "add_query"):
            for slug, query in named_queries.read().items():
                await datasette.add_query(
                    name, slug, query.sql, title=query.title, description_html=query.description_html,
                    parameters=list(query.parameters), hide_sql=True, is_trusted=True,
                )  # fmt: skip


@hookimpl
def prepare_connection(conn: Any, database: str, datasette: Any) -> None:
    """Cap what a query may make, and add the functions of the catalog."""
    security.protect(conn)
    opened = datasette.databases.get(database)
    if opened is not None and is_catalog(opened.path):
        register_functions(conn, opened.path)


@hookimpl
def canned_queries(datasette: Any, database: str) -> dict[str, Any]:
    """Return the named queries, for Datasette 0.65."""
    opened = datasette.databases.get(database)
    return named_queries.as_metadata() if opened is not None and is_catalog(opened.path) else {}


@hookimpl
def render_cell(value: Any, column: str, table: str | None, database: str, datasette: Any) -> Any:
    """Show verdicts, ids, sizes and booleans as people read them."""
    return render.cell(value, column, table, database, datasette.urls)


@hookimpl
def extra_css_urls() -> list[str]:
    """Add the style of verdicts, pages and the dark scheme."""
    return [f"/-/static-plugins/rackfit/{name}.css" for name in ("rackfit", "pages", "datasette")]


@hookimpl
def register_routes() -> list[tuple[str, Any]]:
    """Add the pages that explain answers and score them and the status, and list databases without their paths."""
    return [
        (r"^/$", home.page),
        (r"^/matrix(?P<format>\.json|\.csv|\.xlsx|\.svg)?$", matrix_files.page),
        (r"^/why(?P<format>\.json|\.csv|\.xlsx)?$", why.page),
        (r"^/calculator(?P<format>\.json)?$", calculator.page),
        (r"^/train(?P<format>\.json|\.csv|\.xlsx)?$", train.page),
        (r"^/speed(?P<format>\.json|\.csv|\.xlsx)?$", speed.page),
        (r"^/plan(?P<format>\.json|\.csv|\.xlsx)?$", plan.page),
        (r"^/cost(?P<format>\.json|\.csv|\.xlsx)?$", cost.page),
        (r"^/quote(?P<format>\.json|\.csv|\.xlsx)?$", quote.page),
        (r"^/tender(?P<format>\.json|\.csv|\.xlsx)?$", tender.page),
        (r"^/zero(?P<format>\.json|\.csv|\.xlsx)?$", zero.page),
        (r"^/accuracy(?P<format>\.json|\.csv|\.xlsx)?/?$", accuracy.page),
        (r"^/accuracy/(?P<case_id>[^/]+?)(?P<format>\.json)?$", measurement.page),
        (r"^/model/(?P<name>.+?)(?P<format>\.json)?$", model.page),
        (r"^/hardware/(?P<name>.+?)(?P<format>\.json)?$", hardware.page),
        (r"^/system/(?P<name>.+?)(?P<format>\.json)?$", system.page),
        (r"^/compare(?P<format>\.json|\.csv|\.xlsx)?$", compare.page),
        (r"^/glossary(?P<format>\.json)?$", glossary.page),
        (r"^/sources(?P<format>\.json|\.csv|\.xlsx)?$", sources.page),
        (r"^/search(?P<format>\.json)?$", search.page),
        (r"^/-/rackfit(?:\.json)?$", status.page),
        (r"^/-/databases(?:\.json)?$", status.databases),
    ]


@hookimpl
def handle_exception(datasette: Any, request: Any, exception: Exception) -> Any:
    """Blame the request, not the server, for a bad page parameter."""
    return bad_requests.answer(datasette, request, exception)


@hookimpl
def menu_links(datasette: Any) -> list[dict[str, str]]:
    """Add the questions and the scoreboard to the menu."""
    return [
        {"href": datasette.urls.path("/why"), "label": "Does it fit?"},
        {"href": datasette.urls.path("/calculator"), "label": "Calculator"},
        {"href": datasette.urls.path("/train"), "label": "Train"},
        {"href": datasette.urls.path("/speed"), "label": "How fast?"},
        {"href": datasette.urls.path("/plan"), "label": "Which machines?"},
        {"href": datasette.urls.path("/cost"), "label": "At what cost?"},
        {"href": datasette.urls.path("/quote"), "label": "What to buy"},
        {"href": datasette.urls.path("/tender"), "label": "Tender check"},
        {"href": datasette.urls.path("/search"), "label": "Look up"},
        {"href": datasette.urls.path("/compare"), "label": "Compare"},
        {"href": datasette.urls.path("/accuracy"), "label": "Accuracy"},
        {"href": datasette.urls.path("/sources"), "label": "Sources"},
        {"href": datasette.urls.path("/glossary"), "label": "Glossary"},
    ]


@hookimpl
def extra_template_vars(datasette: Any) -> dict[str, Any]:
    """Tell pages of queries how many rows they show at most, so that they can say when an answer may be cut."""
    return {"rackfit_most_rows": datasette.setting("max_returned_rows")}


@hookimpl
def register_output_renderer() -> dict[str, Any]:
    """Offer tables, views and queries as workbooks."""
    return {"extension": "xlsx", "render": whole.render_workbook, "can_render": whole.can_render}


@hookimpl
def extra_js_urls() -> list[dict[str, Any]]:
    """Name what scripts of Datasette leave without a name."""
    return [{"url": "/-/static-plugins/rackfit/labels.js", "module": True}]


@hookimpl
def asgi_wrapper(datasette: Any) -> Any:
    """Send whole tables as CSV, complete pages, compress for who takes it, and put the security headers on all."""
    return lambda app: outgoing(whole.with_whole_csv(app, datasette))
