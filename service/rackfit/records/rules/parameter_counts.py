"""Our parameter count is the published one for the same scope, or the record says why it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "parameter-counts"
WHY = "an architecture that does not add up to the published count has a wrong dimension somewhere"
TOLERANCE = 1e-3
"""Relative difference allowed without a reason (MEMORY_MODEL section 1: 0.1 %)."""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each count outside the tolerance without a reason, and for each reason without need."""
    for slug, model in library.kind("models").items():
        file = library.file_of("models", slug)
        for number, item in enumerate(model.checkpoints):
            if item.published_params is None or item.computed_params is None:
                continue
            off = abs(item.computed_params - item.published_params) / item.published_params
            place = f"checkpoints.{number}"
            if off > TOLERANCE and item.mismatch_reason is None:
                expected = f"within 0.1 % of published_params {item.published_params}, or a mismatch_reason"
                yield Problem(file, f"{place}.computed_params", item.computed_params, expected)
            if off <= TOLERANCE and item.mismatch_reason is not None:
                yield Problem(file, f"{place}.mismatch_reason", item.mismatch_reason, "no reason: the counts agree")
