"""Engines that wrap or fork another, run on some devices only, or divide what is left; what each leaves free.

Their equation, `share_of_rest`, is in the check of m0007: SQLite cannot change a check, and builds start empty.
"""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    f"alter table runtime_budgets add column {column}"
    for column in (
        "base text references runtimes(runtime_id)",
        "named_only integer not null default 0 check (named_only in (0, 1))",
        "runs_on text not null default '[]' check (json_valid(runs_on))",
        "graph_share real not null default 0 check (graph_share >= 0 and graph_share < 1)",
        "left_free_bytes integer not null default 0 check (left_free_bytes >= 0)",
        "context_in_budget integer not null default 0 check (context_in_budget in (0, 1))",
        "embedding_whole integer not null default 0 check (embedding_whole in (0, 1))",
        "prefill_rates text not null default '[]' check (json_valid(prefill_rates))",
    )
]


def apply(connection: Any) -> None:
    """Run the statements."""
    for statement in STATEMENTS:
        connection.execute(statement)
