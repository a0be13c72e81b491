"""The estimate beside each printed component: the scoreboard's own estimators, asked with the log's configuration."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import estimate_case
from rackfit.accuracy.setting import CaseSetting, setting_of
from rackfit.catalog.context import Context
from rackfit.errors import RackfitError
from rackfit.intake.log_configuration import Configuration
from rackfit.intake.logs.parsed import Log
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Layout
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.kv_cache import CacheShape, request_cache
from rackfit.memory.weights import outer_bytes

EXACT = 0.02
"""Half-width of what follows from the architecture alone."""
CELL_MULTIPLE = 256
MICRO_BATCH = 512
"""Tokens of llama.cpp's micro-batch where the log states none: its default."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """An estimate in bytes with its range, or the reason why there is none."""

    likely: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    assumed: tuple[str, ...] = ()

    def holds(self, printed: int) -> bool | None:
        """Return whether the printed figure lies in the range; None without an estimate."""
        if self.low is None or self.high is None:
            return None
        return self.low <= printed <= self.high


@dataclass(frozen=True, slots=True)
class Quantity:
    """How a component is estimated: its quantity in the case format and what that needs to know."""

    name: str
    kind: str = "K1"
    needs: tuple[str, ...] = ("model", "precision")


DEVICE = ("model", "precision", "device")
SERVED = {
    "device_total": Quantity("usable_total_gib", "K5", ("device",)),
    "device_free": Quantity("free_before_load_gib", "K5", ("device",)),
    "weights": Quantity("weights_gib_per_gpu"),
    "consumed": Quantity("weights_plus_nontorch_gib_per_gpu"),
    "non_torch": Quantity("non_torch_gib_per_gpu"),
    "activation": Quantity("activation_peak_gib_per_gpu", needs=DEVICE),
    "graphs": Quantity("cuda_graph_gib_per_gpu"),
    "graphs_estimated": Quantity("cuda_graph_gib_per_gpu"),
    "free_after_load": Quantity("avail_after_load_gib", needs=DEVICE),
    "kv_pool": Quantity("kv_gib_per_gpu", "K2", DEVICE),
    "kv_needed": Quantity("kv_gib_needed_per_gpu", "K2"),
}
"""Components of engines that serve whole models from devices (vLLM, SGLang, TensorRT-LLM and their kind)."""
SPREAD = {
    "weights": Quantity("weights_gib_per_gpu"),
    "compute": Quantity("activation_peak_gib_per_gpu", needs=DEVICE),
    "file_size": Quantity("file_gib", "K4"),
}
"""Components of llama.cpp: weights are compared in sum, as its split over devices is the user's."""


def quantities(engine: str) -> dict[str, Quantity]:
    """Return the components of an engine that the case format has a quantity for."""
    return SPREAD if engine in ("llama.cpp", "Ollama") else SERVED


def predict(
    connection: sqlite3.Connection, context: Context, log: Log, configuration: Configuration, component: str
) -> Predicted:
    """Return the estimate of one component."""
    if component in OWN:
        return _own(connection, context, log, configuration, component)
    quantity = quantities(log.engine).get(component)
    if quantity is None:
        return Predicted(reason="no rule for this figure is on record")
    needs = quantity.needs if component.startswith("device_") else (*quantity.needs, "layout")
    if (why := _lacking(configuration, needs)) is not None:
        return Predicted(reason=why)
    if component in ("weights", "compute") and (why := _partly(log)) is not None:
        return Predicted(reason=why)
    row = configuration.row(quantity.name, kind=quantity.kind, plain_device=component.startswith("device_"))
    if log.engine in ("llama.cpp", "Ollama") and component != "compute":
        row = {**row, "gpu": None, "gpu_count": 1, "tp": None, "pp": None}
    found = estimate_case(connection, context, parse_case(_texts(row)))
    if found.estimate is None or found.low is None or found.high is None:
        return Predicted(reason=found.reason)
    return Predicted(found.estimate * GIB, found.low * GIB, found.high * GIB, None, found.assumed)


def pool_tokens(
    connection: sqlite3.Connection, context: Context, configuration: Configuration, pool: int | None
) -> float | None:
    """Return the tokens that a printed pool holds by the architecture, None where something is not known.

    Where no pool is printed in bytes, these are the tokens of the pool that the engine's rules give.
    """
    if _lacking(configuration, ("model", "precision", "layout")) is not None:
        return None
    row = configuration.row("kv_tokens_total", kind="K2")
    printed = None if pool is None else f"kv_gib={pool / GIB:.6f}"
    stated = ";".join(part for part in (row["other_config"], printed) if part)
    found = estimate_case(connection, context, parse_case(_texts({**row, "other_config": stated})))
    return found.estimate


def setting(connection: sqlite3.Connection, context: Context, configuration: Configuration) -> CaseSetting:
    """Return the configuration as the arithmetic sees it.

    Raises:
        RackfitError: something that the arithmetic cannot read, with its name.
    """
    return setting_of(connection, context, parse_case(_texts(configuration.row("weights_gib_per_gpu"))))


def _texts(row: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in row.items() if value is not None}


def _lacking(configuration: Configuration, needs: tuple[str, ...]) -> str | None:
    return next((configuration.missing[name] for name in needs if name in configuration.missing), None)


def _partly(log: Log) -> str | None:
    """Return why a whole model's figure cannot stand beside a partly offloaded one."""
    placed, total = log.settings.get("layers_offloaded"), log.settings.get("layers_total")
    if placed is not None and total is not None and placed < total:
        return f"{placed} of {total} layers are on devices: which tensors these are is not printed"
    return None


def _own(
    connection: sqlite3.Connection, context: Context, log: Log, configuration: Configuration, component: str
) -> Predicted:
    needs = {"budget": (), "weights_host": ("model", "precision")}.get(component, ("model",))
    if (why := _lacking(configuration, needs)) is not None:
        return Predicted(reason=why)
    try:
        found = setting(connection, context, configuration)
        value, assumed = OWN[component](found, log)
    except RackfitError as error:
        return Predicted(reason=str(error))
    except LookupError as error:
        return Predicted(reason=str(error.args[0]))
    return Predicted(value, value * (1 - EXACT), value * (1 + EXACT), None, assumed)


def layered_cache(found: CaseSetting) -> CacheShape:
    """Return the cache of one request over the whole model."""
    return request_cache(found.anatomy, found.kv_bits, found.budget.state_bits, found.budget.conv_bits)


def _llama_kv(found: CaseSetting, log: Log) -> tuple[float, tuple[str, ...]]:
    """Return the cells that llama.cpp allocates, in bytes: the context over its slots, windows rounded up to 256.

    Source: runtime_rules (llama.cpp server): window cells = pad256(min(n_ctx, window x slots + ubatch)) where slots
    share one cache; else each slot has its own part of the context.
    """
    tokens = found.case.context
    if tokens is None:
        raise LookupError("context: the log states none; give --context")
    slots = found.case.batch or 1
    unified = bool(log.settings.get("unified", False))
    streams, windows = (1, slots) if unified else (slots, 1)
    cells = tokens // streams
    step = int(log.settings.get("micro_batch", MICRO_BATCH))
    total = 0.0
    for slope, cap in layered_cache(found).slopes:
        kept = cells if cap is None else min(cells, ceil_div(cap * windows + step, CELL_MULTIPLE) * CELL_MULTIPLE)
        total += slope * kept * streams
    assumed = () if "micro_batch" in log.settings else (f"micro-batch: {MICRO_BATCH} tokens",)
    return total, assumed


def _state(found: CaseSetting, log: Log) -> tuple[float, tuple[str, ...]]:
    """Return the recurrent state of all sequences; SGLang keeps one more slot than it prints, for padding."""
    sequences = log.settings.get("state_sequences") or found.case.batch
    if sequences is None:
        raise LookupError("sequences: the log states none; give --sequences")
    slots = sequences + 1 if log.engine == "SGLang" else sequences
    return layered_cache(found).constant * slots, ()


def _host_weights(found: CaseSetting, log: Log) -> tuple[float, tuple[str, ...]]:
    """Return what llama.cpp keeps on the host with every layer on a device: the token embedding."""
    placed, total = log.settings.get("layers_offloaded"), log.settings.get("layers_total")
    if placed is None or placed != total:
        raise LookupError("not every layer is on a device: which tensors these are is not printed")
    return outer_bytes(found.anatomy, found.layout_precision, Layout())[0], ()


def _budget(found: CaseSetting, log: Log) -> tuple[float, tuple[str, ...]]:
    """Return the share of the memory printed."""
    total, share = log.bound("device_total"), found.case.number("gpu_memory_utilization")
    if total is None or share is None:
        raise LookupError("the device's memory and its share are not both printed")
    return share * total, ()


OWN: dict[str, Callable[[CaseSetting, Log], tuple[float, tuple[str, ...]]]] = {
    "kv": _llama_kv,
    "state": _state,
    "weights_host": _host_weights,
    "budget": _budget,
}
"""Components without a quantity of their own in the case format."""
