"""Engines that keep a reserve, divide their cache into pools by tokens, and widen formats that a device cannot run."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    f"alter table runtime_budgets add column {name} text check ({name} is null or json_valid({name}))"
    for name in ("reserve", "token_pools", "unpacked")
]


def apply(connection: Any) -> None:
    """Run the statements."""
    for statement in STATEMENTS:
        connection.execute(statement)
