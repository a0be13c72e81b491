"""Prices of configurations and machines out of the catalog."""

from __future__ import annotations

import sqlite3
from dataclasses import fields

import pytest

from rackfit.ask.lists import where_it_runs
from rackfit.ask.machines import find_machines
from rackfit.ask.plan.question import PlanQuestion
from rackfit.ask.prices import OfferWords, machine_offers, price_row, priced, read_choice
from rackfit.ask.question import FitQuestion
from rackfit.cli.planning import plan
from rackfit.errors import UnknownNameError, UsageError
from rackfit.money.offers import OFFER_WORDS
from rackfit.publish.pages.fields import PRICES
from rackfit.publish.pages.plan import PlanForm


def test_every_configuration_has_a_price_or_is_counted(connection: sqlite3.Connection) -> None:
    """What has no price is None and counted, never zero."""
    found = priced(connection, read_choice(connection))
    total = connection.execute("select count(*) from configurations").fetchone()[0]
    have = [applied for applied in found.by_configuration.values() if applied is not None]
    assert len(found.by_configuration) == total
    assert found.unpriced == total - len(have) > 0
    assert all(applied.price > 0 and applied.offer.flag is None for applied in have)
    assert {applied.offer.term for applied in have} == {"on-demand"}
    assert {applied.offer.currency for applied in have} == {"USD"}


def test_one_answer_for_one_and_for_all(connection: sqlite3.Connection) -> None:
    """A machine that is asked for alone has the price that it has among all."""
    choice = read_choice(connection)
    found = priced(connection, choice).by_configuration
    for key in ("8x-nvidia-h100-sxm5-80gb", "1x-nvidia-l4", "2-nodes-8x-nvidia-h100-sxm5-80gb"):
        (machine,) = find_machines(connection, key)
        assert price_row(machine_offers(connection, machine, choice)[0]) == price_row(found[key])


def test_cheapest_first_and_without_a_price_last(connection: sqlite3.Connection) -> None:
    """Falcon-7B, 14 GB in 16 bits: a single small card comes first, never one without a price (question Q160)."""
    question = FitQuestion(model="falcon-7b", precision="bf16", limit=600)
    rows = where_it_runs(connection, question, read_choice(connection), cheapest=True)
    prices = [row["price_per_hour"] for row in rows]
    known = [price for price in prices if price is not None]
    assert known == sorted(known)
    assert prices[: len(known)] == known
    assert rows[0]["device_count"] == 1
    assert rows[0]["price_date"]
    assert rows[0]["price_provider"]


def test_a_named_system_has_its_own_price(connection: sqlite3.Connection) -> None:
    """p5.48xlarge costs what AWS asks for it, not what a cheaper maker of the same shape does."""
    (machine,) = find_machines(connection, "aws-p5-48xlarge")
    found = machine_offers(connection, machine, read_choice(connection))
    assert {applied.offer.provider for applied in found} == {"AWS"}


def test_spot_and_on_demand_are_cheapest_in_regions_of_their_own(connection: sqlite3.Connection) -> None:
    """Each term has its own order of regions (question Q163)."""
    (machine,) = find_machines(connection, "1x a100-sxm4-80gb")
    for term in ("on-demand", "spot"):
        found = machine_offers(connection, machine, read_choice(connection, term=term))
        assert [applied.price for applied in found] == sorted(applied.price for applied in found)
        assert found


def test_unlike_devices_and_slices_have_no_price(connection: sqlite3.Connection) -> None:
    """No product is made of unlike cards or of a slice."""
    for text in ("1x rtx-3090 + 1x rtx-3070", "a100-sxm4-80gb/2g.20gb"):
        (machine,) = find_machines(connection, text)
        assert machine_offers(connection, machine, read_choice(connection)) == []


@pytest.mark.parametrize(
    ("asked", "near"),
    [({"provider": "Runpodd"}, "RunPod"), ({"currency": "EURO"}, "EUR"), ({"term": "spott"}, "spot"),
     ({"region": "westus33"}, "westus3"), ({"tier": "comunity"}, "community")],
)  # fmt: skip
def test_unknown_words_have_near_names(connection: sqlite3.Connection, asked: dict[str, str], near: str) -> None:
    """A word that stands in no offer is refused, with those that do."""
    with pytest.raises(UnknownNameError) as raised:
        read_choice(connection, **asked)
    assert near in raised.value.near


def test_words_are_read_in_any_case(connection: sqlite3.Connection) -> None:
    """Regions, providers and terms are found however they are written (trial R061)."""
    choice = read_choice(connection, provider="runpod", region="WESTUS3", term="ANY", currency="usd")
    assert (choice.provider, choice.term, choice.currency) == ("RunPod", None, "USD")
    assert (choice.region or "").casefold() == "westus3"


def test_questions_commands_and_pages_have_the_same_words() -> None:
    """What can be said of offers is one list: no question, command or form leaves one of its words out."""
    words = set(OFFER_WORDS)

    assert words == {field.name for field in fields(OfferWords)} == {field.name for field in PRICES.fields}
    assert words <= {field.name for field in fields(PlanQuestion)}
    assert words <= {field.name for field in fields(PlanForm)}
    assert words <= {parameter.name for parameter in plan.params}


@pytest.mark.parametrize("date", ["2026-13-01", "yesterday", "2026"])
def test_dates_are_days(connection: sqlite3.Connection, date: str) -> None:
    """A day that is none is refused."""
    with pytest.raises(UsageError, match="expected a date such as"):
        read_choice(connection, date=date)


def test_a_day_in_the_past_has_the_prices_of_that_day(connection: sqlite3.Connection) -> None:
    """Nothing that was dated later counts (trial R133)."""
    found = priced(connection, read_choice(connection, date="2025-06-30")).by_configuration
    dates = {applied.offer.valid_from for applied in found.values() if applied is not None}
    assert dates
    assert max(dates) <= "2025-06-30"
