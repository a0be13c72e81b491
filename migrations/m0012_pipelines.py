"""Pipelines: engines that divide their blocks over the stages, and versions that run pipelines by older rules."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    "alter table runtime_budgets add column queue_per_stage integer not null default 0"
    " check (queue_per_stage in (0, 1))",
    "alter table runtime_budgets add column pipeline_budget_id text references runtime_budgets(budget_id)",
]


def apply(connection: Any) -> None:
    """Run the statements."""
    for statement in STATEMENTS:
        connection.execute(statement)
