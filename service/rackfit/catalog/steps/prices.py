"""Fill `configuration_prices` and `device_prices`: the lowest price of each configuration and of each device."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from rackfit.catalog.read_prices import counting, read_shapes
from rackfit.catalog.release import newest_release
from rackfit.money.offers import Choice, Offer, apply, order

Progress = Callable[[str, int, int], None]
PURCHASE = "purchase"
RELEASE, LOCAL = "release", "local"

Group = tuple[str, str, str]
"""Kind, currency and class of term: prices of different groups are never compared."""


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the prices of the release and of the overlays that are built with it, as of the release's date."""
    date = str(newest_release(connection).date)  # offers that had run out by then do not count in it
    written = sum(write_prices(connection, origin, date) for origin in (RELEASE, LOCAL))
    progress("prices", written, written)


def write_prices(connection: sqlite3.Connection, origin: str, date: str) -> int:
    """Replace the prices that come from the offers of one origin, and return how many there are."""
    for table in ("configuration_prices", "device_prices"):
        connection.execute(f"delete from {table} where origin = ?", (origin,))
    choices = [Choice(kind=kind, currency=None, term=None, date=date) for kind in ("hourly", PURCHASE)]
    offers = [one for choice in choices for one in counting(connection, choice) if one.origin == origin]
    rows = list(_of_configurations(connection, offers, origin))
    connection.executemany(f"insert into configuration_prices values ({', '.join('?' * 11)})", rows)
    devices = list(_of_devices(offers, origin))
    connection.executemany(f"insert into device_prices values ({', '.join('?' * 7)})", devices)
    return len(rows) + len(devices)


def _group(offer: Offer) -> Group:
    return (offer.kind, offer.currency, offer.term_class or PURCHASE)


def _of_configurations(connection: sqlite3.Connection, offers: list[Offer], origin: str) -> Iterator[tuple[Any, ...]]:
    by_accelerator: dict[str, dict[Group, list[Offer]]] = defaultdict(lambda: defaultdict(list))
    for offer in offers:
        by_accelerator[offer.accelerator_id][_group(offer)].append(offer)
    for key, wanted in read_shapes(connection):
        for group, listed in sorted(by_accelerator[wanted.accelerator_id].items()):
            applied = [one for one in (apply(offer, wanted) for offer in listed) if one is not None]
            if applied:
                best = min(applied, key=order)
                yield (
                    key, *group, origin, best.offer.offer_id, best.units, best.price, best.price_per_device, best.basis,
                    best.offer.valid_from,
                )  # fmt: skip


def _of_devices(offers: list[Offer], origin: str) -> Iterator[tuple[Any, ...]]:
    lowest: dict[tuple[str, ...], Offer] = {}
    for offer in sorted(offers, key=lambda one: (one.price_per_device, one.offer_id), reverse=True):
        lowest[(offer.accelerator_id, *_group(offer))] = offer
    for key, offer in sorted(lowest.items()):
        yield (*key, origin, offer.offer_id, offer.price_per_device)
