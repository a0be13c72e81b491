"""Estimates of training speed: tokens per second and device, or the TFLOPS that they are."""

from __future__ import annotations

import sqlite3

from rackfit.accuracy.cases import Case
from rackfit.accuracy.figures import Figure
from rackfit.accuracy.training import Told
from rackfit.accuracy.training_models import anatomy_of
from rackfit.accuracy.training_open import lengths_of
from rackfit.accuracy.training_words import degrees_of
from rackfit.ask.machines import find_machines
from rackfit.catalog.read_speed import read_chip, read_mfu_runs
from rackfit.errors import UnsupportedError
from rackfit.memory.anatomy import Anatomy
from rackfit.speed.training_charges import Spread, charged
from rackfit.speed.training_time import RECOMPUTED, TERA, choose_utilisation, model_flops, tokens_per_s

TFLOPS = "train_tflops_per_gpu"


def recompute_word(case: Case) -> str:
    """Return what a case recomputes: full, selective or none."""
    said = (case.settings.get("act_ckpt") or case.settings.get("ac") or "none").casefold()
    return "full" if said.startswith(("full", "true", "all")) else "selective" if said.startswith("sel") else "none"


def counted_flops(case: Case, anatomy: Anatomy, length: int, usual: str) -> float:
    """Return the FLOPs per token that the author of a case counts: `flops` names the convention, else the usual one.

    Hardware FLOPs hold the second forward pass of full recompute: 8 N for 6 N (Korthikanti et al., section 5).
    """
    said = case.settings.get("flops", "").casefold()
    convention = next((name for word, name in CONVENTIONS if word in said), usual)
    done = any(word in said for word in ("hardware", "hfu", "8n"))
    return model_flops(anatomy, length, convention) / (RECOMPUTED[recompute_word(case)] if done else 1.0)


CONVENTIONS = (
    ("causal", "6n_plus_causal_attention"), ("attention", "6n_plus_attention"), ("12", "6n_plus_attention"),
    ("6n", "6n"), ("8n", "6n"),
)  # fmt: skip
"""Word in what an author says of the FLOPs counted -> convention."""


def spread_of(case: Case) -> Spread:
    """Return how a case spreads its job: micro-batches as stated, by the global batch, else as many as stages."""
    degrees = degrees_of(case)
    whole, each = case.number("global_batch"), case.number("micro_batch") or case.batch or 1
    pieces = case.number("pp_microbatches") or (whole / (degrees.dp * each) if whole else degrees.pp)
    interleaved = "interleaved" in case.settings.get("pp_schedule", "").casefold()
    chunks = case.number("vpp") or (2 if interleaved else 1)
    return Spread(degrees.pp, degrees.cp, max(1, int(pieces)), max(1, int(chunks)))


def training_speed(connection: sqlite3.Connection, case: Case) -> Told:
    """Return the estimate of a case of training speed, per device.

    Raises:
        RackfitError: a name that resolves to nothing, or a device without a 16-bit peak on record.
    """
    assumed: list[str] = []
    if not case.gpu:
        raise UnsupportedError("the case names no device")
    anatomy = anatomy_of(connection, case, assumed)
    length = lengths_of(case)[0]
    chip = read_chip(connection, find_machines(connection, case.gpu)[0].device.accelerator_id)
    peak = chip.rates.get("bf16") or chip.rates.get("fp16")
    found = choose_utilisation(
        read_mfu_runs(connection), chip.accelerator_id, anatomy.model.params_active, length, anatomy.has_experts,
        recompute_word(case),
    )  # fmt: skip
    if peak is None or found is None:
        raise UnsupportedError(f"{chip.name}: no 16-bit peak or no published training run on record")
    found = charged(found, spread_of(case))
    flops = model_flops(anatomy, length, found.convention)
    shares = (found.value, found.low, found.high)
    value, low, high = (tokens_per_s(share, peak, flops) for share in shares)
    if case.quantity == TFLOPS:
        counted = counted_flops(case, anatomy, length, found.convention)
        value, low, high = (each * counted / TERA for each in (value, low, high))
    notes = (*assumed, f"estimate: {found.value:.1%} of {peak:g} TFLOPS, {found.basis}")
    return Told(Figure(value, low, high, notes), anatomy.model.model_id, chip.accelerator_id, "bf16")
