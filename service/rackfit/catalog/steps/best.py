"""Fill `best_fits`: for each model, precision and workload the smallest and the cheapest shape that does it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rackfit.catalog.read import rows_of

Progress = Callable[[str, int, int], None]

COUNT_AT = {8192: 6, 32768: 7, 131072: 8}
"""Contexts of workloads -> which column of CELLS counts their sequences."""
NO_RANK = 2**31
"""Rank of a shape that is not on offer."""

CELLS = """
    select model_key, precision_key, configuration_key, verdict, margin_bytes, max_context,
           max_sequences_8k, max_sequences_32k, max_sequences_128k
    from inference_cells
    where verdict in ('fits', 'tight')
    order by model_key, precision_key, configuration_key
"""

PRICES = """
    select configuration_id, offer_id, min(price) as price, currency, valid_from from configuration_prices
    where kind = 'hourly' and currency = 'USD' and term_class = 'on-demand'
    group by configuration_id
"""
"""The lowest price on demand: what anybody pays without a commitment and keeps as long as it is paid."""


@dataclass(slots=True)
class Best:
    """The best cells so far for one model, precision and workload, by rank of their shape."""

    smallest: tuple[Any, ...] | None = None
    smallest_rank: int = NO_RANK
    cheapest: tuple[Any, ...] | None = None
    cheapest_rank: int = NO_RANK
    unpriced: int = 0


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the answers."""
    workloads = rows_of(connection, "select workload_id, context, sequences from workloads order by workload_id")
    shapes = _shapes(connection)
    by_size, by_price = _ranks(shapes)
    limits = dict(connection.execute("select model_key, max_context from fit_models join models using (model_id)"))
    best: dict[tuple[int, int, str], Best] = {}
    asked = [(one["workload_id"], one["context"], one["sequences"], COUNT_AT[one["context"]]) for one in workloads]
    for cell in connection.execute(CELLS):
        limit, shape = limits[cell[0]], cell[2]
        for workload_id, context, sequences, at in asked:
            count = cell[at]
            if (limit is not None and limit < context) or (count is not None and count < sequences):
                continue
            key = (cell[0], cell[1], workload_id)
            found = best.get(key)
            if found is None:
                found = best[key] = Best()
            _consider(found, cell, count, by_size[shape], by_price[shape])
    connection.executemany(
        f"insert into best_fits values ({', '.join('?' * 16)})", _rows(best, shapes, _names(connection))
    )
    progress("best fits", len(best), len(best))


def _consider(best: Best, cell: tuple[Any, ...], count: int | None, size: int, price: int) -> None:
    """Keep a cell where its shape ranks before the best so far."""
    if size < best.smallest_rank:
        best.smallest_rank, best.smallest = size, (cell, count)
    if price == NO_RANK:
        best.unpriced += 1
    elif price < best.cheapest_rank:
        best.cheapest_rank, best.cheapest = price, (cell, count)


Shapes = dict[int, tuple[dict[str, Any], dict[str, Any] | None]]


def _ranks(shapes: Shapes) -> tuple[dict[int, int], dict[int, int]]:
    """Rank shapes by memory, devices and name, and by price; shapes that are not on offer have no rank there."""
    size = {
        key: (shape["memory_bytes_summed"], shape["device_count"], shape["configuration_id"])
        for key, (shape, _) in shapes.items()
    }
    cost = {key: (offer["price"], *size[key]) for key, (_, offer) in shapes.items() if offer is not None}
    by_size = {key: rank for rank, key in enumerate(sorted(size, key=lambda key: size[key]))}
    by_price = {key: rank for rank, key in enumerate(sorted(cost, key=lambda key: cost[key]))}
    return by_size, {key: by_price.get(key, NO_RANK) for key in shapes}


def _shapes(connection: sqlite3.Connection) -> Shapes:
    prices = {row["configuration_id"]: row for row in rows_of(connection, PRICES)}
    found = rows_of(connection, "select * from configurations")
    return {row["configuration_key"]: (row, prices.get(row["configuration_id"])) for row in found}


def _names(connection: sqlite3.Connection) -> tuple[dict[int, str], dict[int, str]]:
    return (
        dict(connection.execute("select model_key, model_id from fit_models")),
        dict(connection.execute("select precision_key, precision_id from fit_precisions")),
    )


def _rows(
    best: dict[tuple[int, int, str], Best], shapes: Shapes, names: tuple[dict[int, str], dict[int, str]]
) -> Iterator[tuple[Any, ...]]:
    models, precisions = names
    for (model_key, precision_key, workload_id), answer in best.items():
        for criterion, chosen in (("cheapest", answer.cheapest), ("smallest", answer.smallest)):
            if chosen is None:
                continue
            cell, count = chosen
            shape, offer = shapes[cell[2]]
            yield (
                models[model_key], precisions[precision_key], workload_id, criterion, shape["configuration_id"],
                cell[3], shape["device_count"], shape["memory_bytes_summed"], cell[4], cell[5], count,
                *(offer[name] if offer else None for name in ("offer_id", "price", "currency", "valid_from")),
                answer.unpriced,
            )  # fmt: skip
