"""What a model costs on a machine: per hour and per million tokens, rented, owned, and against a hosted price."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rackfit.ask.cost_owned import Owning, owned_rows
from rackfit.ask.hosts import machines_of
from rackfit.ask.machines import Machine
from rackfit.ask.prices import HOURLY, OfferWords, machine_offers, wanted_of
from rackfit.ask.question import FitQuestion
from rackfit.ask.speed import speed_one
from rackfit.catalog.read_prices import read_offers
from rackfit.errors import UsageError
from rackfit.fit.verdicts import RUNNING
from rackfit.money.break_even import MONTHS_PER_YEAR, rent_or_hosted
from rackfit.money.figures import above_zero, from_zero
from rackfit.money.offers import OFFER_WORDS, RESTRICTED_TIERS, Applied, Choice, apply
from rackfit.money.owning import HOURS_PER_YEAR
from rackfit.money.tokens import cost_per_million_tokens
from rackfit.speed.domain import BOUND

STATED = "stated"
ONE, ASKED, FULL, PROMPT = "one sequence", "sequences asked", "full batch", "prompt"
NOT_COUNTED = (
    "storage, network and egress are not in these prices unless an offer says so: state them as other costs per month"
)


@dataclass(frozen=True)
class CostQuestion(OfferWords):
    """What a user asks. None: not said; what has a default is echoed with it, and no price has one."""

    fit: FitQuestion
    price: float | None = None
    """Price per hour of the whole machine, instead of the offers on record."""
    utilisation: float = 1.0
    """Share of the paid hours in which the machine works at that speed."""
    other_per_month: float = 0.0
    """What comes beside the rent every month: egress, storage, network."""
    hosted_price: float | None = None
    """A hosted service's price per million output tokens."""
    owning: Owning = field(default_factory=Owning)

    def check(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the figure and what was expected.
        """
        above_zero("utilisation", self.utilisation, 1.0)
        from_zero("other_per_month", self.other_per_month)
        for name in ("price", "hosted_price"):
            value = getattr(self, name)
            if value is not None:
                above_zero(name, value)
        self.owning.check()

    def choice(self, connection: sqlite3.Connection, kind: str = HOURLY) -> Choice:
        """Return which offers of a kind count; a currency of which none is on record may be that of stated prices.

        Raises:
            UnknownNameError: a term, tier, provider or region that no offer has.
            UsageError: no currency code.
        """
        own = (self.currency or "").strip().upper()
        known = connection.execute("select 1 from offers where currency = ?", (own,)).fetchone()
        if own and not known and (len(own) != 3 or not own.isascii() or not own.isalpha()):
            raise UsageError(f"currency = {self.currency!r}: expected three letters, such as USD or EUR")
        found = replace(self, currency=own if known else None)
        return replace(OfferWords.choice(found, connection, kind), currency=own or "USD")


def cost_question(**asked: Any) -> CostQuestion:
    """Return the question that a command, page or function puts, by the names of all its figures; None: not said."""
    said = {name: value for name, value in asked.items() if value is not None}
    own = {one.name for one in fields(Owning)}
    fit = {one.name for one in fields(FitQuestion)}
    parts: tuple[dict[str, Any], ...] = ({}, {}, {})
    for name, value in said.items():
        parts[0 if name in fit else 1 if name in own else 2][name] = value
    return CostQuestion(fit=FitQuestion(**parts[0]), owning=Owning(**parts[1]), **parts[2])


def cost_one(connection: sqlite3.Connection, question: CostQuestion) -> dict[str, Any]:
    """Answer for one model on one machine; of a class of machines for the slowest.

    Args:
        connection: an open catalog.
        question: model and machine as for a fit, prices and shares as stated.

    Returns:
        the speeds with bound, estimate and range; `offers`, the lowest price first, each per hour, per device-hour and
        per million tokens; `owned`, a row per purchase price; what is missing for a figure, and what was assumed.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: a device without the facts that an answer needs.
    """
    question.check()
    fit = question.fit
    if fit.model is None or fit.on is None:
        raise UsageError("cost needs a model and hardware")
    rent, purchase = (question.choice(connection, kind) for kind in ("hourly", "purchase"))
    answer = speed_one(connection, fit)
    machines = machines_of(connection, fit)
    machine = next((one for one in machines if one.shown == answer["hardware"]), machines[0])
    count = machine.devices
    speeds = _speeds(answer) if answer["verdict"] in RUNNING else []
    offers = _offers(connection, question, machine, rent, count)
    rows = [_rented(row, speeds, question) for row in offers]
    lowest = rows[0]["all_per_hour"] if rows else None
    bought = machine_offers(connection, machine, purchase)
    owned = owned_rows(connection, question.owning, machine, bought, count, lowest, question.utilisation)
    for row in owned:
        row["per_million"] = _per_million(row["per_hour"], speeds, question.utilisation)
        row["against_hosted"] = _owned_against_hosted(row, speeds, question.hosted_price)
        row.pop("ownership")
    shown = ("model", "hardware", "accelerator", "precision", "precision_support", "kv_precision", "runtime", "context",
             "layout", "verdict", "reason")  # fmt: skip
    return {
        **{name: answer[name] for name in shown},
        "device_count": count,
        "currency": rent.currency,
        "inputs": _inputs(question, rent),
        "speeds": speeds,
        "offers": rows,
        "offers_left_out": _left_out(connection, machine, rent) if question.price is None else {},
        "owned": owned,
        "missing": _missing(question, answer, rows, owned, speeds, rent),
        "assumptions": _assumptions(question, answer, rows),
    }


def _speeds(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the speeds that costs are computed from: one sequence, what was asked, a full batch, the prompt."""
    names = ("figure", "tokens_per_s", "low", "high", BOUND)
    decode = answer["decode"]
    last = len(decode) - 1
    found = []
    for at, row in enumerate(decode):
        work = ONE if row["sequences"] == 1 else FULL if at == last else ASKED
        found.append({"work": work, "sequences": row["sequences"], **{name: row.get(name) for name in names}})
    if answer.get("prefill"):
        found.append({"work": PROMPT, "sequences": 1, **{name: answer["prefill"].get(name) for name in names}})
    return found


def _offers(
    connection: sqlite3.Connection, question: CostQuestion, machine: Machine, choice: Choice, count: int
) -> list[dict[str, Any]]:
    """Return the hourly prices of a machine: the stated one, else every offer on record that counts."""
    if question.price is not None:
        return [
            offer_row(None, count) | {"price_per_hour": question.price, "currency": choice.currency,
                                      "price_per_device_hour": question.price / count, "basis": STATED}
        ]  # fmt: skip
    return [offer_row(applied, count) for applied in machine_offers(connection, machine, choice)]


def offer_row(applied: Applied | None, count: int) -> dict[str, Any]:
    """Return one hourly offer as the columns of an answer; all None without one."""
    names = ("offer_id", "provider", "product", "region", "term", "tier", "price_kind", "currency", "valid_from",
             "valid_until", "includes", "confidence", "source_id", "origin", "flag")  # fmt: skip
    offer = applied.offer if applied else None
    return {
        "price_per_hour": applied.price if applied else None,
        "price_per_device_hour": applied.price / count if applied else None,
        **{name: getattr(offer, name, None) for name in names},
        "basis": applied.basis if applied else None,
    }


def _rented(row: dict[str, Any], speeds: Sequence[dict[str, Any]], question: CostQuestion) -> dict[str, Any]:
    """Return an offer with what it comes to: the price, and other costs of the month spread over its hours."""
    price = row["price_per_hour"] + question.other_per_month * MONTHS_PER_YEAR / HOURS_PER_YEAR
    against = []
    for speed in speeds if question.hosted_price is not None else ():
        if speed["work"] != PROMPT and question.hosted_price is not None:
            even = rent_or_hosted(price, question.hosted_price, speed["tokens_per_s"])
            against.append({"work": speed["work"], "sequences": speed["sequences"], **shown_break_even(even)})
    return {
        **row,
        "all_per_hour": price,
        "per_million": _per_million(price, speeds, question.utilisation),
        "against_hosted": against,
    }


def _owned_against_hosted(
    row: dict[str, Any], speeds: Sequence[dict[str, Any]], hosted: float | None
) -> list[dict[str, Any]]:
    from rackfit.money.break_even import own_or_hosted

    if row["ownership"] is None or hosted is None:
        return []
    return [
        {"work": speed["work"], "sequences": speed["sequences"],
         **shown_break_even(own_or_hosted(row["ownership"], hosted, speed["tokens_per_s"]))}
        for speed in speeds if speed["work"] != PROMPT
    ]  # fmt: skip


def shown_break_even(even: Any) -> dict[str, Any]:
    """Return a break-even as columns: share of hours, hours and tokens per month; all None where no use is enough."""
    return {
        "utilisation": even.utilisation if even else None,
        "hours_per_month": even.hours_per_month if even else None,
        "tokens_per_month": even.tokens_per_month if even else None,
        "reachable": bool(even and even.reachable),
    }


def _per_million(price: float | None, speeds: Sequence[dict[str, Any]], utilisation: float) -> list[dict[str, Any]]:
    """Return what a million tokens costs at each speed: likely, at the ends of the range, and at the bound."""
    if price is None:
        return []

    def at(speed: float | None) -> float | None:
        return cost_per_million_tokens(price, speed, utilisation) if speed else None

    return [
        {
            "work": row["work"],
            "sequences": row["sequences"],
            "figure": row["figure"],
            "likely": at(row["tokens_per_s"]),
            "low": at(row["high"]),
            "high": at(row["low"]),
            BOUND: at(row[BOUND]),
        }
        for row in speeds
    ]


def _left_out(connection: sqlite3.Connection, machine: Machine, choice: Choice) -> dict[str, int]:
    """Count the hourly offers of the same machine that do not count, by the first reason."""
    wanted = wanted_of(machine)
    if wanted is None:
        return {}
    found: Counter[str] = Counter()
    listed = [one for one in read_offers(connection, kind="hourly", accelerator_id=wanted.accelerator_id)
              if apply(one, wanted) is not None]  # fmt: skip
    own = [one for one in listed if machine.system_id is not None and one.system_id == machine.system_id]
    for offer in own or listed:
        if choice.allows(offer):
            continue
        if offer.flag is not None:
            found["flagged"] += 1
        elif offer.currency != choice.currency:
            found["other currency"] += 1
        elif replace(choice, term=None).allows(offer):
            found["other term"] += 1
        elif offer.tier in RESTRICTED_TIERS and not choice.tier:
            found["restricted tier"] += 1
        else:
            found["other tier, provider, region or date"] += 1
    return dict(found)


def _inputs(question: CostQuestion, choice: Choice) -> dict[str, Any]:
    """Return everything that was stated or taken as a default, ready to be edited and asked again."""
    return {
        **{name: getattr(choice, name) for name in OFFER_WORDS},
        "price": question.price,
        "utilisation": question.utilisation,
        "other_per_month": question.other_per_month,
        "hosted_price": question.hosted_price,
        **question.owning.shown(),
    }


def _missing(
    question: CostQuestion, answer: dict[str, Any], rows: list[Any], owned: list[Any], speeds: list[Any], choice: Choice
) -> list[str]:
    """Return what has no figure, and what would give it one."""
    said = []
    if not speeds:
        fits = answer["verdict"] in RUNNING
        said.append(f"no price of tokens: {'no speed can be said' if fits else 'the model does not fit as asked'}")
    if not rows:
        term = f" {choice.term}" if choice.term else ""
        found = f"no{term} offer in {choice.currency} on record for this machine"
        said.append(f"{found}: state a price per hour (price), or ask for another term")
    if not owned:
        said.append(f"no purchase price in {choice.currency} on record for this machine: state one (purchase_price)")
    said += dict.fromkeys(text for row in owned for text in row["missing"])
    if question.owning.discount_rate is not None and not rows:
        said.append("no rent to compare with, so no net present value")
    return said


def _assumptions(question: CostQuestion, answer: dict[str, Any], rows: list[Any]) -> list[str]:
    share = question.utilisation
    said = [
        f"utilisation {share:g}: the machine works at that speed in {share:.0%} of the hours that are paid",
        "a million tokens: those that the machine writes; tokens of prompts are priced apart, as the work 'prompt'",
        "low and high follow from the range of the speed; bound is the price at the speed that nothing exceeds",
        NOT_COUNTED if not question.other_per_month else "other costs of a month are spread over its 730 hours",
    ]
    if question.owning.kwh_price is not None:
        said.append("owned hour: purchase / (years x 8760) + power x PUE x price per kWh + overheads per year / 8760")
    if question.hosted_price is not None:
        said.append("against hosted: output tokens only; a rented machine is paid around the clock")
    if any("x the price of one machine" in (row["basis"] or "") for row in rows):
        said.append("several machines: the network between them is not in their price")
    return [*said, *answer["assumptions"]]
