"""Training cases: the figure that a case asks for, under its framework's rules, with its range."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from rackfit.accuracy.cases import Case
from rackfit.accuracy.figures import GB, MB, Figure
from rackfit.accuracy.training_formulas import FORMULAS, device_of
from rackfit.accuracy.training_head import HEAD_ONLY, head_only
from rackfit.accuracy.training_jobs import Reading, read_case
from rackfit.accuracy.training_words import degrees_of
from rackfit.catalog.context import Context
from rackfit.errors import UnsupportedError
from rackfit.fit.training import Footprint, footprint, refusal, usable_bytes
from rackfit.fit.training_held import held_params, layout_of
from rackfit.fit.training_search import HOST_SHARE
from rackfit.memory.budget import GIB, MIB
from rackfit.memory.domain import Device
from rackfit.memory.training.domain import Job
from rackfit.memory.training.lora import frozen_bytes

BINARY_GB = frozenset({"qwen", "deepspeed", "transformers", "peft", "axolotl", "alst"})
"""Frameworks whose tables say GB and divide by 2^30."""
RESERVED_ALONE = frozenset({"torchtitan"})
"""Frameworks whose logs print reserved memory and nothing else."""
METHODS = ("method", "optimizer", "trainable", "act_ckpt", "ac")
"""Settings that only a training run has."""
QUANTITIES = frozenset({"peak_active_gib_per_gpu", "peak_reserved_gib_per_gpu"})
"""Quantities of training runs alone, beside those of `FORMULAS`."""
UNITS = (("gib", GIB), ("mib", MIB), ("gb", GB), ("mb", MB))
"""Word in a quantity's name -> its bytes."""
ANSWERED = re.compile(
    r"fits|(peak(_active|_reserved)?|weights)_(gib|mib|gb|mb)_(per_gpu|total)|nvidia_smi_used_mib_per_gpu"
)
"""Quantities that follow from a job's bytes."""


def is_training(case: Case) -> bool:
    """Return whether a case is of a training run: its kind or quantity says so, or a verdict's settings do."""
    if case.quantity in SPEEDS:
        return False
    trains = any(key in case.settings for key in METHODS) or bool(case.dp_or_zero)
    return (
        case.kind == "K3" or case.quantity in QUANTITIES or case.quantity in FORMULAS or (case.kind == "K6" and trains)
    )


SPEEDS = frozenset({"tokens_per_s", "train_tflops_per_gpu"})


@dataclass(frozen=True, slots=True)
class Told:
    """An estimate of a training case with the records that it rests on."""

    figure: Figure
    model_id: str | None = None
    accelerator_id: str | None = None
    precision_id: str | None = None


def tell(connection: sqlite3.Connection, context: Context, case: Case) -> Told:
    """Return the estimate of a training case in its own unit.

    Raises:
        RackfitError: what the case names and the catalog does not know, or a quantity without an estimator.
    """
    if case.problem and not case.problem.startswith("batch = "):
        raise UnsupportedError(case.problem)
    if case.quantity in FORMULAS:
        return Told(FORMULAS[case.quantity](connection, case))
    if ANSWERED.fullmatch(case.quantity) is None:
        raise UnsupportedError(f"quantity {case.quantity!r} is not known of training runs")
    device = device_of(connection, case)
    if case.settings.get("method") == HEAD_ONLY:
        return Told(head_only(case, device), accelerator_id=None if device is None else device.accelerator_id)
    reading = read_case(connection, context, case)
    found = [_footprint(job) for job in reading.jobs]
    shown = None if device is None else device.accelerator_id
    if case.quantity == "fits":
        return Told(_fits(case, found, device, reading), reading.model_id, shown, reading.precision_id)
    pick, unit = _measure(case, reading, device)
    apart = [_footprint(job) for job in reading.beside]
    if case.settings.get("phase", "").startswith("after") or case.quantity.startswith("weights_"):
        figure = _after_init(reading, unit)
    else:
        count = degrees_of(case).devices if case.quantity.endswith("_total") else 1
        values = [pick(one) * count / unit for one in found]
        ends = values + [pick(one) * count / unit for one in apart]
        if not _says_what_it_measures(case, reading):
            ends += [size * count / unit for one in found for size in (one.allocated, one.driver)]
        low, high = _spreads(reading.jobs[0])
        figure = Figure(values[0], min(ends) * (1 - low), max(ends) * (1 + high), reading.assumed)
    return Told(figure, reading.model_id, shown, reading.precision_id)


def _footprint(job):  # type: ignore[no-untyped-def]
    reason = refusal(job)
    if reason:
        raise UnsupportedError(reason)
    return footprint(job)


def _as_seen(held: float, freeable: float, room: float) -> float:
    """Return what is printed: with blocks of earlier batches, but no more than the device has where that suffices."""
    return max(held, min(held + freeable, room))


def _measure(case: Case, reading: Reading, device: Device | None) -> tuple[Callable[[Footprint], float], float]:
    """Return which of the three figures the case means, and its unit in bytes."""
    room = float("inf") if device is None else usable_bytes(device)
    prints = {"allocated": "allocated", "active": "allocated", "reserved": "reserved"}.get(
        case.settings.get("measure", ""), reading.jobs[0].rules.prints
    )
    unit = next((size for word, size in UNITS if f"_{word}_" in case.quantity), GIB)
    if case.quantity == "nvidia_smi_used_mib_per_gpu":
        prints = "driver"
    elif "reserved" in case.quantity:
        prints = "reserved"
    elif "active" in case.quantity:
        prints = "allocated"
    elif case.quantity == "peak_gib_per_gpu" and reading.jobs[0].rules.name not in RESERVED_ALONE:
        prints = "allocated" if prints != "driver" else prints
    if "_gb_" in case.quantity:
        unit = GIB if reading.jobs[0].rules.name in BINARY_GB and "1e9" not in case.unit else GB
    picks: dict[str, Callable[[Footprint], float]] = {
        "allocated": lambda one: one.allocated,
        "reserved": lambda one: _as_seen(one.reserved, one.freeable, room),
        "driver": lambda one: _as_seen(one.driver, one.freeable, room),
    }
    return picks[prints], unit


def _spreads(job: Job) -> tuple[float, float]:
    """Return the relative spreads below and above; code that writes attention out copies more than scores."""
    low = job.rules.spread
    high = low if job.rules.spread_high is None else job.rules.spread_high
    return (low, high) if job.flash else (low, max(high, WRITTEN_OUT))


WRITTEN_OUT = 0.25
"""BERT large by Transformers 4.27, batches of 1 and 4: 19 % under-counted at most (its docs, model_memory_anatomy)."""


def _says_what_it_measures(case: Case, reading: Reading) -> bool:
    """Return whether a figure is known to be allocated, reserved or the driver's: by its name, source or framework."""
    named = any(word in case.quantity for word in ("active", "reserved", "nvidia", "_gib_"))
    return named or "measure" in case.settings or reading.jobs[0].rules.name not in AMBIGUOUS


AMBIGUOUS = frozenset({"transformers", "deepspeed", "axolotl", "unsloth", "ms-swift", "colossalchat"})
"""Frameworks about which people report whichever of the three figures is at hand."""


def _after_init(reading: Reading, unit: float) -> Figure:
    """Return what lies on a device when the model is built: weights and adapters, no gradients."""
    job = reading.jobs[0]
    held = max(one.total for one in held_params(job))
    if job.adapter is None:
        value = held * job.recipe.state.weights
    else:
        value = frozen_bytes(job.anatomy, job.adapter.base, layout_of(job), job.adapter.upcast_outer)
    return Figure(value / unit, 0.93 * value / unit, 1.1 * value / unit, reading.assumed)


def _fits(case: Case, found: list[Footprint], device: Device | None, reading: Reading) -> Figure:
    """Return 1 where reserved bytes and the driver's context fit the device, and what moves away a stated host."""
    if device is None:
        raise UnsupportedError("the case names no device")
    room, ram = usable_bytes(device), case.number("host_gib")
    ranks = degrees_of(case).devices
    if ram is not None and min(one.host_bytes for one in found) * ranks > HOST_SHARE * ram * GIB:
        return Figure(0.0, 0.0, 0.0, reading.assumed)
    answer = float(min(one.driver for one in found) <= room)
    sure = float(max(one.driver * (1 + one.spread) for one in found) <= room)
    return Figure(answer, min(sure, answer), max(sure, answer), reading.assumed)
