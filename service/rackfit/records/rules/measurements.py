"""A measurement's case id is its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "case-ids-unique"
WHY = "an answer to a case is reported by its id"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each case id that an earlier row has."""
    first: dict[str, str] = {}
    for case in library.rows.get("measurements", []):
        earlier = first.get(case.case_id)
        if earlier is not None:
            expected = f"a case id that measurements/{earlier}.csv does not use already"
            yield Problem(f"measurements/{case.file}.csv", "case_id", case.case_id, expected)
        first.setdefault(case.case_id, case.file)
