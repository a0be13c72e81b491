"""A release or file in a format names a precision that has a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "model-formats"
WHY = "weights in a format nobody described have no size"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each format of a checkpoint or artifact that is not described."""
    known = library.kind("precisions")
    for slug, model in sorted(library.kind("models").items()):
        file = library.file_of("models", slug)
        for number, item in enumerate(model.checkpoints):
            if item.native_precision is not None and item.native_precision not in known:
                place = f"checkpoints.{number}.native_precision"
                yield Problem(file, place, item.native_precision, "the slug of a precision")
        for number, item in enumerate(model.artifacts):
            if item.precision is not None and item.precision not in known:
                yield Problem(file, f"artifacts.{number}.precision", item.precision, "the slug of a precision")
