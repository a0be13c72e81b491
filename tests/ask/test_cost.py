"""What a model costs on a machine: rented, owned, against a hosted price."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.cost import cost_one, cost_question
from rackfit.errors import UnknownNameError, UsageError

CARD = {"model": "qwen3-8b", "on": "rtx-4090"}


def _ask(connection: sqlite3.Connection, **asked: Any) -> dict[str, Any]:
    return cost_one(connection, cost_question(**{**CARD, **asked}))


def test_price_of_tokens_is_price_over_speed(connection: sqlite3.Connection) -> None:
    """Per million = price / (tokens/s x 3600 x utilisation) x 10^6 (MEMORY_MODEL 8), the ends of the range swapped."""
    answer = _ask(connection, utilisation=0.5)
    offer = answer["offers"][0]
    for speed, cost in zip(answer["speeds"], offer["per_million"], strict=True):
        assert cost["figure"] == "estimate"
        assert cost["likely"] == pytest.approx(offer["price_per_hour"] / (speed["tokens_per_s"] * 1800) * 1e6)
        assert cost["low"] == pytest.approx(offer["price_per_hour"] / (speed["high"] * 1800) * 1e6)
        assert cost["high"] == pytest.approx(offer["price_per_hour"] / (speed["low"] * 1800) * 1e6)
        assert cost["bound"] <= cost["likely"] <= cost["high"]
    assert [row["work"] for row in answer["speeds"]] == ["one sequence", "full batch", "prompt"]


def test_every_offer_has_a_date_and_a_source(connection: sqlite3.Connection) -> None:
    """Offers come lowest first, each with what it is and when, and none is flagged."""
    offers = _ask(connection)["offers"]
    assert [row["price_per_hour"] for row in offers] == sorted(row["price_per_hour"] for row in offers)
    assert all(row["valid_from"] and row["source_id"] and row["flag"] is None for row in offers)


def test_published_fleet(connection: sqlite3.Connection) -> None:
    """Q174: 64 accelerators, 4 years, 70 %: own 2.65M, rent 3.14M, break-even 59 %, payback 3.2 years, NPV -9.44K.

    https://www.legitlads.com/hub/tools/ai/ai-hardware/accelerator-roi-calculator/; its 728.68K of energy and operation
    are 0.7 kW per device at PUE 1.3 and 0.08 per kWh while it works, and 8 % of the purchase per year.
    """
    answer = _ask(
        connection, model="llama-3.1-70b", on="8 nodes x 8x h100-sxm5-80gb", price=128.0, utilisation=0.7,
        purchase_price=1_920_000.0, life_years=4.0, kwh_price=0.08, pue=1.3, power_watts=44_800.0, idle_power=0.0,
        overheads=153_600.0, discount_rate=0.1,
    )  # fmt: skip
    (owned,) = answer["owned"]
    against = owned["against_rent"]
    assert answer["device_count"] == 64
    assert owned["over_life"] == pytest.approx(2_648_681, rel=0.001)
    assert against["rent_over_life"] == pytest.approx(3_139_584, rel=0.001)
    assert against["utilisation"] == pytest.approx(0.59, abs=0.005)
    assert against["payback_years"] == pytest.approx(3.2, abs=0.05)
    assert against["net_present_value"] == pytest.approx(-9_440, abs=30)


def test_no_price_of_energy_no_owned_hour(connection: sqlite3.Connection) -> None:
    """What is missing for a figure is said, and the figure stays empty."""
    answer = _ask(connection)
    assert all(row["per_hour"] is None and row["per_million"] == [] for row in answer["owned"])
    assert any("kwh_price" in line for line in answer["missing"])
    assert all(row["capital_per_hour"] > 0 for row in answer["owned"])


def test_no_offer_no_figure(connection: sqlite3.Connection) -> None:
    """A machine without an offer has none, and says how to state a price; nothing is taken from another machine."""
    answer = _ask(connection, on="3x rtx-4090", currency="CHF")
    assert answer["offers"] == []
    assert any("(price)" in line for line in answer["missing"])
    assert any("purchase_price" in line for line in answer["missing"])
    assert answer["offers_left_out"] == {}


def test_what_was_left_out_is_counted(connection: sqlite3.Connection) -> None:
    """Offers in other terms and currencies are counted by reason."""
    left = _ask(connection, on="8x h100-sxm5-80gb", model="llama-3.1-70b")["offers_left_out"]
    assert left["other term"] > 0
    euro = _ask(connection, currency="EUR")["offers_left_out"]
    assert euro["other currency"] > 0


def test_a_model_that_does_not_fit_has_no_price_of_tokens(connection: sqlite3.Connection) -> None:
    """The machine still has its price per hour."""
    answer = _ask(connection, model="llama-3.1-405b")
    assert answer["verdict"] == "no"
    assert answer["speeds"] == []
    assert answer["offers"][0]["price_per_hour"] > 0
    assert "no price of tokens: the model does not fit as asked" in answer["missing"]


def test_against_a_hosted_price(connection: sqlite3.Connection) -> None:
    """At the tokens per month that are named, both bills are the same (Q177)."""
    answer = _ask(connection, hosted_price=5.0, kwh_price=0.3, purchase_price=1800.0)
    (owned,) = answer["owned"]
    for row in owned["against_hosted"]:
        paid = row["tokens_per_month"] / 1e6 * 5.0
        assert paid == pytest.approx(owned["per_hour"] * 8760 / 12)
    rented = answer["offers"][0]
    for row in rented["against_hosted"]:
        assert row["tokens_per_month"] / 1e6 * 5.0 == pytest.approx(rented["price_per_hour"] * 8760 / 12)
        assert row["reachable"] == (row["utilisation"] <= 1)


def test_a_systems_maximum_is_its_power(connection: sqlite3.Connection) -> None:
    """DGX H100: 10.2 kW at most (NVIDIA, DGX H100 user guide); cards alone have their rated power, and say so."""
    dgx = _ask(connection, model="llama-3.1-70b", on="nvidia-dgx-h100", purchase_price=3e5, kwh_price=0.1)["owned"][0]
    assert dgx["power_watts"] == pytest.approx(10_200)
    assert dgx["power_basis"] == "maximum of the system on record"
    assert dgx["energy_per_working_hour"] == pytest.approx(1.02)
    card = _ask(connection)["owned"][0]
    assert (card["power_watts"], card["power_basis"]) == (450, "rated power of the accelerators alone, no host")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"utilisation": 1.5}, "utilisation = 1.5"), ({"price": 0.0}, "price = 0.0"),
        ({"other_per_month": -1.0}, "other_per_month = -1.0"), ({"hosted_price": -1.0}, "hosted_price = -1.0"),
        ({"pue": 0.0}, "pue = 0.0"),
        ({"life_years": 0.0}, "life_years = 0.0"), ({"kwh_price": -0.1}, "kwh_price = -0.1"),
        ({"idle_power": 2.0}, "idle_power = 2.0"), ({"currency": "euro"}, "currency = 'euro'"),
        ({"date": "soon"}, "date = 'soon'"), ({"on": None}, "cost needs a model and hardware"),
    ],
)  # fmt: skip
def test_figures_that_mean_nothing_are_refused(
    connection: sqlite3.Connection, asked: dict[str, Any], said: str
) -> None:
    """One line that names the figure and what was expected."""
    with pytest.raises(UsageError, match=said):
        _ask(connection, **asked)


def test_unknown_words_have_near_names(connection: sqlite3.Connection) -> None:
    """A provider that has no offer."""
    with pytest.raises(UnknownNameError) as raised:
        _ask(connection, provider="Runpodd")
    assert "RunPod" in raised.value.near


def test_other_costs_can_turn_the_ranking(connection: sqlite3.Connection) -> None:
    """Q175: 30 TB of egress a month at 0.09 per GB are 2700; spread over 730 hours that is 3.70 an hour more."""
    plain, more = _ask(connection)["offers"][0], _ask(connection, other_per_month=30_000 * 0.09)["offers"][0]
    assert more["price_per_hour"] == plain["price_per_hour"]
    assert more["all_per_hour"] - plain["all_per_hour"] == pytest.approx(2700 / 730)
    ratio = more["per_million"][0]["likely"] / plain["per_million"][0]["likely"]
    assert ratio == pytest.approx(more["all_per_hour"] / plain["price_per_hour"])


def test_unlike_cards_have_a_stated_price_only(connection: sqlite3.Connection) -> None:
    """No product is made of unlike cards: no offer, both cards' rated power, and a price where it is stated."""
    answer = _ask(connection, on="1x rtx-3090 + 1x rtx-3070", purchase_price=1000.0, kwh_price=0.2, price=0.4)
    assert answer["device_count"] == 2
    assert answer["offers"][0]["price_per_device_hour"] == pytest.approx(0.2)
    assert answer["owned"][0]["power_watts"] == pytest.approx(350 + 220)  # NVIDIA, graphics card power of both
    assert _ask(connection, on="1x rtx-3090 + 1x rtx-3070")["offers"] == []
