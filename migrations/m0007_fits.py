"""Configurations, the stored fit matrices, the answers people open first, and the score of every measurement."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table runtime_budgets (
        budget_id text primary key,
        runtime_id text not null references runtimes(runtime_id),
        engine text,
        version_from text not null,
        version_to text,
        released text,
        equation text not null check (equation in ('share_of_total', 'share_of_free', 'all_of_device')),
        utilization real not null check (utilization > 0 and utilization <= 1),
        parallelism text not null check (parallelism in ('tensor', 'layers')),
        profiled_tokens text not null check (profiled_tokens in ('batched_tokens', 'context', 'ubatch', 'none')),
        forward_bytes real not null check (forward_bytes >= 0),
        sampler_bytes_per_logit real not null check (sampler_bytes_per_logit >= 0),
        persistent_bytes_per_logit real not null check (persistent_bytes_per_logit >= 0),
        logit_rows integer check (logit_rows >= 0),
        non_torch_bytes_single integer not null check (non_torch_bytes_single >= 0),
        non_torch_bytes_parallel integer not null check (non_torch_bytes_parallel >= 0),
        context_bytes integer not null check (context_bytes >= 0),
        graph_bytes integer not null check (graph_bytes >= 0),
        graphs_in_budget integer not null check (graphs_in_budget in (0, 1)),
        kv_block_tokens integer not null check (kv_block_tokens > 0),
        window_extra_batches integer check (window_extra_batches >= 0),
        state_bits integer not null check (state_bits in (16, 32)),
        mla_cache text not null check (mla_cache in ('latent', 'padded', 'full_heads')),
        mxfp4_width_multiple integer check (mxfp4_width_multiple > 0),
        cache_copies real not null check (cache_copies >= 1),
        min_cache_tokens integer not null check (min_cache_tokens >= 0),
        prints_gib_as_gb integer not null check (prints_gib_as_gb in (0, 1)),
        prompt_logit_bytes real not null check (prompt_logit_bytes >= 0),
        widened_head_bytes real not null check (widened_head_bytes >= 0),
        loads_second_head integer not null check (loads_second_head in (0, 1)),
        awq_cache_surplus real not null check (awq_cache_surplus >= 0),
        embedding_on_host integer not null check (embedding_on_host in (0, 1)),
        tiers text not null,
        small_tier_names text not null,
        confidence text not null,
        note text
    ) strict
    """,
    """
    create table configurations (
        configuration_key integer primary key,
        configuration_id text not null unique,
        label text not null,
        accelerator_id text not null references accelerators(accelerator_id),
        device_count integer not null check (device_count > 0),
        node_count integer not null check (node_count > 0),
        devices_per_node integer not null check (devices_per_node > 0),
        devices_per_domain integer not null check (devices_per_domain > 0),
        link text,
        link_total_gb_s real check (link_total_gb_s > 0),
        inter_node_gbps real check (inter_node_gbps > 0),
        memory_bytes_per_device integer not null check (memory_bytes_per_device > 0),
        memory_bytes_summed integer not null,
        memory_rule text not null,
        memory_spread real not null check (memory_spread >= 0),
        ram_gb integer check (ram_gb > 0),
        tdp_w_accelerators real check (tdp_w_accelerators > 0),
        segment text not null,
        check (device_count = node_count * devices_per_node)
    ) strict
    """,
    "create index configurations_accelerator on configurations(accelerator_id, device_count)",
    "create index configurations_count on configurations(device_count)",
    "create index configurations_segment on configurations(segment)",
    """
    create table configuration_systems (
        configuration_id text not null references configurations(configuration_id),
        system_id text not null references systems(system_id),
        primary key (configuration_id, system_id)
    ) strict
    """,
    "create index configuration_systems_system on configuration_systems(system_id)",
    """
    create table fit_models (
        model_key integer primary key,
        model_id text not null unique references models(model_id)
    ) strict
    """,
    """
    create table fit_precisions (
        precision_key integer primary key,
        precision_id text not null unique references precisions(precision_id)
    ) strict
    """,
    """
    create table fit_budgets (
        budget_key integer primary key,
        budget_id text not null unique references runtime_budgets(budget_id)
    ) strict
    """,
    """
    create table inference_cells (
        model_key integer not null references fit_models(model_key),
        precision_key integer not null references fit_precisions(precision_key),
        configuration_key integer not null references configurations(configuration_key),
        budget_key integer not null references fit_budgets(budget_key),
        support text not null check (support in ('native', 'weight_only', 'emulated', 'unknown')),
        verdict text not null check (verdict in ('fits', 'tight', 'no')),
        tp integer not null check (tp > 0),
        pp integer not null check (pp > 0),
        ep integer not null check (ep > 0),
        dp integer not null check (dp > 0),
        weights_bytes integer not null check (weights_bytes > 0),
        kv_bytes integer not null check (kv_bytes >= 0),
        workspace_bytes integer not null check (workspace_bytes >= 0),
        runtime_bytes integer not null,
        total_bytes integer not null,
        low_bytes integer not null,
        high_bytes integer not null,
        usable_bytes integer not null,
        margin_bytes integer not null,
        limit_term text not null check (limit_term in ('weights', 'kv', 'workspace', 'runtime')),
        max_context integer,
        max_sequences_8k integer,
        max_sequences_32k integer,
        max_sequences_128k integer,
        primary key (model_key, precision_key, configuration_key),
        check (low_bytes <= total_bytes and total_bytes <= high_bytes),
        check (margin_bytes = usable_bytes - total_bytes)
    ) strict, without rowid
    """,
    "create index inference_cells_configuration on inference_cells(configuration_key, verdict, margin_bytes)",
    "create index inference_cells_model on inference_cells(model_key, verdict, margin_bytes)",
    """
    create view inference_fits as
    select
        fit_models.model_id, configurations.configuration_id, fit_precisions.precision_id, cells.verdict,
        cells.tp, cells.pp, cells.ep, cells.dp,
        cells.weights_bytes, cells.kv_bytes, cells.workspace_bytes, cells.runtime_bytes, cells.total_bytes,
        cells.low_bytes, cells.high_bytes, cells.usable_bytes, cells.margin_bytes, cells.limit_term,
        cells.max_context, cells.max_sequences_8k, cells.max_sequences_32k, cells.max_sequences_128k,
        cells.support, fit_budgets.budget_id
    from inference_cells as cells
    left join fit_models on fit_models.model_key = cells.model_key
    left join configurations on configurations.configuration_key = cells.configuration_key
    left join fit_precisions on fit_precisions.precision_key = cells.precision_key
    left join fit_budgets on fit_budgets.budget_key = cells.budget_key
    """,
    """
    create table best_fits (
        model_id text not null references models(model_id),
        precision_id text not null references precisions(precision_id),
        workload_id text not null,
        criterion text not null check (criterion in ('smallest', 'cheapest')),
        configuration_id text not null references configurations(configuration_id),
        verdict text not null check (verdict in ('fits', 'tight')),
        device_count integer not null check (device_count > 0),
        memory_bytes_summed integer not null,
        margin_bytes integer not null,
        max_context integer,
        max_sequences integer,
        offer_id integer references offers(offer_id),
        price_per_hour real,
        currency text,
        price_valid_from text,
        unpriced_alternatives integer not null default 0,
        primary key (model_id, precision_id, workload_id, criterion)
    ) strict, without rowid
    """,
    "create index best_fits_configuration on best_fits(configuration_id)",
    "create index best_fits_workload on best_fits(workload_id, criterion, price_per_hour)",
    """
    create table estimates (
        case_id text primary key references measurements(case_id),
        kind text not null,
        quantity text not null,
        unit text,
        confidence text not null,
        measured_value real,
        measured_verdict integer check (measured_verdict in (0, 1)),
        estimate real,
        low real,
        high real,
        relative_error real,
        inside_range integer check (inside_range in (0, 1)),
        status text not null check (status in ('resolved', 'refused')),
        reason text,
        model_id text references models(model_id),
        accelerator_id text references accelerators(accelerator_id),
        precision_id text references precisions(precision_id),
        budget_id text references runtime_budgets(budget_id),
        assumptions text
    ) strict
    """,
    "create index estimates_kind on estimates(kind, quantity, status)",
    "create index estimates_model on estimates(model_id)",
    """
    create view accuracy as
    select
        kind, quantity, confidence,
        count(*) as cases,
        sum(status = 'resolved') as resolved,
        sum(status = 'refused') as refused,
        avg(abs(relative_error)) as mean_abs_relative_error,
        max(abs(relative_error)) as max_abs_relative_error,
        avg(inside_range) as coverage,
        sum(quantity = 'fits' and measured_verdict = 1 and estimate = 1) as true_fit,
        sum(quantity = 'fits' and measured_verdict = 0 and estimate = 1) as false_fit,
        sum(quantity = 'fits' and measured_verdict = 0 and estimate = 0) as true_no,
        sum(quantity = 'fits' and measured_verdict = 1 and estimate = 0) as false_no
    from estimates
    group by kind, quantity, confidence
    """,
    """
    create view system_fits as
    select
        systems.system_id, systems.name as system_name, systems.provider, systems.kind as system_kind,
        inference_fits.*
    from systems
    join configuration_systems using (system_id)
    join inference_fits using (configuration_id)
    """,
    """
    create view fits_with_cost as
    select
        inference_fits.*, configurations.accelerator_id, configurations.device_count, configurations.node_count,
        configurations.tdp_w_accelerators, configurations.memory_bytes_summed, configurations.segment,
        (select min(offers.price) from offers
         where offers.kind = 'hourly' and offers.currency = 'USD' and offers.flag is null
           and offers.accelerator_id = configurations.accelerator_id
           and offers.device_count = configurations.device_count) as lowest_usd_per_hour
    from inference_fits
    join configurations using (configuration_id)
    """,
]


def apply(db: Any) -> None:
    """Create the tables, indexes and views."""
    for statement in STATEMENTS:
        db.execute(statement)
