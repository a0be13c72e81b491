"""A purchase list: machines that were named, or those that the wishes leave, each judged for every model asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rackfit.ask.facts import check_words
from rackfit.ask.fit import answer_for
from rackfit.ask.hosts import machines_of
from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.prices import PURCHASE, OfferWords, machine_offers, priced
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.ask.quote_rows import fit_columns, item_rows
from rackfit.catalog.context import Context
from rackfit.catalog.release import newest_release
from rackfit.errors import UsageError
from rackfit.fit.verdicts import RUNNING, WORST_FIRST
from rackfit.money.offers import Applied, Choice

MOST_MODELS = 8
MOST_MACHINES = 40
DEFAULT_LIMIT = 10

_SHAPES = """
select configuration_id from configurations join accelerators using (accelerator_id)
where (:vendor is null or lower(accelerators.vendor) = lower(:vendor))
  and (:segment is null or accelerators.segment = lower(:segment))
  and (:min_memory is null or coalesce(configurations.ram_gb, accelerators.memory_gb) >= :min_memory)
  and (:min_bandwidth is null or accelerators.memory_bandwidth_gb_s >= :min_bandwidth)
  and (:max_power is null or configurations.tdp_w_accelerators <= :max_power)
  and (:max_devices is null or configurations.device_count <= :max_devices)
order by memory_bytes_summed, device_count, configuration_id
"""


@dataclass(frozen=True)
class QuoteQuestion(OfferWords):
    """What a buyer asks. None: not said; defaults of a fit are those of `rackfit fit`.

    `on` names machines; without it the wishes choose among the stored configurations, smallest memory first, those on
    which every model fits. Memory in GB of one device's label, bandwidth in GB/s of one device, power in watts of all
    devices together, price per hour (or once, with `price_kind` purchase) of the whole configuration.
    """

    models: tuple[str | Subject, ...] = ()
    on: tuple[str, ...] = ()
    quantity: int = 1
    context: int | None = None
    sequences: int | None = None
    precision: str | None = None
    kv_precision: str | None = None
    runtime: str | None = None
    vendor: str | None = None
    segment: str | None = None
    min_memory: float | None = None
    min_bandwidth: float | None = None
    max_power: float | None = None
    max_devices: int | None = None
    max_price: float | None = None
    price_kind: str = "hourly"
    limit: int = DEFAULT_LIMIT

    def check(self) -> None:
        """Refuse what means nothing.

        Raises:
            UsageError: naming the first of it and what was expected.
        """
        if not self.models:
            raise UsageError("a quote needs a model: models=NAME, several with commas between")
        if len(self.models) > MOST_MODELS:
            raise UsageError(f"{len(self.models)} models: expected at most {MOST_MODELS}")
        if len(self.on) > MOST_MACHINES:
            raise UsageError(f"{len(self.on)} machines: expected at most {MOST_MACHINES}")
        if self.price_kind not in ("hourly", "purchase"):
            raise UsageError(f"price_kind = {self.price_kind!r}: expected hourly or purchase")
        for name in ("quantity", "max_devices"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 100_000:
                raise UsageError(f"{name} = {value}: expected a whole number from 1 to 100000")
        if not 1 <= self.limit <= MOST_MACHINES:
            raise UsageError(f"limit = {self.limit}: expected 1 to {MOST_MACHINES}")
        for name in ("min_memory", "min_bandwidth", "max_power", "max_price"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e12:
                raise UsageError(f"{name} = {value}: expected a number above 0")

    def fit_question(self, model: str | Subject, on: str | None = None) -> FitQuestion:
        """Return the fit question for one of the models."""
        return FitQuestion(
            model=model, on=on, precision=self.precision, kv_precision=self.kv_precision, context=self.context,
            sequences=self.sequences, runtime=self.runtime,
        )  # fmt: skip

    def asked(self) -> dict[str, Any]:
        """Return what was said, as notes and JSON show it."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shown = {name: list(map(str, value)) if isinstance(value, tuple) else value for name, value in said.items()}
        return {name: value for name, value in shown.items() if value not in (None, [])}


Judged = tuple[Machine, dict[str, dict[str, Any]]]
"""A machine, and the answer for each model by the name that it was asked by."""


@dataclass(frozen=True)
class Prices:
    """Which offers count, for rent and for purchase."""

    hourly: Choice
    purchase: Choice

    def of(self, connection: sqlite3.Connection, machine: Machine) -> dict[str, Applied | None]:
        """Return the lowest price of each kind that a machine has, None where no offer is one of it.

        A system that was named has its own prices and no others: what its devices cost elsewhere is not its price.
        """
        found = {kind: machine_offers(connection, machine, getattr(self, kind)) for kind in ("hourly", "purchase")}
        own = machine.system_id
        return {
            kind: next((one for one in listed if own is None or one.offer.system_id == own), None)
            for kind, listed in found.items()
        }


def quote(connection: sqlite3.Connection, question: QuoteQuestion, explain: bool = True) -> dict[str, Any]:
    """Return the purchase list: `items`, one per device or system to order, each with the answer for every model.

    Prices are what offers on record say, with kind, date and source; where none is a price of the item, it is blank.

    Args:
        connection: an open catalog.
        question: what is asked.
        explain: whether to look, for machines that were named, for what would make a model fit; it takes a while.

    Raises:
        UsageError and its kinds: a name, figure or wish that cannot be read.
        UnsupportedError: hardware or an engine without the facts that an answer needs.
    """
    question.check()
    context = read_context(connection)
    subjects = {str(name): find_model(connection, name) for name in question.models}
    for name in question.models:
        question.fit_question(name).check()
    prices = Prices(question.choice(connection), question.choice(connection, PURCHASE))
    judge = Judge(connection, question, context, subjects)
    judged = judge.named() if question.on else judge.chosen(prices)
    items: list[dict[str, Any]] = []
    for number, (machine, answers) in enumerate(judged, start=1):
        fits = [
            fit_columns(connection, question.fit_question(subjects[name], answer["hardware"]), answer, explain)
            for name, answer in answers.items()
        ]
        shared = {
            "configuration": number,
            "hardware": fits[0]["hardware"],
            "verdict": min((fit["verdict"] for fit in fits), key=WORST_FIRST.index),
        }
        rows = item_rows(connection, machine, prices.of(connection, machine), question.quantity)
        items += [
            {"item": len(items) + place, **shared, **row, "fits": fits} for place, row in enumerate(rows, start=1)
        ]
    release = newest_release(connection)
    return {
        "query": question.asked(),
        "models": [subject.shown for subject in subjects.values()],
        "results": items,
        "unpriced": sum(item["hourly_price_total"] is None and item["purchase_price_total"] is None for item in items),
        "catalog_version": release.version,
        "catalog_hash": release.logical_hash,
    }


@dataclass(frozen=True)
class Judge:
    """The models of a question, ready to be judged on one machine after another."""

    connection: sqlite3.Connection
    question: QuoteQuestion
    context: Context
    subjects: dict[str, Subject]

    def answers(self, machine: Machine) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the answer of each model on a machine."""
        for name, subject in self.subjects.items():
            yield name, answer_for(self.connection, self.question.fit_question(subject), self.context, subject, machine)

    def named(self) -> Iterator[Judged]:
        """Yield the machines that were named; of a class every candidate, so that none is taken silently.

        Raises:
            UsageError: a class of more machines than a list holds.
        """
        for text in self.question.on:
            found = machines_of(self.connection, FitQuestion(on=text))
            if len(found) > MOST_MACHINES:
                raise UsageError(f"{text!r} stands for {len(found)} machines: expected at most {MOST_MACHINES}")
            for machine in found:
                yield machine, dict(self.answers(machine))

    def chosen(self, prices: Prices) -> Iterator[Judged]:
        """Yield the stored configurations that the wishes leave and every model fits, smallest memory first."""
        question, found = self.question, 0
        words = {"vendor": ("vendor", question.vendor), "segment": ("segment", question.segment)}
        check_words(self.connection, "accelerators", words)
        lowest: dict[str, Applied | None] = {}
        if question.max_price is not None:
            lowest = priced(self.connection, getattr(prices, question.price_kind)).by_configuration
        for key in _keys(self.connection, question):
            price = lowest.get(key)
            if question.max_price is not None and (
                price is None or price.price * question.quantity > question.max_price
            ):
                continue
            machine = find_machines(self.connection, key)[0]
            answers: dict[str, dict[str, Any]] = {}
            for name, answer in self.answers(machine):
                if answer["verdict"] not in RUNNING:
                    break
                answers[name] = answer
            if len(answers) == len(self.subjects):
                yield machine, answers
                found += 1
                if found == question.limit:
                    return


def _keys(connection: sqlite3.Connection, question: QuoteQuestion) -> list[str]:
    """Return the stored configurations that the wishes leave, smallest memory first."""
    names = ("vendor", "segment", "min_memory", "min_bandwidth", "max_power", "max_devices")
    return [row[0] for row in connection.execute(_SHAPES, {name: getattr(question, name) for name in names})]
