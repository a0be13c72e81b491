"""Hardware: accelerators with their rates and memory, interconnects, systems, and measured power."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table interconnects (
        interconnect_id text primary key not null,
        name text not null,
        family text not null,
        generation text,
        lanes_or_links integer check (lanes_or_links > 0),
        per_link_per_direction_gb_s real check (per_link_per_direction_gb_s > 0),
        per_direction_gb_s real check (per_direction_gb_s > 0),
        total_gb_s real check (total_gb_s > 0),
        measured_gb_s real check (measured_gb_s > 0),
        measured_what text,
        signalling text,
        topology text,
        scope text not null,
        latency_class text,
        second_hand integer not null check (second_hand in (0, 1)),
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        check (per_direction_gb_s <= total_gb_s)
    ) strict
    """,
    "create index interconnects_family on interconnects (family)",
    "create index interconnects_total_gb_s on interconnects (total_gb_s)",
    """
    create table accelerators (
        accelerator_id text primary key not null,
        name text not null,
        vendor text not null,
        architecture text,
        form_factor text not null,
        segment text not null check (
            segment in ('datacenter', 'workstation', 'consumer', 'laptop', 'unified', 'edge', 'tpu_asic')
        ),
        status text not null check (status in ('released', 'announced')),
        announced_date text,
        available_date text,
        launch_date text,
        memory_gb real check (memory_gb > 0),
        memory_unit_label text,
        memory_options_gb text,
        memory_type text,
        memory_bus_bits integer check (memory_bus_bits > 0),
        memory_bandwidth_gb_s real check (memory_bandwidth_gb_s > 0),
        usable_memory_bytes integer check (usable_memory_bytes > 0),
        fit_memory_bytes integer check (fit_memory_bytes > 0),
        fit_memory_rule text,
        fit_memory_spread real check (fit_memory_spread >= 0 and fit_memory_spread < 1),
        unified_memory integer not null check (unified_memory in (0, 1)),
        tdp_w real check (tdp_w > 0),
        compute_units integer check (compute_units > 0),
        compute_unit_kind text,
        boost_clock_mhz real check (boost_clock_mhz > 0),
        l2_cache_mb real check (l2_cache_mb > 0),
        l1_shared_kb_per_unit real,
        shared_max_kb_per_unit real,
        registers_kb_per_unit real,
        compute_capability text,
        pcie text,
        scaleup_interconnect text,
        scaleup_links integer,
        scaleup_max_devices integer,
        scaleup_total_bidir_gb_s real check (scaleup_total_bidir_gb_s > 0),
        multi_device integer not null check (multi_device in (0, 1)),
        mig_max_instances integer,
        partition_modes text,
        supports_bf16 integer check (supports_bf16 in (0, 1)),
        supports_fp8 integer check (supports_fp8 in (0, 1)),
        supports_fp4 integer check (supports_fp4 in (0, 1)),
        supports_int4_matrix integer check (supports_int4_matrix in (0, 1)),
        msrp_usd integer check (msrp_usd >= 0),
        msrp_basis text,
        rates_note text,
        second_hand integer not null check (second_hand in (0, 1)),
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        origin text not null default 'release' check (origin in ('release', 'local')),
        check ((fit_memory_bytes is null) = (fit_memory_rule is null))
    ) strict
    """,
    "create index accelerators_vendor on accelerators (vendor)",
    "create index accelerators_segment on accelerators (segment)",
    "create index accelerators_architecture on accelerators (architecture)",
    "create index accelerators_memory_gb on accelerators (memory_gb)",
    "create index accelerators_memory_bandwidth_gb_s on accelerators (memory_bandwidth_gb_s)",
    "create index accelerators_fit_memory_bytes on accelerators (fit_memory_bytes)",
    "create index accelerators_tdp_w on accelerators (tdp_w)",
    "create index accelerators_compute_capability on accelerators (compute_capability)",
    """
    create table accelerator_rates (
        accelerator_id text not null references accelerators (accelerator_id),
        precision_name text not null check (
            precision_name in (
                'fp64', 'fp64_tensor', 'fp32', 'tf32', 'fp16', 'fp16_fp16acc', 'bf16', 'fp8', 'int8', 'fp4', 'int4'
            )
        ),
        dense_tflops real check (dense_tflops > 0),
        sparse_tflops real check (sparse_tflops > 0),
        basis text not null,
        primary key (accelerator_id, precision_name),
        check (dense_tflops <= sparse_tflops)
    ) strict, without rowid
    """,
    "create index accelerator_rates_precision_name_dense_tflops on accelerator_rates (precision_name, dense_tflops)",
    """
    create table memory_levels (
        accelerator_id text not null references accelerators (accelerator_id),
        level text not null check (level in ('register', 'l1_shared', 'shared_max', 'l2', 'hbm')),
        capacity_bytes integer check (capacity_bytes > 0),
        scope text not null check (scope in ('compute unit', 'device')),
        bandwidth_gb_s real check (bandwidth_gb_s > 0),
        basis text not null,
        primary key (accelerator_id, level)
    ) strict, without rowid
    """,
    "create index memory_levels_level on memory_levels (level)",
    """
    create table usable_memory (
        usable_memory_id integer primary key not null,
        accelerator_id text not null references accelerators (accelerator_id),
        ram_gb real check (ram_gb > 0),
        os text not null,
        os_version text,
        setting text not null,
        usable_bytes integer not null check (usable_bytes > 0),
        printed text not null,
        date text,
        source_id text not null references sources (source_id)
    ) strict
    """,
    "create index usable_memory_accelerator_id on usable_memory (accelerator_id)",
    "create index usable_memory_source_id on usable_memory (source_id)",
    """
    create table mig_profiles (
        accelerator_id text not null references accelerators (accelerator_id),
        profile text not null,
        memory_gb real not null check (memory_gb > 0),
        compute_slices integer not null check (compute_slices > 0),
        max_instances integer not null check (max_instances > 0),
        fit_memory_bytes integer check (fit_memory_bytes > 0),
        fit_memory_rule text,
        fit_memory_spread real check (fit_memory_spread >= 0 and fit_memory_spread < 1),
        source_id text not null references sources (source_id),
        primary key (accelerator_id, profile)
    ) strict, without rowid
    """,
    "create index mig_profiles_source_id on mig_profiles (source_id)",
    """
    create table systems (
        system_id text primary key not null,
        name text not null,
        provider text not null,
        kind text not null,
        accelerator_id text not null references accelerators (accelerator_id),
        accelerator_count integer not null check (accelerator_count > 0),
        accelerator_memory_gb real,
        intra_node_link text,
        interconnect_id text references interconnects (interconnect_id),
        inter_node_gbps real check (inter_node_gbps > 0),
        cpu text,
        cpu_sockets integer,
        vcpus integer,
        host_ram_gb real check (host_ram_gb > 0),
        host_ram_unit text,
        ram_channels integer,
        ram_mt_s integer,
        ram_bandwidth_gb_s real,
        ram_bandwidth_basis text,
        nvme_tb real,
        nvme_boot_tb real,
        nic_model text,
        nic_count integer,
        nic_per_direction_gb_s real,
        pcie_generation integer,
        pcie_topology text,
        nvlink_topology text,
        peer_to_peer text check (peer_to_peer in ('yes', 'no', 'driver-limited')),
        scale_up_domain_size integer,
        topology_basis text,
        max_accelerators integer,
        max_power_w real check (max_power_w > 0),
        typical_power_w real check (typical_power_w > 0),
        psu_count integer,
        psu_w real,
        cooling text check (cooling in ('air', 'liquid', 'hybrid', 'passive')),
        rack_units real,
        height_mm real,
        width_mm real,
        depth_mm real,
        weight_kg real,
        operating_temp_min_c real,
        operating_temp_max_c real,
        second_hand integer not null check (second_hand in (0, 1)),
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        origin text not null default 'release' check (origin in ('release', 'local'))
    ) strict
    """,
    "create index systems_provider on systems (provider)",
    "create index systems_kind on systems (kind)",
    "create index systems_accelerator_id_accelerator_count on systems (accelerator_id, accelerator_count)",
    "create index systems_interconnect_id on systems (interconnect_id)",
    "create index systems_max_power_w on systems (max_power_w)",
    """
    create table system_facts (
        system_id text not null references systems (system_id),
        fact_index integer not null check (fact_index >= 1),
        field text not null,
        value text not null,
        unit text,
        source_id text not null references sources (source_id),
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        primary key (system_id, fact_index)
    ) strict, without rowid
    """,
    "create index system_facts_field on system_facts (field)",
    "create index system_facts_source_id on system_facts (source_id)",
    """
    create table system_power (
        power_id integer primary key not null,
        round text not null,
        submitter text not null,
        system_name text not null,
        accelerator_id text not null references accelerators (accelerator_id),
        accelerators_per_node integer not null,
        nodes integer not null,
        cooling text,
        mode text not null check (mode in ('as submitted', 'power-capped')),
        benchmark text not null,
        scenario text not null,
        lowest_w real not null,
        load_mean_w real not null,
        p95_w real not null,
        peak_w real not null,
        samples integer not null,
        source_id text not null references sources (source_id),
        date text not null,
        path_in_repository text not null,
        check (lowest_w <= load_mean_w and load_mean_w <= peak_w)
    ) strict
    """,
    "create index system_power_accelerator_id on system_power (accelerator_id)",
    "create index system_power_source_id on system_power (source_id)",
]


def apply(db: Any) -> None:
    """Create the tables of this step."""
    for statement in STATEMENTS:
        db.execute(statement)
