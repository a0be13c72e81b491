"""Which offer is a price of which configuration, and which one counts among several: the one rule for all answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import NamedTuple

ON_DEMAND = "on-demand"
SPOT = "spot"
RESERVED = "reserved"
OTHER_TERM = "other"
SPOT_TERMS = frozenset({"spot", "preemptible", "low-priority"})
COMMITMENTS = ("reserved", "committed", "commitment", "capacity block", "day", "week", "month", "year")
"""Words in a term that mean paying for a time agreed beforehand."""

BY_DEVICE = ("per gpu", "per device", "per card", "per accelerator", "per chip")
"""How a quantity basis begins where the product can be had in any number."""

RESTRICTED_TIERS = frozenset({"government"})
"""Tiers that not everybody can buy from: only where they are asked for."""


class Offer(NamedTuple):
    """A dated price as the rule sees it: the price is for all `device_count` devices of the product together."""

    offer_id: int
    kind: str
    accelerator_id: str
    device_count: int
    price: float
    currency: str
    valid_from: str
    valid_until: str | None = None
    provider: str | None = None
    product: str | None = None
    system_id: str | None = None
    system_ram_gb: float | None = None
    """Memory of the system, which tells chips with shared memory apart."""
    region: str | None = None
    term: str | None = None
    tier: str | None = None
    price_kind: str = "list"
    minimum_devices: int | None = None
    quantity_basis: str | None = None
    includes: str | None = None
    tax_basis: str | None = None
    confidence: str = "medium"
    source_id: str | None = None
    flag: str | None = None
    origin: str = "release"

    @property
    def by_device(self) -> bool:
        """Whether any number of devices from `minimum_devices` on has the price of one times their number."""
        basis = (self.quantity_basis or "").casefold()
        return self.minimum_devices is not None or basis.startswith(BY_DEVICE)

    @property
    def price_per_device(self) -> float:
        """Price of one device of the product."""
        return self.price / self.device_count

    @property
    def term_class(self) -> str | None:
        """on-demand, spot, reserved or other; None for purchases."""
        return None if self.term is None else term_class(self.term)

    @property
    def series(self) -> tuple[object, ...]:
        """What stays the same when a price changes: of one series the newest price counts."""
        if self.provider is None:
            return (self.offer_id,)
        place = (self.kind, self.provider, self.product, self.accelerator_id, self.system_id, self.device_count)
        terms = (self.currency, (self.region or "").casefold(), self.term, self.tier, self.price_kind, self.origin)
        return place + terms


@cache
def term_class(term: str) -> str:
    """Return the class of a term: on-demand, spot, reserved (any agreed time) or other.

    >>> term_class("committed 1y"), term_class("preemptible"), term_class("31-90 days")
    ('reserved', 'spot', 'reserved')
    """
    words = term.casefold()
    if words == ON_DEMAND:
        return ON_DEMAND
    if words in SPOT_TERMS:
        return SPOT
    return RESERVED if any(word in words for word in COMMITMENTS) else OTHER_TERM


@dataclass(frozen=True, slots=True)
class Wanted:
    """A configuration that is to be priced: so many devices in each of so many machines."""

    accelerator_id: str
    devices_per_node: int
    node_count: int = 1
    ram_gb: float | None = None
    """Shared memory of the machine, for chips that are sold with several sizes."""

    @property
    def device_count(self) -> int:
        """Devices over all machines."""
        return self.devices_per_node * self.node_count


@dataclass(frozen=True, slots=True)
class Applied:
    """An offer applied to a configuration: `units` of the product make it up."""

    offer: Offer
    wanted: Wanted
    units: float

    @property
    def price(self) -> float:
        """Price of the whole configuration, per hour or once, in the offer's currency."""
        return self.offer.price * self.units

    @property
    def price_per_device(self) -> float:
        """Price of one of its devices."""
        return self.price / self.wanted.device_count

    @property
    def basis(self) -> str:
        """How the price of the product became that of the configuration."""
        offer, wanted = self.offer, self.wanted
        if not _is_one_machine(offer, wanted):
            said = f"{wanted.device_count} x the price per device"
        elif wanted.node_count > 1:
            said = f"{wanted.node_count} x the price of one machine"
        else:
            said = "the product as it is sold"
        bare = offer.kind == "purchase" and offer.system_id is None and offer.by_device
        return f"{said}; accelerators alone, no host" if bare else said


def apply(offer: Offer, wanted: Wanted) -> Applied | None:
    """Return the offer as a price of the configuration, None where it is no offer of that.

    - A product with exactly the devices of one machine is bought once per machine.
    - A product sold by the device (a minimum number, or a price printed per device) is bought by the device, from its
      minimum on; a card bought like that comes without its host.
    - Nothing else: a machine with more or fewer devices is another configuration, and no price is made up by scaling.
    """
    if offer.accelerator_id != wanted.accelerator_id:
        return None
    if wanted.ram_gb is not None and offer.system_ram_gb != wanted.ram_gb:
        return None
    if _is_one_machine(offer, wanted):
        return Applied(offer, wanted, float(wanted.node_count))
    if offer.by_device and wanted.device_count >= (offer.minimum_devices or 1):
        return Applied(offer, wanted, wanted.device_count / offer.device_count)
    return None


def _is_one_machine(offer: Offer, wanted: Wanted) -> bool:
    return offer.device_count == wanted.devices_per_node and not offer.minimum_devices


@dataclass(frozen=True, slots=True)
class Choice:
    """Which offers count. None: any. Texts are compared without letter case."""

    kind: str = "hourly"
    currency: str | None = "USD"
    term: str | None = ON_DEMAND
    """A class (on-demand, spot, reserved, other) or a term as it is written, such as reserved 1y."""
    tier: str | None = None
    """None: any but tiers that not everybody can buy from."""
    provider: str | None = None
    region: str | None = None
    date: str | None = None
    """Offers that hold on that day, of one series the newest; None: the newest whatever the day."""
    since: str | None = None
    """Only prices dated from that day on."""
    flagged: bool = False
    """Whether prices that look wrong count too."""

    def allows(self, offer: Offer) -> bool:
        """Whether an offer counts, its date apart from `superseded`."""
        return (
            offer.kind == self.kind
            and (self.flagged or offer.flag is None)
            and (self.currency is None or offer.currency == self.currency)
            and self._term(offer)
            and (_same(offer.tier, self.tier) if self.tier else offer.tier not in RESTRICTED_TIERS)
            and (self.provider is None or _same(offer.provider, self.provider))
            and (self.region is None or _same(offer.region, self.region))
            and (self.since is None or last_day(offer.valid_from) >= self.since)
        )

    def _term(self, offer: Offer) -> bool:
        if self.term is None or offer.kind == "purchase":
            return True
        return self.term.casefold() in (offer.term_class, (offer.term or "").casefold())


OFFER_WORDS = tuple(one.name for one in fields(Choice) if one.name not in ("kind", "flagged"))
"""What a question can say of the offers that count: the parameters of questions, commands and pages of money."""


def _same(one: str | None, other: str | None) -> bool:
    return (one or "").casefold() == (other or "").casefold()


def first_day(date: str) -> str:
    """Return the first day of a date that may be a month or year: 2026 is 2026-01-01."""
    return date + "-01-01"[len(date) - 4 :] if len(date) < 10 else date


def last_day(date: str) -> str:
    """Return the end of a date that may be a month or year: 2026-09 is 2026-09-31, which no day of it is after."""
    return date + "-12-31"[len(date) - 4 :] if len(date) < 10 else date


def current(offers: Iterable[Offer], date: str | None = None) -> list[Offer]:
    """Return the newest offer of each series, on a day those that hold then; of equal dates the lowest price."""
    newest: dict[tuple[object, ...], Offer] = {}
    for offer in offers:
        if date is not None and first_day(offer.valid_from) > date:
            continue
        known = newest.get(offer.series)
        if known is None or (offer.valid_from, -offer.price) > (known.valid_from, -known.price):
            newest[offer.series] = offer
    return [one for one in newest.values() if date is None or last_day(one.valid_until or date) >= date]


def order(applied: Applied) -> tuple[float, int, int]:
    """Sort key: lowest price of the configuration first, then the newest, then by number."""
    offer = applied.offer
    return (applied.price, -int(first_day(offer.valid_from).replace("-", "")), offer.offer_id)
