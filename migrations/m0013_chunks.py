"""Chunked prefill: from which context on an engine takes a profiled context in chunks."""

from __future__ import annotations

from typing import Any

STATEMENTS = ["alter table runtime_budgets add column chunked_above integer check (chunked_above > 0)"]


def apply(connection: Any) -> None:
    """Run the statements."""
    for statement in STATEMENTS:
        connection.execute(statement)
