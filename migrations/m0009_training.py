"""The stored training matrix and its answers: the fewest devices of each kind for four recipes."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table training_accelerators (
        accelerator_key integer primary key,
        accelerator_id text not null unique references accelerators(accelerator_id)
    ) strict
    """,
    """
    create table training_recipes (
        recipe_key integer primary key,
        recipe_id text not null unique references recipes(recipe_id)
    ) strict
    """,
    """
    create table training_cells (
        model_key integer not null references fit_models(model_key),
        recipe_key integer not null references training_recipes(recipe_key),
        accelerator_key integer not null references training_accelerators(accelerator_key),
        verdict text not null check (verdict in ('fits', 'tight', 'no')),
        device_count integer not null check (device_count between 1 and 64),
        zero_stage integer not null check (zero_stage between 0 and 3),
        recompute text not null check (recompute in ('none', 'full')),
        sequence_length integer not null check (sequence_length > 0),
        allocated_bytes integer not null check (allocated_bytes > 0),
        reserved_bytes integer not null,
        driver_bytes integer not null,
        high_bytes integer not null,
        usable_bytes integer not null,
        max_micro_batch integer not null check (max_micro_batch >= 0),
        primary key (model_key, recipe_key, accelerator_key),
        check (allocated_bytes <= reserved_bytes and reserved_bytes <= driver_bytes and driver_bytes <= high_bytes)
    ) strict, without rowid
    """,
    "create index training_cells_accelerator on training_cells(accelerator_key, recipe_key, device_count)",
    """
    create view training_fits as
    select
        fit_models.model_id, training_accelerators.accelerator_id, training_recipes.recipe_id, cells.verdict,
        cells.device_count, cells.zero_stage, cells.recompute, cells.sequence_length, cells.max_micro_batch,
        cells.allocated_bytes, cells.reserved_bytes, cells.driver_bytes, cells.high_bytes, cells.usable_bytes,
        cells.usable_bytes - cells.driver_bytes as margin_bytes
    from training_cells as cells
    left join fit_models on fit_models.model_key = cells.model_key
    left join training_accelerators on training_accelerators.accelerator_key = cells.accelerator_key
    left join training_recipes on training_recipes.recipe_key = cells.recipe_key
    """,
    """
    create table best_training (
        model_id text not null references models(model_id),
        recipe_id text not null references recipes(recipe_id),
        criterion text not null check (criterion in ('smallest', 'cheapest')),
        accelerator_id text not null references accelerators(accelerator_id),
        device_count integer not null check (device_count > 0),
        least_count integer not null check (least_count > 0 and least_count <= device_count),
        verdict text not null check (verdict in ('fits', 'tight')),
        memory_bytes_summed integer not null,
        offer_id integer references offers(offer_id),
        price_per_hour real,
        currency text,
        price_valid_from text,
        primary key (model_id, recipe_id, criterion)
    ) strict, without rowid
    """,
    "create index best_training_accelerator on best_training(accelerator_id, device_count)",
    "create index best_training_price on best_training(recipe_id, criterion, price_per_hour)",
]


def apply(db: Any) -> None:
    """Create the tables."""
    for statement in STATEMENTS:
        db.execute(statement)
