"""Fill `training_cells` and `best_training`: four recipes for every model on every accelerator.

A cell is the smallest count up to 64 that fits, data-parallel in one machine, with the least aggressive sharding and
recompute; offload, other lengths, recipes and layouts are computed when they are asked for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from rackfit.catalog.context import Context, read_context
from rackfit.catalog.read import device_of, read_model, rows_of
from rackfit.catalog.read_prices import counting
from rackfit.catalog.release import newest_release
from rackfit.fit.training import usable_bytes
from rackfit.fit.training_matrix import Column, Floats, column, lines_of
from rackfit.fit.verdicts import VERDICTS
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.training.domain import Adapter, Job, Parallel, Recipe
from rackfit.memory.training.lora import WIDE_TARGETS
from rackfit.memory.training.overheads import DEFAULT
from rackfit.memory.training.recipes import ADAPTER_FP32, BITSANDBYTES, METHODS, runs_bitsandbytes, state_of
from rackfit.money.offers import Choice, Offer

Progress = Callable[[str, int, int], None]

RECIPES = ("adam_mixed_16", "adam8bit_bnb_bf16", "lora_bf16", "qlora_nf4")
"""Mixed Adam, bf16 with 8-bit Adam, LoRA and QLoRA of rank 16 on all linear matrices (DESIGN, Tables)."""
RANK = 16
LENGTH = 4096
"""Tokens per sequence, or the model's own limit where that is less."""

MOST_DEVICES = 64
"""Devices of the largest job of the matrix."""


@dataclass(frozen=True, slots=True)
class Devices:
    """All accelerators in the order of their keys."""

    names: list[str]
    room: Floats
    unsure: Floats
    several: Any
    memory: list[int]
    vendors: list[str]


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Write the matrix and the answers."""
    context = read_context(connection)
    devices = _devices(connection)
    with_kernels = numpy.array([runs_bitsandbytes(vendor) for vendor in devices.vendors])
    connection.executemany("insert into training_accelerators values (?, ?)", enumerate(devices.names, 1))
    connection.executemany("insert into training_recipes values (?, ?)", enumerate(RECIPES, 1))
    rows = {row["recipe_id"]: row for row in rows_of(connection, "select * from recipes where section = 'recipe'")}
    models = connection.execute("select model_key, model_id from fit_models order by model_key").fetchall()
    prices = _prices(connection)
    for done, (key, name) in enumerate(models):
        if done % 20 == 0:
            progress("training fits", done, len(models))
        anatomy = Anatomy(read_model(connection, name))
        for recipe_key, recipe_id in enumerate(RECIPES, 1):
            job = stored_job(context, anatomy, rows[recipe_id])
            answers = column(lines_of(job), devices.room, devices.unsure, devices.several)
            able = with_kernels if recipe_id in BITSANDBYTES else numpy.ones(len(devices.names), dtype=bool)
            connection.executemany(INSERT, _cells(key, recipe_key, job.sequence_length, answers, devices, able))
            answers.verdict[~able] = 0
            best = _best(name, recipe_id, answers, devices, prices)
            connection.executemany(f"insert into best_training values ({', '.join('?' * 12)})", best)
    progress("training fits", len(models), len(models))


INSERT = f"insert into training_cells values ({', '.join('?' * 14)})"


def stored_job(context: Context, anatomy: Anatomy, row: dict[str, Any]) -> Job:
    """Return the job that the matrix stores for a model and a row of `recipes`: one sequence on one device."""
    recipe_id = str(row["recipe_id"])
    method, adapter = METHODS.get(recipe_id), None
    state = ADAPTER_FP32 if method else state_of(row, anatomy)
    assert state is not None, f"{recipe_id} gives no bytes per parameter"
    if method:
        base = context.precisions["bf16" if method == "lora" else "bnb_nf4_double"]
        adapter = Adapter(RANK, WIDE_TARGETS, ADAPTER_FP32, base, upcast_outer=method == "qlora")
    length = min(LENGTH, anatomy.model.max_context or LENGTH)
    recipe = Recipe(recipe_id, str(row["name"]), state, method or "full")
    return Job(anatomy, recipe, Parallel(), DEFAULT, length, 1, adapter=adapter)


def _devices(connection: sqlite3.Connection) -> Devices:
    rows = rows_of(
        connection,
        "select * from accelerators where fit_memory_bytes is not null and status = 'released' order by accelerator_id",
    )
    found = [device_of(row) for row in rows]
    room = numpy.array([usable_bytes(device) for device in found])
    spread = numpy.array([device.memory_spread for device in found])
    several = numpy.array([bool(row["multi_device"]) for row in rows])
    names = [device.accelerator_id for device in found]
    return Devices(
        names,
        room,
        room * spread,
        several,
        [device.memory_bytes for device in found],
        [device.vendor for device in found],
    )


def _cells(
    model_key: int, recipe_key: int, length: int, answers: Column, devices: Devices, able: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one model and recipe; devices that have no kernels for it have none."""
    choices, batches = answers.choice.tolist(), answers.micro_batch.tolist()
    fields = zip(
        answers.verdict.tolist(), answers.count.tolist(), choices, answers.allocated.tolist(), devices.room.tolist(),
        batches, strict=True,
    )  # fmt: skip
    for number, (verdict, count, choice, allocated, room, batch) in enumerate(fields, 1):
        if not able[number - 1]:
            continue
        line = answers.lines[choice]
        reserved = allocated * line.slack
        driver = reserved + line.context
        shown = 1 if line.single else int(count)
        most = max(int(batch), 1) if verdict else 0
        yield (
            model_key, recipe_key, number, VERDICTS[verdict], shown, line.zero, line.recompute, length,
            round(allocated), round(reserved), round(driver), round(driver + line.spread * allocated), round(room),
            most,
        )  # fmt: skip


def _prices(connection: sqlite3.Connection) -> dict[str, list[Offer]]:
    """Return the offers of each accelerator on demand, cheapest first; products of too many devices are left out."""
    found: dict[str, list[Offer]] = {}
    for offer in counting(connection, Choice(date=newest_release(connection).date)):
        if offer.device_count <= MOST_DEVICES:
            found.setdefault(offer.accelerator_id, []).append(offer)
    for offers in found.values():
        offers.sort(key=lambda offer: (offer.price, offer.device_count, offer.offer_id))
    return found


def _best(
    model: str, recipe: str, answers: Column, devices: Devices, prices: dict[str, list[Offer]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the smallest way to train (by memory of all devices, then count) and the cheapest that is on offer.

    More data-parallel devices than needed fit as well, so any offer of at least the smallest count will do.
    """
    smallest: tuple[Any, ...] | None = None
    cheapest: tuple[Any, ...] | None = None
    counts, verdicts = answers.count.tolist(), answers.verdict.tolist()
    for at, name in enumerate(devices.names):
        if not verdicts[at]:
            continue
        count = int(counts[at])
        size = (count * devices.memory[at], count, name, verdicts[at])
        smallest = size if smallest is None or size < smallest else smallest
        for offer in prices.get(name, []):
            if offer.device_count >= count:
                price = (offer.price, name, offer, count, verdicts[at], devices.memory[at])
                cheapest = price if cheapest is None or price[:2] < cheapest[:2] else cheapest
                break
    if smallest is not None:
        summed, count, name, verdict = smallest
        yield (model, recipe, "smallest", name, count, count, VERDICTS[verdict], summed, None, None, None, None)
    if cheapest is not None:
        _, name, offer, count, verdict, memory = cheapest
        yield (
            model, recipe, "cheapest", name, offer.device_count, count, VERDICTS[verdict], offer.device_count * memory,
            offer.offer_id, offer.price, offer.currency, offer.valid_from,
        )  # fmt: skip
