"""Arithmetic of money against published calculations."""

from __future__ import annotations

import math

import pytest

from rackfit.errors import UsageError
from rackfit.money.break_even import (
    break_even,
    net_present_value,
    own_or_hosted,
    own_or_rent,
    payback_years,
    rent_or_hosted,
)
from rackfit.money.owning import Ownership
from rackfit.money.tokens import cost_per_million_tokens

FLEET = Ownership(1_920_000, 4, power_w=0, price_per_kwh=0, overheads_per_year=728_680 / 4)
"""64 accelerators for 4 years: 1.92M to buy, 728.68K energy and operation, legitlads.com accelerator ROI calculator."""
FLEET_RENT = 3_139_584 / (4 * 8760 * 0.7)
"""Its cloud price: 3,139,584 for the hours of four years that are worked at 70 %."""


def test_published_fleet_own_against_rent() -> None:
    """Own 2,648,681, break-even at 59 %, payback 3.2 years, NPV at 10 % -9.44K, as the calculator prints them."""
    assert FLEET.over_life(0.7) == pytest.approx(2_648_681, rel=1e-5)
    found = own_or_rent(FLEET, FLEET_RENT)
    assert found is not None
    assert found.utilisation == pytest.approx(0.59, abs=0.005)
    assert found.reachable
    assert payback_years(FLEET, FLEET_RENT, 0.7) == pytest.approx(3.2, abs=0.05)
    assert net_present_value(FLEET, FLEET_RENT, 0.7, 0.1) == pytest.approx(-9_440, abs=10)


def test_fleet_energy_of_working_hours_only() -> None:
    """728.68K is what 8 % of the purchase a year and 0.7 kW per device at PUE 1.3 and 0.08 per kWh come to at 70 %."""
    fleet = Ownership(1_920_000, 4, 64 * 700, 0.08, 1.3, overheads_per_year=0.08 * 1_920_000, idle_power=0.0)
    assert fleet.over_life(0.7) == pytest.approx(2_648_681, rel=1e-6)
    found = own_or_rent(fleet, FLEET_RENT)
    assert found is not None
    assert found.utilisation == pytest.approx(0.59, abs=0.005)


def test_owned_hour_is_capital_plus_energy_plus_overheads() -> None:
    """Purchase / life + power x PUE x price per kWh + overheads: 35,040 over 4 years is 1 an hour."""
    owned = Ownership(35_040, 4, 1000, 0.20, 1.5, overheads_per_year=8760)
    assert owned.capital_per_hour == pytest.approx(1.0)
    assert owned.energy_per_working_hour == pytest.approx(0.30)
    assert owned.per_hour() == pytest.approx(2.30)
    assert owned.per_working_hour(0.5) == pytest.approx(4.60)


def test_residual_worth_is_not_spread() -> None:
    """What the machine is worth at its end is no cost."""
    assert Ownership(35_040, 4, 0, 0, residual=17_520).per_hour() == pytest.approx(0.5)


def test_price_per_million_tokens() -> None:
    """3.60 an hour at 1000 tokens/s is 1 per million; half used, it is 2."""
    assert cost_per_million_tokens(3.60, 1000) == pytest.approx(1.0)
    assert cost_per_million_tokens(3.60, 1000, 0.5) == pytest.approx(2.0)


def test_at_break_even_both_ways_cost_the_same() -> None:
    """The use that is named is the one at which the bills are equal, whatever the machine draws when idle."""
    owned = Ownership(30_000, 3, 700, 0.25, 1.4, 2_000, 1_000, 0.3)
    rent = own_or_rent(owned, 4.0, 50)
    assert rent is not None
    assert owned.per_hour(rent.utilisation) == pytest.approx(rent.utilisation * 4.0)
    hosted = own_or_hosted(owned, 30.0, 50)
    assert hosted is not None
    tokens = hosted.tokens_per_month
    assert tokens is not None
    assert tokens * 30.0 / 1e6 == pytest.approx(owned.per_hour(hosted.utilisation) * 8760 / 12)
    rented = rent_or_hosted(1.5, 30.0, 50)
    assert rented is not None
    assert rented.utilisation == pytest.approx(cost_per_million_tokens(1.5, 50) / 30.0)


def test_no_use_is_enough_where_work_alone_costs_more() -> None:
    """Energy above the other way's price: there is no break-even, and that is no number."""
    assert break_even(1.0, 0.5, 0.4) is None
    assert payback_years(Ownership(1000, 3, 1000, 1.0), 0.5, 1.0) is None


def test_an_unreachable_break_even_is_said() -> None:
    """A use above all hours is shown as such, not capped."""
    found = break_even(2.0, 0.0, 1.0)
    assert found is not None
    assert found.utilisation == 2.0
    assert not found.reachable


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_no_price_is_no_price(value: float) -> None:
    """Zero, negative and no number give no figure."""
    with pytest.raises(UsageError, match="price_per_hour"):
        cost_per_million_tokens(value, 100)
    with pytest.raises(UsageError, match="purchase"):
        Ownership(value, 3, 100, 0.1)


@pytest.mark.parametrize("utilisation", [0.0, 1.01, -0.5])
def test_utilisation_is_a_share(utilisation: float) -> None:
    """More than all hours, or none, is refused."""
    with pytest.raises(UsageError, match="utilisation"):
        cost_per_million_tokens(1.0, 100, utilisation)


def test_a_residual_worth_above_the_price_is_refused() -> None:
    """A machine does not earn money by standing there."""
    with pytest.raises(UsageError, match="residual = 200"):
        Ownership(100.0, 4, power_w=0, price_per_kwh=0, residual=200.0)
