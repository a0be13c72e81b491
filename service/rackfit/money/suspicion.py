"""What looks wrong about a price beside the other prices of its kind: said, never corrected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median, median_high
from typing import Self

from rackfit.money.offers import ON_DEMAND, RESTRICTED_TIERS, SPOT, Offer

NODE_LIKE = 4.0
"""A single device at more than this many times the usual price is probably a whole node."""

SHARE_LIKE = 1 / 6
"""A device below this part of the usual price: one device's price for a whole node, or a host without its device."""

OWN_SHARE_LIKE = 0.35
"""The same beside what the same provider usually asks for that device, which varies less: by region and machine."""

HOST_LIKE = 0.5
"""An on-demand price below this part of the same product's spot price is probably that of the host alone."""

ENOUGH = 4
"""Prices per accelerator and currency from which a usual price is taken."""

OWN_ENOUGH = 2
"""Prices of one provider from which its usual price is taken: a third of it, with only one other, is one of two."""

HOST_ALONE = ("host only", "without gpu", "without accelerator", "no gpu", "cpu and memory only")
"""Words of `includes` that say that the accelerators are another row."""

Place = tuple[object, ...]


@dataclass(frozen=True)
class Prices:
    """What prices are compared with: those of the same product, and the usual price of the same device."""

    on_demand: dict[Place, float] = field(default_factory=dict)
    """Highest on-demand price of a product, region, tier and currency."""
    spot: dict[Place, float] = field(default_factory=dict)
    """Lowest spot price of a product, region, tier and currency."""
    usual: dict[tuple[str, str], float] = field(default_factory=dict)
    """Usual on-demand price per device by accelerator and currency: the median of the providers' medians.

    A provider with fifty regions counts once, like one with a single price. Only where there are enough prices.
    """
    own: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """The highest of the middle: what one provider usually asks per device, where it has at least two prices."""

    @classmethod
    def of(cls, offers: Iterable[Offer]) -> Self:
        """Return the prices that offers give for comparison."""
        on_demand: dict[Place, float] = {}
        spot: dict[Place, float] = {}
        per_device: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for offer in offers:
            if offer.kind != "hourly" or offer.price <= 0:
                continue
            place = _place(offer)
            if offer.term_class == SPOT:
                spot[place] = min(offer.price, spot.get(place, offer.price))
            elif offer.term_class == ON_DEMAND:
                on_demand[place] = max(offer.price, on_demand.get(place, 0.0))
                if offer.tier not in RESTRICTED_TIERS:
                    listed = per_device[offer.accelerator_id, offer.currency]
                    listed[offer.provider or ""].append(offer.price_per_device)
        usual = {
            key: median(map(median, by_provider.values()))
            for key, by_provider in per_device.items()
            if sum(map(len, by_provider.values())) >= ENOUGH
        }
        own = {
            (*key, provider): median_high(values)
            for key, by_provider in per_device.items()
            for provider, values in by_provider.items()
            if provider and len(values) >= OWN_ENOUGH
        }
        return cls(on_demand, spot, usual, own)


def _place(offer: Offer) -> Place:
    thing = (offer.provider, offer.product, offer.accelerator_id, offer.device_count)
    return (*thing, (offer.region or "").casefold(), offer.tier, offer.currency)


def suspicion(offer: Offer, prices: Prices) -> str | None:
    """Return why a price is suspicious, or None."""
    if offer.price == 0:
        return "price of zero"
    if any(words in (offer.includes or "").casefold() for words in HOST_ALONE):
        return "price of the host without its accelerators"
    if offer.quantity_basis and "base" in offer.quantity_basis.replace("baseboard", ""):
        return "price of the base configuration, which may have less memory than this one"
    if offer.kind != "hourly":
        return None
    return _against_product(offer, prices) or _against_device(offer, prices)


def _against_product(offer: Offer, prices: Prices) -> str | None:
    """Compare with the other term of the same product, region, tier and currency."""
    place = _place(offer)
    if offer.term_class == SPOT:
        posted = prices.on_demand.get(place)
        return "spot price above the on-demand price" if posted is not None and offer.price > posted else None
    spot = prices.spot.get(place)
    if spot is not None and offer.term_class == ON_DEMAND and offer.price < HOST_LIKE * spot:
        return "on-demand price far below the spot price: looks like that of the host without its accelerators"
    return None


def _against_device(offer: Offer, prices: Prices) -> str | None:
    """Compare with what the device usually costs on demand."""
    if offer.term_class == SPOT:
        return None
    each, common = offer.price_per_device, prices.usual.get((offer.accelerator_id, offer.currency))
    if common is not None and offer.device_count == 1 and each > NODE_LIKE * common:
        return "price of one device looks like that of a node"
    if offer.price_kind == "marketplace":  # what a marketplace shows is somebody's offer, however low
        return None
    own = prices.own.get((offer.accelerator_id, offer.currency, offer.provider or ""))
    posted = own is not None and offer.term_class == ON_DEMAND
    low = (common is not None and each < SHARE_LIKE * common) or (posted and each < OWN_SHARE_LIKE * (own or 0.0))
    if not low:
        return None
    single = "price looks like that of a host without its accelerator"
    return single if offer.device_count == 1 else "price of a node looks like that of one device"
