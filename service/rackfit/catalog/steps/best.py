"""Fill `best_fits`: for each model, precision and workload the smallest and the cheapest shape that does it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rackfit.catalog.read import rows_of

Progress = Callable[[str, int, int], None]

SEQUENCE_COLUMNS = {8192: 0, 32768: 1, 131072: 2}
"""Contexts of workloads -> which of the stored sequence counts answers them."""

CELLS = """
    select model_key, precision_key, configuration_key, verdict, margin_bytes, max_context,
           max_sequences_8k, max_sequences_32k, max_sequences_128k
    from inference_cells
    where verdict in ('fits', 'tight')
    order by model_key, precision_key, configuration_key
"""

PRICES = """
    select accelerator_id, device_count, offer_id, price, currency, valid_from, min(price_micros)
    from offers
    where kind = 'hourly' and currency = 'USD' and flag is null
    group by accelerator_id, device_count
"""
"""The lowest hourly price in one currency, for exactly the counts that are on offer: no price is made up by scaling."""


@dataclass(slots=True)
class Best:
    """The best candidates so far for one model, precision and workload."""

    smallest: tuple[Any, ...] | None = None
    cheapest: tuple[Any, ...] | None = None
    unpriced: int = 0


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the answers."""
    workloads = rows_of(connection, "select workload_id, context, sequences from workloads order by workload_id")
    shapes = _shapes(connection)
    names = _names(connection)
    limits = dict(connection.execute("select model_key, max_context from fit_models join models using (model_id)"))
    best: dict[tuple[int, int, str], Best] = {}
    for cell in connection.execute(CELLS):
        shape = shapes[cell[2]]
        for workload in workloads:
            if _does(cell, workload, limits[cell[0]]):
                _consider(best.setdefault((cell[0], cell[1], workload["workload_id"]), Best()), cell, shape, workload)
    connection.executemany(f"insert into best_fits values ({', '.join('?' * 16)})", _rows(best, names))
    progress("best fits", len(best), len(best))


def _shapes(connection: sqlite3.Connection) -> dict[int, tuple[dict[str, Any], dict[str, Any] | None]]:
    prices = {(row["accelerator_id"], row["device_count"]): row for row in rows_of(connection, PRICES)}
    found = rows_of(connection, "select * from configurations")
    return {row["configuration_key"]: (row, prices.get((row["accelerator_id"], row["device_count"]))) for row in found}


def _names(connection: sqlite3.Connection) -> tuple[dict[int, str], dict[int, str]]:
    return (
        dict(connection.execute("select model_key, model_id from fit_models")),
        dict(connection.execute("select precision_key, precision_id from fit_precisions")),
    )


def _does(cell: tuple[Any, ...], workload: dict[str, Any], limit: int | None) -> bool:
    """Return whether a cell holds the workload's sequences, and the model takes contexts of that length."""
    if limit is not None and limit < workload["context"]:
        return False
    count = cell[6 + SEQUENCE_COLUMNS[workload["context"]]]
    return count is None or count >= workload["sequences"]


def _consider(
    best: Best, cell: tuple[Any, ...], found: tuple[dict[str, Any], dict[str, Any] | None], workload: dict[str, Any]
) -> None:
    shape, offer = found
    count = cell[6 + SEQUENCE_COLUMNS[workload["context"]]]
    size = (shape["memory_bytes_summed"], shape["device_count"], shape["configuration_id"])
    facts = (shape, cell[3], cell[4], cell[5], count, offer)
    if best.smallest is None or size < best.smallest[0]:
        best.smallest = (size, facts)
    if offer is None:
        best.unpriced += 1
        return
    cost = (offer["price"], *size)
    if best.cheapest is None or cost < best.cheapest[0]:
        best.cheapest = (cost, facts)


def _rows(
    best: dict[tuple[int, int, str], Best], names: tuple[dict[int, str], dict[int, str]]
) -> Iterator[tuple[Any, ...]]:
    models, precisions = names
    for (model_key, precision_key, workload_id), answer in best.items():
        for criterion, chosen in (("cheapest", answer.cheapest), ("smallest", answer.smallest)):
            if chosen is None:
                continue
            shape, verdict, margin, longest, count, offer = chosen[1]
            yield (
                models[model_key], precisions[precision_key], workload_id, criterion, shape["configuration_id"],
                verdict, shape["device_count"], shape["memory_bytes_summed"], margin, longest, count,
                *(offer[name] if offer else None for name in ("offer_id", "price", "currency", "valid_from")),
                answer.unpriced,
            )  # fmt: skip
