"""What is asked of a plan, with the defaults that are echoed."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

from rackfit.ask import prices
from rackfit.ask.prices import OfferWords
from rackfit.ask.question import FitQuestion, Subject
from rackfit.catalog.read import rows_of
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UsageError

ANY = "any"
"""Precision that stands for every class of the stored matrix."""
SMALLEST, CHEAPEST, PER_WATT, PER_MONEY = "smallest", "cheapest", "per-watt", "per-money"
ORDERS = (SMALLEST, CHEAPEST, PER_WATT, PER_MONEY)
HOUR, PURCHASE = "hour", "purchase"
OFFER_KINDS = {HOUR: prices.HOURLY, PURCHASE: prices.PURCHASE}
"""How one pays -> kind of offer that counts."""
REPLICAS = 8
"""Copies of a configuration side by side where the question sets no limit."""
MOST = 2**30

_WHOLE = ("context", "users", "prompt", "output", "max_devices", "replicas", "limit")
_ABOVE_ZERO = ("tokens_per_second", "ttft", "budget", "power_limit")


@dataclass(frozen=True)
class PlanQuestion(OfferWords):
    """What a user asks. None means that the user did not say."""

    model: str | Subject
    """A name, or a model that was read from a file."""
    context: int | None = None
    """Tokens in the cache of each sequence, prompt and answer together."""
    users: int | None = None
    concurrency: float | None = None
    """Share of the users whose request runs at the same time."""
    headroom: float | None = None
    """Spare sequences on top, as a share of those."""
    tokens_per_second: float | None = None
    """What each sequence is promised while it decodes."""
    ttft: float | None = None
    """Seconds until the first token of a prompt, on a replica that does nothing else."""
    prompt: int | None = None
    output: int | None = None
    """Tokens of an answer: with it, the time that prompts of the other users take is charged."""
    precision: str | None = None
    kv_precision: str | None = None
    runtime: str | None = None
    budget: float | None = None
    pay: str = HOUR
    power_limit: float | None = None
    """Watts of all devices, or of whole machines where a record says what they draw."""
    accelerators: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    max_devices: int | None = None
    replicas: int | None = None
    """Most copies of one configuration side by side."""
    workload: str | None = None
    likely: bool = False
    """Plan by likely figures instead of the low ends."""
    by: str = SMALLEST
    limit: int = 10

    def check(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the first figure, its value and what was expected.
        """
        for name in _WHOLE:
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST:
                raise UsageError(f"{name} = {value}: expected a whole number from 1")
        for name in _ABOVE_ZERO:
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e12:
                raise UsageError(f"{name} = {value}: expected a number above 0")
        if self.concurrency is not None and not 0 < self.concurrency <= 1:
            raise UsageError(f"concurrency = {self.concurrency}: expected a share above 0, at most 1")
        if self.headroom is not None and not 0 <= self.headroom <= 10:
            raise UsageError(f"headroom = {self.headroom}: expected a share from 0, such as 0.2")
        for name, words in (("by", ORDERS), ("pay", (HOUR, PURCHASE))):
            if getattr(self, name) not in words:
                raise UsageError(f"{name} = {getattr(self, name)!r}: expected {', '.join(words)}")

    @property
    def sequences(self) -> int:
        """Sequences that run at the same time: users times the share of them and the headroom, rounded up.

        >>> PlanQuestion("m", users=30, concurrency=0.1).sequences
        3
        >>> PlanQuestion("m", users=30, headroom=0.2).sequences
        36
        """
        share = Decimal(str(1 if self.concurrency is None else self.concurrency))
        share *= 1 + Decimal(str(self.headroom or 0))
        return max(1, int((Decimal(self.users or 1) * share).to_integral_value(ROUND_CEILING)))

    @property
    def most_copies(self) -> int:
        """Copies of a configuration that may stand side by side."""
        return REPLICAS if self.replicas is None else self.replicas

    @property
    def needs_price(self) -> bool:
        """Whether a configuration without a price cannot be an answer."""
        return self.budget is not None or self.provider is not None or self.region is not None

    @property
    def needs_speed(self) -> bool:
        """Whether a configuration of unknown speed cannot be an answer."""
        return self.tokens_per_second is not None or self.ttft is not None

    @property
    def needs_prompt(self) -> bool:
        """Whether the time of a prompt counts."""
        return self.ttft is not None or self.output is not None

    def fit_question(self, precision: str | None) -> FitQuestion:
        """Return the question of memory that is put to each configuration."""
        return FitQuestion(
            model=self.model, precision=precision, kv_precision=self.kv_precision, context=self.context,
            runtime=self.runtime,
        )  # fmt: skip

    def asked(self) -> dict[str, Any]:
        """Return what the user said."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        said["model"] = str(self.model)
        return {name: value for name, value in said.items() if value not in (None, (), False)}


def with_workload(connection: sqlite3.Connection, question: PlanQuestion) -> tuple[PlanQuestion, list[str]]:
    """Return the question with context and users of its workload where the user gave none, and what was assumed.

    Raises:
        UnknownNameError: no workload has that name.
    """
    notes = []
    if question.workload is not None:
        known = {row["workload_id"]: row for row in rows_of(connection, "select * from workloads order by workload_id")}
        row = known.get(question.workload.strip().casefold())
        if row is None:
            raise UnknownNameError("workload", question.workload, list(known))
        question = replace(
            question, context=question.context or row["context"], users=question.users or row["sequences"]
        )  # fmt: skip
        notes.append(f"workload: {row['name']}")
    if question.users is None:
        notes.append("users: 1")
    if question.concurrency is None:
        notes.append("concurrency: 1, every user has a request running")
    if question.replicas is None:
        notes.append(f"replicas: at most {REPLICAS} of one configuration side by side")
    return question, notes


def wanted_devices(connection: sqlite3.Connection, question: PlanQuestion) -> frozenset[str] | None:
    """Return the accelerators that may be used; None for all.

    Raises:
        UnknownNameError: a device or vendor that is not known, with near names.
    """
    chosen: frozenset[str] | None = None
    if question.accelerators:
        names = [resolve(connection, "accelerator", name, allow_class=True).ids for name in question.accelerators]
        chosen = frozenset(key for ids in names for key in ids)
    if question.vendors:
        rows = connection.execute("select vendor, accelerator_id from accelerators").fetchall()
        vendors = {row[0].casefold(): row[0] for row in rows}
        for name in question.vendors:
            if name.strip().casefold() not in vendors:
                raise UnknownNameError("vendor", name, sorted(vendors.values()))
        asked = {name.strip().casefold() for name in question.vendors}
        of_vendors = frozenset(row[1] for row in rows if row[0].casefold() in asked)
        chosen = of_vendors if chosen is None else chosen & of_vendors
    return chosen


def ceil_share(whole: Any, parts: Any) -> Any:
    """Return whole / parts rounded up, for numbers or arrays of whole numbers."""
    return -(-whole // parts)


def largest_copies(limit: float | None, each: float | None) -> float:
    """Return how many of a thing of size `each` lie within a limit; infinite without a limit, 0 where it is unknown.

    >>> largest_copies(10.0, 3.0), largest_copies(None, 3.0), largest_copies(10.0, None)
    (3, inf, 0)
    """
    if limit is None:
        return math.inf
    return 0 if each is None or each <= 0 else math.floor(limit / each + 1e-9)
