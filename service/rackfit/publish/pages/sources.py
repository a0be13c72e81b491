"""/sources: where facts come from, by class, and every place where sources disagree."""

from __future__ import annotations

from typing import Any

from rackfit.catalog.read import rows_of
from rackfit.errors import UsageError
from rackfit.export.page_tables import SOURCES
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask_once, attempt, ending_of, html_response, json_response, open_database
from rackfit.publish.pages.download import OFFERED, rows_file
from rackfit.publish.pages.record import helpers

CLASSES = {
    "vendor": "vendor's documents",
    "vendor_data": "data and tools that a vendor maintains",
    "engine_source": "source code of engines and frameworks",
    "device_print": "what drivers and logs print",
    "paper": "papers",
    "second_hand": "press, collected data, community",
}
"""Class of sources -> its words, the nearest to the thing itself first."""

MOST = 40
"""Sources shown without a filter: those that most facts rest on."""

PAGES = {"models": "model_id", "accelerators": "accelerator_id", "systems": "system_id"}

BY_CLASS = """
select source_class, count(distinct sources.source_id) as sources, count(provenance.field) as facts,
    coalesce(sum(provenance.rank = 1), 0) as first_facts, coalesce(sum(provenance.second_hand), 0) as unconfirmed
from sources left join provenance using (source_id) group by source_class
"""
LIST = """
select sources.source_id, title, url, issuer, published, accessed, source_class, licence, share_alike,
    count(provenance.field) as facts
from sources left join provenance using (source_id)
where ? = '' or source_class = ? group by sources.source_id order by facts desc, sources.source_id
"""
DISPUTES = "select table_name, key, field, other_value, source_id, reason from disputes order by table_name, key, field"


def read(answers: Answers, chosen: str) -> dict[str, Any]:
    """Return counts by class, the sources of one class or of all, and the disputes.

    Raises:
        UsageError: no such class.
    """
    if chosen and chosen not in CLASSES:
        raise UsageError(f"class = {chosen[:60]!r}: expected one of {', '.join(CLASSES)}")
    counts = {row["source_class"]: row for row in rows_of(answers.connection, BY_CLASS)}
    return {
        "class": chosen or None,
        "classes": [{"words": words, **counts[name]} for name, words in CLASSES.items() if name in counts],
        "sources": rows_of(answers.connection, LIST, chosen, chosen),
        "disputes": rows_of(answers.connection, DISPUTES),
    }


async def page(request: Any, datasette: Any) -> Any:
    """Answer /sources, /sources.json and /sources.csv."""
    chosen = (request.args.get("class") or "").strip()
    database, ending = open_database(datasette), ending_of(request)
    # Counting every fact takes longer than a page may: once a day.
    found, problem = await attempt(ask_once(database, ("sources", chosen), lambda answers: read(answers, chosen)))
    if ending in OFFERED:
        asked = {"class": chosen} if chosen else {}
        return await rows_file(database, ending, SOURCES, (found or {}).get("sources", []), asked, problem)
    if ending:
        return json_response({"ok": True, **(found or {})}, problem)
    return await html_response(
        datasette, "rackfit_sources.html", _context(datasette, chosen, found, problem), request, problem
    )


def _context(
    datasette: Any, chosen: str, found: dict[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls, database = datasette.urls, open_database(datasette).name
    shown: dict[str, Any] = {"chosen": chosen[:60], "problem": problem, "found": found, "classes": CLASSES}
    if found is None:
        return shown
    asked = render.query_string({"class": chosen})
    return shown | helpers(urls, database) | {
        "listed": found["sources"] if chosen else found["sources"][:MOST],
        "record_href": lambda row: (
            render.page_link(urls, PAGES[row["table_name"]], row["key"])
            if row["table_name"] in PAGES
            else render.row_link(urls, database, row["table_name"], row["key"])
        ),
        "json_href": f"{urls.path('/sources.json')}?{asked}",
        "csv_href": f"{urls.path('/sources.csv')}?{asked}",
    }  # fmt: skip
