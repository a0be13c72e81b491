"""`rackfit cost`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import Figure, catalog_option, json_option, opened, price_options, with_options
from rackfit.cli.running import LAYOUT, SUBJECT, show_subject
from rackfit.cli.showing import show_json, show_table
from rackfit.cli.taking import Wanted, output_option

MONEY = Figure(min=0, min_open=True)
FROM_ZERO = Figure(min=0)
SHARE = Figure(0, 1, min_open=True)
MOST_SHOWN = 12
"""Offers in a table for people; --json has all."""

_MONEY = (
    click.option("--price", type=MONEY, help="Price per hour of the whole machine, instead of offers on record"),
    click.option("--utilisation", type=SHARE, default=1.0, show_default=True, help="Share of the hours that work"),
    click.option("--other-per-month", type=FROM_ZERO, help="Beside the rent: egress, storage, network  [default: 0]"),
    click.option("--hosted-price", type=MONEY, help="A hosted service's price per million output tokens"),
)
_OWNING = (
    click.option("--purchase-price", type=MONEY, help="Of the whole machine, instead of offers on record"),
    click.option("--life-years", type=MONEY, help="Years that the purchase is spread over  [default: 4]"),
    click.option("--kwh-price", type=FROM_ZERO, help="Price of a kWh; without it, no cost of an owned hour"),
    click.option("--pue", type=MONEY, help="Power of the room over that of the machine  [default: 1]"),
    click.option("--power-watts", type=MONEY, help="Power at work  [default: the system's maximum, else rated power]"),
    click.option("--idle-power", type=Figure(0, 1), help="Share of it drawn when idle  [default: 1]"),
    click.option("--overheads", type=FROM_ZERO, help="Per year: room, staff, maintenance  [default: 0]"),
    click.option("--residual", type=FROM_ZERO, help="Worth at the end of its life  [default: 0]"),
    click.option("--discount-rate", type=FROM_ZERO, help="Per year, 0.1 for 10 %: adds the net present value"),
)
_OFFERS = {
    "per_hour": "per hour",
    "per_device_hour": "per device-hour",
    "all_per_hour": "with other costs",
    "provider": "provider",
    "product": "product",
    "region": "region",
    "term": "term",
    "tier": "tier",
    "valid_from": "date",
}
_OWNED = {
    "purchase": "purchase",
    "price_kind": "kind",
    "valid_from": "date",
    "capital_per_hour": "capital/h",
    "energy_per_working_hour": "energy/h",
    "per_hour": "per hour",
    "per_device_hour": "per device-hour",
    "from_use": "beats renting from",
    "payback": "payback",
}


@click.command(short_help="Price per hour and per million tokens; own, rent or hosted")
@with_options(SUBJECT, LAYOUT, _MONEY)
@price_options
@with_options(_OWNING)
@output_option
@json_option
@catalog_option
def cost(output: Wanted | None, as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Say what MODEL costs on HARDWARE: per hour, per device-hour and per million tokens, rented and owned.

    Every amount is in one currency, that of --currency. Prices are dated offers on record, or stated; where there is
    none, there is no figure. Speeds are estimates with their range, and so are prices of tokens.

    \b
    rackfit cost Qwen3-32B --on "2x a100-sxm4-80gb" --utilisation 0.5
    rackfit cost Llama-3.1-70B --on "8x h100-sxm5" --term spot --kwh-price 0.15 --pue 1.3
    rackfit cost Qwen3-8B --on "2x rtx-4090" --term any -o cost.xlsx
    rackfit cost Qwen3-8B --on rtx-4090 --currency EUR --purchase-price 1800 --kwh-price 0.30 --hosted-price 0.40
    """
    from rackfit.ask.cost import cost_one, cost_question

    with opened(catalog) as connection:
        answer = cost_one(connection, cost_question(**asked))
        if output is not None:
            from rackfit.export.cost_table import cost_table

            output.write(connection, cost_table(connection, answer), {"asked": asked})
            return
    show_json(answer) if as_json else _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    currency = answer["currency"]
    show_subject(answer)
    for line in answer["missing"]:
        click.echo(f"missing: {line}", color=False)
    if answer["offers"]:
        click.echo(f"\nrented, {currency}", color=False)
        _show_offers(answer["offers"])
    if answer["offers_left_out"]:
        left = ", ".join(f"{count} {reason}" for reason, count in answer["offers_left_out"].items())
        click.echo(f"left out: {left}", color=False)
    if answer["owned"]:
        click.echo(f"\nowned, {currency}", color=False)
        rows = [{**row, **_compared(row)} for row in answer["owned"]]
        show_table(rows[:MOST_SHOWN], _OWNED)
        click.echo(f"power: {_watts(answer['owned'][0])}", color=False)
    _show_tokens(answer)
    _show_hosted(answer)
    click.echo("\nassumed", color=False)
    stated = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                       for name, value in answer["inputs"].items() if value is not None)  # fmt: skip
    click.echo(f"- inputs: {stated}", color=False)
    for note in answer["assumptions"]:
        click.echo(f"- {note}", color=False)


def _watts(row: Mapping[str, Any]) -> str:
    return f"{row['power_watts']:,.0f} W, {row['power_basis']}" if row["power_watts"] else row["power_basis"]


def _show_offers(offers: Sequence[Mapping[str, Any]]) -> None:
    rows = [{**row, "per_hour": row["price_per_hour"], "per_device_hour": row["price_per_device_hour"]}
            for row in offers]  # fmt: skip
    if offers[0]["basis"] == "stated":
        rows[0]["provider"] = "stated"
    others = any(row["all_per_hour"] != row["price_per_hour"] for row in rows)
    show_table(rows[:MOST_SHOWN], {name: text for name, text in _OFFERS.items() if others or name != "all_per_hour"})
    if len(rows) > MOST_SHOWN:
        click.echo(f"and {len(rows) - MOST_SHOWN} more: --json has all", color=False)


def _compared(row: Mapping[str, Any]) -> dict[str, str]:
    """Return in words from which use on an owned machine beats the lowest rent."""
    against = row["against_rent"]
    if against is None:
        return {}
    used, years = against["utilisation"], against["payback_years"]
    words = "never" if used is None else f"{used:.0%} of hours" if used <= 1 else f"never ({used:.0%})"
    return {"from_use": words, "payback": "never" if years is None else f"{years:.1f} years"}


def _lines(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the price of a million tokens of the lowest offer and of the lowest owned hour, by work."""
    owned = [row for row in answer["owned"] if row["per_hour"] is not None]
    for name, rows in (("rented", answer["offers"]), ("owned", owned)):
        for row in rows[0]["per_million"] if rows else ():
            yield {"way": name, **row}


def _show_tokens(answer: Mapping[str, Any]) -> None:
    rows = list(_lines(answer))
    if not rows:
        return
    click.echo(f"\n{answer['currency']} per million tokens at the lowest price (estimates)", color=False)
    show_table(rows, {"way": "way", "work": "work", "sequences": "sequences", "likely": "likely", "low": "low",
                      "high": "high", "bound": "bound"})  # fmt: skip


def _show_hosted(answer: Mapping[str, Any]) -> None:
    hosted = answer["inputs"]["hosted_price"]
    if hosted is None:
        return
    rows = []
    owned = [row for row in answer["owned"] if row["per_hour"] is not None]
    for name, listed in (("rented around the clock", answer["offers"]), ("owned", owned)):
        for row in listed[0]["against_hosted"] if listed else ():
            used, tokens = row["utilisation"], row["tokens_per_month"]
            words = "never" if used is None else f"{used:.0%} of hours" if row["reachable"] else f"never ({used:.0%})"
            rows.append({"way": name, "work": row["work"], "sequences": row["sequences"], "from": words,
                         "tokens": f"{tokens / 1e6:,.0f} million" if tokens and row["reachable"] else ""})  # fmt: skip
    if rows:
        click.echo(f"\nbeats {hosted:g} {answer['currency']} per million hosted output tokens", color=False)
        show_table(rows, {"way": "way", "work": "work", "sequences": "sequences", "from": "from",
                          "tokens": "tokens per month"})  # fmt: skip
