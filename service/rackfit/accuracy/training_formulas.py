"""Figures that follow from a document's own formula: model states, activations, the largest model that trains."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

from rackfit.accuracy.cases import Case
from rackfit.accuracy.figures import GB, Figure, around
from rackfit.accuracy.training_models import anatomy_of, params_of
from rackfit.accuracy.training_words import degrees_of
from rackfit.ask.machines import find_machines
from rackfit.ask.question import find_model
from rackfit.errors import RackfitError, UnsupportedError
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Device
from rackfit.memory.training.activations import gpt_layer_bytes, score_ratio
from rackfit.memory.training.domain import Offload, StateBytes
from rackfit.memory.training.offload import StateNeed, deepspeed_zero2, deepspeed_zero3, largest_module, placed
from rackfit.memory.training.recipes import MIXED_ADAM
from rackfit.memory.training.sharding import bytes_per_parameter


def device_of(connection: sqlite3.Connection, case: Case) -> Device | None:
    """Return the device of a case, None where it names none that is known."""
    try:
        return find_machines(connection, case.gpu)[0].device if case.gpu else None
    except RackfitError:
        return None


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
    ends = [
        (need.host if case.quantity == "model_state_gib_cpu" else need.device) / unit
        for need in _state_needs(connection, case)
    ]
    rounding = max(0.02 * ends[0], PRINTED)
    return Figure(ends[0], min(ends) - rounding, max(ends) + rounding)


PRINTED = 0.01
"""Two decimals are printed; the largest layer is printed in whole millions, cut off."""


def _state_needs(connection: sqlite3.Connection, case: Case) -> list[StateNeed]:
    """Return states on device and host: DeepSpeed's estimator where the case names it, else the stage formula.

    Several where the case does not say which version's estimator, the likely one first.
    """
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
            return [deepspeed_zero3(params, largest, per_node, nodes, optimizer, parameters, zero_init)]
        version = re.search(r"deepspeed\D*(\d+)\.(\d+)", said)
        accounts = (False, True) if version is None else ((int(version[1]), int(version[2])) > (0, 15),)
        return [deepspeed_zero2(params, per_node, nodes, optimizer, newer=newer) for newer in accounts]
    shards = degrees.dp if degrees.dp > 1 else degrees.devices
    state = _document_state(case.engine, settings)
    return [StateNeed(params * bytes_per_parameter(state, stage, shards), 0.0)]


def _document_state(document: str, settings) -> StateBytes:  # type: ignore[no-untyped-def]
    """Return the state of a rule of thumb: 16 bytes unless the case says fp32 gradients (18).

    The ZeRO-Infinity paper counts gradients in both widths: 20 bytes (arXiv 2104.07857, section 3).
    """
    if "infinity" in document.casefold():
        return StateBytes(2, 4, 2, 4, 8)
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


def activation_layer(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return the activation bytes of one plain block by the paper's formula."""
    value = _layer_bytes(case, _shape(connection, case))
    return around(value, 0.01 * value)


def _layer_bytes(case: Case, shape: dict[str, int]) -> float:
    return gpt_layer_bytes(
        shape["s"], case.batch or 1, shape["h"], shape["a"], tp=case.tp or 1,
        sequence_parallel=case.settings.get("sp", "false") in ("true", "1"),
        recompute=case.settings.get("recompute", case.settings.get("act_ckpt", "none")),
        flash=case.settings.get("attention", "").startswith("flash"),
    )  # fmt: skip


def ratio(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return 5as/h."""
    shape = _shape(connection, case)
    value = score_ratio(shape["a"], shape["s"], shape["h"])
    return around(value, 0.01 * value)


def _shape(connection: sqlite3.Connection, case: Case) -> dict[str, int]:
    """Return heads, sequence length and width: each by its key, all three as `a s h`, or those of the model named.

    Raises:
        UnsupportedError: one of them is not stated, with its letter.
    """
    names = {"a": ("a", "heads"), "s": ("s", "seq_len"), "h": ("h", "hidden", "d")}
    together = re.findall(r"\d+", case.settings.get("a s h", ""))
    found: dict[str, float | None] = {
        key: next((case.number(word) for word in words if case.number(word)), None) for key, words in names.items()
    }
    if len(together) == len(names):
        found |= {key: float(number) for key, number in zip(names, together, strict=True)}
    found["s"] = found["s"] or case.context
    if case.model and not (found["a"] and found["h"]):
        try:
            anatomy = find_model(connection, case.model).anatomy
        except RackfitError:
            pass
        else:
            found["a"] = found["a"] or max((heads for heads, _ in anatomy.head_counts), default=None)
            found["h"] = found["h"] or anatomy.model.d_model
    missing = [key for key, value in found.items() if not value]
    if missing:
        raise UnsupportedError(f"the formula needs {', '.join(missing)}")
    return {key: int(value or 0) for key, value in found.items()}


def activation_total(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return activation bytes of a plain GPT model by the formula of the document that the case names.

    The ZeRO paper's (section 3.2): about 12 x hidden x batch x sequence x layers values of 16 bits; with checkpoints
    one hidden state per layer and a layer's work. Megatron's (arXiv 2205.05198, equation 5): layers x the bytes of a
    block, on the first stage of a pipeline too, which keeps as many micro-batches as there are stages. In GB.

    Raises:
        UnsupportedError: the case says too little for the formula.
    """
    hidden, layers = case.number("hidden") or case.number("h"), case.number("layers") or case.number("num_layers")
    if case.model and not (hidden and layers):
        model = anatomy_of(connection, case, []).model
        hidden, layers = float(model.d_model), float(model.n_layers)
    if not hidden or not layers or not case.context:
        raise UnsupportedError("the formula needs hidden, layers and sequence length")
    if "megatron" in case.engine.casefold():
        value = layers * _layer_bytes(case, _shape(connection, case))
        return around(value / GB, 0.05 * value / GB)
    tokens = case.context * (case.batch or 1)
    full = case.settings.get("act_ckpt") == "full"
    each = 2.0 * hidden * tokens
    value = each * layers + 12 * each if full else 12 * each * layers
    return Figure(value / GB, 0.7 * value / GB, 1.6 * value / GB)


def largest_trainable(connection: sqlite3.Connection, case: Case) -> Figure:
    """Return the most parameters that train on the devices of the case.

    States take about 78 % of a device in the ZeRO paper's measured sizes (Table 2), 62 % under plain data parallelism,
    whose gradient buckets are whole.

    Raises:
        UnsupportedError: the case names no device, or offloads all states.
    """
    stated = params_of(case.settings.get("theoretical", ""))
    device = device_of(connection, case)
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
    if case.settings.get("theoretical", "").casefold() == "true":
        value = round(device.memory_bytes / GIB) * GB / each * degrees.tp * degrees.pp  # states alone, of the label
        return around(value, 0.02 * value)
    value = share * device.memory_bytes / each * degrees.tp * degrees.pp
    if stated:
        value = stated * share / STATES_OF_LABEL
    split = degrees.tp * degrees.pp > 1
    return Figure(value, (0.6 if split else 0.7) * value, 1.25 * value)


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
