"""Dated prices: hourly and purchase offers, each with its source and what it is the price of."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table offers (
        offer_id integer primary key not null,
        kind text not null check (kind in ('hourly', 'purchase')),
        provider text,
        product text,
        accelerator_id text not null references accelerators (accelerator_id),
        system_id text references systems (system_id),
        device_count integer not null check (device_count >= 1),
        price real not null check (price >= 0),
        price_micros integer not null check (price_micros >= 0),
        price_per_device real not null,
        currency text not null check (currency glob '[A-Z][A-Z][A-Z]'),
        region text collate nocase,
        term text,
        tier text,
        price_kind text not null,
        valid_from text not null check (length(valid_from) in (4, 7, 10)),
        valid_until text check (length(valid_until) in (4, 7, 10)),
        minimum_devices integer check (minimum_devices >= 1),
        includes text,
        tax_basis text,
        quantity_basis text,
        source_id text not null references sources (source_id),
        confidence text not null check (confidence in ('high', 'medium', 'low')),
        note text,
        flag text,
        origin text not null default 'release' check (origin in ('release', 'local')),
        check (valid_until is null or valid_until >= valid_from)
    ) strict
    """,
    "create index offers_accelerator_id on offers (accelerator_id, kind, price_per_device)",
    "create index offers_system_id on offers (system_id, kind, price)",
    "create index offers_provider on offers (provider, product)",
    "create index offers_term on offers (term, tier)",
    "create index offers_region on offers (region)",
    "create index offers_price on offers (kind, currency, price)",
    "create index offers_valid_from on offers (valid_from)",
    "create index offers_source_id on offers (source_id)",
    "create index offers_flag on offers (flag)",
]


def apply(db: Any) -> None:
    """Create the tables of this step."""
    for statement in STATEMENTS:
        db.execute(statement)
