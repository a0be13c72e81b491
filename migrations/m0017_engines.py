"""Engines that wrap or fork another, run on some devices only, or divide what is left; what each leaves free.

Their equation, `share_of_rest`, joins the check of the table. SQLite cannot change a check, so the table is made anew
from its own statement; what refers to it keeps its name.
"""

from __future__ import annotations

from typing import Any

KNOWN = "equation in ('share_of_total', 'share_of_free', 'all_of_device')"
WIDER = "equation in ('share_of_total', 'share_of_free', 'share_of_rest', 'all_of_device')"

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
    """Widen the check, then run the statements."""
    _widen(connection)
    for statement in STATEMENTS:
        connection.execute(statement)


def _widen(connection: Any) -> None:
    (sql,) = connection.execute(
        "select sql from sqlite_master where type = 'table' and name = 'runtime_budgets'"
    ).fetchone()
    connection.execute("pragma legacy_alter_table = on")
    connection.execute("alter table runtime_budgets rename to runtime_budgets_before")
    connection.execute(sql.replace(KNOWN, WIDER))
    connection.execute("insert into runtime_budgets select * from runtime_budgets_before")
    connection.execute("drop table runtime_budgets_before")
    connection.execute("pragma legacy_alter_table = off")
