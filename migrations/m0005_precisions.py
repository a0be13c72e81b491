"""Formats, engines with their rules by version, training recipes, standard workloads and published MFU runs."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table precisions (
        precision_id text primary key not null,
        name text not null,
        category text not null check (
            category in ('float', 'float8', 'mx', 'nvfp4', 'int8', 'int4', 'int3', 'gguf', 'gguf_mix', 'hqq', 'exl2',
                'exl3', 'codebook', 'ternary', 'mlx', 'kv_cache', 'composite')
        ),
        family text not null check (
            family in ('fp', 'fp8', 'fp6', 'fp4', 'int8', 'int4', 'int3', 'bnb', 'gguf', 'hqq', 'exl', 'codebook',
                'ternary', 'mlx')
        ),
        use text not null check (use in ('weight', 'kv', 'compute')),
        nominal_bits real check (nominal_bits > 0),
        nominal_bytes_per_param real check (nominal_bytes_per_param > 0),
        effective_bits real check (effective_bits > 0),
        effective_bits_basis text check (effective_bits_basis in ('block', 'formula', 'measured', 'nominal')),
        bytes_per_param real check (bytes_per_param > 0),
        block_size integer check (block_size > 0),
        block_rows integer check (block_rows > 0),
        block_bytes integer check (block_bytes > 0),
        scale_format text,
        scale_bits_per_block integer check (scale_bits_per_block > 0),
        zero_point_bits integer check (zero_point_bits >= 0),
        extra_per_tensor text,
        high_precision_bits real check (high_precision_bits > 0),
        shard_multiple integer check (shard_multiple > 0),
        support_as text references precisions (precision_id),
        min_nvidia_cc text,
        min_nvidia_cc_weight_only text,
        min_amd_arch text,
        hardware_note text,
        typical_use text,
        formula text,
        example text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        second_hand integer not null default 0 check (second_hand in (0, 1)),
        note text
    ) strict
    """,
    "create index precisions_category on precisions (category)",
    "create index precisions_family on precisions (family)",
    "create index precisions_use on precisions (use)",
    "create index precisions_effective_bits on precisions (effective_bits)",
    "create index precisions_support_as on precisions (support_as)",
    """
    create table precision_roles (
        precision_id text not null references precisions (precision_id),
        role text not null,
        bits real not null check (bits > 0),
        role_source text not null check (role_source in ('high', 'own')),
        primary key (precision_id, role)
    ) strict, without rowid
    """,
    """
    create table runtimes (
        runtime_id text primary key not null,
        name text not null,
        maker text not null,
        engine_kind text not null check (engine_kind in ('server', 'library', 'application')),
        licence text,
        home text,
        newest_version text not null,
        newest_version_date text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text
    ) strict
    """,
    """
    create table runtime_versions (
        runtime_id text not null references runtimes (runtime_id),
        version text not null,
        position integer not null check (position >= 0),
        primary key (runtime_id, version),
        unique (runtime_id, position)
    ) strict, without rowid
    """,
    """
    create table runtime_rules (
        rule_id integer primary key not null,
        runtime_id text not null references runtimes (runtime_id),
        term text not null,
        version_from text,
        version_to text,
        from_position integer,
        to_position integer,
        value text not null,
        value_number real,
        unit text,
        applies_when text,
        effect text,
        source_id text not null references sources (source_id),
        other_sources text,
        source_date text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        check (from_position is null or to_position is null or from_position <= to_position)
    ) strict
    """,
    "create index runtime_rules_runtime_id_term on runtime_rules (runtime_id, term)",
    "create index runtime_rules_term on runtime_rules (term)",
    "create index runtime_rules_source_id on runtime_rules (source_id)",
    """
    create table runtime_constants (
        constant_id integer primary key not null,
        runtime_id text not null references runtimes (runtime_id),
        term text not null,
        version_from text,
        version_to text,
        from_position integer,
        to_position integer,
        value real not null,
        low real,
        high real,
        unit text not null,
        kind text not null check (kind in ('exact', 'derived', 'measured')),
        condition text,
        evidence text not null,
        source_id text not null references sources (source_id),
        other_sources text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        check (low is null or low <= value),
        check (high is null or high >= value)
    ) strict
    """,
    "create index runtime_constants_runtime_id_term on runtime_constants (runtime_id, term)",
    "create index runtime_constants_source_id on runtime_constants (source_id)",
    """
    create table precision_support (
        support_id integer primary key not null,
        runtime_id text not null references runtimes (runtime_id),
        precision_id text not null references precisions (precision_id),
        vendor text not null,
        architecture text not null,
        support text not null check (support in ('native', 'weight_only', 'emulated', 'none')),
        version_from text,
        version_to text,
        from_position integer,
        to_position integer,
        kernel text,
        extra_memory text,
        source_id text not null references sources (source_id),
        other_sources text,
        source_date text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text
    ) strict
    """,
    "create index precision_support_runtime_id on precision_support (runtime_id, precision_id)",
    "create index precision_support_precision_id on precision_support (precision_id)",
    "create index precision_support_vendor on precision_support (vendor, support)",
    "create index precision_support_source_id on precision_support (source_id)",
    """
    create table recipes (
        recipe_id text primary key not null,
        section text not null check (section in ('recipe', 'zero', 'buffer', 'activation', 'logits')),
        name text not null,
        weights_bytes real check (weights_bytes >= 0),
        weights_text text,
        master_bytes real check (master_bytes >= 0),
        gradient_bytes real check (gradient_bytes >= 0),
        gradient_accumulation_bytes real check (gradient_accumulation_bytes >= 0),
        optimizer_bytes real check (optimizer_bytes >= 0),
        optimizer_text text,
        total_bytes_per_param real check (total_bytes_per_param >= 0),
        total_text text,
        default_elements real check (default_elements >= 0),
        formula text not null,
        gpu_resident text,
        cpu_resident text,
        nvme_resident text,
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        second_hand integer not null default 0 check (second_hand in (0, 1)),
        note text
    ) strict
    """,
    "create index recipes_section on recipes (section)",
    "create index recipes_total_bytes_per_param on recipes (total_bytes_per_param)",
    """
    create table workloads (
        workload_id text primary key not null,
        name text not null,
        context integer not null check (context > 0),
        sequences integer not null check (sequences > 0),
        description text not null
    ) strict
    """,
    """
    create table mfu_runs (
        run_id integer primary key not null,
        model text not null,
        params integer not null check (params > 0),
        precision text not null,
        device text not null,
        device_count integer not null check (device_count > 0),
        sharding text not null,
        sequence_length integer not null check (sequence_length > 0),
        micro_batch integer not null check (micro_batch > 0),
        mfu_percent real not null check (mfu_percent > 0 and mfu_percent <= 100),
        tokens_per_s_per_device real not null check (tokens_per_s_per_device > 0),
        activation_checkpointing integer not null check (activation_checkpointing in (0, 1)),
        flop_convention text not null check (
            flop_convention in ('6n', '6n_plus_attention', '6n_plus_causal_attention')
        ),
        source_id text not null references sources (source_id),
        file text not null
    ) strict
    """,
    "create index mfu_runs_device on mfu_runs (device)",
    "create index mfu_runs_model on mfu_runs (model)",
    "create index mfu_runs_source_id on mfu_runs (source_id)",
]


def apply(db: Any) -> None:
    """Create the tables of this step."""
    for statement in STATEMENTS:
        db.execute(statement)
