"""Fits sorted over all models and shapes: indexes in that order, and views that let SQLite walk along them.

Without them a page of the 1.3 million fits sorted by their longest context read every row. In the views whatever is
joined stands behind the fits as a left join, so that an unfiltered page starts at the fits; a filter on a joined column
turns its join into an inner one, and SQLite starts there. `coalesce` keeps fits of no system out without doing so.
"""

from __future__ import annotations

from typing import Any

FIT = """
        fit_models.model_id, configurations.configuration_id, fit_precisions.precision_id, cells.verdict,
        cells.tp, cells.pp, cells.ep, cells.dp,
        cells.weights_bytes, cells.kv_bytes, cells.workspace_bytes, cells.runtime_bytes, cells.total_bytes,
        cells.low_bytes, cells.high_bytes, cells.usable_bytes, cells.margin_bytes, cells.limit_term,
        cells.max_context, cells.max_sequences_8k, cells.max_sequences_32k, cells.max_sequences_128k,
        cells.support, fit_budgets.budget_id"""
"""Columns of inference_fits as it is since step 7."""

STATEMENTS = [
    "create index inference_cells_margin on inference_cells(margin_bytes)",
    "create index inference_cells_max_context on inference_cells(max_context)",
    "create index inference_cells_total on inference_cells(total_bytes)",
    "create index training_cells_count on training_cells(device_count)",
    "create index training_cells_driver on training_cells(driver_bytes)",
    "create index training_cells_margin on training_cells(usable_bytes - driver_bytes)",
    "create index training_cells_micro_batch on training_cells(max_micro_batch)",
    "drop view system_fits",
    f"""
    create view system_fits as
    select
        configuration_systems.system_id, systems.name as system_name, systems.provider, systems.kind as system_kind,
        {FIT.lstrip()}
    from inference_cells as cells
    join configurations on configurations.configuration_key = cells.configuration_key
    left join fit_models on fit_models.model_key = cells.model_key
    left join fit_precisions on fit_precisions.precision_key = cells.precision_key
    left join fit_budgets on fit_budgets.budget_key = cells.budget_key
    left join configuration_systems on configuration_systems.configuration_id = configurations.configuration_id
    left join systems on systems.system_id = configuration_systems.system_id
    where coalesce(configuration_systems.system_id, '') <> ''
    """,
    "drop view fits_with_cost",
    f"""
    create view fits_with_cost as
    select
        {FIT.lstrip()},
        configurations.accelerator_id, configurations.device_count, configurations.node_count,
        configurations.tdp_w_accelerators, configurations.memory_bytes_summed, configurations.segment,
        (select min(prices.price) from configuration_prices as prices
         where prices.configuration_id = configurations.configuration_id and prices.kind = 'hourly'
           and prices.currency = 'USD' and prices.term_class = 'on-demand') as lowest_usd_per_hour,
        (select min(prices.price) from configuration_prices as prices
         where prices.configuration_id = configurations.configuration_id and prices.kind = 'hourly'
           and prices.currency = 'USD' and prices.term_class = 'spot') as lowest_spot_usd_per_hour
    from inference_cells as cells
    left join fit_models on fit_models.model_key = cells.model_key
    left join configurations on configurations.configuration_key = cells.configuration_key
    left join fit_precisions on fit_precisions.precision_key = cells.precision_key
    left join fit_budgets on fit_budgets.budget_key = cells.budget_key
    """,
]


def apply(db: Any) -> None:
    """Create the indexes and replace the views."""
    for statement in STATEMENTS:
        db.execute(statement)
