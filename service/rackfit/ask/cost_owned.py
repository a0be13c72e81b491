"""Owned machines: a row per purchase price, with the cost of an hour and what it takes to beat renting."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rackfit.ask.machines import Machine
from rackfit.ask.watts import accelerators_w, system_w
from rackfit.money.break_even import net_present_value, own_or_rent, payback_years
from rackfit.money.figures import above_zero, from_zero
from rackfit.money.offers import Applied
from rackfit.money.owning import HOURS_PER_YEAR, LIMITS, Ownership, capital_per_hour

LIFE_YEARS = 4.0
"""Years over which a purchase is spread unless others are stated: an assumption that is echoed, not a fact."""
POSITIVE = ("purchase_price", "life_years", "pue", "power_watts")


@dataclass(frozen=True)
class Owning:
    """What is stated of owning, in the currency of the question. None: not stated."""

    purchase_price: float | None = None
    life_years: float = LIFE_YEARS
    kwh_price: float | None = None
    pue: float = 1.0
    power_watts: float | None = None
    idle_power: float = 1.0
    overheads: float = 0.0
    """Per year: room, staff, maintenance, network."""
    residual: float = 0.0
    discount_rate: float | None = None

    def check(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the figure and what was expected.
        """
        for name, value in asdict(self).items():
            if value is not None:
                most = {**LIMITS, "power_watts": 1e9, "discount_rate": 10.0}.get(name, 1e15)
                (above_zero if name in POSITIVE else from_zero)(name, value, most)

    def shown(self) -> dict[str, Any]:
        """Return every figure by name."""
        return asdict(self)


def owned_rows(
    connection: sqlite3.Connection,
    owning: Owning,
    machine: Machine,
    bought: Sequence[Applied],
    count: int,
    rent: float | None,
    utilisation: float,
) -> list[dict[str, Any]]:
    """Return what owning costs at each purchase price: the stated one, else those on record, lowest first.

    Args:
        connection: an open catalog.
        owning: what is stated.
        machine: the machine; its power is taken from its record where none is stated.
        bought: purchase offers that apply.
        count: devices of the machine.
        rent: lowest price per hour of renting the same, None where there is none.
        utilisation: share of hours that are worked.
    """
    power, basis = _power(connection, owning, machine)
    rows = []
    for purchase, about in _purchases(owning, bought):
        rows.append(_row(owning, purchase, about, power, basis, count, rent, utilisation))
    return rows


def _purchases(owning: Owning, bought: Sequence[Applied]) -> Iterator[tuple[float, dict[str, Any]]]:
    names = ("offer_id", "provider", "product", "region", "price_kind", "currency", "valid_from", "tax_basis",
             "confidence", "source_id", "origin")  # fmt: skip
    if owning.purchase_price is not None:
        yield owning.purchase_price, {**dict.fromkeys(names), "basis": "stated"}
        return
    for applied in bought:
        about = {name: getattr(applied.offer, name, None) for name in names}
        yield applied.price, {**about, "basis": applied.basis}


def _power(connection: sqlite3.Connection, owning: Owning, machine: Machine) -> tuple[float | None, str]:
    """Return the power of the machine in watts and where it comes from: stated, the system's maximum, or rated."""
    if owning.power_watts is not None:
        return owning.power_watts, "stated"
    if (most := system_w(connection, machine)) is not None:
        return most, "maximum of the system on record"
    rated = accelerators_w(connection, machine)
    return rated, "not on record" if rated is None else "rated power of the accelerators alone, no host"


def _row(
    owning: Owning,
    purchase: float,
    about: dict[str, Any],
    power: float | None,
    power_basis: str,
    count: int,
    rent: float | None,
    utilisation: float,
) -> dict[str, Any]:
    missing = []
    if owning.kwh_price is None:
        missing.append("no price of energy (kwh_price), so no cost of an owned hour")
    if power is None:
        missing.append("no power on record for this machine (power_watts), so no cost of an owned hour")
    worth_less = owning.residual <= purchase
    if not worth_less:
        missing.append(f"residual worth above the purchase price of {purchase:,.0f}, so no cost of an owned hour")
    owned = None
    if power is not None and owning.kwh_price is not None and worth_less:
        owned = Ownership(
            purchase, owning.life_years, power, owning.kwh_price, owning.pue, owning.overheads, owning.residual,
            owning.idle_power,
        )  # fmt: skip
    per_hour = owned.per_hour(utilisation) if owned else None
    return {
        "purchase": purchase,
        **about,
        "capital_per_hour": capital_per_hour(purchase, owning.residual, owning.life_years) if worth_less else None,
        "energy_per_working_hour": owned.energy_per_working_hour if owned else None,
        "overheads_per_hour": owning.overheads / HOURS_PER_YEAR,
        "power_watts": power,
        "power_basis": power_basis,
        "per_hour": per_hour,
        "per_device_hour": per_hour / count if per_hour is not None else None,
        "per_working_hour": owned.per_working_hour(utilisation) if owned else None,
        "over_life": owned.over_life(utilisation) if owned else None,
        "against_rent": _against_rent(owning, owned, rent, utilisation),
        "missing": missing,
        "ownership": owned,
    }


def _against_rent(
    owning: Owning, owned: Ownership | None, rent: float | None, utilisation: float
) -> dict[str, Any] | None:
    """Return from which use on owning costs less than the lowest rent, and what buying is worth at the stated use."""
    if owned is None or rent is None:
        return None
    even = own_or_rent(owned, rent)
    rate = owning.discount_rate
    return {
        "rent_per_hour": rent,
        "rent_over_life": rent * utilisation * owned.life_years * HOURS_PER_YEAR,
        "utilisation": even.utilisation if even else None,
        "hours_per_month": even.hours_per_month if even else None,
        "reachable": bool(even and even.reachable),
        "payback_years": payback_years(owned, rent, utilisation),
        "net_present_value": None if rate is None else net_present_value(owned, rent, utilisation, rate),
    }
