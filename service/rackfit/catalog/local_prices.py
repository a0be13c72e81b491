"""Prices of one's own beside those of the release: added and removed in one transaction, kept over builds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Any

from rackfit.catalog.connect import open_catalog
from rackfit.catalog.loading import load
from rackfit.catalog.read import rows_of
from rackfit.catalog.read_prices import read_offers
from rackfit.catalog.rows.offers import as_priced, offer_row
from rackfit.catalog.steps.prices import LOCAL, write_prices
from rackfit.errors import CatalogError, UnknownNameError
from rackfit.money.suspicion import Prices
from rackfit.records.prices import Offer

IMPORTED = "imported price list"
"""Kind of the sources of rows that were imported; local rows of an overlay folder have sources of their own kinds."""

_KEPT = f"source_id in (select source_id from sources where origin = '{LOCAL}' and kind = '{IMPORTED}')"
_SAME_DAY = """
    select offer_id, price, currency from offers
    where origin = 'release' and kind = ? and accelerator_id = ? and device_count = ? and currency = ?
      and lower(coalesce(provider, '')) = lower(?) and lower(coalesce(product, '')) = lower(?)
      and lower(coalesce(region, '')) = lower(?) and coalesce(term, '') = ? and coalesce(tier, '') = ?
      and valid_from = ? and price_micros <> ?
"""


@dataclass(frozen=True, slots=True)
class Added:
    """What an import did: rows written, rows that were there already, and what contradicts another price."""

    added: tuple[int, ...]
    unchanged: int
    flags: tuple[str, ...]
    conflicts: tuple[str, ...]


def imported_source(key: str, title: str, issuer: str | None, url: str | None = None) -> dict[str, Any]:
    """Return the row of `sources` that stands behind imported prices."""
    return {
        "source_id": key, "title": title, "url": url, "issuer": issuer, "accessed": Date.today().isoformat(),
        "kind": IMPORTED, "source_class": "vendor_data", "share_alike": 0, "origin": LOCAL,
    }  # fmt: skip


@contextmanager
def _writing(path: Path, keep: bool = True) -> Iterator[sqlite3.Connection]:
    """Open a catalog for one transaction: all of it or nothing, and nothing too where it is only tried.

    Raises:
        CatalogError: the file cannot be written.
    """
    with closing(open_catalog(path, writable=True)) as connection:
        connection.isolation_level = None
        try:
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit" if keep else "rollback")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("rollback")
            raise CatalogError(f"{path} cannot be written ({error}): nothing was changed") from error
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


Batch = tuple[Mapping[str, Any], Sequence[Offer]]
"""Row of `sources`, and the offers that come from it."""


def add_offers(
    path: Path, source: Mapping[str, Any], offers: Sequence[Offer], replace: bool = False, dry_run: bool = False
) -> Added:
    """Add the offers of one source as local rows; see `add_batches`."""
    return add_batches(path, [(source, offers)], replace, dry_run)[0]


def add_batches(path: Path, batches: Sequence[Batch], replace: bool = False, dry_run: bool = False) -> list[Added]:
    """Add offers as local rows, and the prices of configurations that follow from them: all batches or none.

    Args:
        path: the catalog.
        batches: sources with their offers; an offer that is there already at the same price is left as it is.
        replace: whether earlier imported rows of the same issuers go first.
        dry_run: whether to say what would be done, and do nothing.

    Raises:
        CatalogError: the catalog cannot be written; nothing was changed.
    """
    with _writing(path, keep=not dry_run) as connection:
        if replace:
            for source, _ in batches:
                _remove_issuer(connection, source["issuer"])
        reports = [_add(connection, source, offers) for source, offers in batches]
        write_prices(connection, LOCAL, Date.today().isoformat())
    return reports


def _add(connection: sqlite3.Connection, source: Mapping[str, Any], offers: Sequence[Offer]) -> Added:
    there = dict(connection.execute("select offer_id, price_micros from offers").fetchall())
    new = [offer for offer in offers if there.get(as_priced(offer).offer_id) != offer.price_micros]
    conflicts = [text for offer in new for text in _contradicted(connection, offer, there)]
    fresh = [offer for offer in new if as_priced(offer).offer_id not in there]
    prices = Prices.of([*read_offers(connection), *map(as_priced, fresh)])
    rows = [offer_row(offer, prices) for offer in fresh]
    if rows:
        connection.execute(
            f"insert or ignore into sources ({', '.join(source)}) values ({', '.join('?' * len(source))})",
            tuple(source.values()),
        )
        load(connection, (("offers", row) for row in rows))
    flags = tuple(f"{row['product'] or row['accelerator_id']}, {row['price']:g}: {row['flag']}"
                  for row in rows if row["flag"])  # fmt: skip
    return Added(tuple(row["offer_id"] for row in rows), len(offers) - len(new), flags, tuple(conflicts))


def _contradicted(connection: sqlite3.Connection, offer: Offer, there: Mapping[int, int]) -> Iterator[str]:
    """Yield what on record says another price of the same thing on the same day; nothing is resolved silently."""
    what = f"{offer.provider or ''} {offer.product or offer.accelerator_id} {offer.valid_from}".strip()
    own = as_priced(offer).offer_id
    if own in there:
        yield (
            f"{what}: {there[own] / 1e6:g} {offer.currency} was imported before and is kept, {offer.price} is not "
            f"taken; remove offer {own} first"
        )
        return
    asked = (
        offer.kind, offer.accelerator_id, offer.device_count, offer.currency, offer.provider or "", offer.product or "",
        offer.region or "", offer.term or "", offer.tier or "", offer.valid_from, offer.price_micros,
    )  # fmt: skip
    for row in connection.execute(_SAME_DAY, asked):
        yield f"{what}: {offer.price} {offer.currency}, the release has {row[1]:g} (offer {row[0]}); both are kept"


def local_offers(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the rows that were imported, newest first."""
    return rows_of(
        connection, f"select * from offers where origin = '{LOCAL}' and {_KEPT} order by valid_from desc, offer_id"
    )


def remove_offers(path: Path, offer_ids: Sequence[int] | None) -> int:
    """Remove imported rows, None: all of them, and return how many there were.

    Raises:
        UnknownNameError: a number that is none of an imported row; nothing was removed.
        CatalogError: the catalog cannot be written; nothing was changed.
    """
    with _writing(path) as connection:
        own = {row["offer_id"] for row in local_offers(connection)}
        chosen = own if offer_ids is None else set(offer_ids)
        for wrong in sorted(chosen - own):
            raise UnknownNameError("imported offer", str(wrong), [str(one) for one in sorted(own)][:5])
        _delete(connection, chosen)
        write_prices(connection, LOCAL, Date.today().isoformat())
    return len(chosen)


def _remove_issuer(connection: sqlite3.Connection, issuer: str | None) -> None:
    rows = connection.execute(
        "select offer_id from offers join sources using (source_id) where sources.origin = ? and sources.kind = ? "
        "and sources.issuer = ?",
        (LOCAL, IMPORTED, issuer),
    ).fetchall()
    _delete(connection, {row[0] for row in rows})


def _delete(connection: sqlite3.Connection, offer_ids: set[int]) -> None:
    for table in ("configuration_prices", "device_prices"):
        connection.execute(f"delete from {table} where origin = ?", (LOCAL,))
    connection.executemany("delete from offers where offer_id = ?", ((one,) for one in offer_ids))
    connection.execute(
        "delete from sources where origin = ? and kind = ? and source_id not in (select source_id from offers)",
        (LOCAL, IMPORTED),
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """Imported rows of a catalog that is about to be replaced, with their sources."""

    sources: tuple[dict[str, Any], ...] = ()
    offers: tuple[dict[str, Any], ...] = ()


def kept_rows(path: Path) -> Kept:
    """Return the imported rows of a catalog of whatever schema; none where there is no catalog or it has no such rows.

    The catalog may be older than this Rackfit: it is read as it is, not opened for questions.
    """
    if not path.is_file():
        return Kept()
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            offers = local_offers(connection)
            sources = rows_of(connection, "select * from sources where origin = ? and kind = ?", LOCAL, IMPORTED)
    except sqlite3.Error:  # a catalog from before there were local prices, or a file that is damaged or none
        return Kept()
    return Kept(tuple(sources), tuple(offers))


def put_back(connection: sqlite3.Connection, kept: Kept) -> None:
    """Write imported rows into a new catalog.

    Raises:
        CatalogError: rows whose device or system the new catalog does not have, all of them named.
    """
    if not kept.offers:
        return
    lost = [text for row in kept.offers for text in _dangling(connection, row)]
    if lost:
        lines = "\n".join(f"  {line}" for line in lost)
        raise CatalogError(
            f"{len(lost)} of your own prices would be lost, nothing was replaced\n{lines}\n"
            "remove them with `rackfit prices remove`, or build with --without-local"
        )
    for table, rows in (("sources", kept.sources), ("offers", kept.offers)):
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        load(connection, ((table, {name: row[name] for name in columns if name in row}) for row in rows))
    write_prices(connection, LOCAL, Date.today().isoformat())


def _dangling(connection: sqlite3.Connection, row: Mapping[str, Any]) -> Iterator[str]:
    for column, table in (("accelerator_id", "accelerators"), ("system_id", "systems")):
        key = row[column]
        if key and not connection.execute(f"select 1 from {table} where {column} = ?", (key,)).fetchone():
            yield f"offer {row['offer_id']}, {row['price']:g} {row['currency']}: no {table[:-1]} {key} any more"
