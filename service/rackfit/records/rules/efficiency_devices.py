"""Every device that an efficiency says it was measured on has a record, of the class of memory that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "efficiency-devices"
WHY = "a range is narrower on the measured devices, so a misspelled one would pass for unmeasured"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each device that is named and not described."""
    known = library.kind("accelerators")
    for slug, record in sorted(library.kind("efficiencies").items()):
        for name in record.measured_on:
            if name not in known:
                yield Problem(library.file_of("efficiencies", slug), "measured_on", name, "the slug of an accelerator")
