"""Dated prices as a list: of one machine, or of everything, with what each is the price of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from rackfit.ask.machines import find_machines
from rackfit.ask.prices import machine_offers
from rackfit.catalog.read_prices import counting
from rackfit.money.offers import Choice, Offer

FACTS = (
    "kind", "provider", "product", "accelerator_id", "system_id", "device_count", "currency", "region", "term", "tier",
    "price_kind", "valid_from", "valid_until", "minimum_devices", "includes", "tax_basis", "quantity_basis",
    "confidence", "source_id", "flag", "origin",
)  # fmt: skip


def list_offers(connection: sqlite3.Connection, choice: Choice, on: str | None = None) -> list[dict[str, Any]]:
    """Return the offers that count, the lowest price per device first.

    Args:
        connection: an open catalog.
        choice: which offers count.
        on: hardware that they must be a price of; the price is then that of the whole of it. None: all products.

    Raises:
        UsageError and its kinds: the hardware cannot be read.
    """
    if on is None:
        offers = sorted(counting(connection, choice), key=lambda one: (one.price_per_device, one.offer_id))
        return [_row(offer) for offer in offers]
    return list(_of_machines(connection, choice, on))


def _of_machines(connection: sqlite3.Connection, choice: Choice, on: str) -> Iterator[dict[str, Any]]:
    for machine in find_machines(connection, on):
        for applied in machine_offers(connection, machine, choice):
            yield {
                "hardware": machine.shown, **_row(applied.offer), "price": applied.price,
                "price_per_device": applied.price_per_device, "basis": applied.basis,
            }  # fmt: skip


def _row(offer: Offer) -> dict[str, Any]:
    facts = {name: getattr(offer, name) for name in FACTS}
    return {"offer_id": offer.offer_id, "price": offer.price, "price_per_device": offer.price_per_device, **facts}
