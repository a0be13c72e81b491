"""An engine's version may be asked: the rules are those of that version, and the answer says which."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.errors import UnknownNameError


def ask(connection: sqlite3.Connection, runtime: str, context: int) -> dict[str, object]:
    """Return the answer for Llama-3.1-8B on one RTX 3090 at 0.9."""
    question = FitQuestion("llama-3.1-8b", "rtx-3090", context=context, runtime=runtime, utilization=0.9)
    return fit_one(connection, question, suggest=False)


@pytest.mark.parametrize(("context", "fits"), [(20_000, True), (29_000, False), (35_000, True)])
def test_a_longer_context_can_leave_more_cache(connection: sqlite3.Connection, context: int, fits: bool) -> None:
    """vLLM 0.6.4 starts with 20K and 35K tokens and not with 29K (vLLM issue 10517, cases K6-0380 to K6-0382)."""
    assert (ask(connection, "vllm 0.6.4", context)["verdict"] != "no") is fits


def test_the_profiled_peak_is_that_of_the_version(connection: sqlite3.Connection) -> None:
    """0.6.4 profiles the context: 2.07 GiB at 20,000 tokens (case K1-0094)."""
    answer = ask(connection, "vllm 0.6.4", 20_000)

    assert answer["per_device"]["workspace_bytes"] / 2**30 == pytest.approx(2.07, rel=0.02)  # type: ignore[index]


@pytest.mark.parametrize(
    ("said", "rows", "per_logit"),
    # SchedulerConfig and create_engine_config of 0.5.0, 0.5.4, 0.6.4, 0.6.5, 0.8.5: no chunks, then 512, then 2048
    # and what sampling takes for 256 sequences: 1.26 GiB printed for Llama-3-8B (vllm#10511), 38 B per logit
    [
        ("vllm 0.5.1", 40_000, 0),
        ("vllm 0.5.4", 512, 0),
        ("vllm 0.6.4", 512, 0),
        ("vllm 0.6.5", 2048, 38),
        ("vllm 0.8.5 V0", 2048, 38),
    ],
)
def test_chunks_by_version(connection: sqlite3.Connection, said: str, rows: int, per_logit: int) -> None:
    """Above 32K the profiled batch is what the version makes of it; a row takes 2 x (3 x 14336 + 3 x 4096) bytes."""
    answer = ask(connection, said, 40_000)

    forward, sampler = rows * 2 * (3 * 14336 + 3 * 4096), per_logit * 256 * 128256
    assert answer["per_device"]["workspace_bytes"] == max(forward, sampler)  # type: ignore[index]


def test_a_chunk_of_512_as_printed(connection: sqlite3.Connection) -> None:
    """0.6.4 at 35,000 tokens prints a torch peak of 15.05 GiB over weights of 14.99 (vllm issue 10517)."""
    answer = ask(connection, "vllm 0.6.4", 35_000)

    assert answer["per_device"]["workspace_bytes"] / 2**30 == pytest.approx(15.05 - 14.9888, abs=0.01)  # type: ignore[index]


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ("vllm 0.6.4", "vllm-v0-0.5.3"),
        ("vllm==0.7.2", "vllm-v0-0.7"),
        ("vLLM v0.9.2", "vllm-v1-0.9.2"),
        ("vllm 0.9.2 V0", "vllm-v0-0.8"),
        ("vllm 0.11.0", "vllm-v1-0.11"),
        ("vllm 9.9.9", "vllm-v1-0.33"),
        ("vllm", "vllm-v1-0.33"),
        ("sglang 0.4.6", "sglang-0.4"),
    ],
)
def test_spellings_of_a_version(connection: sqlite3.Connection, said: str, budget: str) -> None:
    """A version stands behind the name, with or without signs, and V0 may be asked for by name."""
    answer = ask(connection, said, 8192)

    assert answer["runtime_budget"] == budget


def test_an_unknown_engine_with_a_version_is_named_without_it(connection: sqlite3.Connection) -> None:
    """The name that is not known is the engine's."""
    with pytest.raises(UnknownNameError, match="vlmm"):
        ask(connection, "vlmm 0.9.2", 8192)


@pytest.mark.parametrize(
    ("said", "card", "precision", "runs"),
    # vLLM's installation pages: compute capability 7.0 to 0.30, 7.5 since 0.31; bitsandbytes left the core with 0.28
    [
        ("vllm 0.8.5", "v100-32gb", "fp16", True),
        ("vllm 0.31.0", "v100-32gb", "fp16", False),
        ("vllm", "v100-32gb", "fp16", False),
        ("vllm 0.8.5", "p100-16gb", "fp16", False),
        ("vllm 0.9.2", "h100-sxm5-80gb", "bnb-nf4", True),
        ("vllm 0.28.0", "h100-sxm5-80gb", "bnb-nf4", False),
    ],
)
def test_formats_of_the_version(
    connection: sqlite3.Connection, said: str, card: str, precision: str, runs: bool
) -> None:
    """What an engine runs on a card is asked of the version, not of the newest one."""
    question = FitQuestion("llama-3.1-8b", card, context=8192, runtime=said, precision=precision)

    assert (fit_one(connection, question, suggest=False)["verdict"] != "cannot_run") is runs


def test_a_format_that_came_later_is_unknown(connection: sqlite3.Connection) -> None:
    """No rule of 0.5 speaks of NVFP4: the verdict is no more than tight, and says why."""
    question = FitQuestion("llama-3.1-8b", "b200", context=8192, runtime="vllm 0.5.4", precision="nvfp4")
    answer = fit_one(connection, question, suggest=False)

    assert answer["verdict"] == "tight"
    assert any("support of nvfp4 by vllm" in line for line in answer["assumptions"])


@pytest.mark.parametrize(
    ("share", "eager", "verdict"), [(0.90, False, "fits"), (0.95, False, "tight"), (0.95, True, "fits")]
)
def test_graphs_need_what_the_share_leaves(
    connection: sqlite3.Connection, share: float, eager: bool, verdict: str
) -> None:
    """R135: a 32B in 8 bits over four cards of 15.77 GiB runs at 0.90 and ends at 0.95, graphs being outside the share.

    Source: vllm issue 11251, 0.6.4.post1: weights 7.51, cache 3.76 GiB at 0.90. Without graphs nothing is captured.
    """
    question = FitQuestion(
        "qwen2.5-32b", "4x rtx-4060-ti-16gb", precision="gptq-int8", tp=4, usable_gib=15.77, context=40_000,
        runtime="vllm 0.6.4", utilization=share, eager=eager,
    )  # fmt: skip
    answer = fit_one(connection, question)

    assert answer["verdict"] == verdict
    if verdict == "tight":
        assert "too little for graphs" in answer["reason"]
        assert any(change.get("eager") for change in answer["suggestions"])
