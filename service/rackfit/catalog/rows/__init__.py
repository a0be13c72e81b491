"""Records to rows: one module per subject with `rows(library)`, registered once, parents first."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from rackfit.records.load import Library

SUBJECTS = ("sources", "precisions", "budgets", "hardware", "offers", "models", "measurements", "speed")
"""Modules of this package, in the order in which their rows are loaded."""

Row = tuple[str, dict[str, Any]]
"""Name of the table and the row by column; columns left out take their default."""


def subject_rows(name: str, library: Library) -> Iterator[Row]:
    """Yield the rows of one subject."""
    yield from import_module(f"{__name__}.{name}").rows(library)
