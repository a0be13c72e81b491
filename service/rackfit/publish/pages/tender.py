"""/tender: requirements pasted as TOML against systems; the check as a page, as JSON, CSV and workbook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rackfit.errors import UsageError
from rackfit.publish import render
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import open_database
from rackfit.publish.pages.download import OFFERED
from rackfit.publish.pages.form import PageForm
from rackfit.publish.pages.quote import SEVERAL
from rackfit.publish.pages.respond import Question, respond
from rackfit.tabular.table import Table

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

    if not form.requirements:
        raise UsageError("a tender check needs requirements: requirements=TOML")
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


def _table(answers: Answers, form: TenderForm, found: Any) -> Table:
    from rackfit.export.tender_table import tender_table

    return tender_table(answers.connection, found)


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


QUESTION = Question(TenderForm, answer, _table, "rackfit_tender.html", _context, keep=False)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /tender, /tender.json, /tender.csv and /tender.xlsx."""
    return await respond(request, datasette, QUESTION)
