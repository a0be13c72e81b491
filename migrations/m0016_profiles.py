"""Profiles: what an engine's profile holds beside one step, and how kinds of layers share one pool of blocks."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    "alter table runtime_budgets add column dense_sampler_bytes_per_logit real"
    " check (dense_sampler_bytes_per_logit >= 0)",
    "alter table runtime_budgets add column dense_persistent_bytes_per_logit real"
    " check (dense_persistent_bytes_per_logit >= 0)",
    "alter table runtime_budgets add column dense_graphs_in_budget integer check (dense_graphs_in_budget in (0, 1))",
    "alter table runtime_budgets add column extra_hidden_states integer not null default 0"
    " check (extra_hidden_states >= 0)",
    "alter table runtime_budgets add column profile_extra_bytes integer not null default 0"
    " check (profile_extra_bytes >= 0)",
    "alter table runtime_budgets add column keeps_expert_workspaces integer not null default 0"
    " check (keeps_expert_workspaces in (0, 1))",
    "alter table runtime_budgets add column expands_encoder_outputs integer not null default 0"
    " check (expands_encoder_outputs in (0, 1))",
    "alter table runtime_budgets add column fused_allreduce_bytes integer not null default 0"
    " check (fused_allreduce_bytes >= 0)",
    "alter table runtime_budgets add column group_join_ratio real check (group_join_ratio >= 1)",
    "alter table runtime_budgets add column prints_blocks_per_group integer not null default 0"
    " check (prints_blocks_per_group in (0, 1))",
    "alter table runtime_budgets add column keeps_reduced_inputs integer not null default 0"
    " check (keeps_reduced_inputs in (0, 1))",
    "alter table runtime_budgets add column clip_frames integer check (clip_frames > 0)",
    "alter table runtime_budgets add column clip_beside_image integer not null default 0"
    " check (clip_beside_image in (0, 1))",
]


def apply(connection: Any) -> None:
    """Run the statements."""
    for statement in STATEMENTS:
        connection.execute(statement)
