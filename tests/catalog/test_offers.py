"""Prices in the catalog: how many, exact, dated, and flagged where they look wrong."""

from __future__ import annotations

import csv
import sqlite3
from decimal import Decimal
from typing import Any

import pytest

from rackfit.catalog.rows.offers import offer_id, rows
from rackfit.paths import packaged
from rackfit.records.load import Library
from rackfit.records.prices import Offer


def _offer(**changes: Any) -> Offer:
    base = {
        "kind": "hourly",
        "provider": "RunPod",
        "product": "A40",
        "accelerator_id": "nvidia-a40",
        "device_count": "1",
        "price": "0.44",
        "currency": "USD",
        "region": "US",
        "term": "on-demand",
        "tier": "secure",
        "price_kind": "list",
        "valid_from": "2025-03-07",
        "source": "test",
        "confidence": "high",
        "file": "test",
        "origin": "release",
    }
    return Offer.model_validate({**base, **changes})


def _rows(*offers: Offer) -> list[dict[str, Any]]:
    return [row for _, row in rows(Library(rows={"offers": list(offers)}))]


def _flags(*offers: Offer) -> dict[str, str | None]:
    return {row["note"]: row["flag"] for row in _rows(*offers)}


def test_at_least_800_dated_prices(connection: sqlite3.Connection) -> None:
    """The catalog has the hourly and purchase prices that were asked for, all dated and sourced."""
    count, dated, sourced = connection.execute(
        "select count(*), count(valid_from), count(source_id) from offers"
    ).fetchone()
    assert count >= 800
    assert count == dated == sourced
    kinds = dict(tuple(row) for row in connection.execute("select kind, count(*) from offers group by kind"))
    assert kinds["hourly"] >= 599
    assert kinds["purchase"] >= 179


def test_prices_are_exact(connection: sqlite3.Connection) -> None:
    """Every price in millionths is the text of the file, to the last digit."""
    written: list[int] = []
    for path in packaged("data").glob("prices/*.csv"):
        with path.open(newline="") as handle:
            written += [int(Decimal(row["price"]) * 1_000_000) for row in csv.DictReader(handle)]
    stored = [row[0] for row in connection.execute("select price_micros from offers")]
    assert sorted(written) == sorted(stored)


def test_spot_above_on_demand_is_flagged() -> None:
    """A spot price above the on-demand price of the same thing is flagged.

    RunPod A40: 0.49 USD/h billed for spot, 0.44 on demand, 0.28 in the console,
    https://github.com/skypilot-org/skypilot/issues/4914 (trial R057).
    """
    found = _flags(
        _offer(note="on-demand"),
        _offer(note="billed", term="spot", price="0.49"),
        _offer(note="console", term="spot", price="0.28", valid_from="2025-03-08"),
    )
    assert found == {"on-demand": None, "billed": "spot price above the on-demand price", "console": None}


def test_tiers_are_apart() -> None:
    """A spot price is compared within its tier only.

    RunPod 2x RTX A6000: 0.98 USD/h community and 1.52 secure, https://github.com/dstackai/dstack/issues/1886 (R059).
    """
    found = _flags(
        _offer(note="community", tier="community", price="0.98", device_count="2"),
        _offer(note="secure", tier="secure", price="1.52", device_count="2"),
        _offer(note="spot", tier="secure", term="spot", price="1.10", device_count="2"),
    )
    assert set(found.values()) == {None}


def test_regions_are_compared_without_case() -> None:
    """`WestUS3` and `westus3` are one region (trial R061)."""
    found = _flags(
        _offer(note="posted", region="westus3"), _offer(note="spot", region="WestUS3", term="spot", price="9")
    )
    assert found["spot"] == "spot price above the on-demand price"


def test_region_is_found_without_case(connection: sqlite3.Connection) -> None:
    """A region is found however it is written (trial R061)."""
    lower, upper = (
        connection.execute("select count(*) from offers where region = ?", (name,)).fetchone()[0]
        for name in ("westus3", "WestUS3")
    )
    assert lower == upper > 0


def test_price_of_zero_is_flagged() -> None:
    """A price of zero is never an offer."""
    assert _flags(_offer(note="free", price="0")) == {"free": "price of zero"}


def test_node_and_share_prices_are_flagged() -> None:
    """One device at the price of eight, and eight at the price of one, are flagged."""
    usual = [_offer(note=f"usual {day}", price="2", valid_from=f"2026-01-0{day}") for day in range(1, 6)]
    found = _flags(
        *usual,
        _offer(note="node", price="16", valid_from="2026-02-01"),
        _offer(note="share", price="2", device_count="8", valid_from="2026-02-01"),
    )
    assert found["node"] == "price of one device looks like that of a node"
    assert found["share"] == "price of a node looks like that of one device"
    assert {found[f"usual {day}"] for day in range(1, 6)} == {None}


def test_a_host_without_its_accelerator_is_flagged() -> None:
    """GCP a2-highgpu-1g at 0.94 in one list and 4.05 at the provider: the first is the host alone.

    https://github.com/skypilot-org/skypilot-catalog/issues/31 (trial R055).
    """
    found = _flags(
        _offer(note="list", provider="GCP", price="0.94", source="list"),
        _offer(note="provider", provider="GCP", price="4.05", source="provider"),
    )
    assert found == {"list": "price looks like that of a host without its accelerator", "provider": None}


def test_one_device_price_on_a_node_of_the_same_provider() -> None:
    """What one device costs at a provider, asked for eight, is flagged; half the price in another region is not."""
    found = _flags(
        _offer(note="one", price="4"),
        _offer(note="eight", price="32", device_count="8"),
        _offer(note="share", price="4", device_count="8", region="eu"),
        _offer(note="cheap", price="16", device_count="8", region="asia"),
    )
    assert found == {
        "one": None, "eight": None, "share": "price of a node looks like that of one device", "cheap": None,
    }  # fmt: skip


def test_what_a_marketplace_shows_is_an_offer() -> None:
    """However low: somebody asks that price."""
    usual = [_offer(note=f"usual {day}", price="2", valid_from=f"2026-01-0{day}") for day in range(1, 6)]
    low = _offer(note="low", price="0.20", provider="Vast.ai", tier="marketplace", price_kind="marketplace")
    assert _flags(*usual, low)["low"] is None


def test_no_answer_rests_on_a_flagged_price(connection: sqlite3.Connection) -> None:
    """Flagged offers are kept and shown, and chosen nowhere."""
    for table in ("configuration_prices", "device_prices", "best_fits", "best_training"):
        found = connection.execute(
            f"select count(*) from {table} join offers using (offer_id) where offers.flag is not null"
        ).fetchone()[0]
        assert found == 0, table


def test_base_configuration_is_flagged() -> None:
    """The price of the base configuration is not the price of the one with the most memory."""
    found = _flags(
        _offer(note="base", kind="purchase", quantity_basis="per system, base"),
        _offer(note="board", kind="purchase", quantity_basis="per 8-GPU baseboard"),
    )
    assert found["base"] is not None
    assert found["board"] is None


def test_ids_stay() -> None:
    """An offer keeps its number when its price, note or confidence changes, and gets another with another date."""
    first = offer_id(_offer())
    assert offer_id(_offer(price="0.45", note="corrected", confidence="low")) == first
    assert offer_id(_offer(valid_from="2025-03-09")) != first


def test_an_offer_of_the_past_is_found(connection: sqlite3.Connection) -> None:
    """A question dated in the past gives the price of that time (trial R133)."""
    past = connection.execute(
        "select count(*) from offers where valid_from <= '2025-12-31' and coalesce(valid_until, '9999') >= '2025-12-31'"
    ).fetchone()[0]
    assert 0 < past < connection.execute("select count(*) from offers").fetchone()[0]


@pytest.mark.parametrize("column", ["accelerator_id", "provider", "region", "term", "price", "flag", "valid_from"])
def test_filter_columns_are_indexed(connection: sqlite3.Connection, column: str) -> None:
    """What people filter by has an index."""
    indexed = {
        row["name"]
        for index in connection.execute("select name from pragma_index_list('offers')").fetchall()
        for row in connection.execute(f"select name from pragma_index_info('{index[0]}')")
    }
    assert column in indexed
