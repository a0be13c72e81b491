"""Named queries: one .sql file each, its title, description and parameters in the comments at its top.

-- title: Cheapest configuration for a model
-- description: One or two sentences.
-- parameter model: what it is, and what an empty one means
select ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

FOLDER = Path(__file__).resolve().parent / "queries"

_HEADER = re.compile(r"^-- (title|description|parameter (\w+)|example): (.+)$")


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query with the words that its page shows. `example` is a query string that answers with rows."""

    slug: str
    title: str
    description: str
    parameters: dict[str, str]
    example: str
    sql: str

    @property
    def description_html(self) -> str:
        """Return the description and one line per parameter, as HTML."""
        shown = Markup("<p>{}</p>").format(self.description)
        if self.parameters:
            lines = [Markup("<dt>{}</dt><dd>{}</dd>").format(name, text) for name, text in self.parameters.items()]
            shown += Markup('<dl class="rf-parameters">{}</dl>').format(Markup("").join(lines))
        if self.example:
            shown += Markup('<p>Example: <a href="?{}">{}</a></p>').format(self.example, _readable(self.example))
        return str(shown)


def _readable(query_string: str) -> str:
    return query_string.replace("&", ", ").replace("=", " = ").replace("%2F", "/").replace("+", " ")


def parse(slug: str, text: str) -> NamedQuery:
    """Read one file.

    Raises:
        ValueError: title or description is missing, or parameters differ from those that the SQL names.
    """
    words: dict[str, str] = {}
    parameters: dict[str, str] = {}
    lines = text.splitlines()
    while lines and (matched := _HEADER.match(lines[0])) is not None:
        if matched[2]:
            parameters[matched[2]] = matched[3]
        else:
            words[matched[1]] = matched[3]
        lines = lines[1:]
    sql = "\n".join(lines).strip()
    used = list(dict.fromkeys(re.findall(r"(?<![:\w]):([a-z_]\w*)", sql)))
    if sorted(used) != sorted(parameters):
        raise ValueError(f"{slug}: SQL names {used}, the comments describe {sorted(parameters)}")
    if not words.get("title") or not words.get("description"):
        raise ValueError(f"{slug}: title and description are needed")
    ordered = {name: parameters[name] for name in used}
    return NamedQuery(slug, words["title"], words["description"], ordered, words.get("example", ""), sql)


@cache
def read() -> dict[str, NamedQuery]:
    """Return every named query by its slug."""
    return {path.stem: parse(path.stem, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.sql"))}


@cache
def _texts() -> dict[str, dict[str, Any]]:
    return {
        slug: {"sql": query.sql, "title": query.title, "description_html": query.description_html, "hide_sql": True}
        for slug, query in read().items()
    }


def as_metadata() -> dict[str, dict[str, Any]]:
    """Return the queries as Datasette 0.65 takes them; a new dictionary each time, because Datasette writes into it.

    Datasette asks for them anew for every table and query that it checks permissions of.
    """
    return {slug: {**text, "params": list(read()[slug].parameters)} for slug, text in _texts().items()}
