"""Every format that a runtime supports, or that another format refers to, has a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "precisions-exist"
WHY = "a support row for a format nobody described answers no question"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each precision that is named and not described."""
    known = library.kind("precisions")
    for slug, precision in sorted(known.items()):
        if precision.support_as is None:
            continue
        target = known.get(precision.support_as)
        if target is None or target.support_as is not None:
            file = library.file_of("precisions", slug)
            yield Problem(file, "support_as", precision.support_as, "the slug of a precision without support_as")
    for slug, runtime in sorted(library.kind("runtimes").items()):
        for index, support in enumerate(runtime.precision_support):
            if support.precision not in known:
                file = library.file_of("runtimes", slug)
                yield Problem(file, f"precision_support.{index}", support.precision, "the slug of a precision")
