"""What an hour of owned hardware costs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from rackfit.money.figures import above_zero, from_zero

HOURS_PER_YEAR = 8760.0
"""Hours of 365 days, as total-cost models count them (ai-infrastructure.net, build-vs-rent-gpu-cost-model)."""

LIMITS = {"life_years": 100.0, "pue": 10.0, "idle_power": 1.0, "power_w": 1e9}


def capital_per_hour(purchase: float, residual: float, life_years: float) -> float:
    """Return purchase less residual worth over all hours of a life: straight-line, currency per hour.

    Raises:
        UsageError: no purchase price or years, or a residual worth that is not from 0 to the purchase price.
    """
    worth = from_zero("residual", residual, above_zero("purchase", purchase))
    return (purchase - worth) / (above_zero("life_years", life_years, LIMITS["life_years"]) * HOURS_PER_YEAR)


@dataclass(frozen=True, slots=True)
class Ownership:
    """An owned machine: one currency throughout.

    `power_w` is what the machine draws while it works; `idle_power` the share of it that it draws while it does not: 1
    charges full power for every hour. `pue` is the power of the whole room over that of the machine.
    """

    purchase: float
    life_years: float
    power_w: float
    price_per_kwh: float
    pue: float = 1.0
    overheads_per_year: float = 0.0
    residual: float = 0.0
    """Worth at the end of its life."""
    idle_power: float = 1.0

    def __post_init__(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the figure.
        """
        for field in fields(self):
            check = above_zero if field.name in ("purchase", "life_years", "pue") else from_zero
            check(field.name, getattr(self, field.name), LIMITS.get(field.name, 1e15))
        from_zero("residual", self.residual, self.purchase)

    @property
    def capital_per_hour(self) -> float:
        """Purchase less residual worth, over all hours of its life: straight-line."""
        return capital_per_hour(self.purchase, self.residual, self.life_years)

    @property
    def overheads_per_hour(self) -> float:
        """Stated yearly overheads (room, staff, maintenance, network), per hour of the year."""
        return self.overheads_per_year / HOURS_PER_YEAR

    @property
    def energy_per_working_hour(self) -> float:
        """Power x PUE x price per kWh."""
        return self.power_w / 1000 * self.pue * self.price_per_kwh

    @property
    def standing_per_hour(self) -> float:
        """What an hour costs in which the machine does nothing."""
        return self.capital_per_hour + self.overheads_per_hour + self.energy_per_working_hour * self.idle_power

    @property
    def working_per_hour(self) -> float:
        """What an hour costs more when the machine works."""
        return self.energy_per_working_hour * (1.0 - self.idle_power)

    def per_hour(self, utilisation: float = 1.0) -> float:
        """Return the cost of an hour of the calendar: purchase / life + power x PUE x price per kWh + overheads.

        Raises:
            UsageError: a utilisation that is not above 0 and at most 1.
        """
        return self.standing_per_hour + self.working_per_hour * above_zero("utilisation", utilisation, 1.0)

    def per_working_hour(self, utilisation: float) -> float:
        """Return the cost of an hour of work: yearly cost / (8760 x utilisation).

        Raises:
            UsageError: a utilisation that is not above 0 and at most 1.
        """
        return self.per_hour(utilisation) / utilisation

    def over_life(self, utilisation: float = 1.0) -> float:
        """Return the cost of all years together, less the residual worth."""
        return self.per_hour(utilisation) * self.life_years * HOURS_PER_YEAR
