"""What hardware records point at exists: accelerators, interconnects, candidates of class names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem
from rackfit.records.names import name_key, names_of

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "hardware-references"
WHY = "a system without its accelerator, or a class without its candidates, answers nothing"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each reference to hardware that has no record, and each class name that is a record's."""
    accelerators, links = library.kind("accelerators"), library.kind("interconnects")
    for slug, system in sorted(library.kind("systems").items()):
        file = library.file_of("systems", slug)
        if system.accelerator not in accelerators:
            yield Problem(file, "accelerator", system.accelerator, "the slug of an accelerator record")
        if system.interconnect is not None and system.interconnect not in links:
            yield Problem(file, "interconnect", system.interconnect, "the slug of an interconnect record")
    for row in library.rows.get("system_power", []):
        if row.accelerator not in accelerators:
            expected = "the slug of an accelerator record"
            yield Problem(f"system_power/{row.file}.csv", "accelerator", row.accelerator, expected)
    yield from _classes(library)


def _classes(library: Library) -> Iterator[Problem]:
    accelerators = library.kind("accelerators")
    taken = {name_key(name): slug for slug, record in accelerators.items() for name in names_of(slug, record)}
    seen: set[str] = set()
    for row in library.rows.get("classes", []):
        file, key = f"classes/{row.file}.csv", name_key(row.name)
        if key in taken:
            yield Problem(file, "name", row.name, f"a name that the accelerator {taken[key]!r} does not use already")
        if key in seen:
            yield Problem(file, "name", row.name, "one row per class name")
        seen.add(key)
        for slug in row.candidates:
            if slug not in accelerators:
                yield Problem(file, "accelerators", slug, "the slug of an accelerator record")
