"""Prices of gpuhunt's published catalogues: rows of cloud instances into offers.

gpuhunt (https://github.com/dstackai/gpuhunt, MPL 2.0) collects the price lists of cloud providers and publishes them as
one CSV per provider; its columns are those of `CATALOG_V2_FIELDS` in its `storage` module.
"""

from __future__ import annotations

import logging
import re
import socket
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date as Date
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UnreachableError, UsageError
from rackfit.records.prices import Offer
from rackfit.tabular.extras import load
from rackfit.tabular.reading import parse_csv, read_text

PROVIDERS = {
    "aws": "AWS", "azure": "Azure", "cloudrift": "CloudRift", "gcp": "GCP", "lambdalabs": "Lambda",
    "nebius": "Nebius", "oci": "OCI", "runpod": "RunPod", "verda": "Verda",
}  # fmt: skip
"""gpuhunt's name of each provider whose catalogue it publishes -> the name that offers have here."""

NEEDED = ("instance_name", "location", "price", "gpu_count", "gpu_name", "gpu_memory", "spot")
SAME_MEMORY = 0.06
"""Relative difference of memory up to which a device is taken for the one meant: labels round, 80 and 79.6."""
SECONDS = 30.0
"""Longest wait for one answer of the network."""
VERSION = re.compile(r"(20\d\d)(\d\d)(\d\d)-")
"""A version of a catalogue begins with its day: 20260818-42."""
DAY = re.compile(r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
SIX_PLACES = Decimal("0.000001")


URL = "https://github.com/dstackai/gpuhunt"


class Item(NamedTuple):
    """One row of a catalogue, price in US dollars per hour of the whole instance."""

    instance_name: str
    location: str
    price: float
    gpu_count: int
    gpu_name: str
    gpu_memory: float | None
    spot: bool


@dataclass(frozen=True)
class Catalogue:
    """The catalogue of one provider."""

    provider: str
    version: str
    date: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Published:
    """The offers of one catalogue, and how many rows were left out, by reason."""

    catalogue: Catalogue
    offers: tuple[Offer, ...]
    left_out: Mapping[str, int]


def chosen(names: Iterable[str]) -> list[str]:
    """Return gpuhunt's names of providers, all published ones for none.

    Raises:
        UnknownNameError: a provider without a published catalogue.
    """
    words = {**{name: name for name in PROVIDERS}, **{shown.casefold(): name for name, shown in PROVIDERS.items()}}
    for name in names:
        if name.casefold() not in words:
            near = get_close_matches(name.casefold(), words, n=3, cutoff=0.4) or list(PROVIDERS)
            raise UnknownNameError("provider with a published catalogue", name, near)
    return [words[name.casefold()] for name in names] or list(PROVIDERS)


def collect(providers: Iterable[str], folder: Path | None, date: str | None) -> list[Catalogue]:
    """Return the catalogues of providers: from a folder where one is named, else the newest published ones.

    Raises:
        UsageError: a date that is none, or no catalogue in the folder.
        MissingExtraError, UnreachableError: as `fetch`.
    """
    if date is not None and not DAY.fullmatch(date):
        raise UsageError(f"date = {date!r}: expected a day such as 2026-09-30")
    today = date or Date.today().isoformat()
    return fetch(providers, today) if folder is None else read_folder(folder, providers, today)


def fetch(providers: Iterable[str], today: str) -> list[Catalogue]:
    """Return the newest published catalogues of providers, through the library gpuhunt.

    Raises:
        MissingExtraError: gpuhunt is not installed.
        UnreachableError: no catalogue could be fetched.
    """
    gpuhunt = load("gpuhunt", "prices", "refreshing prices")
    hunted = gpuhunt.Catalog(balance_resources=False, auto_reload=False)
    with _quiet():
        try:
            hunted.load()
            found = [_fetched(hunted, name, today) for name in providers]
        except Exception as error:  # whatever the library or the network below it raises
            cause = error.__cause__ or error
            raise UnreachableError(
                f"gpuhunt's catalogues cannot be fetched ({type(cause).__name__}: {cause}); nothing was changed. "
                "Without a network, --from FOLDER reads catalogues that were downloaded"
            ) from error
    return [one for one in found if one.items]


def _fetched(hunted: Any, name: str, today: str) -> Catalogue:
    loaded = getattr(hunted, "catalog", None)
    version = str(getattr(loaded.get(name), "version", "")) if isinstance(loaded, dict) else ""
    rows = hunted.query(provider=name, min_gpu_count=1)
    items = tuple(Item(*(getattr(row, column) for column in Item._fields)) for row in rows)
    return Catalogue(name, version, _day(version) or today, items)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's log off the screen and its waits short."""
    log, wait = logging.getLogger("gpuhunt"), socket.getdefaulttimeout()
    before, log.disabled = log.disabled, True
    names = [name for name in logging.root.manager.loggerDict if name.startswith("gpuhunt.")]
    below = {name: logging.getLogger(name).disabled for name in names}
    for name in names:
        logging.getLogger(name).disabled = True
    socket.setdefaulttimeout(SECONDS)
    try:
        yield
    finally:
        log.disabled = before
        for name, state in below.items():
            logging.getLogger(name).disabled = state
        socket.setdefaulttimeout(wait)


def _day(version: str) -> str | None:
    matched = VERSION.match(version)
    return f"{matched[1]}-{matched[2]}-{matched[3]}" if matched else None


def read_folder(folder: Path, providers: Iterable[str], date: str) -> list[Catalogue]:
    """Return catalogues that were downloaded: files `<provider>.csv` in gpuhunt's columns.

    Raises:
        UsageError: no such file, or a column that is needed is missing.
    """
    found = []
    for name in providers:
        path = folder / f"{name}.csv"
        if path.is_file():
            found.append(Catalogue(name, "", date, tuple(_rows(path))))
    if not found:
        raise UsageError(f"{folder}: expected files such as {', '.join(f'{name}.csv' for name in list(PROVIDERS)[:3])}")
    return found


def _rows(path: Path) -> Iterator[Item]:
    file = parse_csv(read_text(path), path.name)
    missing = [column for column in NEEDED if column not in file.header]
    if missing:
        raise UsageError(f"{path.name}: no column {', '.join(missing)}: expected a catalogue of gpuhunt")
    for line, row in file.records():
        try:
            count = int(row["gpu_count"] or 0)
            if count and row["gpu_name"]:
                memory = float(row["gpu_memory"]) if row["gpu_memory"] else None
                spot = row["spot"].casefold() == "true"
                yield Item(
                    row["instance_name"], row["location"], float(row["price"]), count, row["gpu_name"], memory, spot
                )
        except ValueError as error:
            raise UsageError(f"{path.name}:{line}: {error}") from error


def offers_of(connection: sqlite3.Connection, catalogue: Catalogue, source: str) -> Published:
    """Return the offers of a catalogue; a row whose device is not certain is left out and counted.

    Args:
        connection: the catalog with its devices, systems and products.
        catalogue: the rows of one provider.
        source: key of the source that the offers will have.
    """
    devices = _Devices(connection, PROVIDERS.get(catalogue.provider, catalogue.provider))
    left_out: Counter[str] = Counter()
    found: dict[tuple[object, ...], Offer] = {}
    doubled: set[tuple[object, ...]] = set()
    for item in catalogue.items:
        device = devices.of(item)
        if isinstance(device, str):
            left_out[device] += 1
            continue
        if not item.price > 0:
            left_out["no price above zero"] += 1
            continue
        offer = _offer(item, catalogue, devices.provider, device, source)
        earlier = found.setdefault(offer.identity, offer)
        if earlier.price != offer.price:
            doubled.add(offer.identity)
    left_out["two prices of one instance, region and term"] += len(doubled)
    offers = tuple(offer for key, offer in found.items() if key not in doubled)
    return Published(catalogue, offers, {reason: count for reason, count in left_out.items() if count})


def _offer(item: Item, catalogue: Catalogue, provider: str, device: tuple[str, str | None], source: str) -> Offer:
    return Offer(
        kind="hourly", provider=provider, product=item.instance_name, accelerator_id=device[0], system_id=device[1],
        device_count=item.gpu_count, price=Decimal(str(item.price)).quantize(SIX_PLACES), currency="USD",
        region=item.location or None, term="spot" if item.spot else "on-demand", price_kind="list",
        valid_from=catalogue.date, includes="whole instance", source=source, confidence="medium",
        file=f"{catalogue.provider}.csv", origin="local",
    )  # fmt: skip


class _Devices:
    """Which device an instance has: by its name on record, else by the name and memory of its accelerator."""

    def __init__(self, connection: sqlite3.Connection, provider: str) -> None:
        self.connection, self.provider = connection, provider
        self.products = self._products()
        self.by_name: dict[tuple[str, float | None], str | tuple[str, None]] = {}

    def _products(self) -> dict[tuple[str, int], tuple[str, str | None]]:
        """Return (product, devices) -> (accelerator, system) of the provider's products on record."""
        rows = self.connection.execute(
            "select distinct product, device_count, accelerator_id, system_id from offers "
            "where origin = 'release' and kind = 'hourly' and lower(provider) = lower(?) "
            "order by system_id is null desc",
            (self.provider,),
        ).fetchall()
        return {(row[0].casefold(), row[1]): (row[2], row[3]) for row in rows}

    def of(self, item: Item) -> tuple[str, str | None] | str:
        """Return (accelerator, system), or why it is not certain."""
        known = self.products.get((item.instance_name.casefold(), item.gpu_count))
        if known is not None:
            return known
        key = (item.gpu_name, item.gpu_memory)
        if key not in self.by_name:
            self.by_name[key] = self._named(*key)
        return self.by_name[key]

    def _named(self, name: str, memory: float | None) -> str | tuple[str, None]:
        try:
            found = resolve(self.connection, "accelerator", name, allow_class=True)
        except UnknownNameError:
            return f"{name}: not on record"
        ids = [one for one in found.ids if memory is None or self._has(one, memory)]
        if len(ids) == 1:
            return ids[0], None
        size = f" with {memory:g} GB" if memory else ""
        return f"{name}{size}: {'several devices of that name' if ids else 'no such device on record'}"

    def _has(self, accelerator_id: str, memory: float) -> bool:
        (size,) = self.connection.execute(
            "select memory_gb from accelerators where accelerator_id = ?", (accelerator_id,)
        ).fetchone()
        return size is not None and abs(size - memory) <= SAME_MEMORY * size
