"""From which use on owning, renting or a hosted service costs less.

Renting is paid for hours of work; owning is paid for every hour, worked or not; a hosted service is paid by the token.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackfit.money.figures import above_zero, from_zero
from rackfit.money.owning import HOURS_PER_YEAR, Ownership
from rackfit.money.tokens import MILLION, SECONDS_PER_HOUR

MONTHS_PER_YEAR = 12


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The use at which two ways cost the same. `utilisation` above 1: the standing costs are never earned back."""

    utilisation: float
    hours_per_month: float
    tokens_per_month: float | None = None

    @property
    def reachable(self) -> bool:
        """Whether a machine can be used that much."""
        return self.utilisation <= 1.0


def break_even(
    standing_per_hour: float, working_per_hour: float, other_per_working_hour: float, tokens_per_s: float | None = None
) -> BreakEven | None:
    """Return the use at which standing costs plus work cost what the other way charges for the work alone.

    u x other = standing + u x working, so u = standing / (other - working). None where an hour of work alone costs at
    least what the other way charges: no use is enough.

    Args:
        standing_per_hour: paid for every hour, worked or not; currency per hour.
        working_per_hour: paid beside for hours of work; currency per hour.
        other_per_working_hour: what the other way charges for an hour of the same work; currency per hour.
        tokens_per_s: speed of that work, for the answer in tokens.

    Raises:
        UsageError: a figure out of its range.
    """
    from_zero("standing cost per hour", standing_per_hour)
    saved = above_zero("price per hour", other_per_working_hour) - from_zero("working cost per hour", working_per_hour)
    if saved <= 0:
        return None
    used = standing_per_hour / saved
    hours = used * HOURS_PER_YEAR / MONTHS_PER_YEAR
    tokens = None if tokens_per_s is None else hours * SECONDS_PER_HOUR * above_zero("tokens_per_s", tokens_per_s)
    return BreakEven(used, hours, tokens)


def own_or_rent(owned: Ownership, rent_per_hour: float, tokens_per_s: float | None = None) -> BreakEven | None:
    """Return the use from which owning costs less than renting by the hour; None where none is enough."""
    return break_even(owned.standing_per_hour, owned.working_per_hour, rent_per_hour, tokens_per_s)


def hosted_per_hour(hosted_per_million: float, tokens_per_s: float) -> float:
    """Return what a hosted service charges for the tokens of one hour of work."""
    speed = above_zero("tokens_per_s", tokens_per_s)
    return above_zero("hosted price", hosted_per_million) * speed * SECONDS_PER_HOUR / MILLION


def own_or_hosted(owned: Ownership, hosted_per_million: float, tokens_per_s: float) -> BreakEven | None:
    """Return the use from which owning costs less than a hosted service's price per million tokens."""
    other = hosted_per_hour(hosted_per_million, tokens_per_s)
    return break_even(owned.standing_per_hour, owned.working_per_hour, other, tokens_per_s)


def rent_or_hosted(rent_per_hour: float, hosted_per_million: float, tokens_per_s: float) -> BreakEven | None:
    """Return the use of a machine rented around the clock from which it costs less than a hosted service."""
    return break_even(rent_per_hour, 0.0, hosted_per_hour(hosted_per_million, tokens_per_s), tokens_per_s)


def payback_years(owned: Ownership, rent_per_hour: float, utilisation: float) -> float | None:
    """Return the years after which what is not paid in rent has paid the purchase; None where it never does.

    Raises:
        UsageError: a utilisation that is not above 0 and at most 1.
    """
    saved = saved_per_year(owned, rent_per_hour, utilisation)
    return owned.purchase / saved if saved > 0 else None


def saved_per_year(owned: Ownership, rent_per_hour: float, utilisation: float) -> float:
    """Return the rent of a year's work less the running costs of the owned machine (energy and overheads)."""
    running = owned.per_hour(utilisation) - owned.capital_per_hour
    return (above_zero("price per hour", rent_per_hour) * utilisation - running) * HOURS_PER_YEAR


def net_present_value(owned: Ownership, rent_per_hour: float, utilisation: float, discount_rate: float) -> float:
    """Return the worth today of buying instead of renting: yearly savings at the end of each year, residual at the end.

    Args:
        owned: the machine; years beyond the last whole one are left out of the sum.
        rent_per_hour: price of renting the same.
        utilisation: share of hours that are worked.
        discount_rate: per year, 0.1 for 10 %.
    """
    rate = 1.0 + from_zero("discount_rate", discount_rate, 10.0)
    saved = saved_per_year(owned, rent_per_hour, utilisation)
    years = int(owned.life_years)
    earned = sum(saved / rate**year for year in range(1, years + 1))
    return earned + owned.residual / rate**owned.life_years - owned.purchase
