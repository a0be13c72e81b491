"""Training cases: the figure that a case asks for, under its framework's rules, with its range."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from rackfit.accuracy.cases import Case
from rackfit.accuracy.figures import GB, MB, Figure, around
from rackfit.accuracy.training_head import HEAD_ONLY, head_only
from rackfit.accuracy.training_jobs import Reading, read_case
from rackfit.accuracy.training_models import anatomy_of, params_of
from rackfit.accuracy.training_words import degrees_of
from rackfit.ask.machines import find_machines
from rackfit.ask.question import find_model
from rackfit.catalog.context import Context
from rackfit.errors import RackfitError, UnsupportedError
from rackfit.fit.training import Footprint, footprint, refusal, usable_bytes
from rackfit.fit.training_held import held_params, layout_of
from rackfit.fit.training_search import HOST_SHARE
from rackfit.memory.budget import GIB, MIB
from rackfit.memory.domain import Device
from rackfit.memory.training.activations import gpt_layer_bytes, score_ratio
from rackfit.memory.training.domain import Offload, StateBytes
from rackfit.memory.training.lora import frozen_bytes
from rackfit.memory.training.offload import StateNeed, deepspeed_zero2, deepspeed_zero3, largest_module, placed
from rackfit.memory.training.recipes import MIXED_ADAM
from rackfit.memory.training.sharding import bytes_per_parameter

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
    device = _device(connection, case)
    if case.settings.get("method") == HEAD_ONLY:
        return Told(head_only(case, device), accelerator_id=None if device is None else device.accelerator_id)
    reading = read_case(connection, context, case)
    found = [_footprint(job) for job in reading.jobs]
    shown = None if device is None else device.accelerator_id
    if case.quantity == "fits":
        return Told(_fits(case, found, device, reading), reading.model_id, shown, reading.precision_id)
    pick, unit = _measure(case, reading, device)
    if case.settings.get("phase", "").startswith("after") or case.quantity.startswith("weights_"):
        figure = _after_init(reading, unit)
    else:
        count = degrees_of(case).devices if case.quantity.endswith("_total") else 1
        values = [pick(one) * count / unit for one in found]
        spread = reading.jobs[0].rules.spread
        figure = Figure(values[0], min(values) * (1 - spread), max(values) * (1 + spread), reading.assumed)
    return Told(figure, reading.model_id, shown, reading.precision_id)


def _footprint(job):  # type: ignore[no-untyped-def]
    reason = refusal(job)
    if reason:
        raise UnsupportedError(reason)
    return footprint(job)


def _device(connection: sqlite3.Connection, case: Case) -> Device | None:
    try:
        return find_machines(connection, case.gpu)[0].device if case.gpu else None
    except RackfitError:
        return None


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


def _params(connection: sqlite3.Connection, case: Case) -> float:
    stated = params_of(case.params)
    if stated is not None:
        return stated
    if not case.model:
        raise UnsupportedError("the case names neither model nor parameter count")
    alone = params_of(case.model)
    return alone if alone is not None else float(find_model(connection, case.model).anatomy.model.params_total)


def model_state(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return bytes of model states per device by the accounting of the document that the case names."""
    unit = GIB if "_gib_" in case.quantity else GB
    need = _state_need(connection, case)
    value = (need.host if case.quantity == "model_state_gib_cpu" else need.device) / unit
    return around(value, 0.01 * value)


def _state_need(connection: sqlite3.Connection, case: Case) -> StateNeed:
    """Return states on device and host: DeepSpeed's estimator where the case names it, else the stage formula."""
    params, degrees, settings = _params(connection, case), degrees_of(case), case.settings
    said = f"{case.engine} {settings.get('method', '')} {case.dp_or_zero}".casefold()
    stage = int(settings.get("stage") or degrees.stage)
    nodes = int(case.number("nodes") or 1)
    per_node = max(1, degrees.devices // nodes)
    optimizer, parameters = _offloads(settings)
    if "deepspeed" in said or "estimat" in said or case.quantity == "model_state_gib_cpu" or optimizer or parameters:
        if stage == 3:
            largest = params_of(settings.get("largest_layer", "")) or _largest(connection, case)
            zero_init = settings.get("zero_init", "1").casefold() not in ("0", "false")
            return deepspeed_zero3(params, largest, per_node, nodes, optimizer, parameters, zero_init)
        version = re.search(r"deepspeed\D*(\d+)\.(\d+)", said)
        newer = version is not None and (int(version[1]), int(version[2])) > (0, 15)
        return deepspeed_zero2(params, per_node, nodes, optimizer, newer=newer)
    shards = degrees.dp if degrees.dp > 1 else degrees.devices
    state = _document_state(settings)
    return StateNeed(params * bytes_per_parameter(state, stage, shards), 0.0)


def _document_state(settings) -> StateBytes:  # type: ignore[no-untyped-def]
    """Return the state of a rule of thumb: 16 bytes unless the case says fp32 gradients (18)."""
    if settings.get("grad_reduce") == "fp32" or settings.get("optimizer") == "adam_fp32_grad":
        return StateBytes(2, 4, 0, 4, 8)
    return MIXED_ADAM


def _offloads(settings) -> tuple[bool, bool]:  # type: ignore[no-untyped-def]
    both = settings.get("offload", "").casefold()
    optimizer = settings.get("offload_optimizer", "none").casefold() not in ("none", "false", "0")
    parameters = settings.get("offload_param", "none").casefold() not in ("none", "false", "0")
    return optimizer or "optim" in both or both in ("cpu", "all"), parameters or "param" in both or both == "all"


def _largest(connection: sqlite3.Connection, case: Case) -> float:
    try:
        return float(largest_module(find_model(connection, case.model).anatomy))
    except RackfitError:
        return 0.0


def activation_layer(_: sqlite3.Connection, case: Case) -> Figure:
    """Return the activation bytes of one plain block by the paper's formula."""
    shape = _shape(case)
    value = gpt_layer_bytes(
        shape["s"], case.batch or 1, shape["h"], shape["a"], tp=case.tp or 1,
        sequence_parallel=case.settings.get("sp", "false") in ("true", "1"),
        recompute=case.settings.get("recompute", case.settings.get("act_ckpt", "none")),
        flash=case.settings.get("attention", "").startswith("flash"),
    )  # fmt: skip
    return around(value, 0.0)


def ratio(_: sqlite3.Connection, case: Case) -> Figure:
    """Return 5as/h."""
    shape = _shape(case)
    return around(score_ratio(shape["a"], shape["s"], shape["h"]), 0.0)


def _shape(case: Case) -> dict[str, int]:
    names = {"a": ("a", "heads"), "s": ("s", "seq_len"), "h": ("h", "hidden", "d")}
    found = {
        key: next((case.number(word) for word in words if case.number(word)), None) for key, words in names.items()
    }
    found["s"] = found["s"] or case.context
    missing = [key for key, value in found.items() if not value]
    if missing:
        raise UnsupportedError(f"the formula needs {', '.join(missing)}")
    return {key: int(value or 0) for key, value in found.items()}


def activation_total(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return activation bytes of a plain GPT model as the ZeRO paper counts them (section 3.2).

    About 12 x hidden x batch x sequence x layers values of 16 bits; with checkpoints one hidden state per layer and a
    layer's work.
    """
    hidden, layers = case.number("hidden") or case.number("h"), case.number("layers")
    if case.model and not (hidden and layers):
        model = anatomy_of(connection, case, []).model
        hidden, layers = float(model.d_model), float(model.n_layers)
    if not hidden or not layers or not case.context:
        raise UnsupportedError("the formula needs hidden, layers and sequence length")
    tokens = case.context * (case.batch or 1)
    full = case.settings.get("act_ckpt") == "full"
    each = 2.0 * hidden * tokens
    value = each * layers + 12 * each if full else 12 * each * layers
    return Figure(value / GB, 0.7 * value / GB, 1.6 * value / GB)


def largest_trainable(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return the most parameters that train on the devices of the case.

    States take about 78 % of a device in the ZeRO paper's measured sizes (Table 2), 62 % under plain data parallelism,
    whose gradient buckets are whole.
    """
    stated = params_of(case.settings.get("theoretical", ""))
    device = _device(connection, case)
    if device is None:
        raise UnsupportedError("the case names no device")
    degrees = degrees_of(case)
    shards = degrees.dp if degrees.dp > 1 else degrees.devices
    share = STATES_SHARE if degrees.stage or any(_offloads(case.settings)) else PLAIN_SHARE
    optimizer, parameters = ("cpu" if moved else "none" for moved in _offloads(case.settings))
    here, _ = placed(MIXED_ADAM, degrees.stage, shards, Offload(optimizer, parameters))
    each = sum(here.values())
    if not each:
        raise UnsupportedError("no states on the device: host and NVMe bound the size")
    value = share * device.memory_bytes / each * degrees.tp * degrees.pp
    if stated:
        value = stated * share / STATES_OF_LABEL
    return Figure(value, 0.7 * value, 1.25 * value)


STATES_SHARE, PLAIN_SHARE, STATES_OF_LABEL = 0.78, 0.62, 0.95
"""Shares of a device that states take in measured sizes; the last: of what a label of decimal gigabytes says."""


FORMULAS: dict[str, Callable[[sqlite3.Connection, Case], Figure]] = {
    "model_state_gb_per_gpu": model_state,
    "model_state_gib_per_gpu": model_state,
    "model_state_gib_cpu": model_state,
    "activation_bytes_per_layer": activation_layer,
    "ratio_5as_over_h": ratio,
    "activation_gb_total": activation_total,
    "activation_gb_per_gpu": activation_total,
    "max_trainable_params_measured": largest_trainable,
}
"""Quantities that follow from a document's own formula."""
