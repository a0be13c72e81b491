"""Public reports of what went wrong for people who size training: sharding, logits, host memory, loading.

Tests are named after the report (trials.csv); the docstring names the kind of fault. Figures are the answers that the
list of reports gives, with its tolerances.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.train import TrainQuestion, train_one
from rackfit.memory.training.logits import Loss, loss_bytes
from rackfit.memory.training.offload import load_bytes

GB, GIB = 1e9, 2**30


def ask(connection: sqlite3.Connection, model: str, on: str, **asked: Any) -> dict[str, Any]:
    """Return the answer to a question about training."""
    return train_one(connection, TrainQuestion(model=model, on=on, **asked))


LONG: dict[str, Any] = {"sequence_length": 32768, "offload": "none", "micro_batch": 1, "accumulation": 8}
RUNS_OF_R019: dict[tuple[str, str], dict[str, Any]] = {
    ("SP zero3", "full"): {"framework": "deepspeed", "cp": 4, "tp": 1, "zero": 3, "shards": 4},
    ("SP zero2", "full"): {"framework": "deepspeed", "cp": 4, "tp": 1, "zero": 2},
    ("TP", "full"): {"framework": "megatron", "tp": 4, "zero": 1, "recipe": "megatron"},
    ("SP zero3", "none"): {"framework": "deepspeed", "cp": 4, "tp": 1, "zero": 3, "shards": 4},
    ("SP zero2", "none"): {"framework": "deepspeed", "cp": 4, "tp": 1, "zero": 2},
    ("TP", "none"): {"framework": "megatron", "tp": 4, "zero": 1, "recipe": "megatron"},
}
"""Runs of R019. ZeRO-3 of the example divides states over the 4 ranks of a sequence alone, not over all 8: its script
hands that group to zero.Init (Megatron-DeepSpeed, pretrain_gpt.py of March 2024), ZeRO-2 divides over all."""
MEASURED_OF_R019 = {
    ("SP zero3", "full"): 52.8, ("SP zero3", "none"): 75.2, ("SP zero2", "full"): 43.8,
    ("SP zero2", "none"): 62.3, ("TP", "full"): 32.5, ("TP", "none"): 45.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def long_sequences(connection: sqlite3.Connection) -> dict[tuple[str, str], float]:
    """Return GB per device of the runs of R019: a GPT of 6.7B (the script's size) on eight A100."""
    return {
        (layout, recompute): ask(
            connection, "facebook/opt-6.7b", "8x a100-sxm4-80gb", recompute=recompute, **LONG, **asked
        )["per_device"]["driver_bytes"] / GB
        for (layout, recompute), asked in RUNS_OF_R019.items()
    }  # fmt: skip


def test_r019_stage_3_may_need_more_than_stage_2(long_sequences: dict[tuple[str, str], float]) -> None:
    """The person expected ZeRO-3 below ZeRO-2: who divides, and what stays gathered, decide. The order is exact."""
    for recompute in ("full", "none"):
        stage_3, stage_2, tensor = (long_sequences[layout, recompute] for layout in ("SP zero3", "SP zero2", "TP"))
        assert stage_3 > stage_2 > tensor


@pytest.mark.parametrize(
    ("run", "tolerance"),
    [(run, 0.2 if run != ("TP", "none") else 0.3) for run in MEASURED_OF_R019],
    ids=lambda run: "-".join(run) if isinstance(run, tuple) else "",
)
def test_r019_figures(long_sequences: dict[tuple[str, str], float], run: tuple[str, str], tolerance: float) -> None:
    """Within 20 %; tensor parallel without recompute within 30 %.

    The report's 45 GB leave 23 bytes per unit of width, token and layer, where the recompute paper counts 34.
    """
    assert long_sequences[run] == pytest.approx(MEASURED_OF_R019[run], rel=tolerance)


def test_r019_recompute_saves(long_sequences: dict[tuple[str, str], float]) -> None:
    """Recompute saves in every layout; sharding states over all ranks makes stage 3 the smaller one."""
    for layout in ("SP zero3", "SP zero2", "TP"):
        assert long_sequences[layout, "full"] < 0.8 * long_sequences[layout, "none"]


def test_r019_sharding_over_all_ranks_is_what_the_person_expected(connection: sqlite3.Connection) -> None:
    """Divided over all eight ranks, stage 3 needs less than stage 2."""
    asked = {**LONG, "framework": "deepspeed", "cp": 4, "tp": 1, "recompute": "full"}
    stages = [
        ask(connection, "facebook/opt-6.7b", "8x a100-sxm4-80gb", zero=zero, **asked)["per_device"]["driver_bytes"]
        for zero in (2, 3)
    ]

    assert stages[1] < stages[0]


def test_r021_a_rule_of_thumb_says_no_where_a_paged_optimizer_fits(connection: sqlite3.Connection) -> None:
    """16 bytes per parameter make 140 GB per card; bf16 states with a paged optimizer were measured at 51 GB."""
    answer = ask(
        connection, "Llama-2-70b-hf", "8x a100-sxm4-80gb", recipe="bf16", optimizer="paged_adamw_32bit", zero=3,
        recompute="full", offload="none", framework="torchtune", sequence_length=2048,
    )  # fmt: skip

    assert answer["verdict"] in ("fits", "tight")
    assert answer["per_device"]["reserved_bytes"] == pytest.approx(51 * GB, rel=0.2)


@pytest.mark.parametrize(("offload", "fits"), [("none", False), ("optimizer", True)])
def test_r023_states_are_not_all(connection: sqlite3.Connection, offload: str, fits: bool) -> None:
    """15 GiB of states per card leave too little of 24 GB for gathered layers, logits and buffers; offload fits."""
    answer = ask(
        connection, "Meta-Llama-3-8B", "8x rtx-3090", recipe="full", zero=3, recompute="full",
        framework="deepspeed", sequence_length=1024, offload=offload,
    )  # fmt: skip

    assert (answer["verdict"] in ("fits", "tight")) is fits
    if fits:
        assert answer["per_device"]["driver_bytes"] == pytest.approx(13 * GB, rel=0.25)


@pytest.mark.parametrize(("per_logit", "expected"), [(2.0, 155.3e6), (4.0, 310.6e6)])
def test_r025_a_tensor_of_logits_says_how_wide_it_is(per_logit: float, expected: float) -> None:
    """2 sequences x 256 tokens x 151,665 words: 155.3 MB in 16 bits, 310.6 MB in fp32, whatever the table calls it."""
    assert loss_bytes(Loss(per_logit), 2 * 256, 151665, 896) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("ram_gib", "fits"), [(96 * GB / GIB, False), (1e12 / GIB, True)])
def test_r027_rollout_workers_fill_the_host(connection: sqlite3.Connection, ram_gib: float, fits: bool) -> None:
    """Eight workers of 11.1 GB each ended a run on 96 GB of RAM; the devices were never the limit."""
    answer = ask(
        connection, "Qwen2.5-7B", "8x a800-sxm4-80gb", job="grpo", recipe="bf16", zero=3, recompute="full",
        offload="none", host_ram_gib=ram_gib, sequence_length=2048,
    )  # fmt: skip

    assert answer["per_host"]["workers_bytes"] == pytest.approx(8 * 11.1 * GB, rel=0.15)
    assert (answer["verdict"] in ("fits", "tight")) is fits
    assert fits or "host memory" in answer["reason"]


def test_r029_a_copy_on_every_rank_fills_the_host(connection: sqlite3.Connection) -> None:
    """70B in fp32 on each of eight ranks is 2.24 TB, not 1 TB; loaded on one rank it is 280 GB."""
    answer = ask(
        connection, "Llama-2-70b-hf", "8x a100-sxm4-80gb", recipe="lora", zero=3, host_ram_gib=1e12 / GIB,
        sequence_length=2048,
    )  # fmt: skip
    host = answer["per_host"]

    assert load_bytes(70e9, 4, 8, False) == pytest.approx(2.24e12, rel=0.05)
    assert host["load_every_rank_fp32_bytes"] == pytest.approx(2.24e12, rel=0.05)
    assert host["load_rank_zero_fp32_bytes"] == pytest.approx(280e9, rel=0.05)
    assert any(note.startswith("load:") for note in answer["assumptions"])
