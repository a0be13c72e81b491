"""Offers to rows, with what looks wrong about a price said beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from rackfit.money import offers as money
from rackfit.money.suspicion import Prices, suspicion
from rackfit.records.load import Library
from rackfit.records.prices import Offer

PURCHASE = "purchase"
"""Class of the term of everything that is bought once."""


def offer_id(offer: Offer) -> int:
    """Return a number that stays the same in every release: the first 40 bits of a hash of the offer's identity."""
    return int(hashlib.sha256(repr(offer.identity).encode()).hexdigest()[:10], 16)


def as_priced(offer: Offer) -> money.Offer:
    """Return a record as the rules of prices see it."""
    own = {name: getattr(offer, name) for name in money.Offer._fields if name in type(offer).model_fields}
    return money.Offer(**{**own, "price": float(offer.price)}, offer_id=offer_id(offer), source_id=offer.source)


def offer_row(offer: Offer, prices: Prices) -> dict[str, Any]:
    """Return the row of one offer, flagged where its price contradicts the prices given."""
    priced = as_priced(offer)
    return {
        "offer_id": priced.offer_id,
        **offer.model_dump(exclude={"file", "source"}),
        "price": priced.price,
        "price_micros": offer.price_micros,
        "price_per_device": round(float(offer.price_per_device), 6),
        "term_class": PURCHASE if offer.kind == PURCHASE else priced.term_class,
        "source_id": offer.source,
        "flag": suspicion(priced, prices),
    }


def rows(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of `offers`, by id."""
    offers: list[Offer] = sorted(library.rows.get("offers", []), key=offer_id)
    prices = Prices.of(map(as_priced, offers))
    for offer in offers:
        yield "offers", offer_row(offer, prices)
