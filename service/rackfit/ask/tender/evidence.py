"""What is on record about one field of a system: the value with its record, sources, confidence and disputes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rackfit.ask.facts import BOOKKEEPING, truths
from rackfit.ask.parts import Part, sources_of
from rackfit.ask.prices import machine_offers, read_choice
from rackfit.catalog.read import row_of, rows_of
from rackfit.records.fieldguide import guide

if TYPE_CHECKING:
    from rackfit.ask.tender.offered import Offered

TABLES = ("systems", "accelerators")
"""Tables whose columns are fields of a tender; a system's own value is looked up first."""
KEYS = {"systems": "system_id", "accelerators": "accelerator_id"}
SUMS = {"memory_gb_total": "memory_gb", "memory_bandwidth_gb_s_total": "memory_bandwidth_gb_s", "tdp_w_total": "tdp_w"}
"""Field -> field of one device of which it is the sum over all devices."""
RATE = "_dense_tflops"
"""Ending of the fields that are a dense peak of one device: bf16_dense_tflops."""
PRICES = {"purchase_price": "purchase", "hourly_price": "hourly"}
STATED = "stated by the offer"


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What the values of a field are: numbers with a unit, yes or no, or text."""

    name: str
    numeric: bool
    truth: bool = False
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Other:
    """What another source says of a field, and why it was not taken."""

    value: Any
    source_id: str | None
    reason: str

    @property
    def unresolved(self) -> bool:
        """Whether nobody could tell which of the two is right: records say so with the reason's first word."""
        return self.reason.casefold().startswith("unresolved")

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{self.source_id or 'another source'} says {self.value}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with what speaks for it; None as value: not on record."""

    value: Any
    unit: str | None = None
    record: str | None = None
    """Table, key and field, or file and line of the offer."""
    sources: tuple[str, ...] = ()
    confidence: str | None = None
    others: tuple[Other, ...] = ()
    """What other sources say instead."""
    note: str | None = None


def field_kinds(connection: sqlite3.Connection) -> dict[str, FieldKind]:
    """Return every field that a requirement or an offer can name."""
    kinds: dict[str, FieldKind] = {}
    entries = guide()
    for table in TABLES:
        flags = truths(connection, table)
        for row in rows_of(connection, "select name, type from pragma_table_info(?)", table):
            name = row["name"]
            if name in BOOKKEEPING or name in kinds or name.endswith("_id"):
                continue
            entry = entries.get(f"{table}.{name}") or entries.get(name)
            unit = entry.unit if entry else None
            kinds[name] = FieldKind(name, row["type"] in ("INTEGER", "REAL"), name in flags, unit)
    for row in rows_of(connection, "select distinct precision_name from accelerator_rates"):
        kinds[row["precision_name"] + RATE] = FieldKind(row["precision_name"] + RATE, True, unit="TFLOPS")
    for name, of in SUMS.items():
        kinds[name] = FieldKind(name, True, unit=kinds[of].unit)
    for name, of in PRICES.items():
        kinds[name] = FieldKind(name, True, unit="USD/h" if of == "hourly" else "USD")
    return kinds


def near_field(kinds: Mapping[str, FieldKind], name: str) -> str:
    """Return fields that are spelled like a name, or the most asked ones."""
    usual = ("memory_gb", "memory_bandwidth_gb_s", "max_power_w", "rack_units", "cooling")
    return ", ".join(get_close_matches(name, kinds, n=4, cutoff=0.5) or usual)


def facts_of(connection: sqlite3.Connection, offered: Offered, kind: FieldKind) -> list[Fact]:
    """Return what is known of a field: one fact, or one per kind of device where a machine has unlike ones."""
    recorded = _recorded(connection, offered, kind) or [Fact(None, kind.unit)]
    if kind.name not in offered.stated:
        return recorded
    stated = Fact(offered.stated[kind.name], kind.unit, offered.place, (STATED,))
    known = [fact for fact in recorded if fact.value is not None]
    if known and any(fact.value != stated.value for fact in known):
        differs = ", ".join(f"{_shown(fact.value)} ({fact.record})" for fact in known)
        stated = replace(stated, note=f"the record says {differs}")
    return [stated]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _recorded(connection: sqlite3.Connection, offered: Offered, kind: FieldKind) -> list[Fact]:
    if kind.name in PRICES:
        return [_price(connection, offered, PRICES[kind.name], kind)] if offered.machine else []
    if kind.name in SUMS:
        return [_sum(connection, offered, SUMS[kind.name], kind)] if offered.parts else []
    if kind.name == "accelerator_count" and offered.parts and offered.parts[0].system is None:
        return [Fact(offered.devices, kind.unit, offered.name, note="devices of the expression")]
    return [_of_part(connection, part, kind) for part in offered.parts]


def _of_part(connection: sqlite3.Connection, part: Part, kind: FieldKind) -> Fact:
    """Return a fact of one part: of its system where systems have the field, else of its device."""
    if kind.name.endswith(RATE):
        name = kind.name.removesuffix(RATE)
        return _fact(connection, "accelerators", part.accelerator, f"rates.{name}", part.rates.get(name), kind)
    if kind.name == "memory_gb":
        return _fact(connection, "accelerators", part.accelerator, "memory_gb", part.label_gb, kind)
    if part.system is not None and kind.name in part.system:
        return _fact(connection, "systems", part.system, kind.name, part.system[kind.name], kind)
    if kind.name in part.accelerator:
        return _fact(connection, "accelerators", part.accelerator, kind.name, part.of_device(kind.name), kind)
    return Fact(None, kind.unit, note="a field of systems; a device alone has none")


def _fact(
    connection: sqlite3.Connection, table: str, row: Mapping[str, Any], field: str, value: Any, kind: FieldKind
) -> Fact:
    key = str(row[KEYS[table]])
    disputes = rows_of(
        connection,
        "select other_value, source_id, reason from disputes where table_name = ? and key = ? and field = ?",
        table, key, field,
    )  # fmt: skip
    found = sources_of(connection, table, key, field) or sources_of(connection, table, key, field.split(".")[0])
    return Fact(
        bool(value) if kind.truth and value is not None else value,
        kind.unit,
        f"{table}/{key}.{field}",
        tuple(found),
        row["confidence"],
        tuple(Other(_like(value, one["other_value"]), one["source_id"], one["reason"]) for one in disputes),
        None if found or value is None else "derived from facts of the record",
    )


def _like(value: Any, other: Any) -> Any:
    """Return the value of a dispute, which is kept as text, as what the field holds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        return other
    try:
        return float(other)
    except (TypeError, ValueError):
        return other if value is None else value


def _sum(connection: sqlite3.Connection, offered: Offered, of: str, kind: FieldKind) -> Fact:
    """Return the sum of a field of one device over all devices; unknown where any part is."""
    each = FieldKind(of, True, unit=kind.unit)
    found = [(_of_part(connection, part, each), part.devices) for part in offered.parts]
    values = [None if fact.value is None else fact.value * count for fact, count in found]
    said = " + ".join(f"{count} x {_shown(fact.value)}" for fact, count in found)
    return Fact(
        None if None in values else sum(value for value in values if value is not None),
        kind.unit,
        ", ".join(str(fact.record) for fact, _ in found),
        tuple(dict.fromkeys(source for fact, _ in found for source in fact.sources)),
        min((fact.confidence or "high" for fact, _ in found), key=("low", "medium", "high").index),
        note=f"sum over devices: {said}" if None not in values else None,
    )


def _price(connection: sqlite3.Connection, offered: Offered, kind: str, field: FieldKind) -> Fact:
    """Return the lowest price on record, US dollars; of a named system its own alone."""
    assert offered.machine is not None
    found = machine_offers(connection, offered.machine, read_choice(connection, kind))
    own = offered.machine.system_id
    applied = next((one for one in found if own is None or one.offer.system_id == own), None)
    if applied is None:
        return Fact(None, field.unit, note="no offer on record is a price of it")
    offer = row_of(connection, "offers", "offer_id", applied.offer.offer_id)
    return Fact(
        applied.price, field.unit, f"offers/{offer['offer_id']}", (offer["source_id"],), offer["confidence"],
        note=f"{offer['price_kind']} of {offer['valid_from']}; {applied.basis}",
    )  # fmt: skip
