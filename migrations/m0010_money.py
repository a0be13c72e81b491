"""Money: who issued an offer, the class of its term, the lowest price of each configuration and device, local rows."""

from __future__ import annotations

from typing import Any

TERM_CLASSES = "'on-demand', 'spot', 'reserved', 'other', 'purchase'"

STATEMENTS = [
    "alter table sources add column origin text not null default 'release' check (origin in ('release', 'local'))",
    "alter table offers add column issuer text",
    f"alter table offers add column term_class text check (term_class in ({TERM_CLASSES}))",
    "create index offers_term_class on offers (term_class, currency)",
    "create index offers_origin on offers (origin)",
    "alter table systems add column pcie_lanes integer check (pcie_lanes > 0)",
    "alter table systems add column bridge_group integer check (bridge_group > 1)",
    f"""
    create table configuration_prices (
        configuration_id text not null references configurations (configuration_id),
        kind text not null check (kind in ('hourly', 'purchase')),
        currency text not null check (currency glob '[A-Z][A-Z][A-Z]'),
        term_class text not null check (term_class in ({TERM_CLASSES})),
        origin text not null default 'release' check (origin in ('release', 'local')),
        offer_id integer not null references offers (offer_id),
        units real not null check (units > 0),
        price real not null check (price > 0),
        price_per_device real not null check (price_per_device > 0),
        basis text not null,
        valid_from text not null,
        primary key (configuration_id, kind, currency, term_class, origin)
    ) strict, without rowid
    """,
    "create index configuration_prices_offer on configuration_prices (offer_id)",
    "create index configuration_prices_price on configuration_prices (kind, currency, term_class, price)",
    f"""
    create table device_prices (
        accelerator_id text not null references accelerators (accelerator_id),
        kind text not null check (kind in ('hourly', 'purchase')),
        currency text not null check (currency glob '[A-Z][A-Z][A-Z]'),
        term_class text not null check (term_class in ({TERM_CLASSES})),
        origin text not null default 'release' check (origin in ('release', 'local')),
        offer_id integer not null references offers (offer_id),
        price_per_device real not null check (price_per_device > 0),
        primary key (accelerator_id, kind, currency, term_class, origin)
    ) strict, without rowid
    """,
    "create index device_prices_offer on device_prices (offer_id)",
    """
    create view device_values as
    select
        accelerators.accelerator_id, accelerators.name, device_prices.kind, device_prices.term_class,
        device_prices.currency, device_prices.price_per_device, offers.valid_from as price_valid_from,
        offers.provider, offers.offer_id, offers.source_id, offers.origin,
        accelerators.memory_gb, accelerators.memory_bandwidth_gb_s, rates.dense_tflops, rates.precision_name,
        accelerators.tdp_w,
        accelerators.memory_gb / device_prices.price_per_device as gb_per_price,
        accelerators.memory_bandwidth_gb_s / device_prices.price_per_device as gb_s_per_price,
        rates.dense_tflops / device_prices.price_per_device as tflops_per_price,
        accelerators.memory_gb / accelerators.tdp_w as gb_per_watt,
        accelerators.memory_bandwidth_gb_s / accelerators.tdp_w as gb_s_per_watt,
        rates.dense_tflops / accelerators.tdp_w as tflops_per_watt
    from accelerators
    left join device_prices on device_prices.accelerator_id = accelerators.accelerator_id
    left join offers on offers.offer_id = device_prices.offer_id
    left join accelerator_rates as rates on rates.accelerator_id = accelerators.accelerator_id
        and rates.precision_name = (
            select min(own.precision_name) from accelerator_rates as own
            where own.accelerator_id = accelerators.accelerator_id
              and own.precision_name in ('bf16', 'fp16') and own.dense_tflops is not null
        )
    """,
    "drop view fits_with_cost",
    """
    create view fits_with_cost as
    select
        inference_fits.*, configurations.accelerator_id, configurations.device_count, configurations.node_count,
        configurations.tdp_w_accelerators, configurations.memory_bytes_summed, configurations.segment,
        (select min(prices.price) from configuration_prices as prices
         where prices.configuration_id = configurations.configuration_id and prices.kind = 'hourly'
           and prices.currency = 'USD' and prices.term_class = 'on-demand') as lowest_usd_per_hour,
        (select min(prices.price) from configuration_prices as prices
         where prices.configuration_id = configurations.configuration_id and prices.kind = 'hourly'
           and prices.currency = 'USD' and prices.term_class = 'spot') as lowest_spot_usd_per_hour
    from inference_fits
    join configurations using (configuration_id)
    """,
]


def apply(db: Any) -> None:
    """Add the columns and tables, and replace the view."""
    for statement in STATEMENTS:
        db.execute(statement)
