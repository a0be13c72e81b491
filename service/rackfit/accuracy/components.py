"""One measured case taken apart: every component of the estimate beside what the same run of the source prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rackfit.accuracy.cases import Case
from rackfit.accuracy.quantities import QUANTITIES
from rackfit.accuracy.setting import CaseSetting
from rackfit.errors import RackfitError
from rackfit.memory.budget import GIB

COMPONENTS = (
    ("weights", "weights_gib_per_gpu"),
    ("kv", "kv_gib_needed_per_gpu"),
    ("kv pool", "kv_gib_per_gpu"),
    ("workspace", "activation_peak_gib_per_gpu"),
    ("non-torch", "non_torch_gib_per_gpu"),
    ("graphs", "cuda_graph_gib_per_gpu"),
)
"""Component -> the quantity of the case format that states it, per device in GiB."""

STATED = {"kv pool": ("kv_gib", "kv_gib_per_gpu")}
"""Component -> settings in which a case itself states it, GiB."""

POOL_BYTES = "kv_gib_per_gpu"
POOL_TOKENS = frozenset({"kv_tokens_total", "kv_capacity_tokens"})


@dataclass(frozen=True, slots=True)
class Component:
    """One component on one device, GiB. `printed` is what the same run prints, None where it does not."""

    name: str
    estimate: float
    low: float | None = None
    high: float | None = None
    printed: float | None = None
    printed_by: str | None = None
    """The case that holds the printed figure; None where the case itself states it."""


def run_key(case: Case) -> tuple[Any, ...]:
    """Return what two cases of one run have in common: all of the configuration, nothing of what was measured."""
    return (
        case.model, case.precision, case.kv, case.gpu, case.gpu_count, case.tp, case.pp, case.dp_or_zero,
        case.context, case.batch, case.engine, tuple(sorted(case.settings.items())),
    )  # fmt: skip


def printed_beside(case: Case, cases: Iterable[Case]) -> dict[str, tuple[float, str]]:
    """Return what cases of the same run print: quantity -> (value, case id). The case itself is among them."""
    key = run_key(case)
    wanted = {quantity for _, quantity in COMPONENTS}
    found: dict[str, tuple[float, str]] = {}
    for other in cases:
        if other.quantity in wanted and run_key(other) == key:
            try:
                found[other.quantity] = (float(other.value), other.case_id)
            except ValueError:
                continue
    return found


def components(setting: CaseSetting, cases: Iterable[Case] = ()) -> list[Component]:
    """Return every component that follows from a setting, on the fullest device.

    Args:
        setting: the case as records and numbers.
        cases: where to look for what the same run prints.
    """
    printed = printed_beside(setting.case, cases)
    found = []
    for name, quantity in COMPONENTS:
        try:
            figure = QUANTITIES[quantity](setting)
        except RackfitError:
            continue
        value, origin = printed.get(quantity, (_stated(setting.case, name), None))
        found.append(Component(name, figure.value, figure.low, figure.high, value, origin))
    return found + _limits(setting)


def _stated(case: Case, name: str) -> float | None:
    return next((value for key in STATED.get(name, ()) if (value := case.number(key)) is not None), None)


def _limits(setting: CaseSetting) -> list[Component]:
    """Return what the engine holds beside weights and cache, its total, and what it may use."""
    try:
        cell = setting.cell()
        seen = float(setting.total())
    except RackfitError:
        return []
    return [
        Component("runtime", float(cell.runtime) / GIB),
        Component("outside the budget", float(cell.outside) / GIB),
        Component("total", float(cell.total) / GIB, float(cell.low) / GIB, float(cell.high) / GIB),
        Component("usable", float(cell.usable) / GIB),
        Component("seen by the engine", seen / GIB),
    ]


def card_share(setting: CaseSetting, estimate: float, measured: float) -> float | None:
    """Return how far off a KV pool is as a share of the card's memory (0.04 is 4 %), None for other quantities.

    A pool printed in tokens counts with the bytes that the estimate gives to a token. Raises RackfitError as the
    estimators do.
    """
    quantity = setting.case.quantity
    if quantity == POOL_BYTES:
        return (estimate - measured) * GIB / float(setting.device.memory_bytes)
    if quantity in POOL_TOKENS and estimate:
        pool = QUANTITIES[POOL_BYTES](setting).value * GIB
        return (estimate - measured) / estimate * pool / float(setting.device.memory_bytes)
    return None
