"""Measurements to rows: every column as published, and the value as a number where it is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.records.load import Library
from rackfit.records.measurements import numeric


def rows(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of `measurements`, by case id."""
    for case in sorted(library.rows.get("measurements", []), key=lambda case: case.case_id):
        row = case.model_dump(exclude={"file"})
        yield "measurements", {**row, "numeric_value": numeric(case.value), "set_name": case.file}
