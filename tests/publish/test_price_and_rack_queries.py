"""Named queries of prices over time and of what a rack holds: their statistics, and published figures."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from statistics import median_low
from typing import Any


def rows(get: Callable[..., Any], query: str) -> list[dict[str, Any]]:
    """Return the rows of a named query."""
    answer = get(f"/catalog/{query}&_shape=objects".replace("?", ".json?", 1))
    assert answer.status_code == 200, answer.text[:300]
    return [dict(row) for row in answer.json()["rows"]]


def test_the_spread_is_that_of_the_newest_prices(get: Callable[..., Any], connection: sqlite3.Connection) -> None:
    """Lowest, median and highest are those of each product, region and term at its newest date."""
    newest: dict[Any, tuple[str, float]] = {}
    for *key, since, price in connection.execute(
        "select provider, product, device_count, region, tier, term, valid_from, price_per_device from offers "
        "where accelerator_id = 'nvidia-h100-sxm5-80gb' and kind = 'hourly' and flag is null and currency = 'USD' "
        "and term_class = 'on-demand' order by valid_from, price_per_device desc"
    ):
        newest[tuple(key)] = (since, price)
    prices = sorted(price for _, price in newest.values())

    (row,) = rows(get, "how_far_prices_are_apart?device=h100-sxm5-80gb")
    assert (row["prices"], row["lowest"], row["highest"]) == (len(prices), prices[0], prices[-1])
    assert row["median"] == median_low(prices)
    assert row["lowest"] <= row["lower_quartile"] <= row["median"] <= row["upper_quartile"] <= row["highest"]
    assert row["providers"] <= row["prices"]


def test_months_do_not_mix_kinds_of_price(get: Callable[..., Any]) -> None:
    """One row per month, term, kind of price and currency, in order of time."""
    found = rows(get, "prices_over_time?device=h100-sxm5-80gb")

    keys = [(row["month"], row["term_class"], row["price_kind"], row["currency"]) for row in found]
    assert len(set(keys)) == len(keys) > 5
    assert [row["month"] for row in found] == sorted(row["month"] for row in found)
    assert all(row["lowest"] <= row["median"] <= row["highest"] for row in found)


def test_rate_per_dollar_counts_what_it_leaves_out(get: Callable[..., Any]) -> None:
    """RTX 4090: 165.2 dense FP16 TFLOPS for 1,599 dollars at launch, and cards without a price are counted."""
    found = {row["year"]: row for row in rows(get, "rate_per_dollar_by_year?format=fp16&segment=consumer")}

    assert found["2022"]["best_tflops_per_1000_usd"] >= 165.2 / 1.599
    assert found["2022"]["left_out"] > 0


def test_four_dgx_h100_in_a_rack(get: Callable[..., Any]) -> None:
    """8 U and 10.2 kW each (NVIDIA DGX H100 user guide): four in a rack of 41 kW, and the fifth by height alone."""
    limited = next(r for r in rows(get, "servers_in_a_rack?kw=41&system=DGX") if r["system_id"] == "nvidia-dgx-h100")
    by_height = next(
        r for r in rows(get, "servers_in_a_rack?units=42&system=DGX") if r["system_id"] == "nvidia-dgx-h100"
    )

    assert (limited["servers"], limited["kw"], limited["devices"]) == (4, 40.8, 32)
    assert by_height["servers"] == 5


def test_an_unknown_weight_may_not_be_lifted_in_silence(get: Callable[..., Any]) -> None:
    """A limit of weight is answered with yes, no, or unknown where no weight is on record."""
    found = rows(get, "servers_in_a_rack?lift_kg=130")

    assert {row["may_be_lifted"] for row in found} == {"yes", "no", "unknown"}
    assert all((row["kg"] is None) for row in found if row["may_be_lifted"] == "unknown")
