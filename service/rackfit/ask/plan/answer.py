"""The answer to a plan: what meets it, best by each measure; both limits; what rules the others out."""

from __future__ import annotations

import sqlite3
from typing import Any

from rackfit.ask.plan.candidates import Candidates, find_candidates
from rackfit.ask.plan.choose import Chosen, choose, ordered, ruled_out
from rackfit.ask.plan.question import ANY, HOUR, ORDERS, PlanQuestion, with_workload
from rackfit.ask.plan.relax import relaxations
from rackfit.ask.plan.rows import rows_for
from rackfit.ask.question import Subject, find_model, read_context
from rackfit.catalog.context import Context
from rackfit.errors import UsageError


def plan(connection: sqlite3.Connection, question: PlanQuestion) -> dict[str, Any]:
    """Return the configurations of the catalog that serve a model as asked.

    Exact: every configuration, in every format asked for and every layout that can run, is computed. Figures are those
    of `rackfit fit` and `rackfit speed` for the same configuration, format, layout and sequences.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: an engine without the facts that an answer needs.
    """
    question.check()
    question, notes = with_workload(connection, question)
    context, subject = read_context(connection), find_model(connection, question.model)
    if not subject.anatomy.caches_tokens:
        raise UsageError(f"{subject.shown} generates no tokens: there is no speed to plan by")
    candidates, chosen = _find(connection, question, context, subject)
    orders = {by: ordered(candidates, chosen, by) for by in ORDERS}
    shown = orders[question.by][: question.limit]
    wanted = list(dict.fromkeys([*shown, *(numbers[0] for numbers in orders.values() if numbers)]))
    rows = rows_for(candidates, chosen, wanted)

    def again(changed: PlanQuestion) -> str | None:
        other, way = _find(connection, changed, context, subject)
        best = ordered(other, way, changed.by)[:1]
        return other.options[best[0]].shape["configuration_id"] if best else None

    return {
        "query": _query(question, candidates, subject),
        "counts": _counts(connection, candidates, chosen),
        "best": {by: rows[numbers[0]] if numbers else None for by, numbers in orders.items()},
        "results": [rows[number] for number in shown],
        "ruled_out": ruled_out(candidates, chosen),
        "relaxations": [] if len(chosen.met) else relaxations(candidates, again),
        "assumptions": [*notes, *_assumptions(question, candidates, [rows[number] for number in wanted])],
    }


def _find(
    connection: sqlite3.Connection, question: PlanQuestion, context: Context, subject: Subject
) -> tuple[Candidates, Chosen]:
    candidates = find_candidates(connection, question, context, subject)
    return candidates, choose(candidates)


def _query(question: PlanQuestion, candidates: Candidates, subject: Subject) -> dict[str, Any]:
    """Return the question with its defaults filled in."""
    settings = [option.setting for option in candidates.options[:1]]
    tokens = question.context or (settings[0].asked.context if settings else None)
    choice = candidates.choice
    filled = {
        "model": subject.shown, "context": tokens, "users": question.users or 1,
        "concurrency": 1 if question.concurrency is None else question.concurrency, "headroom": question.headroom or 0,
        "sequences": question.sequences,
        "prompt": question.prompt or tokens, "replicas": question.most_copies,
        "precision": question.precision or subject.precision_id, "currency": choice.currency, "term": choice.term,
        "date": choice.date,
    }  # fmt: skip
    return {**question.asked(), **filled}


def _counts(connection: sqlite3.Connection, candidates: Candidates, chosen: Chosen) -> dict[str, int]:
    """Return how many configurations were looked at and how many meet the plan, those without a price apart."""
    met, options = chosen.met.tolist(), candidates.options
    announced = connection.execute("select count(*) from accelerators where status <> 'released'").fetchone()[0]
    return {
        "configurations": len({option.shape["configuration_id"] for option in options}),
        "candidates": len(options),
        "layouts": len(candidates.entries.layouts),
        "met": len(met),
        "met_without_price": sum(candidates.prices[number] is None for number in met),
        "met_without_power": sum(options[number].shape["tdp_w_accelerators"] is None for number in met),
        "announced_left_out": announced,
    }


def _assumptions(question: PlanQuestion, candidates: Candidates, rows: list[dict[str, Any]]) -> list[str]:
    end = "likely figures" if question.likely else "low ends: what is promised, with the likely figure beside it"
    notes = [f"planned by {end}", "every cache is full: each sequence holds the whole context"]
    if question.context is None and candidates.options:
        notes.append(f"context: {candidates.options[0].setting.asked.context} tokens")
    if question.precision is None:
        notes.append("precision: the checkpoint's own; `any` also tries 16, 8 and 4 bits and Q4_K_M")
    if (question.precision or "").casefold() == ANY:
        notes.append("below 8 bits quality depends on method and task: evaluate on your own set")
    if question.ttft is not None:
        notes.append("first token: one prompt on a replica that does nothing else; waiting in a queue is not counted")
    if question.output is None and question.needs_speed:
        notes.append("tokens/s while all sequences decode; the tokens of an answer charge prompts of others too")
    if question.output is not None:
        notes.append("prompts of all sequences are charged, one per answer, none of them cached")
    notes.append("power: limits of the accelerators (TDP); hosts, fans and losses come on top, see system_w")
    if question.power_limit is not None:
        notes.append("power limit: by the most frugal system of that shape on record, else by the accelerators alone")
    choice = candidates.choice
    offers = f"per hour, {choice.term or 'any term'}" if question.pay == HOUR else "to buy"
    notes.append(f"prices: {offers}, {choice.currency}, as of {choice.date}")
    if any(row["engine_sequences"] < row["sequences_each"] for row in rows):
        notes.append("some need more sequences at a time than the engine's default (engine_sequences): raise it")
    return notes
