"""How fast: decode at one sequence and at a full batch, time to first token, with bound, estimate and range."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask.fit import answer_for
from rackfit.ask.hosts import CPU, machines_of
from rackfit.ask.links import link_for
from rackfit.ask.question import FitQuestion, Machine, Subject, find_model, read_context
from rackfit.ask.setting import Setting, resolve_setting
from rackfit.catalog.context import Context
from rackfit.catalog.read import read_device, rows_of
from rackfit.catalog.read_speed import read_chip, read_efficiencies
from rackfit.errors import RackfitError, UnsupportedError, UsageError
from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link, pipeline_s, tensor_parallel_s
from rackfit.speed.compute import TERA, Peak, decode_flops, rate_of, reached_share
from rackfit.speed.domain import BOUND, ESTIMATE, Chip, Chosen
from rackfit.speed.efficiency import choose_efficiency, family_of
from rackfit.speed.roofline import Step, decode_step, prefill_flops, ridge_point, tokens_per_s
from rackfit.speed.traffic import Traffic, decode_traffic

BATCH_SPREAD = 0.2
"""Added to the range of more than one sequence: no measured case has a batch."""


@dataclass(frozen=True)
class Run:
    """A model on a layout of devices, ready for questions of speed."""

    setting: Setting
    layout: Layout
    chips: tuple[Chip, ...]
    chosen: Chosen
    peak: Peak | None
    link: Link | None

    def sequences_each(self, sequences: int) -> int:
        """Return the sequences of one replica, rounded up."""
        return -(-sequences // self.layout.dp)

    def traffic(self, sequences: int, context: float) -> Traffic:
        """Return what one step of one replica reads."""
        setting = self.setting
        return decode_traffic(
            setting.subject.anatomy, setting.precision, self.layout, context, self.sequences_each(sequences),
            setting.asked.kv_bits, setting.budget.state_bits,
        )  # fmt: skip

    def step(self, sequences: int, context: float) -> Step:
        """Return the time of one decode step of one replica."""
        anatomy, each = self.setting.subject.anatomy, self.sequences_each(sequences)
        reduce_ms, compute = 0.0, (0.0, 0.0)
        if self.link is not None and self.layout.tp > 1:
            reduce_ms = 1000 * tensor_parallel_s(anatomy, each, self.layout.tp, replace(self.link, latency_us=0.0))
        if self.peak is not None:
            ms = 1000 * decode_flops(anatomy, context, each) / (self.layout.tp * self.peak.tflops * TERA)
            compute = (ms, ms / self.peak.share)
        return decode_step(
            anatomy, self.layout, self.traffic(sequences, context), self.chips, self.chosen, context, each,
            reduce_ms, compute,
        )  # fmt: skip


def speed_one(connection: sqlite3.Connection, question: FitQuestion, prompt: int | None = None) -> dict[str, Any]:
    """Answer for one model on one machine; of a class of machines the slowest, with the others listed.

    Args:
        connection: an open catalog.
        question: as for a fit.
        prompt: tokens of the prompt whose first answer is waited for; None: the context.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: a device without the facts that an answer needs.
    """
    question.check()
    if question.model is None or question.on is None:
        raise UsageError("speed needs a model and hardware (--on)")
    context = read_context(connection)
    subject = find_model(connection, question.model)
    found = [
        _one(connection, question, context, subject, machine, prompt) for machine in machines_of(connection, question)
    ]
    slowest = min(found, key=lambda one: one["decode"][0]["tokens_per_s"] if one["decode"] else 0.0)
    if len(found) > 1:
        slowest["assumptions"].append(f"{question.on!r} is a class: its slowest candidate is shown")
        slowest["candidates"] = [
            {"hardware": one["hardware"], "tokens_per_s": one["decode"][0]["tokens_per_s"] if one["decode"] else None}
            for one in found
        ]
    return slowest


def _one(
    connection: sqlite3.Connection,
    question: FitQuestion,
    context: Context,
    subject: Subject,
    machine: Machine,
    prompt: int | None,
) -> dict[str, Any]:
    setting = resolve_setting(connection, question, context, subject, machine)
    fitted = answer_for(connection, question, context, subject, machine)
    shown = {
        name: fitted[name]
        for name in ("model", "hardware", "accelerator", "precision", "precision_support", "kv_precision", "runtime",
                     "context", "layout", "verdict", "reason")
    }  # fmt: skip
    if fitted["layout"] is None:
        return {**shown, "decode": [], "prefill": None, "assumptions": fitted["assumptions"], "efficiency": None}
    if fitted.get("offloaded"):
        from rackfit.ask.speed_offload import offloaded_speed

        return {**shown, **offloaded_speed(connection, setting, fitted)}
    run, notes = find_run(connection, setting, Layout(**fitted["layout"]))
    return {**shown, **_figures(run, fitted, prompt or setting.asked.context, notes)}


def find_run(connection: sqlite3.Connection, setting: Setting, layout: Layout) -> tuple[Run, list[str]]:
    """Return what questions of speed need of a setting, and what had to be assumed.

    Raises:
        UnsupportedError: no bandwidth or efficiency on record.
    """
    machine = setting.machine
    chips, notes = chips_of(connection, machine, layout)
    chosen = choose_efficiency(
        read_efficiencies(connection), setting.budget.runtime_id, chips[0], family_of(setting.precision),
        experts=setting.subject.anatomy.has_experts,
    )  # fmt: skip
    link = None
    if layout.tp > 1 or layout.pp > 1:
        try:
            link = link_for(connection, machine, max(layout.tp, layout.pp))
        except RackfitError as error:
            notes.append(f"link: {error}; its bytes are not counted")
    peak = peak_of(connection, setting, chips[0])
    if peak is None:
        notes.append(f"{chips[0].name}: no dense peak on record, so no prefill figure")
    return Run(setting, layout, chips, chosen, peak, link), notes


def chips_of(connection: sqlite3.Connection, machine: Machine, layout: Layout) -> tuple[tuple[Chip, ...], list[str]]:
    """Return the chip of each stage, or one for all, and what had to be assumed.

    Raises:
        UnsupportedError: a machine without accelerators, whose bandwidth is on no record.
    """
    if machine.device.vendor == CPU:
        raise UnsupportedError("the bandwidth of this machine's RAM is not on record, so no speed can be said")
    devices = [machine.device.accelerator_id] * machine.count
    for other, count in machine.others:
        devices += [other.accelerator_id] * count
    chips = {name: read_chip(connection, name) for name in devices}
    if len(chips) > 1 and len(devices) == layout.pp:
        return tuple(chips[name] for name in devices), []
    if len(chips) > 1:
        slowest = min(chips.values(), key=lambda one: one.bandwidth_gb_s or 0.0)
        return (slowest,), ["unlike devices side by side: the slowest one's bandwidth counts for all"]
    chip = chips[devices[0]]
    whole = read_device(connection, devices[0]).memory_bytes
    if "/" in machine.shown and machine.device.name != chip.name and machine.device.memory_bytes < whole:
        part = machine.device.memory_bytes / whole
        rates = {name: rate * part for name, rate in chip.rates.items()}
        slice_ = replace(chip, bandwidth_gb_s=(chip.bandwidth_gb_s or 0.0) * part, units=None, rates=rates)
        return (slice_,), [f"MIG slice: {part:.0%} of the device's bandwidth and rates, as of its memory"]
    return (chip,), []


def peak_of(connection: sqlite3.Connection, setting: Setting, chip: Chip) -> Peak | None:
    """Return the dense peak that the setting's format computes at; None where none is on record."""
    rate = rate_of(chip, setting.precision, setting.choice.support)
    if rate is None:
        return None
    runs = rows_of(connection, "select device, mfu_percent from mfu_runs where precision like '%bf16' order by run_id")
    found = [(row["device"], row["mfu_percent"]) for row in runs]
    if not found:
        return Peak(rate[0], rate[1], 1.0, 1.0, 1.0, "no training run on record: the peak itself")
    return Peak(rate[0], rate[1], *reached_share(found, chip))


def _figures(run: Run, fitted: dict[str, Any], prompt: int, notes: list[str]) -> dict[str, Any]:
    setting, context = run.setting, run.setting.asked.context
    batches = [1, setting.asked.sequences, full_batch(fitted, context)]
    decode = [decode_row(run, count, context) for count in dict.fromkeys(batches) if count and count >= 1]
    one = run.step(1, context)
    return {
        "decode": decode,
        "prefill": _prefill(run, prompt, one),
        "ridge": _ridge(run, context),
        "efficiency": shown_efficiency(run.chosen),
        "assumptions": [
            *fitted["assumptions"],
            f"decode: every cache holds {context} tokens; weights and cache are read once per step",
            *run.chosen.reasons,
            *([f"link: {run.link.name}, {run.link.basis}"] if run.link else []),
            *notes,
        ],
    }


def full_batch(fitted: dict[str, Any], context: int) -> int | None:
    """Return the sequences of the asked context that memory allows; None where caches do not grow."""
    per = fitted["per_device"]
    each = per["kv_reserved_bytes"] / -(-fitted["sequences"] // fitted["layout"]["dp"])
    if not each:
        return None
    room = max(per["kv_pool_bytes"], per["kv_reserved_bytes"] + per["margin_bytes"])
    return int(room // each) * int(fitted["layout"]["dp"])


def decode_row(run: Run, sequences: int, context: int) -> dict[str, Any]:
    """Return the speed of so many sequences: bound, estimate, range, and what binds. Milliseconds and tokens/s."""
    chosen = run.chosen
    if sequences > 1:
        chosen = replace(chosen, below=min(chosen.below + BATCH_SPREAD, 0.9), above=chosen.above + BATCH_SPREAD)
    step, each, copies = run.step(sequences, context), run.sequences_each(sequences), run.layout.dp
    speed = tokens_per_s(step, chosen, each)
    active = min(copies, sequences)
    return {
        "sequences": sequences,
        "figure": ESTIMATE,
        "tokens_per_s": round(speed.value * active, 2),
        "low": round(speed.low * active, 2),
        "high": round(speed.high * active, 2),
        BOUND: round(1000 * each / step.bound_ms * active, 2),
        "per_sequence": round(speed.value / each, 2),
        "step_ms": round(step.total_ms, 3),
        "read_ms": round(step.read_ms, 3),
        "compute_ms": round(step.compute_ms, 3),
        "layers_ms": round(step.layers_ms, 3),
        "split_ms": round(step.split_ms + step.cache_ms, 3),
        "read_bytes": round(run.traffic(sequences, context).total),
        "bound_by": step.bound_by,
    }


def _prefill(run: Run, prompt: int, first: Step) -> dict[str, Any] | None:
    """Return the time of a prompt and the wait for the first token, seconds; None without a dense peak."""
    peak, anatomy = run.peak, run.setting.subject.anatomy
    if peak is None:
        return None
    bound = prefill_flops(anatomy, prompt) / (run.layout.tp * peak.tflops * TERA)
    talk = 0.0
    if run.link is not None:
        talk = tensor_parallel_s(anatomy, prompt, run.layout.tp, run.link) if run.layout.tp > 1 else 0.0
        talk += pipeline_s(anatomy, prompt, run.layout.pp, run.link)
    value, low, high = (bound / share + talk for share in (peak.share, peak.high, peak.low))
    token = first.total_ms / 1000
    return {
        "prompt_tokens": prompt,
        "figure": ESTIMATE,
        "tokens_per_s": round(prompt / value, 1),
        "low": round(prompt / high, 1),
        "high": round(prompt / low, 1),
        BOUND: round(prompt / bound, 1),
        "communication_s": round(talk, 6),
        "time_to_first_token_s": round(value + token, 4),
        "time_to_first_token_low_s": round(low + first.bound_ms / 1000, 4),
        "time_to_first_token_high_s": round(high + token / (1 - run.chosen.below), 4),
        "computes_at": peak.rate_name,
        "dense_tflops": peak.tflops,
        "share_of_peak": round(peak.share, 3),
        "share_basis": peak.basis,
    }


def _ridge(run: Run, context: int) -> dict[str, Any] | None:
    """Return on which side of the ridge a step of one sequence lies, and the sequences that reach it by weights."""
    chip, peak = run.chips[0], run.peak
    if peak is None or chip.bandwidth_gb_s is None:
        return None
    ridge = ridge_point(peak.tflops, chip.bandwidth_gb_s)
    intensity = decode_flops(run.setting.subject.anatomy, context, 1) / (
        run.traffic(1, context).total * run.layout.tp
    )  # fmt: skip
    return {
        "flops_per_byte_of_device": round(ridge, 1),
        "flops_per_byte_of_decode": round(intensity, 2),
        "side": "memory-bound" if intensity < ridge else "compute-bound",
    }


def shown_efficiency(chosen: Chosen) -> dict[str, Any]:
    """Return the efficiency record behind an answer with its evidence."""
    one = chosen.efficiency
    return {
        "efficiency_id": one.efficiency_id,
        "engine_name": one.engine_name,
        "bandwidth_share": one.bandwidth_share,
        "layer_ms": one.layer_ms,
        "cases": one.case_count,
        "measured_on": sorted(one.devices),
        "below": round(chosen.below, 3),
        "above": round(chosen.above, 3),
        "reasons": list(chosen.reasons),
    }
