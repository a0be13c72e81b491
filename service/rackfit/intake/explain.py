"""A start-up log explained: what the engine printed beside what the catalog's arithmetic predicts, by component.

The estimates are those of `rackfit accuracy`: the log becomes cases, the cases are estimated from their configuration
alone. What the catalog cannot estimate says why; nothing is filled in.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from rackfit.catalog.context import Context, read_context
from rackfit.errors import RackfitError
from rackfit.intake.log_causes import Facts, cause
from rackfit.intake.log_configuration import Configuration, Overrides, configuration_of
from rackfit.intake.log_estimates import Predicted, layered_cache, pool_tokens, predict, setting
from rackfit.intake.log_warnings import impossible, warnings
from rackfit.intake.logs.parsed import COMPONENTS, LEAST, SUM, Log
from rackfit.memory.domain import Budget
from rackfit.memory.kv_cache import CacheShape, stage_caches

HYBRID = "pool tokens derived from concurrency on a hybrid model: not a bytes-per-token rate"
DERIVED = "pool tokens are concurrency x length: a rate only where every layer keeps every token"
LAYERED = ("llama.cpp", "Ollama")
"""Engines that place whole layers."""
LAST_DIGIT = 0.005
"""Half of the last digit that engines print of a concurrency."""
NOT_COMPARED = ("kv_k", "kv_v", "kv_buffer", "state_r", "state_s", "state_buffer")
"""Parts of a component that is compared as a whole."""


def explain(connection: sqlite3.Connection, log: Log, given: Overrides | None = None) -> dict[str, Any]:
    """Return a log's figures beside their estimates.

    Sizes are bytes per device (per rank), of the rank that binds: the smallest pool, the fullest of the rest.
    `difference_bytes` is printed minus predicted.

    Raises:
        UsageError: a name or figure given by the user that cannot be read.
    """
    context = read_context(connection)
    configuration = configuration_of(connection, log, given or Overrides())
    predictions = {name: predict(connection, context, log, configuration, name) for name in log.amounts}
    budget, cache = _known(connection, context, configuration, log)
    facts = Facts(log, configuration, budget, _uniform(cache), _differences(log, predictions))
    assumed = [note for one in predictions.values() for note in one.assumed]
    order = [name for name in COMPONENTS if name in log.amounts]
    return {
        "engine": log.engine,
        "version": log.settings.get("version"),
        "runtime_budget": budget.budget_id if budget else None,
        "configuration": configuration.shown,
        "components": [_component(name, log, predictions[name], facts) for name in order],
        "derived": _derived(connection, context, log, configuration, cache),
        "devices": [
            {
                "rank": one.rank,
                "name": one.name,
                "total_bytes": one.total_bytes,
                "free_bytes": one.free_bytes,
                "used_bytes": impossible(connection, one) or one.free_bytes or one.total_bytes,
            }
            for one in log.devices
        ],
        "warnings": warnings(connection, log),
        "missing": list(configuration.missing.values()),
        "assumptions": list(dict.fromkeys((*configuration.assumptions, *assumed))),
    }


def _known(
    connection: sqlite3.Connection, context: Context, configuration: Configuration, log: Log
) -> tuple[Budget | None, CacheShape | None]:
    """Return the engine's rules and the cache of one request on one device, where they can be known."""
    try:
        found = setting(connection, context, configuration)
    except RackfitError:
        return None, None
    if found.subject is None or "layout" in configuration.missing:
        return found.budget, None
    if log.engine in LAYERED:
        return found.budget, layered_cache(found)
    try:
        budget = found.budget
        shapes = stage_caches(
            found.anatomy, found.layout(), found.kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits
        )
    except RackfitError:
        return found.budget, None
    return budget, max(shapes, key=lambda shape: shape.bytes_per_token)


def _uniform(cache: CacheShape | None) -> bool | None:
    if cache is None:
        return None
    return len(cache.slopes) == 1 and cache.slopes[0][1] is None and not cache.constant


def _differences(log: Log, predictions: dict[str, Predicted]) -> dict[str, float]:
    printed = {name: _printed(log, name) for name in predictions}
    return {name: printed[name] - one.likely for name, one in predictions.items() if one.likely is not None}


def _in_sum(log: Log, component: str) -> bool:
    """Return whether a component is compared over all devices: where layers are spread as the user says."""
    return COMPONENTS[component][1] == SUM or (component == "weights" and log.engine in LAYERED)


def _printed(log: Log, component: str) -> int:
    """Return the figure that is compared: of the binding rank, or the sum over devices."""
    return (log.total(component) if _in_sum(log, component) else log.bound(component)) or 0


def _component(name: str, log: Log, predicted: Predicted, facts: Facts) -> dict[str, Any]:
    printed = _printed(log, name)
    ranks = log.amounts[name]
    inside = predicted.holds(printed)
    rounded = {
        bound: None if size is None else round(size)
        for bound, size in (("likely", predicted.likely), ("low", predicted.low), ("high", predicted.high))
    }
    binding = (min if COMPONENTS[name][1] == LEAST else max)(ranks, key=lambda rank: ranks[rank])
    one_rank = len(ranks) == 1 or not _in_sum(log, name)
    reason = "part of a figure above" if name in NOT_COMPARED else predicted.reason
    return {
        "component": name,
        "label": COMPONENTS[name][0],
        "rank": (binding or None) if one_rank else None,
        "ranks": {rank: size for rank, size in ranks.items() if rank},
        "printed_bytes": printed,
        "predicted_bytes": rounded["likely"],
        "low_bytes": rounded["low"],
        "high_bytes": rounded["high"],
        "difference_bytes": None if rounded["likely"] is None else printed - rounded["likely"],
        "inside_range": inside,
        "cause": cause(name, facts) if inside is False else None,
        "reason": reason,
        "status": "estimate" if log.estimate or name == "graphs_estimated" else "printed",
    }


def _derived(
    connection: sqlite3.Connection,
    context: Context,
    log: Log,
    configuration: Configuration,
    cache: CacheShape | None,
) -> dict[str, Any]:
    """Return what follows from the printed figures: tokens, concurrency, state per sequence, and real rates."""
    found: dict[str, Any] = {}
    if cache is not None:
        found["architecture_bytes_per_token"] = round(cache.bytes_per_token)
        found["architecture_bytes_per_sequence"] = round(cache.constant)
    pool, tokens = log.bound("kv_pool"), log.settings.get("pool_tokens")
    if tokens is not None:
        found |= _pool_facts(log, _uniform(cache))
    if tokens is not None:
        expected = pool_tokens(connection, context, configuration, pool)
        found["predicted_pool_tokens"] = None if expected is None else round(expected)
    state, sequences = log.bound("state"), log.settings.get("state_sequences")
    if state is not None and sequences:
        found["state_bytes_per_sequence"] = round(state / sequences)
        found["state_sequences"] = sequences
    for name in ("layers_placed", "layers_offloaded", "layers_total", "longest_context"):
        if name in log.settings:
            found[name] = log.settings[name]
    return found


def _allocated_by_token(log: Log) -> bool:
    """Return whether the log shows a pool for tokens alone, as SGLang prints it: bytes over tokens is its rate.

    States have a pool of their own, and a windowed pool is a fixed share of the full one's tokens.
    """
    return log.engine == "SGLang" and "kv_pool" in log.amounts


def _pool_facts(log: Log, uniform: bool | None) -> dict[str, Any]:
    """Return the pool's tokens and whether bytes over tokens are a rate."""
    pool, tokens = log.bound("kv_pool"), log.settings["pool_tokens"]
    concurrency, length = log.settings.get("concurrency"), log.settings.get("concurrency_tokens")
    found: dict[str, Any] = {"pool_bytes": pool, "pool_tokens": tokens}
    follows = None
    if concurrency is not None and length is not None:
        product = concurrency * length
        follows = abs(tokens - product) <= LAST_DIGIT * length + 1
        found |= {
            "concurrency": concurrency,
            "concurrency_tokens": length,
            "tokens_from_concurrency": round(product),
            "tokens_follow_concurrency": follows,
        }
    if pool is None or not tokens:
        return found
    found["pool_bytes_over_tokens"] = round(pool / tokens)
    rate = _allocated_by_token(log) or uniform
    found["bytes_over_tokens_is_rate"] = rate
    found["bytes_per_token"] = round(pool / tokens) if rate else None
    if uniform is False and follows is not False and not rate:
        found["note"] = HYBRID
    elif rate is None:
        found["note"] = DERIVED
    return found
