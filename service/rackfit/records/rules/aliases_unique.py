"""A name stands for one record of a kind: slugs, names and aliases never collide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem
from rackfit.records.names import name_key, names_of

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "aliases-unique"
WHY = "a name that means two things answers one of them silently"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each name that two records of one kind claim."""
    for kind, records in library.records.items():
        owner: dict[str, str] = {}
        for slug in sorted(records):
            for name in names_of(slug, records[slug]):
                first = owner.setdefault(name_key(name), slug)
                if first != slug:
                    file = library.file_of(kind, slug)
                    yield Problem(file, "aliases", name, f"a name that {first!r} does not use already")
