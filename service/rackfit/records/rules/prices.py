"""Prices name accelerators and systems that exist, and no price is entered twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.load import Library
    from rackfit.records.prices import Offer

NAME = "prices"
WHY = "a price joined to nothing is lost, and one entered twice is summed or picked at random"


def _label(offer: Offer) -> str:
    return f"{offer.provider or 'purchase'} {offer.product or offer.accelerator_id} {offer.valid_from}"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each dangling reference and for each second row of one offer."""
    first: dict[tuple[object, ...], Offer] = {}
    for offer in library.rows.get("offers", []):
        place = f"prices/{offer.file}.csv"
        for field, folder in (("accelerator_id", "accelerators"), ("system_id", "systems")):
            value = getattr(offer, field)
            if value is not None and value not in library.kind(folder):
                yield Problem(place, f"{field} of {_label(offer)}", value, f"a slug of data/{folder}")
        earlier = first.setdefault(offer.identity, offer)
        if earlier is not offer:
            said = f"{earlier.price} {earlier.currency} in prices/{earlier.file}.csv"
            yield Problem(place, _label(offer), f"{offer.price} {offer.currency}", f"one row per offer: it is {said}")
