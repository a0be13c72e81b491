"""How long a training run takes: tokens per second and days, with the range of published runs."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from rackfit.catalog.read_speed import read_chip, read_mfu_runs
from rackfit.errors import UnsupportedError, UsageError
from rackfit.memory.anatomy import Anatomy
from rackfit.speed.domain import ESTIMATE
from rackfit.speed.training_charges import Spread, charged
from rackfit.speed.training_time import RECOMPUTED, choose_utilisation, days, model_flops, tokens_per_s

WHOLE = Spread()


@dataclass(frozen=True, slots=True)
class HostWork:
    """What a step of one device spends on states that live on the host."""

    seconds: float
    tokens: float
    """Tokens that one device trains in a step."""
    note: str

    def slowed(self, rate: float) -> float:
        """Return tokens per second where nothing of it is hidden behind the arithmetic."""
        return self.tokens / (self.tokens / rate + self.seconds)


def training_time(
    connection: sqlite3.Connection,
    anatomy: Anatomy,
    accelerator_id: str,
    devices: int,
    sequence_length: int,
    recompute: str = "none",
    tokens: float | None = None,
    spread: Spread = WHOLE,
    host: HostWork | None = None,
) -> dict[str, Any]:
    """Return the speed of full training, all devices alike, and the days that so many tokens take.

    Args:
        connection: an open catalog.
        anatomy: the model.
        accelerator_id: the device.
        devices: how many of them.
        sequence_length: tokens of a sequence.
        recompute: none, selective or full.
        tokens: tokens of the run; None: the speed alone.
        spread: pipeline stages, micro-batches and ranks that share a sequence.
        host: what a step spends on states that live on the host.

    Raises:
        UsageError: a figure or word that means nothing.
        UnsupportedError: no 16-bit peak, or no published run on record.
    """
    for name, figure in (("devices", devices), ("sequence_length", sequence_length), ("tokens", tokens)):
        if figure is not None and figure < 1:
            raise UsageError(f"{name} = {figure:g}: expected a number from 1")
    if recompute not in RECOMPUTED:
        raise UsageError(f"recompute = {recompute!r}: expected {', '.join(RECOMPUTED)}")
    chip = read_chip(connection, accelerator_id)
    peak = chip.rates.get("bf16") or chip.rates.get("fp16")
    found = choose_utilisation(
        read_mfu_runs(connection), accelerator_id, anatomy.model.params_active, sequence_length, anatomy.has_experts,
        recompute,
    )  # fmt: skip
    if peak is None or found is None:
        raise UnsupportedError(f"{chip.name}: no 16-bit peak or no published training run on record")
    found = charged(found, spread)
    flops = model_flops(anatomy, sequence_length, found.convention)
    value, low, high = (tokens_per_s(share, peak, flops) for share in (found.value, found.low, found.high))
    basis = found.basis
    if host is not None:
        value, low, high = host.slowed(value), host.slowed(low), high
        basis += f"; {host.note}"
    answer: dict[str, Any] = {
        "figure": ESTIMATE,
        "tokens_per_s": round(value * devices, 1),
        "low": round(low * devices, 1),
        "high": round(high * devices, 1),
        "tokens_per_s_per_device": round(value, 1),
        "model_flops_per_token": flops,
        "flop_convention": found.convention,
        "dense_tflops": peak,
        "utilisation": round(found.value, 4),
        "basis": basis,
    }
    if tokens is not None:
        answer |= {
            "tokens": tokens,
            "days": days(tokens, devices, value),
            "days_low": days(tokens, devices, high),
            "days_high": days(tokens, devices, low),
        }
    return answer
