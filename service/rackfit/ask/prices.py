"""Prices of configurations and machines: which offers count, in the words of a question, and what they come to."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date as Date
from difflib import get_close_matches
from typing import Any

from rackfit.ask.machines import Machine
from rackfit.catalog.read_prices import lowest_by_configuration, offers_for
from rackfit.errors import UnknownNameError, UsageError
from rackfit.money.offers import OFFER_WORDS, ON_DEMAND, OTHER_TERM, RESERVED, SPOT, Applied, Choice, Wanted

TERM_CLASSES = (ON_DEMAND, SPOT, RESERVED, OTHER_TERM)
ANY = "any"
HOURLY, PURCHASE = "hourly", "purchase"
"""Kinds of offer."""
DATE = re.compile(r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


@dataclass(frozen=True)
class Priced:
    """The lowest price of every stored configuration under one choice of offers."""

    choice: Choice
    by_configuration: dict[str, Applied | None]

    @property
    def unpriced(self) -> int:
        """Configurations for which no offer counts."""
        return sum(applied is None for applied in self.by_configuration.values())


@dataclass(frozen=True, kw_only=True)
class OfferWords:
    """Which offers a question lets count, as `read_choice` reads them. None: not said."""

    currency: str | None = None
    term: str | None = None
    tier: str | None = None
    provider: str | None = None
    region: str | None = None
    date: str | None = None
    """Day on which an offer must hold."""
    since: str | None = None
    """Day from which on a price must be dated."""

    def choice(self, connection: sqlite3.Connection, kind: str = HOURLY) -> Choice:
        """Return which offers of a kind count; a purchase has no term, tier, provider or region to be asked for.

        Raises:
            UnknownNameError, UsageError: as `read_choice`.
        """
        hourly = read_choice(connection, HOURLY, **{name: getattr(self, name) for name in OFFER_WORDS})
        if kind == HOURLY:
            return hourly
        return replace(hourly, kind=kind, term=None, tier=None, provider=None, region=None)


def read_choice(
    connection: sqlite3.Connection,
    kind: str = "hourly",
    currency: str | None = None,
    term: str | None = None,
    tier: str | None = None,
    provider: str | None = None,
    region: str | None = None,
    date: str | None = None,
    since: str | None = None,
) -> Choice:
    """Return which offers count, from the words of a question; each word must stand in the catalog.

    Args:
        connection: an open catalog.
        kind: hourly or purchase.
        currency: three letters; None: USD.
        term: on-demand, spot, reserved, other, a term as it is written, or any; None: on-demand.
        tier: None: any but tiers that not everybody can buy from.
        provider: None: any.
        region: None: any.
        date: offers that hold on that day, YYYY-MM-DD; None: today.
        since: only prices dated from that day on.

    Raises:
        UnknownNameError: no offer has that currency, term, tier, provider or region, with near names.
        UsageError: a date that cannot be read.
    """
    known = _known(connection)
    for name, text in (("date", date), ("since", since)):
        if text is not None and not DATE.fullmatch(text):
            raise UsageError(f"{name} = {text!r}: expected a date such as 2026-09-30")
    return Choice(
        kind=kind,
        currency=known("currency", currency) or "USD",
        term=None if (term or "").casefold() == ANY else known("term", term, TERM_CLASSES) or ON_DEMAND,
        tier=known("tier", tier),
        provider=known("provider", provider),
        region=known("region", region),
        date=date or Date.today().isoformat(),
        since=since,
    )


def _known(connection: sqlite3.Connection) -> Callable[..., str | None]:
    """Return a function that finds a word among the values of a column of `offers`, however it is written."""

    def find(column: str, text: str | None, more: tuple[str, ...] = ()) -> str | None:
        if text is None or not text.strip():
            return None
        values = [row[0] for row in connection.execute(f"select distinct {column} from offers order by 1") if row[0]]
        words = {value.casefold(): value for value in (*more, *values)}
        found = words.get(text.strip().casefold())
        if found is None:
            near = get_close_matches(text.strip().casefold(), words, n=4, cutoff=0.4) or sorted(words)[:4]
            raise UnknownNameError(column, text, [words[word] for word in near])
        return found

    return find


def priced(connection: sqlite3.Connection, choice: Choice) -> Priced:
    """Return the lowest price of every stored configuration: one pass, some milliseconds."""
    return Priced(choice, lowest_by_configuration(connection, choice))


def wanted_of(machine: Machine) -> Wanted | None:
    """Return what is to be priced of a machine; None where no product is it: unlike devices, a slice, no device."""
    if machine.others or machine.sliced or not machine.device.accelerator_id:
        return None
    return Wanted(machine.device.accelerator_id, machine.count // machine.nodes, machine.nodes, machine.ram_gb)


def machine_offers(connection: sqlite3.Connection, machine: Machine, choice: Choice) -> list[Applied]:
    """Return the offers of a machine that count, lowest price first; of a named system its own where it has any."""
    wanted = wanted_of(machine)
    return [] if wanted is None else offers_for(connection, wanted, choice, machine.system_id)


def price_row(applied: Applied | None) -> dict[str, Any]:
    """Return a price as flat columns of a list; all None where there is no offer."""
    offer = applied.offer if applied else None
    return {
        "price_per_hour": applied.price if applied else None,
        "currency": offer.currency if offer else None,
        "price_date": offer.valid_from if offer else None,
        "price_provider": offer.provider if offer else None,
        "price_product": offer.product if offer else None,
        "price_region": offer.region if offer else None,
        "price_term": offer.term if offer else None,
        "price_tier": offer.tier if offer else None,
        "price_basis": applied.basis if applied else None,
        "offer_id": offer.offer_id if offer else None,
    }
