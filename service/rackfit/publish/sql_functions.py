"""SQL functions of the catalog: the same registration serves Datasette and `rackfit sql`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rackfit.fit.verdicts import WORST_FIRST
from rackfit.publish.answers import Answers
from rackfit.publish.errors_in_sql import explained
from rackfit.publish.sql_money import money_functions
from rackfit.publish.sql_speed import speed_functions

GIB = 2**30
GB = 10**9


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function as people call it: name, number of arguments (-1: some may be left out), signature, meaning."""

    name: str
    arguments: int
    signature: str
    meaning: str
    call: Callable[..., Any]


def gib(size: float | None) -> float | None:
    """Return bytes as GiB (2^30), two decimals."""
    return None if size is None else round(float(size) / GIB, 2)


def gb(size: float | None) -> float | None:
    """Return bytes as GB (10^9), two decimals."""
    return None if size is None else round(float(size) / GB, 2)


def verdict_rank(verdict: str | None) -> int | None:
    """Return a number that sorts verdicts: fits 3, tight 2, no 1, cannot_run 0."""
    return WORST_FIRST.index(verdict) if verdict in WORST_FIRST else None


def _nothing_from_nothing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Answer null for a null or empty first argument: a join that found no model stays empty."""

    def guarded(*arguments: Any) -> Any:
        if not arguments or arguments[0] is None or arguments[0] == "":
            return None
        return call(*arguments)

    return guarded


def functions(answers: Answers) -> tuple[SqlFunction, ...]:
    """Return the functions that answer about one catalog."""

    def fit_json(model: str, configuration: str, *rest: Any) -> str:
        precision, context, sequences = (*rest, None, None, None)[:3]
        return json.dumps(answers.fit(model, configuration, precision, context, sequences))

    def train_json(model: str, hardware: str, *rest: Any) -> str:
        recipe, length = (*rest, None, None)[:2]
        return json.dumps(answers.train(model, hardware, recipe, length))

    def resolve_name(kind: str, name: str | None) -> str | None:
        return answers.name(kind, str(name)) if name not in (None, "") else None

    return (
        SqlFunction("gib", 1, "gib(bytes)", "bytes as GiB (2^30), two decimals", gib),
        SqlFunction("gb", 1, "gb(bytes)", "bytes as GB (10^9), two decimals", gb),
        SqlFunction("verdict_rank", 1, "verdict_rank(verdict)", "sorts verdicts, 3 fits to 0 cannot_run", verdict_rank),
        SqlFunction(
            "weights_bytes", 2, "weights_bytes(model, precision)",
            "bytes of all weights; precision null: the checkpoint's own, null where none is on record",
            _nothing_from_nothing(answers.weights),
        ),
        SqlFunction(
            "kv_bytes", 4, "kv_bytes(model, kv_precision, context, sequences)",
            "bytes that the architecture caches for these tokens, whole model", _nothing_from_nothing(answers.kv),
        ),
        SqlFunction(
            "kv_reserved_bytes", 5, "kv_reserved_bytes(model, kv_precision, context, sequences, runtime)",
            "bytes that an engine charges for the same tokens, on one device",
            _nothing_from_nothing(answers.kv_reserved),
        ),
        SqlFunction(
            "max_tokens", 3, "max_tokens(model, kv_precision, bytes)",
            "longest request whose cache needs at most so many bytes", _nothing_from_nothing(answers.longest),
        ),
        SqlFunction(
            "fit_json", -1, "fit_json(model, configuration, precision, context, sequences)",
            "the whole answer as JSON; the last three may be left out", _nothing_from_nothing(fit_json),
        ),
        SqlFunction(
            "train_json", -1, "train_json(model, hardware, recipe, sequence_length)",
            "how the model can be trained there, as JSON; the last two may be left out",
            _nothing_from_nothing(train_json),
        ),
        *(
            SqlFunction(name, -1, signature, meaning, _nothing_from_nothing(call))
            for name, signature, meaning, call in (*speed_functions(answers), *money_functions(answers))
        ),
        SqlFunction(
            "resolve_name", 2, "resolve_name(kind, name)",
            "key of the record that a name stands for: model, accelerator, system, precision, ...", resolve_name,
        ),
    )  # fmt: skip


def register_functions(connection: sqlite3.Connection, catalog_path: str | Path) -> None:
    """Register every function on a connection to a catalog.

    A failure reads as one line through `errors_in_sql.error_text`; the trace that Datasette lets SQLite print is off.
    """
    sqlite3.enable_callback_tracebacks(False)
    for function in functions(Answers(Path(catalog_path))):
        connection.create_function(
            function.name, function.arguments, explained(function.call, function.name), deterministic=True
        )
