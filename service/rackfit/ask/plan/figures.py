"""Speed and money of one configuration of a plan: the figures of `rackfit speed`, and what follows from them."""

from __future__ import annotations

from typing import Any

from rackfit.ask.plan.question import HOUR, PlanQuestion
from rackfit.ask.prices import price_row
from rackfit.ask.speed import decode_row, prefill_row
from rackfit.ask.speed_run import Run
from rackfit.money.offers import Applied
from rackfit.money.tokens import cost_per_million_tokens
from rackfit.speed.work import with_prompts

WIDE = 0.35
"""Part of the estimate by which its low end lies below it, from which a range is called wide."""
SPEED = (
    "figure", "tokens_per_s_each", "tokens_per_s_each_low", "tokens_per_s_each_high", "tokens_per_s_each_bound",
    "tokens_per_s_served", "tokens_per_s_served_low", "tokens_per_s", "tokens_per_s_low", "step_bound_by", "ttft_s",
    "ttft_s_low", "ttft_s_high", "wide", "efficiency_id", "range_reasons",
)  # fmt: skip
"""Columns of speed. `each`: of one sequence while all decode; `served`: the same with prompts charged; tokens_per_s: of
all sequences together, prompts charged where they are."""


def speed_figures(question: PlanQuestion, run: Run, notes: list[str], each: int) -> dict[str, Any]:
    """Return the speed of a configuration of which one copy serves `each` sequences.

    Args:
        question: the plan.
        run: the configuration in its layout.
        notes: what had to be assumed about it.
        each: sequences of one copy.
    """
    row = decode_row(run, each)
    prefill = prefill_row(run, question.prompt or run.setting.asked.context)
    one = run.work.per_sequence(run.sequences_each(each))
    likely, low = _served(question, run, each)
    shown_likely, shown_low = (one.value, one.low) if question.output is None else (likely, low)
    ttft = [prefill[f"time_to_first_token_{end}s"] if prefill else None for end in ("", "low_", "high_")]
    values = (
        row["figure"], row["per_sequence"], row["per_sequence_low"], round(one.high, 2),
        round(row["bound"] / each, 2), _rounded(likely), _rounded(low), _rounded(shown_likely, question.sequences),
        _rounded(shown_low, question.sequences), row["bound_by"], *ttft, bool(one.low < (1 - WIDE) * one.value),
        run.chosen.efficiency.efficiency_id, [*run.chosen.reasons, *notes],
    )  # fmt: skip
    return dict(zip(SPEED, values, strict=True))


def _served(question: PlanQuestion, run: Run, each: int) -> tuple[float | None, float | None]:
    """Return the rate of a sequence with prompts charged, likely and low; None where they are not or cannot be."""
    prompt = run.prompt(question.prompt or run.setting.asked.context)
    if question.output is None or prompt is None:
        return None, None
    count = run.sequences_each(each)
    one = run.work.per_sequence(count)
    ends = ((one.value, prompt.value), (one.low, prompt.high))
    likely, low = (float(with_prompts(rate, count, seconds, question.output)) for rate, seconds in ends)
    return likely, low


def _rounded(rate: float | None, times: int = 1) -> float | None:
    return None if rate is None else round(rate * times, 2)


def per_watt(speed: dict[str, Any], watts: float | None) -> dict[str, float | None]:
    """Return tokens per second per watt of all accelerators, likely and at the low end; joules are its inverse."""
    return {
        f"tokens_per_s_per_w{end}": round(speed[f"tokens_per_s{end}"] / watts, 4)
        if watts and speed[f"tokens_per_s{end}"]
        else None
        for end in ("", "_low")
    }


def money_figures(question: PlanQuestion, offer: Applied | None, speed: dict[str, Any], copies: int) -> dict[str, Any]:
    """Return what so many copies of a configuration cost, and what a million tokens then does at the load asked for."""
    found = price_row(offer)
    found["price"] = None if offer is None else round(offer.price * copies, 6)
    del found["price_per_hour"]
    likely, low = speed["tokens_per_s"], speed["tokens_per_s_low"]
    for end, rate in (("", likely), ("_low", low)):
        price = found["price"]
        found[f"tokens_per_s_per_price{end}"] = round(rate / price, 6) if rate and price else None
        hourly = price and rate and question.pay == HOUR
        found[f"price_per_million_tokens{end}"] = round(cost_per_million_tokens(price, rate), 4) if hourly else None
    return found
