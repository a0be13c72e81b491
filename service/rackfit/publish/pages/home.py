"""The home page: what this is, where to start, and a small matrix of popular models and devices."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from rackfit.errors import CatalogError
from rackfit.publish import named_queries, render
from rackfit.publish.pages import matrix
from rackfit.publish.pages.common import attempt, html_response, open_database
from rackfit.publish.pages.status import summary
from rackfit.publish.settings import is_catalog

STARTS = (
    ("where_a_model_fits", "model=qwen3-32b"),
    ("what_runs_on_a_device", "device=rtx-4090&count=1"),
    ("models_that_fit_one_24_gb_card", "label_gb=24&vendor=NVIDIA"),
    ("cheapest_configuration_for_a_model", "model=llama-3.1-70b"),
    ("kv_bytes_per_token", "context=131072&family=gemma"),
    ("weights_in_every_format", "model=llama-3.1-8b"),
    ("who_runs_a_format", "precision=fp8"),
    ("label_against_driver_memory", "vendor=NVIDIA"),
)
"""Queries that the page offers first, with arguments that answer."""

COUNTED = (
    ("models", "architectures"), ("checkpoints", "checkpoints"), ("accelerators", "accelerators"),
    ("systems", "systems and instances"), ("precisions", "number formats"), ("offers", "dated prices"),
    ("measurements", "measurements"), ("configurations", "shapes"), ("sources", "sources"),
)  # fmt: skip


async def page(request: Any, datasette: Any) -> Any:
    """Answer /, with the matrix for the figures asked."""
    try:
        database = open_database(datasette)
    except CatalogError:
        shown = {"rackfit": {"open": False}, "databases": list(datasette.databases.values())}
        return await html_response(datasette, "rackfit_home.html", shown, request)
    asked = matrix.read_asked(request.args)
    known = await _known(datasette, database)
    cells, problem = await attempt(matrix.cells(database, asked))
    found = matrix.table(cells or {}, asked, database, datasette.urls)
    query = render.query_string(asked.form.asked)
    shown = {
        "rackfit": {
            **known, "matrix": found, "asked": asked, "formats": _formats(asked), "problem": problem,
            "said": matrix.said(asked), "files": datasette.urls.path("/matrix"), "query": f"?{query}" if query else "",
        }
    }  # fmt: skip
    return await html_response(datasette, "rackfit_home.html", shown, request, problem)


def _formats(asked: matrix.Asked) -> list[tuple[str, str, bool]]:
    """Return the formats of the form: value, words, whether it is chosen; what was typed is among them."""
    typed = asked.precision[:60]
    listed = [*matrix.FORMATS]
    if typed not in dict(listed):
        listed.append((typed, typed))
    return [(value, words, value == typed) for value, words in listed]


async def _known(datasette: Any, database: Any) -> dict[str, Any]:
    """Return what the page says of an opened catalog; it is made once."""
    kept: dict[str, Any] | None = getattr(database, "_rackfit_home", None)
    if kept is None:
        kept = database._rackfit_home = await _context(datasette, database)
    return kept


async def _context(datasette: Any, database: Any) -> dict[str, Any]:
    found = await summary(database)
    urls = datasette.urls
    queries = named_queries.read()
    counts = found["counts"]
    fits = await database.execute("select count(*) from inference_cells")
    return {
        "open": is_catalog(database.path),
        "database": database.name,
        "version": version("rackfit"),
        "release": found["release"],
        "fits": fits.rows[0][0],
        "counts": [
            {"name": name, "count": counts.get(table) or 0, "href": urls.table(database.name, table)}
            for table, name in COUNTED
            if table in counts
        ],
        "starts": [
            {
                "title": queries[slug].title,
                "description": queries[slug].description,
                "href": f"{urls.query(database.name, slug)}?{arguments}",
            }
            for slug, arguments in STARTS
        ],
        "queries": [
            {
                "title": query.title,
                "href": f"{urls.query(database.name, slug)}" + (f"?{query.example}" if query.example else ""),
            }
            for slug, query in sorted(queries.items(), key=lambda item: item[1].title)
        ],
        "changes": await _changes(database, urls, found["release"]),
    }


async def _changes(database: Any, urls: Any, release: dict[str, Any]) -> dict[str, Any]:
    """Return how many facts of each table this release changed, and what its notes say."""
    counted = await database.execute(
        "select table_name, count(*) as facts from changes where version = ? group by table_name order by facts desc",
        (release["version"],),
    )
    notes = await database.execute("select notes from releases where version = ?", (release["version"],))
    asked = render.query_string({"version": release["version"]})
    return {
        "tables": [dict(row) for row in counted.rows],
        "notes": notes.rows[0]["notes"] if notes.rows else None,
        "href": f"{urls.table(database.name, 'changes')}?{asked}",
    }
