"""/tender: requirements pasted as TOML against systems; the check as a page, as JSON, CSV and workbook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rackfit.errors import UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask, open_database
from rackfit.publish.pages.download import OFFERED, table_file
from rackfit.publish.pages.form import PageForm
from rackfit.publish.pages.quote import SEVERAL
from rackfit.publish.pages.respond import ending_of, respond

NAME = "requirements.toml"
"""What the pasted text is called in errors."""
MOST_SYSTEMS = 12
"""Systems whose requirements are shown line by line."""
SIGNS = {"compliant": "fits", "not compliant": "no", "unknown": "tight"}
"""Verdict -> verdict of a fit whose sign and colour it has."""
EXAMPLE = """\
[[requirement]]
id = "1"
text = "accelerators of a node"
devices = "2 x >= 140 GB or 4 x >= 94 GB"

[[requirement]]
id = "2"
models = ["Qwen3-32B"]
context = "32k"
sequences = 16

[[requirement]]
id = "3"
field = "max_power_w"
at_most = 11000
"""


@dataclass(frozen=True)
class TenderForm(PageForm):
    """What the page was asked."""

    MOST_CHARACTERS = 8000

    requirements: str = ""
    systems: str = ""
    provider: str = ""
    kind: str = ""


def answer(answers: Answers, form: TenderForm) -> dict[str, Any]:
    """Return the answer of `rackfit tender --json` to a form.

    Raises:
        RackfitError: requirements or systems that cannot be read.
    """
    from rackfit.ask.tender.judge import check_tender
    from rackfit.ask.tender.offered import MOST_OFFERED, named_systems, of_catalog
    from rackfit.ask.tender.requirements import parse_requirements

    form.checked()
    lines = parse_requirements(form.requirements, NAME)
    names = [name for name in SEVERAL.split(form.systems) if name]
    if len(names) > MOST_OFFERED:
        raise UsageError(f"{len(names)} systems: expected at most {MOST_OFFERED}")
    offered = (
        named_systems(answers.connection, names)
        if names
        else of_catalog(answers.connection, form.provider or None, form.kind or None)
    )
    return check_tender(answers.connection, lines, offered)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /tender, /tender.json, /tender.csv and /tender.xlsx."""
    database, form = open_database(datasette), TenderForm.read(request.args)

    async def asked() -> Any:
        if form.requirements:
            return await ask(database, lambda answers: answer(answers, form))
        if ending_of(request) or form.asked:
            raise UsageError("a tender check needs requirements: requirements=TOML")
        return None

    async def file(ending: str, found: Any, problem: Any) -> Any:
        return await table_file(database, ending, lambda answers: _table(answers, found), problem)

    return await respond(
        request, datasette, "rackfit_tender.html", asked(), file,
        lambda found, problem: _context(datasette, form, found, problem),
    )  # fmt: skip


def _table(answers: Answers, found: Mapping[str, Any] | None) -> Any:
    from rackfit.export.tender_table import tender_table

    return tender_table(answers.connection, found or {})


async def _context(
    datasette: Any, form: TenderForm, found: Mapping[str, Any] | None, problem: dict[str, Any] | None
) -> dict[str, Any]:
    urls, database = datasette.urls, open_database(datasette)
    place = urls.path("/tender")
    shown: dict[str, Any] = {
        "form": form, "found": found, "problem": problem, "near": form.near_links(place, problem),
        "example": EXAMPLE, "example_href": render.asking(place, {"requirements": EXAMPLE, "provider": "NVIDIA"}),
        "links": {ending: render.asking(f"{place}.{ending}", form.asked) for ending in ("json", *OFFERED)},
    }  # fmt: skip
    if found is None:
        return shown
    top = [row["system"] for row in found["systems"][:MOST_SYSTEMS]]
    lines = {name: [row for row in found["results"] if row["system"] == name] for name in top}
    return shown | {
        "mark": lambda verdict: render.verdict(SIGNS[verdict], text=verdict, note=verdict),
        "lines": lines,
        "source_href": lambda key: render.row_link(urls, database.name, "sources", key),
    }
