"""/search: one box over models, hardware, systems and number formats; an exact name goes straight to its page."""

from __future__ import annotations

from typing import Any

from datasette.utils.asgi import Response

from rackfit.catalog.read import rows_of
from rackfit.catalog.resolve import near_names, resolve_first
from rackfit.errors import UnknownNameError, UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask, attempt, ending_of, html_response, json_response, open_database
from rackfit.publish.pages.record import check_name
from rackfit.records.names import name_key

KINDS = ("model", "accelerator", "system", "precision", "interconnect", "runtime")
NAMES = {
    "model": "Models", "accelerator": "Hardware", "system": "Systems", "precision": "Number formats",
    "interconnect": "Links", "runtime": "Engines",
}  # fmt: skip
TABLES = {"precision": "precisions", "interconnect": "interconnects", "runtime": "runtimes"}
"""Kinds whose records have a row and no page of their own."""

MOST = 25
"""Hits shown of one kind."""

ABOUT = {
    "model": "select model_id, printf('%,d parameters', params_total) from models",
    "accelerator": "select accelerator_id, printf('%s, %g GB, %g GB/s', segment, memory_gb, memory_bandwidth_gb_s) "
    "from accelerators",
    "system": "select system_id, printf('%d x %s', accelerator_count, accelerator_id) from systems",
    "precision": "select precision_id, printf('%s, %g effective bits', use, effective_bits) from precisions",
    "interconnect": "select interconnect_id, printf('%g GB/s per direction', per_direction_gb_s) from interconnects",
    "runtime": "select runtime_id, maker from runtimes",
}
"""Kind -> a few words about each record, by key."""


def look_up(answers: Answers, text: str) -> dict[str, Any]:
    """Return what a text names exactly, if anything, and the records one of whose names has all its words.

    Raises:
        UsageError: nothing or too much to look up. UnknownNameError: no hit, with near names.
    """
    check_name(text)
    key = name_key(text)
    if not key:
        raise UsageError("name a model, a device, a system or a number format")
    found = hits(answers, key)
    exact = _exact(answers, text)
    if not found and exact is None:
        raise UnknownNameError("name", text, near_names(answers.connection, KINDS, key))
    return {"query": text, "exact": exact, "hits": found}


def _exact(answers: Answers, text: str) -> dict[str, str] | None:
    try:
        found = resolve_first(answers.connection, KINDS, text, allow_class=True)
    except UnknownNameError:
        return None
    return None if found.is_class else {"kind": found.kind, "id": found.id}


def hits(answers: Answers, key: str) -> list[dict[str, Any]]:
    """Return the records one of whose names has every word of a key: whole names, beginnings, the rest."""
    words = key.split()
    best: dict[tuple[str, str], tuple[int, int, str]] = {}
    names = "select kind, alias_key, target_id, alias, is_class from aliases"
    for row in rows_of(answers.connection, names):
        name = row["alias_key"]
        if not all(word in name for word in words):
            continue
        place = 0 if name == key else 1 if name.startswith(key) or f"/{key}" in name else 2
        kind, target = row["kind"], row["target_id"]
        if kind == "checkpoint":
            kind, target = "model", _model_of(answers, target)
        rank = (place, len(name), row["alias"])
        if kind in KINDS and ((kind, target) not in best or rank < best[(kind, target)]):
            best[(kind, target)] = rank
    about = {kind: dict(map(tuple, answers.connection.execute(ABOUT[kind]))) for kind in {kind for kind, _ in best}}
    return [
        {"kind": kind, "id": target, "name": rank[2], "about": about[kind].get(target)}
        for (kind, target), rank in sorted(best.items(), key=lambda item: (KINDS.index(item[0][0]), item[1], item[0]))
    ]


def _model_of(answers: Answers, checkpoint: str) -> str:
    sql = "select model_id from checkpoints where checkpoint_id = ?"
    return str(answers.connection.execute(sql, (checkpoint,)).fetchone()[0])


def address(urls: Any, database: str, kind: str, key: str) -> str:
    """Return where a record of a kind is shown."""
    if kind in TABLES:
        return render.row_link(urls, database, TABLES[kind], key)
    return render.page_link(urls, f"{kind}_id", key)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /search and /search.json."""
    text = (request.args.get("q") or "").strip()
    as_json = bool(ending_of(request))
    found, problem = None, None
    database = open_database(datasette)
    if text or as_json:
        found, problem = await attempt(ask(database, lambda answers: look_up(answers, text)))
    if found is not None and found["exact"] and not as_json:
        return Response.redirect(address(datasette.urls, database.name, found["exact"]["kind"], found["exact"]["id"]))
    for hit in found["hits"] if found else []:
        hit["href"] = address(datasette.urls, database.name, hit["kind"], hit["id"])
    if as_json:
        return json_response({"ok": True, **(found or {})}, problem)
    context = _context(datasette, text, found, problem)
    return await html_response(datasette, "rackfit_search.html", context, request, problem)


def _context(datasette: Any, text: str, found: dict[str, Any] | None, problem: dict[str, Any] | None) -> dict[str, Any]:
    groups = []
    for kind in KINDS:
        own = [hit for hit in (found or {}).get("hits", []) if hit["kind"] == kind]
        if own:
            groups.append({"name": NAMES[kind], "hits": own[:MOST], "more": max(len(own) - MOST, 0)})
    near = [
        (name, f"{datasette.urls.path('/search')}?{render.query_string({'q': name})}")
        for name in (problem or {}).get("near", [])
    ]
    return {"q": text[:200], "problem": problem, "near": near, "groups": groups}
