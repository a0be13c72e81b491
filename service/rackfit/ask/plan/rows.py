"""One row per configuration that meets a plan: both limits, speed with its range, watts and money."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from rackfit.ask.plan.candidates import Candidates
from rackfit.ask.plan.choose import Chosen
from rackfit.ask.plan.figures import SPEED, money_figures, per_watt, speed_figures
from rackfit.ask.plan.options import Array, Option
from rackfit.ask.plan.question import MOST, ceil_share
from rackfit.ask.plan.serving import find_serving
from rackfit.ask.setting import Setting
from rackfit.ask.speed_run import find_run
from rackfit.errors import UnsupportedError
from rackfit.fit.verdicts import FITS, TIGHT, VERDICTS
from rackfit.memory.budget import tier_sizes
from rackfit.memory.domain import Layout

MEMORY, LATENCY = "memory", "latency"


def rows_for(candidates: Candidates, chosen: Chosen, numbers: list[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of some of the options that meet the plan, by number of the option."""
    if not numbers:
        return {}
    entries = candidates.entries
    positions = chosen.entry[numpy.array(numbers, dtype=numpy.int64)]
    promised, likely = (_latency(candidates, positions, likely) for likely in (False, True))
    rows = {}
    for at, number in enumerate(numbers):
        entry = int(positions[at])
        limits = {
            "memory_sequences": _count(entries.sure[entry]),
            "memory_sequences_likely": _count(entries.likely[entry]),
            "latency_sequences": _count(promised[at]),
            "latency_sequences_likely": _count(likely[at]),
        }
        rows[number] = _row(candidates, number, entries.layouts[entry], int(chosen.copies[number]), limits)
    return rows


def _latency(candidates: Candidates, positions: Array, likely: bool) -> Array:
    """Return the sequences that the promises of speed allow one copy of each entry, whatever its memory."""
    most: Array = numpy.full(len(positions), MOST)
    if not candidates.question.needs_speed:
        return most
    question = replace(candidates.question, likely=likely)
    serving, known = find_serving(candidates.records, question, candidates.entries.kept(positions))
    found = numpy.zeros_like(most)
    if serving is not None:
        found[known] = serving.limit(most[known])
    return found


def _count(value: Any) -> int | None:
    """Return a number of sequences; None for what has no limit."""
    return None if value >= MOST else int(value)


def _row(
    candidates: Candidates, number: int, layout: Layout, copies: int, limits: dict[str, int | None]
) -> dict[str, Any]:
    question, option = candidates.question, candidates.options[number]
    each = ceil_share(question.sequences, copies)
    shape, setting = option.shape, option.setting
    speed = _speed(candidates, setting, layout, each)
    return {
        "configuration": shape["configuration_id"],
        "label": shape["label"] if copies == 1 else f"{copies} x ({shape['label']})",
        "copies": copies,
        "devices": shape["device_count"] * copies,
        "nodes": shape["node_count"] * copies,
        "accelerator": shape["accelerator_id"],
        "precision": setting.choice.precision_id,
        "precision_support": setting.choice.support,
        "kv_precision": setting.kv_id,
        "runtime": setting.budget.runtime_id,
        "tp": layout.tp,
        "pp": layout.pp,
        "ep": layout.ep,
        "dp": layout.dp,
        "verdict": _verdict(option, each, limits["memory_sequences"]),
        "sequences": question.sequences,
        "sequences_each": each,
        **limits,
        "limit": _binding(limits, question.likely),
        "engine_sequences": _engine_limit(setting) * layout.dp,
        **speed,
        "memory_bytes_summed": shape["memory_bytes_summed"] * copies,
        "accelerator_w": _times(shape["tdp_w_accelerators"], copies),
        "system_w": _times(shape["system_w"], copies),
        **per_watt(speed, _times(shape["tdp_w_accelerators"], copies)),
        **money_figures(question, candidates.offers[number], speed, copies),
    }


def _speed(candidates: Candidates, setting: Setting, layout: Layout, each: int) -> dict[str, Any]:
    """Return the figures of speed; all None where a record is missing, with the reason."""
    try:
        run, notes = find_run(candidates.records, setting, layout)
        return speed_figures(candidates.question, run, notes, each)
    except UnsupportedError as error:
        return dict.fromkeys(SPEED) | {"range_reasons": [str(error)]}


def _binding(limits: dict[str, int | None], likely: bool) -> str:
    """Return which of the two limits is the smaller."""
    end = "_likely" if likely else ""
    memory, latency = limits[f"memory_sequences{end}"], limits[f"latency_sequences{end}"]
    if latency is None:
        return MEMORY
    return LATENCY if memory is None or latency < memory else MEMORY


def _verdict(option: Option, each: int, sure: int | None) -> str:
    certain = option.doubt is None and (sure is None or each <= sure)
    return VERDICTS[FITS if certain else TIGHT]


def _engine_limit(setting: Setting) -> int:
    """Return the sequences that the engine runs at a time unless it is told otherwise, on one replica."""
    _, sequences = tier_sizes(setting.budget, setting.memory, setting.machine.device.name, setting.asked.knobs)
    return int(sequences)


def _times(value: float | None, copies: int) -> float | None:
    return None if value is None else value * copies
