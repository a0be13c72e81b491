"""Pools and refusals that vLLM printed, old versions and new, against the budget of their version."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion

GIB = 2**30


def ask(connection: sqlite3.Connection, model: str, on: str, runtime: str, context: int, **more: Any) -> dict[str, Any]:
    """Return the answer for a model on devices under a version of vLLM."""
    question = FitQuestion(model, on, context=context, runtime=runtime, **more)
    return fit_one(connection, question, suggest=False)


@pytest.mark.parametrize(
    ("model", "tp", "version", "blocks", "block_mib"),
    [
        # vllm#2031, A100 80 GB: before (0.2.4) and after (0.2.5); 16 tokens x 32 layers x 2 x 4096 x 2 B = 8 MiB,
        # 16 x 80 x 2 x 2 x 128 x 2 B = 1.25 MiB on each of four
        ("llama-2-7b", 1, "0.2.4", 7449, 8.0),
        ("llama-2-7b", 1, "0.2.5", 7351, 8.0),
        ("llama-2-70b", 4, "0.2.4", 31615, 1.25),
        ("llama-2-70b", 4, "0.2.5", 20865, 1.25),
    ],
)
def test_before_and_after_the_driver_was_read(
    connection: sqlite3.Connection, model: str, tp: int, version: str, blocks: int, block_mib: float
) -> None:
    """0.2.5 counts what all-reduces keep of a forward pass, 13 GiB of a 70B."""
    answer = ask(connection, model, f"{tp}x a100-sxm4-80gb", f"vllm {version} V0", 4096, tp=tp)

    assert answer["per_device"]["kv_pool_bytes"] / GIB == pytest.approx(blocks * block_mib / 1024, rel=0.03)


def test_four_small_cards_are_too_small_for_0_2_5(connection: sqlite3.Connection) -> None:
    """Llama-2-70B in AWQ on 4 x A10G ran before 0.2.5 and not with it (vllm#2248)."""
    old, new = (
        ask(connection, "llama-2-70b", "4x a10g", f"vllm {version} V0", 4096, tp=4, precision="awq_int4_g128")
        for version in ("0.2.4", "0.2.5")
    )

    assert (old["verdict"], new["verdict"]) == ("fits", "no")


@pytest.mark.parametrize(
    ("model", "card", "version", "context", "more"),
    [
        # vllm#27508: "Available KV cache memory: 1.71 GiB", too little for 131,072 tokens
        ("gpt-oss-120b", "h100-sxm5-80gb", "0.11.0", 131_072, {"utilization": 0.95, "max_batched_tokens": 1024}),
        # vllm#23278: "Available KV cache memory: -2.14 GiB"
        ("gpt-oss-120b", "h100-sxm5-80gb", "0.10.1", 131_072, {}),
        # vllm#18124: 30 % of an A100 80 GB, the context of the model: "No available memory for the cache blocks"
        ("qwen2.5-vl-3b", "a100-sxm4-80gb", "0.8.3", 128_000, {"utilization": 0.3}),
        # vllm#13882: 70 % of 8 GiB, AWQ: "activation peak memory takes 1.42GiB; ... KV Cache is -1.05GiB"
        ("qwen2.5-7b", "rtx-4060", "0.7.3", 4096, {"utilization": 0.7, "precision": "awq_int4_g128"}),
    ],
)
def test_reported_refusals(
    connection: sqlite3.Connection, model: str, card: str, version: str, context: int, more: dict[str, Any]
) -> None:
    """What did not start is not called a fit."""
    assert ask(connection, model, card, f"vllm {version}", context, **more)["verdict"] == "no"


def test_sequences_of_0_8(connection: sqlite3.Connection) -> None:
    """0.8.1 profiles 1024 sequences on every card: its process takes 15,982 MiB of an RTX 3090, not 90 % (vllm#15204).

    What the sampler took in the profile is free again; 0.8.5 profiles 256 there.
    """
    each, later = (
        ask(connection, "qwen2.5-3b", "rtx-3090", f"vllm {version}", 32768, precision="awq_int4_g128")["per_device"]
        for version in ("0.8.1", "0.8.5")
    )

    assert (each["reserved_bytes"] - each["workspace_bytes"]) / 2**20 == pytest.approx(15_982, rel=0.04)
    assert each["workspace_bytes"] > 3.5 * later["workspace_bytes"]
