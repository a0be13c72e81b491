"""Sizing: figures are those of `rackfit fit` and `rackfit speed`, nothing is left out, what rules out is said."""

from __future__ import annotations

import json
import random
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.machines import find_machines
from rackfit.ask.plan.answer import plan
from rackfit.ask.plan.question import ORDERS, PlanQuestion
from rackfit.ask.question import FitQuestion, find_model, read_context
from rackfit.ask.setting import resolve_setting
from rackfit.ask.speed import speed_one
from rackfit.catalog.read import rows_of
from rackfit.errors import RackfitError, UnknownNameError, UsageError
from rackfit.memory.layouts import candidates, refusal

ALL = 10_000
SERVICE = PlanQuestion("llama-3.1-70b", context=8192, users=50, tokens_per_second=15, ttft=6, prompt=2048, limit=ALL)
QUESTIONS = [
    SERVICE,
    PlanQuestion("qwen3-8b", context=6000, users=20, tokens_per_second=20, precision="any", replicas=3, limit=ALL),
    PlanQuestion("deepseek-v3", context=16000, users=64, tokens_per_second=10, replicas=2, limit=ALL),
    PlanQuestion("gemma-3-27b-it", context=32768, users=9, likely=True, tokens_per_second=25, limit=ALL),
    PlanQuestion("gpt-oss-120b", users=300, concurrency=0.1, tokens_per_second=12, output=300, prompt=2048, limit=ALL),
]


def ask(connection: sqlite3.Connection, question: PlanQuestion) -> dict[str, Any]:
    """Return the answer; it is JSON, and its counts add up."""
    answer = plan(connection, question)
    json.dumps(answer, allow_nan=False)
    out = sum(row["configurations"] for row in answer["ruled_out"])
    assert out + answer["counts"]["met"] == answer["counts"]["candidates"]
    assert len(answer["results"]) == min(answer["counts"]["met"], question.limit)
    return answer


def question_of(row: dict[str, Any], question: PlanQuestion, sequences: int) -> FitQuestion:
    """Return the question of one configuration of a plan as `rackfit fit` and `rackfit speed` are asked it."""
    precision = row["precision"] if question.precision == "any" else question.precision
    return FitQuestion(
        model=question.model, on=row["configuration"], precision=precision, context=question.context,
        sequences=sequences, tp=row["tp"], pp=row["pp"], ep=row["ep"], dp=row["dp"],
    )  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.model)
def test_figures_are_those_of_fit_and_speed(connection: sqlite3.Connection, question: PlanQuestion) -> None:
    """A random sample of the rows, asked one by one."""
    answer = ask(connection, question)
    rows = answer["results"]
    assert rows
    for row in random.Random(5).sample(rows, min(8, len(rows))):
        asked = question_of(row, question, row["sequences_each"])
        fitted = fit_one(connection, asked, suggest=False)
        assert fitted["verdict"] == row["verdict"]
        assert fitted["most_sequences"] == {
            "likely": row["memory_sequences_likely"], "sure": row["memory_sequences"],
        }  # fmt: skip
        said = speed_one(connection, asked, question.prompt)
        speed = next(one for one in said["decode"] if one["sequences"] == row["sequences_each"])
        assert (speed["per_sequence"], speed["per_sequence_low"], speed["bound_by"]) == (
            row["tokens_per_s_each"], row["tokens_per_s_each_low"], row["step_bound_by"],
        )  # fmt: skip
        if said["prefill"]:
            first = (said["prefill"]["time_to_first_token_s"], said["prefill"]["time_to_first_token_high_s"])
            assert first == (row["ttft_s"], row["ttft_s_high"])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.model)
def test_every_row_keeps_its_promises(connection: sqlite3.Connection, question: PlanQuestion) -> None:
    """At the load, memory and speed hold by the figures that were planned by; one copy fewer would not do."""
    for row in ask(connection, question)["results"]:
        end = "_likely" if question.likely else ""
        speed = "tokens_per_s_served" if question.output else "tokens_per_s_each"
        rate = row[speed if question.likely else f"{speed}_low"]
        assert rate >= (question.tokens_per_second or 0) - 0.005
        assert row["sequences_each"] <= row[f"memory_sequences{end}"]
        assert row["sequences_each"] <= row[f"latency_sequences{end}"]
        assert row["copies"] <= question.most_copies
        least = min(row[f"memory_sequences{end}"], row[f"latency_sequences{end}"])
        assert row["copies"] == -(-question.sequences // least)
        smaller = "latency" if row[f"latency_sequences{end}"] < row[f"memory_sequences{end}"] else "memory"
        assert row["limit"] == smaller
        assert row["verdict"] == "fits" or question.likely


@pytest.mark.parametrize(
    ("question", "devices"),
    [
        (
            PlanQuestion("qwen3-8b", context=8192, users=12, tokens_per_second=15, replicas=2),
            ("l4", "rtx-4090", "l40s"),
        ),
        (PlanQuestion("qwen3-30b-a3b", context=4096, users=40, tokens_per_second=30, ttft=2), ("h100-sxm5-80gb",)),
        (PlanQuestion("qwen3-8b", context=4096, users=3, precision="q4_k_m", likely=True), ("m3-max-40c", "rtx-3090")),
    ],
)
def test_nothing_is_left_out(connection: sqlite3.Connection, question: PlanQuestion, devices: tuple[str, ...]) -> None:
    """Counted by hand: each configuration of some devices in each layout, one question after the other."""
    question = replace(question, accelerators=devices, limit=ALL)
    found = {row["configuration"]: row["copies"] for row in ask(connection, question)["results"]}

    shapes = rows_of(connection, "select configuration_id, accelerator_id from configurations order by 1")
    wanted = [row["configuration_id"] for row in shapes if row["accelerator_id"].split("-", 1)[1] in devices]
    counted = {name: copies for name in wanted if (copies := fewest_copies(connection, question, name))}

    assert len(wanted) >= len(devices)
    assert found == counted


def fewest_copies(connection: sqlite3.Connection, question: PlanQuestion, name: str) -> int | None:
    """Return the fewest copies of a configuration that serve a plan, by trying each layout and each number."""
    machine = find_machines(connection, name)[0]
    base = FitQuestion(model=question.model, on=name, precision=question.precision, context=question.context)
    subject = find_model(connection, question.model)
    setting = resolve_setting(connection, base, read_context(connection), subject, machine)
    layouts = [
        layout
        for layout in candidates(subject.anatomy, machine.count, machine.per_domain, setting.budget)
        if refusal(subject.anatomy, setting.precision, layout, setting.budget) is None
    ]
    for copies in range(1, question.most_copies + 1):
        each = -(-question.sequences // copies)
        for layout in layouts:
            asked = replace(base, sequences=each, tp=layout.tp, pp=layout.pp, ep=layout.ep, dp=layout.dp)
            if serves(connection, question, asked, each):
                return copies
    return None


def serves(connection: sqlite3.Connection, question: PlanQuestion, asked: FitQuestion, each: int) -> bool:
    """Return whether one copy in one layout serves so many sequences."""
    verdict = fit_one(connection, asked, suggest=False)["verdict"]
    if verdict not in (("fits", "tight") if question.likely else ("fits",)):
        return False
    try:
        said = speed_one(connection, asked, question.prompt)
    except RackfitError:
        return not question.needs_speed
    speed = next(one for one in said["decode"] if one["sequences"] == each)
    end = "" if question.likely else "_low"
    fast = speed[f"per_sequence{end}"] >= (question.tokens_per_second or 0)
    late = "time_to_first_token_s" if question.likely else "time_to_first_token_high_s"
    return fast and (question.ttft is None or (said["prefill"] is not None and said["prefill"][late] <= question.ttft))


@pytest.mark.parametrize("by", ORDERS)
def test_orders(connection: sqlite3.Connection, by: str) -> None:
    """Each order is by its own figure, and the first of it is the best of that kind."""
    answer = ask(connection, replace(SERVICE, limit=ALL))
    listed = plan(connection, replace(SERVICE, by=by, limit=ALL))["results"]
    figure = {
        "smallest": lambda row: row["memory_bytes_summed"],
        "cheapest": lambda row: row["price"],
        "per-watt": lambda row: -row["tokens_per_s_per_w_low"],
        "per-money": lambda row: -row["tokens_per_s_per_price_low"],
    }[by]

    values = [figure(row) for row in listed]
    assert values == sorted(values)
    assert answer["best"][by]["configuration"] == listed[0]["configuration"]


def test_no_price_is_never_dropped_silently(connection: sqlite3.Connection) -> None:
    """Without a price a configuration is smallest or fastest all the same; with a budget it is counted as ruled out."""
    free = ask(connection, SERVICE)
    bounded = ask(connection, replace(SERVICE, budget=1e6))

    assert free["counts"]["met_without_price"] > 0
    assert any(row["price"] is None for row in free["results"])
    ruled = {row["requirement"]: row["configurations"] for row in bounded["ruled_out"]}
    assert ruled["price"] > 0
    assert all(row["price"] is not None for row in bounded["results"])
    assert bounded["counts"]["met_without_price"] == 0


def test_announced_parts_are_no_answer(connection: sqlite3.Connection) -> None:
    """What cannot be bought yet is left out, and how many those are is said."""
    answer = ask(connection, replace(SERVICE, replicas=100))
    announced = {
        row[0] for row in connection.execute("select accelerator_id from accelerators where status='announced'")
    }

    assert announced
    assert answer["counts"]["announced_left_out"] >= len(announced)
    assert not announced & {row["accelerator"] for row in answer["results"]}


def test_what_would_admit_one_does(connection: sqlite3.Connection) -> None:
    """Each requirement, given up as far as is said and no further, lets the configuration through that is named."""
    cases = [
        replace(SERVICE, tokens_per_second=500),
        replace(SERVICE, budget=3.0),
        replace(SERVICE, ttft=0.01),
        replace(SERVICE, power_limit=500, replicas=1),
        replace(SERVICE, max_devices=1, users=400),
        replace(SERVICE, users=4000, replicas=1),
        replace(SERVICE, users=20000, replicas=1, concurrency=0.5, headroom=0.3),
        replace(SERVICE, context=131072, prompt=2048, users=8, max_devices=1, precision="bf16"),
    ]
    seen = set()
    for question in cases:
        answer = ask(connection, question)
        assert not answer["results"]
        assert answer["relaxations"], question
        for row in answer["relaxations"]:
            seen.add(row["requirement"])
            relaxed = replace(question, **{row["requirement"]: row["value"]}, limit=ALL)
            names = {one["configuration"] for one in ask(connection, relaxed)["results"]}
            assert row["configuration"] in names, (question, row)
    assert seen >= {"tokens_per_second", "budget", "ttft", "power_limit", "max_devices", "users", "replicas", "context"}


def test_users_are_not_sequences(connection: sqlite3.Connection) -> None:
    """Total users are not concurrent users: the share is a parameter, its default is said."""
    assert PlanQuestion("m", users=30, concurrency=0.1).sequences == 3
    assert PlanQuestion("m", users=31, concurrency=0.1).sequences == 4
    assert PlanQuestion("m", users=1, concurrency=0.01).sequences == 1
    answer = ask(connection, replace(SERVICE, limit=1))
    assert "concurrency: 1, every user has a request running" in answer["assumptions"]
    assert answer["query"]["sequences"] == 50


def test_a_workload_sets_context_and_users(connection: sqlite3.Connection) -> None:
    """What is said beside it counts first."""
    answer = ask(connection, PlanQuestion("qwen3-8b", workload="serve-8k-16", limit=1))
    assert (answer["query"]["context"], answer["query"]["sequences"]) == (8192, 16)
    other = ask(connection, PlanQuestion("qwen3-8b", workload="serve-8k-16", context=4096, limit=1))
    assert other["query"]["context"] == 4096


def test_prompts_of_others_are_charged_where_answers_have_a_length(connection: sqlite3.Connection) -> None:
    """Short answers to long prompts leave less for decoding."""
    plain, charged = (
        ask(connection, replace(SERVICE, output=output, tokens_per_second=5, limit=ALL)) for output in (None, 100)
    )

    assert charged["counts"]["met"] < plain["counts"]["met"]
    row = charged["results"][0]
    assert row["tokens_per_s_served_low"] < row["tokens_per_s_each_low"]
    assert any("prompts of all sequences are charged" in note for note in charged["assumptions"])


def test_wide_ranges_say_so(connection: sqlite3.Connection) -> None:
    """A device that no efficiency was measured on has a reason beside its range."""
    for row in ask(connection, replace(SERVICE, limit=40))["results"]:
        assert row["figure"] == "estimate"
        assert row["tokens_per_s_each_low"] < row["tokens_per_s_each"] < row["tokens_per_s_each_bound"] * 1.001
        assert row["wide"] == (row["tokens_per_s_each_low"] < 0.65 * row["tokens_per_s_each"] + 0.005)
    assert any(row["range_reasons"] for row in ask(connection, SERVICE)["results"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"users": 0}, "users"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"headroom": -0.1}, "headroom"),
        ({"accelerators": ("nvidia-rubin",)}, "announced"),
        ({"model": "bert-base-uncased"}, "generates no tokens"),
        ({"tokens_per_second": -1.0}, "tokens_per_second"),
        ({"budget": float("nan")}, "budget"),
        ({"by": "size"}, "smallest"),
        ({"pay": "barter"}, "hour"),
        ({"date": "yesterday"}, "2026"),
    ],
)
def test_figures_that_mean_nothing_are_refused(
    connection: sqlite3.Connection, changed: dict[str, Any], said: str
) -> None:
    """Naming the figure or what was expected."""
    with pytest.raises(UsageError, match=said):
        plan(connection, replace(SERVICE, **changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "lama-3.1-70b"}, {"accelerators": ("h1000",)}, {"vendors": ("Nvidea",)}, {"workload": "serve"},
        {"provider": "Amazn"}, {"region": "moon"}, {"precision": "bf61"}, {"kv_precision": "fp9"}, {"runtime": "vlm"},
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_unknown_names_come_with_near_ones(connection: sqlite3.Connection, changed: dict[str, Any]) -> None:
    """Nothing is taken for something else."""
    with pytest.raises(UnknownNameError):
        plan(connection, replace(SERVICE, **changed))
