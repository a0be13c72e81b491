"""/compare?items=a,b: two to five models, devices, systems or machines side by side, what differs marked."""

from __future__ import annotations

from typing import Any

from rackfit.catalog.resolve import resolve_first
from rackfit.errors import AmbiguousNameError, RackfitError, UnknownNameError, UsageError
from rackfit.export.side_by_side import Line, machines_table, side_by_side
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask, ending_of, error_body, html_response, json_response, open_database
from rackfit.publish.pages.compare_machines import MachinesForm, details, machines
from rackfit.publish.pages.compare_rows import READERS, lines, verdicts
from rackfit.publish.pages.download import OFFERED, table_file
from rackfit.publish.pages.record import COLUMNS, TABLES, check_name, helpers
from rackfit.tabular.table import Table

KINDS = ("model", "accelerator", "system")
MACHINE = "machine"
PLURAL = {"model": "models", "accelerator": "devices", "system": "systems", MACHINE: "machines"}
FEWEST, MOST = 2, 5
LONGEST = 1000
"""Characters of the list of items."""

EXAMPLES = (
    ("nvidia-h100-sxm5-80gb,nvidia-h200-sxm-141gb,amd-mi300x", "H100, H200, MI300X"),
    ("nvidia-rtx-3090,nvidia-rtx-4090,nvidia-rtx-5090", "RTX 3090, 4090, 5090"),
    ("qwen/qwen3-32b,google/gemma-3-27b-pt,openai/gpt-oss-120b", "Qwen3 32B, Gemma 3 27B, gpt-oss 120B"),
    ("2x rtx-3090,rtx-6000-ada,m3-max-40c-64gb", "two RTX 3090, one RTX 6000 Ada, an M3 Max of 64 GB"),
)


def names(text: str) -> list[str]:
    """Return the names in a comma-separated list, each once.

    Raises:
        UsageError: a list too long, or too many names.
    """
    if len(text) > LONGEST:
        raise UsageError(f"items has {len(text)} characters: expected at most {LONGEST}")
    found = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if len(found) > MOST:
        raise UsageError(f"{len(found)} items: expected {FEWEST} to {MOST}")
    return found


def resolved(answers: Answers, asked: list[str]) -> tuple[str, list[str]]:
    """Return the kind that all names have, and their keys.

    Raises:
        UsageError: names of several kinds. UnknownNameError, AmbiguousNameError: from resolution.
    """
    found = [_resolve(answers, name) for name in asked]
    kinds = {kind for kind, _ in found}
    if MACHINE in kinds and "model" not in kinds:
        return MACHINE, asked
    if len(kinds) > 1:
        said = ", ".join(f"{name}: {kind}" for name, (kind, _) in zip(asked, found, strict=True))
        raise UsageError(f"{said}: expected items of one kind")
    return found[0][0], list(dict.fromkeys(key for _, key in found))


def _resolve(answers: Answers, name: str) -> tuple[str, str]:
    check_name(name)
    try:
        found = resolve_first(answers.connection, KINDS, name, allow_class=True)
    except UnknownNameError:
        if _is_machine(answers, name):
            return MACHINE, name
        raise
    if found.is_class:
        raise AmbiguousNameError(found.kind, name, found.ids)
    return found.kind, found.id


def _is_machine(answers: Answers, name: str) -> bool:
    """Return whether a name that is no record is a hardware expression, such as `2x rtx-3090`."""
    from rackfit.ask.machines import find_machines

    try:
        return bool(find_machines(answers.connection, name))
    except RackfitError:
        return False


def compare(answers: Answers, asked: list[str], form: MachinesForm) -> dict[str, Any]:
    """Return the comparison of so many names: of machines where one is no record, or where models are named."""
    kind, keys = resolved(answers, asked)
    if kind == MACHINE or (kind != "model" and form.asked):
        return machines(answers, asked, form)
    found = [READERS[kind](answers, key) for key in keys]
    return {
        "kind": kind,
        "items": [{"id": record["id"], "name": record["name"]} for record in found],
        "rows": lines(answers, kind, found),
        "fits": verdicts(found) if kind != "model" else [],
        "fits_on": [record.get("fits_on") or record["id"] for record in found],
    }


def body(found: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison as JSON."""
    rows = [
        {"name": row.name, "unit": row.unit or None, "values": list(row.values), "differs": row.differs}
        for row in found["rows"]
    ]
    return {"ok": True, **found, "rows": rows}


def table(answers: Answers, found: dict[str, Any], asked: dict[str, str]) -> Table:
    """Return a comparison as its files have it."""
    if found["kind"] == MACHINE:
        return machines_table(answers.connection, found, asked)
    keys = [item["id"] for item in found["items"]]
    records = [(TABLES[found["kind"]], key) for key in keys]
    return side_by_side(answers.connection, keys, found["rows"], asked, records)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /compare, /compare.json and /compare.csv."""
    text = (request.args.get("items") or "").strip()
    ending = ending_of(request)
    problem, found, asked, by = None, None, [], MachinesForm()
    try:
        by = MachinesForm.read(request.args).checked()
        asked = names(text)
        if len(asked) < FEWEST and (ending or (asked and request.args.get("only"))):
            raise UsageError(f"{len(asked)} items: expected {FEWEST} to {MOST}, with commas between")
        if asked:
            found = await ask(open_database(datasette), lambda answers: compare(answers, asked, by))
    except RackfitError as error:
        problem = error_body(error)
        problem["name"] = getattr(error, "name", None) if isinstance(error, _Named) else None
    if ending in OFFERED:
        about = {"items": text, **by.asked}
        return await table_file(
            open_database(datasette), ending, lambda answers: table(answers, found or {}, about), problem
        )
    if ending:
        return json_response(body(found) if found else {}, problem)
    context = _context(datasette, text, asked, found, problem, request.args.get("only") == "differences", by)
    return await html_response(datasette, "rackfit_compare.html", context, request, problem)


_Named = (UnknownNameError, AmbiguousNameError)


def _context(
    datasette: Any,
    text: str,
    asked: list[str],
    found: dict[str, Any] | None,
    problem: dict[str, Any] | None,
    only: bool,
    by: MachinesForm,
) -> dict[str, Any]:
    urls = datasette.urls
    place = urls.path("/compare")

    def address(items: list[str], **more: str) -> str:
        return f"{place}?{render.query_string({'items': ','.join(items), **by.asked, **more})}"

    shown: dict[str, Any] = {"text": text[:LONGEST], "problem": problem, "only": only, "found": found, "by": by}
    wrong = (problem or {}).get("name")
    shown["near"] = [
        (near, address([near if name == wrong else name for name in asked])) for near in (problem or {}).get("near", [])
    ]
    shown["examples"] = [(words, address(items.split(","))) for items, words in EXAMPLES]
    if found is None:
        return shown
    of_machines = found["kind"] == MACHINE
    keys = asked if of_machines else [item["id"] for item in found["items"]]
    column = "accelerator_id" if of_machines else COLUMNS[found["kind"]]
    return shown | helpers(urls, open_database(datasette).name) | {
        "plural": PLURAL[found["kind"]],
        "heads": [
            {**item, "href": render.page_link(urls, column, item.get("accelerator", item["id"])),
             "without": address([other for other in keys if other != key])}
            for key, item in zip(keys, found["items"], strict=True)
        ],
        "details": details(urls, found, asked, by) if of_machines else [],
        "rows": [row for row in found["rows"] if row.differs or not only],
        "value": value,
        "toggle": address(keys) if only else address(keys, only="differences"),
        "json_href": address(keys).replace("/compare?", "/compare.json?"),
        "quote_href": render.asking(urls.path("/quote"), {
            **{name: asked for name, asked in by.asked.items() if name != "prompt"},
            "models" if found["kind"] == "model" else "on": ",".join(keys),
        }),
        "csv_href": address(keys).replace("/compare?", "/compare.csv?"),
    }  # fmt: skip


def value(row: Line, place: int) -> Any:
    """Return one value of a row as the page shows it."""
    found = row.values[place]
    if found is None:
        return render.EMPTY
    if row.unit == "bytes":
        return render.size(found)
    text = f"{found:,}" if isinstance(found, int) else f"{found:,.5g}" if isinstance(found, float) else str(found)
    return f"{text} {row.unit}".strip()
