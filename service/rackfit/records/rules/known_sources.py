"""Every source key in a record resolves in data/sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem
from rackfit.records.base import Part

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "known-sources"
WHY = "a fact whose source cannot be looked up has no source"


def _source_keys(part: Part, place: str) -> Iterator[tuple[str, str]]:
    """Yield (field, key) for every source key in a record and its parts."""
    for name, value in part:
        here = f"{place}.{name}" if place else name
        if name == "provenance":
            for field, keys in value.items():
                for key in keys:
                    yield f"{here}.{field}", key
        elif name in ("source", "sources"):
            for key in [value] if isinstance(value, str) else value or []:
                yield here, key
        elif isinstance(value, Part):
            yield from _source_keys(value, here)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Part):
                    yield from _source_keys(item, f"{here}.{index}")
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, Part):
                    yield from _source_keys(item, f"{here}.{key}")


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each source key that no sources file defines."""
    from rackfit.records.kinds import CSV_KINDS

    for kind, records in library.records.items():
        for slug, record in records.items():
            for field, key in _source_keys(record, ""):
                if key not in library.sources:
                    yield Problem(library.file_of(kind, slug), field, key, "a key of data/sources")
    folders = {kind.name: kind.folder for kind in CSV_KINDS}
    for kind, rows in library.rows.items():
        for row in rows:
            stated: str | None = getattr(row, "source", None)
            if stated is not None and stated not in library.sources:
                yield Problem(f"{folders[kind]}/{row.file}.csv", "source", stated, "a key of data/sources")
