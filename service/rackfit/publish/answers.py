"""Live figures for SQL functions and pages: names resolved, records read once, the same arithmetic as the matrix."""

from __future__ import annotations

import sqlite3
from functools import cached_property
from pathlib import Path
from typing import Any

from rackfit.ask import figures
from rackfit.ask.choices import budgets_of, choose_cache
from rackfit.ask.question import Subject, find_model
from rackfit.catalog.connect import open_catalog
from rackfit.catalog.context import Context, read_context
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UsageError
from rackfit.fit.cell import engine_cache
from rackfit.memory.domain import Layout, Precision
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.kv_cache import CacheShape, request_cache
from rackfit.memory.precision_names import parse_precision
from rackfit.memory.shared_pool import stored_caches
from rackfit.memory.token_pools import with_window_pool
from rackfit.memory.weights import weights_bytes

KINDS = ("accelerator", "system", "model", "checkpoint", "precision", "runtime", "interconnect")
MOST = 2**40
"""Tokens or sequences above this are a slip."""


class Answers:
    """Answers about one catalog file over a connection of its own, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._subjects: dict[str, Subject] = {}
        self._precisions: dict[str, str] = {}
        self._caches: dict[tuple[str, float], CacheShape] = {}
        self._weights: dict[tuple[str, str], int] = {}

    @cached_property
    def connection(self) -> sqlite3.Connection:
        """A second, read-only connection: a function must not query the connection that is calling it."""
        return open_catalog(self.path)

    @cached_property
    def context(self) -> Context:
        """Precisions, engines and support rules."""
        return read_context(self.connection)

    def subject(self, name: str) -> Subject:
        """Return the model of a name.

        Raises:
            UnknownNameError, AmbiguousNameError: from resolution.
        """
        if name not in self._subjects:
            self._subjects[name] = find_model(self.connection, name)
        return self._subjects[name]

    def precision(self, name: str) -> Precision:
        """Return the weight layout of a precision name.

        Raises:
            UnknownNameError: with near names.
        """
        if name not in self._precisions:
            self._precisions[name] = self._precision_id(name)
        return self.context.precisions[self._precisions[name]]

    def _precision_id(self, name: str) -> str:
        if name in self.context.precisions:
            return name
        parsed = parse_precision(name)
        if parsed.weight_id in self.context.precisions:
            return str(parsed.weight_id)
        found = resolve(self.connection, "precision", name)
        if found.id not in self.context.precisions:
            raise UnknownNameError("weight precision", name, parsed.near)
        return found.id

    def weights(self, model: str, precision: str | None) -> int | None:
        """Return the bytes of all weights of a model.

        Without a precision in the checkpoint's own; None where no released format is on record.
        """
        subject = self.subject(model)
        wanted = precision or subject.precision_id
        if wanted is None:
            return None
        chosen = self.precision(wanted)
        key = (model, chosen.precision_id)
        if key not in self._weights:
            self._weights[key] = weights_bytes(subject.anatomy, chosen)
        return self._weights[key]

    def cache(self, model: str, kv_precision: str | None) -> CacheShape:
        """Return the cache of one request of a model as a function of its tokens."""
        subject = self.subject(model)
        _, bits = choose_cache(self.context, kv_precision)
        key = (subject.anatomy.model.model_id, bits)
        if key not in self._caches:
            self._caches[key] = request_cache(subject.anatomy, bits)
        return self._caches[key]

    def kv(self, model: str, kv_precision: str | None, context: int, sequences: int) -> int:
        """Return the bytes that the architecture needs to cache so many requests of so many tokens."""
        tokens, count = whole("context", context), whole("sequences", sequences)
        return round(self.cache(model, kv_precision).bytes(tokens) * count)

    def kv_reserved(self, model: str, kv_precision: str | None, context: int, sequences: int, runtime: str) -> int:
        """Return the bytes that an engine charges for the same tokens: whole blocks, windows plus batches in flight.

        The batch in flight is the engine's default on its smallest class of device.

        Raises:
            UnsupportedError: an engine without memory rules. UsageError and its kinds: a name or count.
        """
        tokens, count = whole("context", context), whole("sequences", sequences)
        budget = self.context.newest_budget(budgets_of(self.connection, self.context, runtime)[0].runtime_id)
        _, bits = choose_cache(self.context, kv_precision)
        anatomy = self.subject(model).anatomy
        shape = stored_caches(anatomy, Layout(), bits, budget)[0]
        batch = min(budget.tiers, key=lambda tier: tier.min_memory_gib).batched_tokens
        rounded = ceil_div(tokens, budget.kv_block_tokens) * budget.kv_block_tokens
        charged = with_window_pool(engine_cache(shape, budget, batch), anatomy.model, budget)
        return round(float(charged.bytes(rounded)) * count)

    def longest(self, model: str, kv_precision: str | None, available: int) -> int | None:
        """Return the longest request whose cache needs at most so many bytes; None where nothing grows with tokens."""
        tokens = float(self.cache(model, kv_precision).tokens_within(float(available)))
        return None if tokens == float("inf") else int(tokens)

    def fit(
        self, model: str, configuration: str, precision: str | None, context: int | None, sequences: int | None
    ) -> dict[str, Any]:
        """Return the whole answer for one model on one machine (see `rackfit fit --json`)."""
        from rackfit.ask.fit import fit_one
        from rackfit.ask.question import FitQuestion

        question = FitQuestion(
            model=model,
            on=configuration,
            precision=precision or None,
            context=None if context is None else whole("context", context),
            sequences=None if sequences is None else whole("sequences", sequences),
        )
        return fit_one(self.connection, question)

    def train(self, model: str, hardware: str, recipe: str | None, length: int | None) -> dict[str, Any]:
        """Return the whole answer for training one model on one machine (see `rackfit train --json`)."""
        from rackfit.ask.train import TrainQuestion, train_one

        question = TrainQuestion(
            model=model,
            on=hardware,
            recipe=recipe or None,
            sequence_length=None if length is None else whole("sequence_length", length),
        )
        return train_one(self.connection, question)

    def name(self, kind: str, text: str) -> str:
        """Return the key of the record that a name of one kind stands for.

        Raises:
            UsageError: no such kind. UnknownNameError, AmbiguousNameError: from resolution.
        """
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
        if kind == "precision":
            return self.precision(text).precision_id
        return resolve(self.connection, kind, text).id


def whole(name: str, value: Any) -> int:
    """Return a count of tokens or sequences.

    Raises:
        UsageError: not a whole number from 1.
    """
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} = {value!r}: expected a whole number from 1") from None
    if (isinstance(value, float) and value != number) or not 1 <= number <= MOST:
        raise UsageError(f"{name} = {value!r}: expected a whole number from 1")
    return number


def decimal(name: str, value: Any) -> float:
    """Return a number.

    Raises:
        UsageError: it is none, or has no end.
    """
    found = figures.decimal(str(value))
    if found is None:
        raise UsageError(f"{name} = {value!r}: expected a number")
    return found
