"""How well a model spreads over devices: time of computing and of talking, by strategy and degree."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask.hosts import machines_of
from rackfit.ask.links import link_for
from rackfit.ask.question import FitQuestion, find_model, read_context
from rackfit.ask.setting import Setting, resolve_setting
from rackfit.ask.speed_run import Records, Run, find_run
from rackfit.errors import UnsupportedError, UsageError
from rackfit.memory.domain import Layout
from rackfit.memory.layouts import refusal
from rackfit.speed.communication import (
    ACTIVATION_BYTES,
    Link,
    bytes_per_token,
    efficiency,
    expert_parallel_s,
    pipeline_s,
    tensor_parallel_s,
)
from rackfit.speed.domain import ESTIMATE

DEFAULT_DEGREES = (1, 2, 4, 8)
DEFAULT_TOKENS = 48
"""Tokens in flight where the question names none: a decode step of 48 sequences. Efficiency depends on it
(fewer tokens talk less); this is about where the usual pair for A100s, 95 % on NVLink and 50 % on PCIe, comes out."""
MOST_DEGREE = 4096
STRATEGIES = ("TP", "PP", "EP", "DP")


@dataclass(frozen=True)
class Plan:
    """A strategy at a degree, with the tokens that are in flight over all of its devices."""

    strategy: str
    degree: int
    tokens: int

    @property
    def layout(self) -> Layout:
        """The layout; experts spread over tensor-parallel ranks, each with a share of the tokens."""
        n = self.degree
        return {"TP": Layout(tp=n), "PP": Layout(pp=n), "EP": Layout(tp=n, ep=n), "DP": Layout(dp=n)}[self.strategy]


def scaling(
    connection: sqlite3.Connection,
    question: FitQuestion,
    degrees: Sequence[int] = DEFAULT_DEGREES,
    tokens: int = DEFAULT_TOKENS,
) -> list[dict[str, Any]]:
    """Return one row per strategy and degree: seconds of one pass over the tokens, and efficiency, with the inputs.

    Args:
        connection: an open catalog.
        question: model, hardware, precision and runtime as for a fit. The model need not fit.
        degrees: devices to spread over; one host where the hardware names a device.
        tokens: tokens in flight: a decode step of so many sequences, or a prompt of so many tokens.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: a device without the facts that an answer needs.
    """
    question.check()
    if question.model is None or question.on is None:
        raise UsageError("scaling needs a model and hardware")
    if not degrees or any(not 1 <= degree <= MOST_DEGREE for degree in degrees):
        raise UsageError(f"degrees = {list(degrees)}: expected whole numbers from 1 to {MOST_DEGREE}")
    if not 1 <= tokens <= 2**30:
        raise UsageError(f"tokens = {tokens}: expected a whole number from 1")
    context = read_context(connection)
    machines = machines_of(connection, question)
    setting = resolve_setting(connection, question, context, find_model(connection, question.model), machines[0])
    rows = []
    for strategy in STRATEGIES:
        if strategy == "EP" and not setting.subject.anatomy.has_experts:
            continue
        for degree in sorted(set(degrees)):
            rows.append(_row(connection, setting, Plan(strategy, degree, tokens)))
    if len(machines) > 1:
        for row in rows:
            row["assumptions"] += f"; {question.on!r} is a class: {machines[0].shown} is shown"
    return rows


def _row(connection: sqlite3.Connection, setting: Setting, plan: Plan) -> dict[str, Any]:
    head = {
        "strategy": plan.strategy,
        "degree": plan.degree,
        "tokens": plan.tokens,
        "figure": ESTIMATE,
        "accelerator": setting.machine.device.accelerator_id,
    }
    none = {"compute_s": None, "communication_s": None, "efficiency": None, "link": None, "bound_by": "cannot run"}
    reason = _refused(setting, plan)
    if reason is not None:
        return {**head, **none, "assumptions": reason}
    run, notes = find_run(Records(connection), setting, replace(plan.layout, pp=1, dp=1))
    try:
        link = link_for(connection, setting.machine, plan.degree) if plan.degree > 1 else None
    except UnsupportedError as error:
        return {**head, **none, "bound_by": "link not on record", "assumptions": str(error)}
    compute, side = compute_s(run, plan)
    talk = communication_s(run, plan, link)
    return {
        **head,
        "compute_s": compute,
        "communication_s": talk,
        "efficiency": efficiency(compute, talk),
        "link": None if link is None else link.name,
        "link_gb_s": None if link is None else link.effective_gb_s,
        "bytes_per_token": round(bytes_per_token(setting.subject.anatomy, plan.strategy, plan.degree)),
        "bound_by": "link" if talk > compute else side,
        "assumptions": "; ".join([*_inputs(run, plan, link), *notes]),
    }


def _refused(setting: Setting, plan: Plan) -> str | None:
    """Return why a strategy cannot run; engines that split whole layers only are asked about shapes all the same."""
    budget = replace(setting.budget, parallelism="tensor")
    return refusal(setting.subject.anatomy, setting.precision, plan.layout, budget)


def compute_s(run: Run, plan: Plan) -> tuple[float, str]:
    """Return the seconds in which the devices compute one pass, and what binds them.

    Tensor and expert parallelism divide the pass; the stages of a pipeline work on it one after the other, and each
    replica has its share of the tokens.
    """
    setting = run.setting
    tokens = -(-plan.tokens // plan.degree) if plan.strategy == "DP" else plan.tokens
    context = setting.asked.context if setting.question.context else 0
    step = replace(run, link=None).work_at(context).step(tokens)
    return (max(step.read_ms, step.compute_ms) + step.layers_ms + step.cache_ms) / 1000, step.bound_by


def communication_s(run: Run, plan: Plan, link: Link | None) -> float:
    """Return the seconds that one pass spends on the link."""
    if link is None:
        return 0.0
    anatomy = run.setting.subject.anatomy
    costs = {"TP": tensor_parallel_s, "PP": pipeline_s, "EP": expert_parallel_s}
    cost = costs.get(plan.strategy)
    return cost(anatomy, plan.tokens, plan.degree, link) if cost else 0.0


def _inputs(run: Run, plan: Plan, link: Link | None) -> list[str]:
    """Return the inputs of a row in words."""
    model, n = run.setting.subject.anatomy.model, plan.degree
    one = run.chosen.efficiency
    said = [
        f"{plan.tokens} tokens in flight",
        f"{run.setting.choice.precision_id} weights, {one.efficiency_id}: {one.bandwidth_share:g} of bandwidth, "
        f"{one.layer_ms:g} ms per layer",
    ]
    size = plan.tokens * model.d_model * ACTIVATION_BYTES
    if plan.strategy == "TP" and n > 1:
        said.append(f"2 all-reduces x {model.n_layers} layers of {size:,} bytes, 2({n}-1)/{n} of it per device")
    elif plan.strategy == "PP" and n > 1:
        said.append(f"{n - 1} hand-overs of {size:,} bytes; stages work one after the other, bubbles not counted")
    elif plan.strategy == "EP" and n > 1:
        said.append("each layer with experts sends every token to its experts and back; experts evenly visited")
    elif plan.strategy == "DP" and n > 1:
        said.append("replicas exchange nothing in inference; training adds an all-reduce of the gradients per step")
    if link is not None:
        steps = "1 step" if link.steps(n) == 1 else f"{link.steps(n)} steps"
        said.append(
            f"{link.effective_gb_s:g} GB/s per direction ({link.topology}), {steps} of {link.latency_us:g} us per half"
        )
        said.append(link.basis)
    return [*said, "no overlap of computing and talking; launch of collectives not counted", *run.chosen.reasons]
