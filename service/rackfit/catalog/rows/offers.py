"""Offers to rows, with what looks wrong about a price said beside it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Any

from rackfit.records.load import Library
from rackfit.records.prices import SPOT_TERMS, Offer

NODE_LIKE = 4.0
"""A single device at more than this many times the usual price is probably a whole node."""

SHARE_LIKE = 1 / 6
"""A node's device below this part of the usual price is probably the price of one device for all."""

ENOUGH = 4
"""Prices per accelerator and currency from which a usual price is taken."""


def offer_id(offer: Offer) -> int:
    """Return a number that stays the same in every release: the first 40 bits of a hash of the offer's identity."""
    return int(hashlib.sha256(repr(offer.identity).encode()).hexdigest()[:10], 16)


def _place(offer: Offer) -> tuple[object, ...]:
    region = (offer.region or "").casefold()
    thing = (offer.provider, offer.product, offer.accelerator_id, offer.device_count)
    return (*thing, region, offer.tier, offer.currency)


def _flag(offer: Offer, on_demand: dict[tuple[object, ...], float], usual: dict[tuple[str, str], float]) -> str | None:
    """Say why a price is suspicious, or None."""
    if offer.price == 0:
        return "price of zero"
    if offer.quantity_basis and "base" in offer.quantity_basis.replace("baseboard", ""):
        return "price of the base configuration, which may have less memory than this one"
    if offer.kind != "hourly":
        return None
    posted = on_demand.get(_place(offer))
    if offer.term in SPOT_TERMS and posted is not None and float(offer.price) > posted:
        return "spot price above the on-demand price"
    common = usual.get((offer.accelerator_id, offer.currency))
    if common is None or offer.term in SPOT_TERMS:
        return None
    each = float(offer.price_per_device)
    if offer.device_count == 1 and each > NODE_LIKE * common:
        return "price of one device looks like that of a node"
    if offer.device_count > 1 and each < SHARE_LIKE * common:
        return "price of a node looks like that of one device"
    return None


def _usual(offers: list[Offer]) -> dict[tuple[str, str], float]:
    """Return the median on-demand price per device by accelerator and currency, where there are enough prices."""
    prices: dict[tuple[str, str], list[float]] = defaultdict(list)
    for offer in offers:
        if offer.kind == "hourly" and offer.term == "on-demand":
            prices[offer.accelerator_id, offer.currency].append(float(offer.price_per_device))
    return {key: median(values) for key, values in prices.items() if len(values) >= ENOUGH}


def rows(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of `offers`, by id."""
    offers: list[Offer] = library.rows.get("offers", [])
    on_demand: dict[tuple[object, ...], float] = {}
    for offer in offers:
        if offer.kind == "hourly" and offer.term == "on-demand":
            place = _place(offer)
            on_demand[place] = max(float(offer.price), on_demand.get(place, 0.0))
    usual = _usual(offers)
    for offer in sorted(offers, key=offer_id):
        row = offer.model_dump(exclude={"file", "source"})
        yield (
            "offers",
            {
                "offer_id": offer_id(offer),
                **row,
                "price": float(offer.price),
                "price_micros": offer.price_micros,
                "price_per_device": round(float(offer.price_per_device), 6),
                "source_id": offer.source,
                "flag": _flag(offer, on_demand, usual),
            },
        )
