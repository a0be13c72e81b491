"""Price of tokens from the price of an hour."""

from __future__ import annotations

from rackfit.money.figures import above_zero

SECONDS_PER_HOUR = 3600.0
MILLION = 1e6


def tokens_per_hour(tokens_per_s: float, utilisation: float = 1.0) -> float:
    """Return the tokens of one hour, of which a share `utilisation` is used at full speed.

    Raises:
        UsageError: no positive speed, or a utilisation that is not above 0 and at most 1.
    """
    return above_zero("tokens_per_s", tokens_per_s) * SECONDS_PER_HOUR * above_zero("utilisation", utilisation, 1.0)


def cost_per_million_tokens(price_per_hour: float, tokens_per_s: float, utilisation: float = 1.0) -> float:
    """Return the price of a million tokens: price / (tokens/s x 3600 x utilisation) x 10^6, in the price's currency.

    Args:
        price_per_hour: of the whole configuration, for every hour that is paid.
        tokens_per_s: of the whole configuration while it works, all sequences together.
        utilisation: share of the paid hours in which it works at that speed, above 0 and at most 1.

    Raises:
        UsageError: a figure out of its range.
    """
    return above_zero("price_per_hour", price_per_hour) / tokens_per_hour(tokens_per_s, utilisation) * MILLION
