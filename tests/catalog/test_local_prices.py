"""Prices of one's own in the catalog: all or nothing, beside the release, kept over builds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rackfit.ask.lists import where_it_runs
from rackfit.ask.machines import find_machines
from rackfit.ask.prices import machine_offers, read_choice
from rackfit.ask.question import FitQuestion
from rackfit.assemble import build
from rackfit.catalog.connect import open_catalog
from rackfit.catalog.local_prices import add_offers, imported_source, local_offers, remove_offers
from rackfit.catalog.reproducible import logical_hash
from rackfit.errors import CatalogError, UnknownNameError
from rackfit.records.prices import Offer

SOURCE = imported_source("local-quote-4711", "Quote 4711", "Example Reseller")


def _quote(**changes: Any) -> Offer:
    base = {
        "kind": "hourly", "provider": "Example Cloud", "product": "8x", "accelerator_id": "nvidia-h100-sxm5-80gb",
        "device_count": "8", "price": "7.50", "currency": "USD", "region": "eu", "term": "on-demand",
        "tier": "standard", "price_kind": "quote", "valid_from": "2026-11-01", "source": "local-quote-4711",
        "confidence": "high", "file": "quotes.csv", "origin": "local",
    }  # fmt: skip
    return Offer.model_validate({**base, **changes})


def _lowest(path: Path, hardware: str = "8x h100-sxm5-80gb", **asked: str) -> float | None:
    with closing(open_catalog(path)) as connection:
        (machine,) = find_machines(connection, hardware)
        found = machine_offers(connection, machine, read_choice(connection, **asked))
        return found[0].price if found else None


def _hash(path: Path) -> str:
    with closing(open_catalog(path)) as connection:
        return logical_hash(connection)


def test_a_quote_counts_in_every_answer(own_catalog: Path) -> None:
    """Machine, list with a price limit, table of configurations and view of fits have it."""
    report = add_offers(own_catalog, SOURCE, [_quote()])
    assert len(report.added) == 1
    assert _lowest(own_catalog) == 7.5
    with closing(open_catalog(own_catalog)) as connection:
        question = FitQuestion(model="mistral-7b-v0.1", max_price=7.5, limit=500)
        rows = where_it_runs(connection, question)
        assert any(row["price_provider"] == "Example Cloud" for row in rows)
        (price,) = connection.execute(
            "select price from configuration_prices where configuration_id = '8x-nvidia-h100-sxm5-80gb' "
            "and origin = 'local' and kind = 'hourly'"
        ).fetchone()
        assert price == 7.5
        (least,) = connection.execute(
            "select min(lowest_usd_per_hour) from fits_with_cost where configuration_id = '8x-nvidia-h100-sxm5-80gb'"
        ).fetchone()
        assert least == 7.5


def test_the_hash_is_that_of_the_release(own_catalog: Path) -> None:
    """Rows of one's own are no part of what the release says."""
    before = _hash(own_catalog)
    add_offers(own_catalog, SOURCE, [_quote(), _quote(kind="purchase", term=None, price="250000")])
    assert _hash(own_catalog) == before
    remove_offers(own_catalog, None)
    assert _hash(own_catalog) == before
    with closing(open_catalog(own_catalog)) as connection:
        assert local_offers(connection) == []
        assert connection.execute("select count(*) from sources where origin = 'local'").fetchone()[0] == 0
        assert connection.execute("select count(*) from configuration_prices where origin = 'local'").fetchone()[0] == 0


def test_a_dry_run_writes_nothing(own_catalog: Path) -> None:
    """The report is that of the real run, the file stays as it was."""
    before = own_catalog.read_bytes()
    assert len(add_offers(own_catalog, SOURCE, [_quote()], dry_run=True).added) == 1
    assert own_catalog.read_bytes() == before


def test_nothing_is_half_written(own_catalog: Path) -> None:
    """A row that the catalog refuses takes the others with it."""
    with pytest.raises(CatalogError):
        add_offers(own_catalog, SOURCE, [_quote(), _quote(accelerator_id="no-such-device", product="other")])
    assert _lowest(own_catalog) != 7.5
    with closing(open_catalog(own_catalog)) as connection:
        assert local_offers(connection) == []


def test_the_same_file_twice_changes_nothing(own_catalog: Path) -> None:
    """A second import finds its rows there."""
    add_offers(own_catalog, SOURCE, [_quote()])
    report = add_offers(own_catalog, SOURCE, [_quote()])
    assert (report.added, report.unchanged, report.conflicts) == ((), 1, ())


def test_another_price_of_the_same_quote_is_a_conflict(own_catalog: Path) -> None:
    """It is reported and not taken; the first stays until it is removed."""
    add_offers(own_catalog, SOURCE, [_quote()])
    report = add_offers(own_catalog, SOURCE, [_quote(price="9.00")])
    assert report.added == ()
    assert "7.5 USD was imported before and is kept, 9.00 is not taken" in report.conflicts[0]
    assert _lowest(own_catalog) == 7.5


def test_a_price_against_the_release_is_reported(own_catalog: Path) -> None:
    """Another price of the same thing on the same day: both are kept, and said."""
    with closing(open_catalog(own_catalog)) as connection:
        row = connection.execute(
            "select provider, product, accelerator_id, device_count, region, term, tier, valid_from, price from offers "
            "where kind = 'hourly' and provider is not null limit 1"
        ).fetchone()
    names = ("provider", "product", "accelerator_id", "device_count", "region", "term", "tier", "valid_from")
    same = {name: str(row[name]) if row[name] is not None else None for name in names}
    report = add_offers(own_catalog, SOURCE, [_quote(**same, price=str(round(row["price"] * 0.9, 4)))])
    assert len(report.added) == 1
    assert "both are kept" in report.conflicts[0]


def test_suspicious_quotes_are_flagged(own_catalog: Path) -> None:
    """Spot above on demand, and a host without its accelerators, are said on import and left out of answers."""
    offers = [_quote(), _quote(term="spot", price="9"), _quote(product="host", includes="host only", price="0.5")]
    report = add_offers(own_catalog, SOURCE, offers)
    assert len(report.flags) == 2
    assert _lowest(own_catalog) == 7.5
    assert _lowest(own_catalog, term="spot") != 9


def test_a_quote_that_has_run_out_does_not_count(own_catalog: Path) -> None:
    """valid_until is the last day."""
    add_offers(own_catalog, SOURCE, [_quote(valid_from="2025-01-01", valid_until="2025-06-30")])
    assert _lowest(own_catalog) != 7.5
    assert _lowest(own_catalog, date="2025-06-30") == 7.5


def test_removing_by_number(own_catalog: Path) -> None:
    """Only rows that were imported can be removed; a wrong number removes nothing."""
    (one,) = add_offers(own_catalog, SOURCE, [_quote()]).added
    with closing(open_catalog(own_catalog)) as connection:
        release = connection.execute("select offer_id from offers where origin = 'release' limit 1").fetchone()[0]
    with pytest.raises(UnknownNameError):
        remove_offers(own_catalog, [one, release])
    assert _lowest(own_catalog) == 7.5
    assert remove_offers(own_catalog, [one]) == 1
    assert _lowest(own_catalog) != 7.5


def test_quotes_survive_a_build(own_catalog: Path, small_data: Path) -> None:
    """The next build at the same path takes them over; hash and release rows are those of a fresh one."""
    before = _hash(own_catalog)
    add_offers(own_catalog, SOURCE, [_quote()])
    report = build(own_catalog, [small_data], must_exist=False)
    assert report.kept_offers == 1
    assert report.logical_hash == before
    assert _lowest(own_catalog) == 7.5
    assert build(own_catalog, [small_data], must_exist=False, keep_local=False).kept_offers == 0
    assert _lowest(own_catalog) != 7.5


def test_quotes_survive_a_build_over_an_older_schema(own_catalog: Path, small_data: Path) -> None:
    """They are read as they are, whatever schema the old catalog has."""
    add_offers(own_catalog, SOURCE, [_quote()])
    with closing(sqlite3.connect(own_catalog)) as raw:
        raw.execute("pragma user_version = 1")
        raw.commit()
    build(own_catalog, [small_data], must_exist=False)
    assert _lowest(own_catalog) == 7.5


def test_a_quote_that_would_be_lost_stops_the_build(own_catalog: Path, small_data: Path) -> None:
    """A device that is no longer on record: the row is named, the old catalog stays."""
    add_offers(own_catalog, SOURCE, [_quote(accelerator_id="amd-mi300x")])
    (small_data / "accelerators/amd/amd-mi300x.toml").unlink()
    for path in (small_data / "prices").glob("*.csv"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "mi300x" not in line))
    for path in (small_data / "measurements").glob("*.csv"):
        path.write_text(path.read_text().splitlines(keepends=True)[0])
    for path in (small_data / "classes").glob("*.csv") if (small_data / "classes").is_dir() else ():
        path.unlink()
    with pytest.raises(CatalogError) as raised:
        build(own_catalog, [small_data], must_exist=False)
    assert "no accelerator amd-mi300x any more" in str(raised.value)
    assert "nothing was replaced" in str(raised.value)
    assert _lowest(own_catalog, "8x mi300x") == 7.5


def test_a_catalog_that_is_in_use(own_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody else writes, an import says so and changes nothing."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *words, **named: connect(*words, **{"timeout": 0.05, **named}))
    with closing(connect(own_catalog, isolation_level=None)) as other:
        other.execute("begin exclusive")
        with pytest.raises(CatalogError):
            add_offers(own_catalog, SOURCE, [_quote()])
        other.execute("rollback")
    assert _lowest(own_catalog) != 7.5
