"""What eager PyTorch stacks of some versions hold beside weights and cache the whole time."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    "alter table runtime_budgets add column rotary_tables integer not null default 0 check (rotary_tables in (0, 1))",
    "alter table runtime_budgets add column widens_int4_matrix integer not null default 0 "
    "check (widens_int4_matrix in (0, 1))",
]


def apply(db: Any) -> None:
    """Add the columns."""
    for statement in STATEMENTS:
        db.execute(statement)
