"""Published measurements and statements, in the columns of the case format."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table measurements (
        case_id text primary key not null,
        kind text not null check (kind in ('K1', 'K2', 'K3', 'K4', 'K5', 'K6', 'K7', 'K8')),
        model_id text,
        params_total text,
        precision_or_quant text,
        kv_dtype text,
        gpu text,
        gpu_count integer check (gpu_count >= 1),
        tp integer check (tp >= 1),
        pp integer check (pp >= 1),
        dp_or_zero text,
        context_tokens integer check (context_tokens >= 1),
        batch text,
        other_config text,
        quantity text not null,
        value text not null,
        numeric_value real,
        unit text,
        engine_and_version text,
        source_url text not null check (source_url like 'http%'),
        source_note text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        set_name text not null,
        origin text not null default 'release' check (origin in ('release', 'local'))
    ) strict
    """,
    "create index measurements_kind on measurements (kind, quantity)",
    "create index measurements_quantity on measurements (quantity)",
    "create index measurements_model_id on measurements (model_id)",
    "create index measurements_gpu on measurements (gpu)",
    "create index measurements_confidence on measurements (confidence)",
]


def apply(db: Any) -> None:
    """Create the tables of this step."""
    for statement in STATEMENTS:
        db.execute(statement)
