"""A buyer's own prices: a CSV file as a spreadsheet saves it, read into offers, or everything that is wrong with it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from rackfit.catalog.resolve import resolve
from rackfit.errors import AmbiguousNameError, BadRowsError, Problem, UnknownNameError, UsageError
from rackfit.records.base import explain
from rackfit.records.prices import Offer
from rackfit.tabular.reading import CsvFile, parse_csv

HEADINGS: dict[str, tuple[str, ...]] = {
    "kind": (),
    "accelerator_id": ("accelerator", "slug", "gpu", "device", "acceleratorname", "gpuname", "hardware"),
    "system_id": ("system", "server"),
    "device_count": ("count", "gpus", "gpucount", "acceleratorcount", "quantity", "qty"),
    "price": ("priceperhour", "hourlyprice", "purchaseprice"),
    "spot_price": (),
    "currency": (),
    "provider": ("cloud", "seller"),
    "issuer": ("reseller", "quotedby"),
    "product": ("instancetype", "instance", "instancename", "sku", "item"),
    "region": ("location",),
    "term": (),
    "tier": (),
    "price_kind": (),
    "valid_from": ("date", "quotedate"),
    "valid_until": ("expires", "validto"),
    "minimum_devices": ("minimum",),
    "includes": ("included",),
    "tax_basis": ("tax",),
    "quantity_basis": ("basis",),
    "confidence": (),
    "note": ("notes", "remark"),
}
"""Columns by the name of the field, and other headings that mean the same; case, spaces and signs do not matter."""

NUMERIC = ("price", "spot_price", "device_count", "minimum_devices")
HOURLY_HEADINGS = ("priceperhour", "hourlyprice", "spotprice")
PURCHASE_HEADINGS = ("purchaseprice",)
PRICE_IN = re.compile(r"price(?:perhour)?([a-z]{3})")
"""A heading such as price_eur, which says the currency of its column."""
GERMAN_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
OWN_QUOTE = {"price_kind": "quote", "confidence": "high", "device_count": "1"}
"""What a quote is unless its file says otherwise."""


@dataclass(frozen=True)
class Quotes:
    """What a file held: offers with their lines, what was left out and why, and what had to be understood."""

    offers: tuple[tuple[int, Offer], ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Reader:
    """One file while it is read."""

    connection: sqlite3.Connection
    file: CsvFile
    source: str
    defaults: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    headings: dict[str, str] = field(default_factory=dict)
    """Field -> heading as the file writes it."""

    def wrong(self, line: int, name: str, value: object, expected: str) -> None:
        """Remember one bad cell."""
        self.problems.append(Problem(f"{self.file.name}:{line}", self.headings.get(name, name), value, expected))


def squashed(text: str) -> str:
    """Return a heading without case, spaces and signs.

    >>> squashed("Price per hour"), squashed("price_eur")
    ('priceperhour', 'priceeur')
    """
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def read_quotes(
    connection: sqlite3.Connection, text: str, name: str, source: str, defaults: Mapping[str, str | None]
) -> Quotes:
    """Return the offers of a CSV text; a row without a price is left out and named, never zero.

    Args:
        connection: the catalog that names of devices and systems stand in.
        text: the file; byte order mark, `;` or `,`, decimal comma or point.
        name: what the file is called in messages.
        source: key of the source that the offers will have.
        defaults: values of columns that the file leaves out (kind, currency, provider, term, valid_from, ...).

    Raises:
        UsageError: no CSV, or a column that is needed is neither there nor among the defaults.
        BadRowsError: every bad cell of every row.
    """
    file = parse_csv(text, name)
    stated = {key: value for key, value in defaults.items() if value is not None}
    reader = _Reader(connection, file, source, {**OWN_QUOTE, **stated})
    columns = _columns(reader)
    ragged = set(file.ragged)
    offers: list[tuple[int, Offer]] = []
    numeric = [heading for heading, one in columns.items() if one in NUMERIC]
    for line, cells in file.records(numeric):
        if line in ragged:
            reader.problems.append(Problem(f"{name}:{line}", "", None, f"{len(file.header)} cells in the row"))
            continue
        row = {one: cells[heading].strip() for heading, one in columns.items()}
        offers += _offers(reader, line, {key: value for key, value in row.items() if value})
    _twice(reader, offers)
    if reader.problems:
        raise BadRowsError(name, reader.problems)
    return Quotes(tuple(offers), tuple(reader.left_out), tuple(reader.notes))


def _columns(reader: _Reader) -> dict[str, str]:
    """Return heading -> field of the columns that are known, and check that nothing needed is missing."""
    known = {squashed(one): name for name, others in HEADINGS.items() for one in (name, *others)}
    found: dict[str, str] = {}
    defaults = dict(reader.defaults)
    for heading in reader.file.header:
        short = squashed(heading)
        priced = PRICE_IN.fullmatch(short)
        name = known.get(short) or ("price" if priced else None)
        if name is None:
            reader.notes[f"column {heading!r} is not known and was ignored"] = None
            continue
        if name in found.values():
            raise UsageError(f"{reader.file.name}: columns {reader.headings[name]!r} and {heading!r} are both {name}")
        if priced and short not in known:
            defaults.setdefault("currency", priced[1].upper())
        if short in HOURLY_HEADINGS or short in PURCHASE_HEADINGS:
            defaults.setdefault("kind", "hourly" if short in HOURLY_HEADINGS else "purchase")
        found[heading] = name
        reader.headings[name] = heading
    reader.defaults = defaults
    there = {*found.values(), *defaults}
    for needed, other in (("price", "price"), ("kind", "kind: hourly or purchase, or --kind"),
                          ("currency", "currency, a heading such as price_eur, or --currency"),
                          ("valid_from", "valid_from, or --date")):  # fmt: skip
        if needed not in there:
            raise UsageError(f"{reader.file.name}: no column {other}")
    if not {"accelerator_id", "system_id"} & set(found.values()):
        raise UsageError(f"{reader.file.name}: no column accelerator or system that names the hardware")
    return found


def _offers(reader: _Reader, line: int, row: dict[str, str]) -> Iterable[tuple[int, Offer]]:
    """Yield the offers of one row: its price, and its spot price where it has one of its own."""
    if "accelerator_id" not in row and "system_id" not in row:
        reader.left_out.append(f"{reader.file.name}:{line}: names no accelerator or system")
        return
    spot = row.pop("spot_price", None)
    if "price" not in row:
        reader.left_out.append(f"{reader.file.name}:{line}: no {reader.headings['price']}: unknown, not zero")
    else:
        yield from _offer(reader, line, row)
    if spot is not None:
        yield from _offer(reader, line, {**row, "price": spot, "term": "spot"})


def _offer(reader: _Reader, line: int, row: dict[str, str]) -> Iterable[tuple[int, Offer]]:
    before = len(reader.problems)
    filled: dict[str, Any] = {**reader.defaults, **row, "source": reader.source, "file": reader.file.name}
    _hardware(reader, line, filled, row)
    for name in ("valid_from", "valid_until"):
        if name in filled:
            filled[name] = _date(filled[name])
    if "currency" in filled:
        filled["currency"] = filled["currency"].upper()
    if filled.get("kind") == "hourly":
        filled.setdefault("provider", filled.get("issuer"))
        filled.setdefault("product", filled.get("system_id") or f"{filled['device_count']}x {filled['accelerator_id']}")
    try:
        offer = Offer.model_validate({**filled, "origin": "local"})
    except ValidationError as error:
        for item in error.errors(include_url=False):
            name, value, expected = explain(item)
            if len(reader.problems) == before or name not in ("accelerator_id", "system_id"):
                reader.wrong(line, name, value, expected)
        return
    if offer.price == 0:
        reader.wrong(line, "price", row.get("price"), "a price above 0; leave it empty where it is not known")
    if len(reader.problems) == before:
        yield line, offer


def _hardware(reader: _Reader, line: int, filled: dict[str, Any], row: Mapping[str, str]) -> None:
    """Put the keys of the device and system in the place of their names."""
    if name := row.get("system_id"):
        found = _resolved(reader, line, "system_id", "system", name)
        if found is None:
            return
        system = reader.connection.execute(
            "select accelerator_id, accelerator_count from systems where system_id = ?", (found,)
        ).fetchone()
        filled["system_id"] = found
        if "device_count" not in row:
            filled["device_count"] = str(system[1])
        if "accelerator_id" not in row:
            filled["accelerator_id"] = system[0]
            return
    found = _resolved(reader, line, "accelerator_id", "accelerator", row["accelerator_id"])
    if found is None:
        return
    filled["accelerator_id"] = found
    if row.get("system_id") and found != system[0]:
        reader.wrong(line, "accelerator_id", row["accelerator_id"], f"{system[0]}, which the system has")


def _resolved(reader: _Reader, line: int, name: str, kind: str, text: str) -> str | None:
    try:
        found = resolve(reader.connection, kind, text)
    except AmbiguousNameError as error:
        reader.wrong(line, name, text, f"one of {', '.join(error.candidates)}: the name stands for all of them")
        return None
    except UnknownNameError as error:
        near = f", such as {', '.join(error.near)}" if error.near else ""
        reader.wrong(line, name, text, f"a name of {kind}s on record{near}")
        return None
    if found.id != text:
        reader.notes[f"{text!r} is {found.id}"] = None
    return found.id


def _date(text: str) -> str:
    """Return a date with points, day first, as ISO 8601; others stay as they are, to be refused where they are none."""
    matched = GERMAN_DATE.fullmatch(text.strip())
    return f"{matched[3]}-{int(matched[2]):02d}-{int(matched[1]):02d}" if matched else text.strip()


def _twice(reader: _Reader, offers: list[tuple[int, Offer]]) -> None:
    """Refuse two rows of one offer, both named."""
    first: dict[tuple[object, ...], tuple[int, Offer]] = {}
    for line, offer in offers:
        earlier, other = first.setdefault(offer.identity, (line, offer))
        if other is not offer:
            said = f"one row per offer: line {earlier} has {other.price} {other.currency}"
            reader.wrong(line, "price", f"{offer.price} {offer.currency}", said)
