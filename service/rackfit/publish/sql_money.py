"""SQL functions of money: the same arithmetic and answers as `rackfit cost`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rackfit.money.break_even import break_even
from rackfit.money.owning import Ownership
from rackfit.money.tokens import cost_per_million_tokens
from rackfit.publish.answers import Answers

Named = tuple[str, str, str, Callable[..., Any]]
"""Name, signature, meaning and call of a function with arguments that may be left out."""

OWNED = ("purchase", "life_years", "power_w", "price_per_kwh", "pue", "overheads_per_year", "residual")


def per_million(price_per_hour: float, *rest: Any) -> float | None:
    """Return the price of a million tokens, null where price or speed is unknown."""
    tokens_per_s, utilisation = (*rest, None, None)[:2]
    if tokens_per_s is None:
        return None
    return cost_per_million_tokens(price_per_hour, tokens_per_s, 1.0 if utilisation is None else utilisation)


def owned_hour(*figures: Any) -> float | None:
    """Return the cost of an owned hour, null where purchase, life, power or price of energy is unknown."""
    named = dict(zip(OWNED, figures, strict=False))
    if any(named.get(name) is None for name in OWNED[:4]):
        return None
    return Ownership(**{name: value for name, value in named.items() if value is not None}).per_hour()


def break_even_utilisation(standing_per_hour: float, *rest: Any) -> float | None:
    """Return the share of hours from which standing costs less than paying for work; null where no use is enough."""
    other, working = (*rest, None, None)[:2]
    if other is None:
        return None
    found = break_even(standing_per_hour, working or 0.0, other)
    return found.utilisation if found else None


def money_functions(answers: Answers) -> tuple[Named, ...]:
    """Return the functions of money of one catalog."""

    def cost_json(model: str, hardware: str, *rest: Any) -> str:
        from rackfit.ask.cost import cost_one, cost_question

        names = ("price", "utilisation", "term", "currency")
        asked = dict(zip(names, rest, strict=False))
        return json.dumps(cost_one(answers.connection, cost_question(model=model, on=hardware, **asked)))

    return (
        (
            "cost_per_million_tokens", "cost_per_million_tokens(price_per_hour, tokens_per_s, utilisation)",
            "price / (tokens/s x 3600 x utilisation) x 10^6; utilisation may be left out: 1", per_million,
        ),
        (
            "owned_hour",
            "owned_hour(purchase, life_years, power_w, price_per_kwh, pue, overheads_per_year, residual)",
            "purchase / life + power x PUE x price per kWh + overheads, per hour; the last three may be left out",
            owned_hour,
        ),
        (
            "break_even_utilisation", "break_even_utilisation(standing_per_hour, other_per_hour, working_per_hour)",
            "share of hours from which a cost of every hour is less than a price of working hours; the last: 0",
            break_even_utilisation,
        ),
        (
            "cost_json", "cost_json(model, hardware, price, utilisation, term, currency)",
            "what a model costs on a machine, rented and owned, as JSON; the last four may be left out", cost_json,
        ),
    )  # fmt: skip
