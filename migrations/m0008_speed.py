"""Efficiencies: how near engines come to what a device's memory can deliver, with the evidence."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table efficiencies (
        efficiency_id text primary key not null,
        engine_name text not null,
        memory_class text not null check (memory_class in ('hbm', 'gddr', 'unified')),
        precision_family text not null check (
            precision_family in ('any', '16bit', 'fp8', 'int8', 'int4', 'gguf')
        ),
        kernel text,
        bandwidth_share real not null check (bandwidth_share > 0 and bandwidth_share <= 1),
        ecc_share real check (ecc_share > 0 and ecc_share <= 1),
        unit_gb_s real check (unit_gb_s > 0),
        unit_kind text,
        layer_ms real not null check (layer_ms >= 0),
        moe_layer_ms real check (moe_layer_ms >= 0),
        handover_ms real not null check (handover_ms >= 0),
        all_reduce_ms real not null check (all_reduce_ms >= 0),
        all_reduce_step_ms real not null check (all_reduce_step_ms >= 0),
        host_layer_ms real not null check (host_layer_ms >= 0),
        head_cache_gb_s real check (head_cache_gb_s > 0),
        spread_below real not null check (spread_below > 0 and spread_below < 1),
        spread_above real not null check (spread_above > 0),
        case_count integer not null check (case_count >= 0),
        measured_on text not null,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        check ((unit_gb_s is null) = (unit_kind is null))
    ) strict
    """,
    "create index efficiencies_engine_name on efficiencies (engine_name, memory_class)",
    "create index efficiencies_memory_class on efficiencies (memory_class)",
]


def apply(db: Any) -> None:
    """Create the table and its indexes."""
    for statement in STATEMENTS:
        db.execute(statement)
