"""How fast: decode at one sequence and at a full batch, time to first token, with bound, estimate and range."""

from __future__ import annotations

import sqlite3
from typing import Any

from rackfit.ask.fit import answer_for
from rackfit.ask.hosts import machines_of
from rackfit.ask.machines import Machine
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.ask.setting import resolve_setting
from rackfit.ask.speed_run import Records, Run, find_run
from rackfit.catalog.context import Context
from rackfit.errors import UsageError
from rackfit.memory.domain import Layout
from rackfit.speed.compute import decode_flops
from rackfit.speed.domain import BOUND, ESTIMATE, Chosen
from rackfit.speed.roofline import ridge_point


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
        raise UsageError("speed needs a model and hardware")
    context = read_context(connection)
    subject = find_model(connection, question.model)
    found = [
        speed_on(connection, question, context, subject, machine, prompt)
        for machine in machines_of(connection, question)
    ]
    slowest = min(found, key=lambda one: one["decode"][0]["tokens_per_s"] if one["decode"] else 0.0)
    if len(found) > 1:
        slowest["assumptions"].append(f"{question.on!r} is a class: its slowest candidate is shown")
        slowest["candidates"] = [
            {"hardware": one["hardware"], "tokens_per_s": one["decode"][0]["tokens_per_s"] if one["decode"] else None}
            for one in found
        ]
    return slowest


def speed_on(
    connection: sqlite3.Connection,
    question: FitQuestion,
    context: Context,
    subject: Subject,
    machine: Machine,
    prompt: int | None,
) -> dict[str, Any]:
    """Answer for one model on one machine, both already found."""
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
    run, notes = find_run(Records(connection), setting, Layout(**fitted["layout"]))
    return {**shown, **_figures(run, fitted, prompt or setting.asked.context, notes)}


def _figures(run: Run, fitted: dict[str, Any], prompt: int, notes: list[str]) -> dict[str, Any]:
    setting, context = run.setting, run.setting.asked.context
    batches = [1, setting.asked.sequences, fitted["most_sequences"]["likely"]]
    decode = [decode_row(run, count) for count in dict.fromkeys(batches) if count and count >= 1]
    return {
        "decode": decode,
        "prefill": prefill_row(run, prompt),
        "ridge": _ridge(run),
        "efficiency": shown_efficiency(run.chosen),
        "assumptions": [
            *fitted["assumptions"],
            f"decode: every cache holds {context} tokens; weights and cache are read once per step",
            *run.chosen.reasons,
            *([f"link: {run.link.name}, {run.link.basis}"] if run.link else []),
            *notes,
        ],
    }


def decode_row(run: Run, sequences: int) -> dict[str, Any]:
    """Return the speed of so many sequences: bound, estimate, range, and what binds. Milliseconds and tokens/s."""
    step, each = run.step(sequences), run.work.per_sequence(run.sequences_each(sequences))
    return {
        "sequences": sequences,
        "figure": ESTIMATE,
        "tokens_per_s": round(each.value * sequences, 2),
        "low": round(each.low * sequences, 2),
        "high": round(each.high * sequences, 2),
        BOUND: round(1000 / step.bound_ms * sequences, 2),
        "per_sequence": round(each.value, 2),
        "per_sequence_low": round(each.low, 2),
        "step_ms": round(step.total_ms, 3),
        "read_ms": round(step.read_ms, 3),
        "compute_ms": round(step.compute_ms, 3),
        "layers_ms": round(step.layers_ms, 3),
        "split_ms": round(step.split_ms + step.cache_ms, 3),
        "read_bytes": round(run.traffic(sequences).total),
        "bound_by": step.bound_by,
    }


def prefill_row(run: Run, tokens: int) -> dict[str, Any] | None:
    """Return the time of a prompt and the wait for the first token, seconds; None without a dense peak."""
    peak, prompt = run.peak, run.prompt(tokens)
    if peak is None or prompt is None:
        return None
    first = run.first_token(prompt)
    return {
        "prompt_tokens": tokens,
        "figure": ESTIMATE,
        "tokens_per_s": round(tokens / prompt.value, 1),
        "low": round(tokens / prompt.high, 1),
        "high": round(tokens / prompt.low, 1),
        BOUND: round(tokens / prompt.bound, 1),
        "communication_s": round(prompt.talk, 6),
        "time_to_first_token_s": round(first.value, 4),
        "time_to_first_token_low_s": round(first.low, 4),
        "time_to_first_token_high_s": round(first.high, 4),
        "computes_at": peak.rate_name,
        "dense_tflops": peak.tflops,
        "share_of_peak": round(peak.share, 3),
        "share_basis": peak.basis,
    }


def _ridge(run: Run) -> dict[str, Any] | None:
    """Return on which side of the ridge a step of one sequence lies, and the sequences that reach it by weights."""
    chip, peak = run.chips[0], run.peak
    if peak is None or chip.bandwidth_gb_s is None:
        return None
    ridge = ridge_point(peak.tflops, chip.bandwidth_gb_s)
    flops = decode_flops(run.setting.subject.anatomy, run.setting.asked.context, 1)
    intensity = flops / (run.traffic(1).total * run.layout.tp)
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
