"""Offers and configurations out of the catalog, as the rule of prices sees them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from rackfit.money.offers import Applied, Choice, Offer, Wanted, apply, current, order

_COLUMNS = ", ".join("systems.host_ram_gb" if name == "system_ram_gb" else f"offers.{name}" for name in Offer._fields)
_OFFERS = f"select {_COLUMNS} from offers left join systems using (system_id)"
_SHAPES = "select configuration_id, accelerator_id, devices_per_node, node_count, ram_gb from configurations order by 1"


def read_offers(connection: sqlite3.Connection, **equal: str | None) -> list[Offer]:
    """Return the offers whose columns have the values given, None: any; by number."""
    asked = {column: value for column, value in equal.items() if value is not None}
    where = " and ".join(f"offers.{column} = ?" for column in asked) or "true"
    cursor = connection.cursor()
    cursor.row_factory = None
    return [Offer(*row) for row in cursor.execute(f"{_OFFERS} where {where} order by offer_id", (*asked.values(),))]


def counting(connection: sqlite3.Connection, choice: Choice, **equal: str | None) -> list[Offer]:
    """Return the offers that a choice lets count, of one series the newest; `equal` narrows them by column."""
    kept = read_offers(connection, kind=choice.kind, currency=choice.currency, **equal)
    return [offer for offer in current(kept, choice.date) if choice.allows(offer)]


def lowest_per_device(connection: sqlite3.Connection, choice: Choice, **equal: str | None) -> Offer | None:
    """Return the offer with the lowest price of one device among those of an accelerator or system."""
    found = counting(connection, choice, **equal)
    return min(found, key=lambda offer: (offer.price_per_device, offer.offer_id), default=None)


def offers_for(
    connection: sqlite3.Connection, wanted: Wanted, choice: Choice, system_id: str | None = None
) -> list[Applied]:
    """Return the offers of one configuration, the lowest price first.

    Args:
        connection: an open catalog.
        wanted: the configuration.
        choice: which offers count.
        system_id: a system that was named: its own offers are the answer where it has any.
    """
    found = [apply(offer, wanted) for offer in counting(connection, choice, accelerator_id=wanted.accelerator_id)]
    listed = sorted((one for one in found if one is not None), key=order)
    own = [one for one in listed if system_id is not None and one.offer.system_id == system_id]
    return own or listed


def read_shapes(connection: sqlite3.Connection) -> Iterator[tuple[str, Wanted]]:
    """Yield every stored configuration as something to be priced, by id."""
    cursor = connection.cursor()
    cursor.row_factory = None
    for key, *shape in cursor.execute(_SHAPES):
        yield key, Wanted(*shape)


def lowest_by_configuration(connection: sqlite3.Connection, choice: Choice) -> dict[str, Applied | None]:
    """Return for every stored configuration its lowest price, None where it has none: all of them in one pass."""
    by_accelerator: dict[str, list[Offer]] = {}
    for offer in counting(connection, choice):
        by_accelerator.setdefault(offer.accelerator_id, []).append(offer)
    found: dict[str, Applied | None] = {}
    for key, wanted in read_shapes(connection):
        applied = (apply(offer, wanted) for offer in by_accelerator.get(wanted.accelerator_id, ()))
        found[key] = min((one for one in applied if one is not None), key=order, default=None)
    return found
