"""Live answers under every engine with rules on record; the others are refused by name."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.ask.together import fit_together
from rackfit.errors import UnknownNameError, UnsupportedError


def ask(connection: sqlite3.Connection, runtime: str, on: str = "h100-sxm5-80gb", **more: Any) -> dict[str, Any]:
    """Return the answer for Llama-3.1-8B, by default on one H100."""
    question = FitQuestion("llama-3.1-8b", on, context=8192, runtime=runtime, **more)
    return fit_one(connection, question, suggest=False)


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ("tensorrt-llm", "tensorrt-llm-1.0"),
        ("TRT-LLM 0.12", "tensorrt-llm-engine"),
        ("tensorrt-llm pytorch", "tensorrt-llm-1.0"),
        ("tgi", "tgi-3.3"),
        ("tgi 2.4.1", "tgi-2.4"),
        ("lmdeploy", "lmdeploy-turbomind"),
        ("lmdeploy PyTorch", "lmdeploy-pytorch"),
        ("lmdeploy turbomind 0.16.0", "lmdeploy-turbomind"),
        ("exllamav2", "exllamav2-0.3"),
        ("exllamav3", "exllamav3-1.4"),
        ("ollama", "ollama-0.30"),
        ("ollama 0.20.0", "ollama-0.12"),
        ("lm-studio", "lm-studio-0.3"),
    ],
)
def test_an_engine_by_name_version_and_variant(connection: sqlite3.Connection, said: str, budget: str) -> None:
    """Each engine answers by its own rules, and a small model fits a large card under all of them."""
    answer = ask(connection, said)

    assert answer["runtime_budget"] == budget
    assert answer["verdict"] in ("fits", "tight")
    device = answer["per_device"]
    parts = sum(device[f"{name}_bytes"] for name in ("weights", "kv", "workspace", "runtime"))
    assert device["total_bytes"] == parts


def test_five_shares_are_five_numbers(connection: sqlite3.Connection) -> None:
    """The same 0.9 is a share of all, of what is free, or of the rest: no two engines leave the same cache."""
    pools = {
        runtime: ask(connection, runtime, utilization=0.9)["per_device"]["kv_pool_bytes"]
        for runtime in ("vllm", "sglang", "tensorrt-llm", "tgi", "lmdeploy")
    }
    assert len(set(pools.values())) == len(pools)
    assert pools["lmdeploy"] > pools["vllm"]


@pytest.mark.parametrize(
    ("runtime", "on"),
    [
        # TensorRT-LLM, supported-hardware.html: NVIDIA parts alone
        ("tensorrt-llm", "mi300x"),
        ("vllm-gaudi", "h100-sxm5-80gb"),
        ("vllm-ascend", "h100-sxm5-80gb"),
        # exllamav3, README: no ROCm
        ("exllamav3", "mi300x"),
    ],
)
def test_devices_that_an_engine_does_not_run_on(connection: sqlite3.Connection, runtime: str, on: str) -> None:
    """The answer says where the engine runs instead of giving a number."""
    answer = ask(connection, runtime, on)

    assert answer["verdict"] == "cannot_run"
    assert answer["per_device"] is None
    assert f"{runtime} runs on" in answer["reason"]


def test_gaudi(connection: sqlite3.Connection) -> None:
    """vLLM's README for Gaudi prints 64.17 GiB of cache for Llama-3.1-8B on a Gaudi 2."""
    answer = ask(connection, "vllm-gaudi", "gaudi-2")

    assert answer["per_device"]["kv_pool_bytes"] / 2**30 == pytest.approx(64.17, abs=1)
    assert answer["verdict"] == "fits"


def test_an_engine_whose_budget_is_not_known(connection: sqlite3.Connection) -> None:
    """It is refused with the engines that are known; a name that is none is refused with near ones."""
    with pytest.raises(UnsupportedError, match=r"ktransformers.*known: .*tensorrt-llm"):
        ask(connection, "ktransformers")
    with pytest.raises(UnknownNameError, match="lmdeplow"):
        ask(connection, "lmdeplow")


def test_a_wrapped_engine_says_whose_rules_it_works_on(connection: sqlite3.Connection) -> None:
    """Ollama starts llama.cpp's server, and places layers so that 1024 MiB stay free (llama/LLAMA_CPP_VERSION)."""
    ollama = ask(connection, "ollama", precision="q4_k_m")
    plain = ask(connection, "llama.cpp", precision="q4_k_m")

    assert any("ollama works on the rules of llama.cpp" in line for line in ollama["assumptions"])
    assert plain["per_device"]["usable_bytes"] - ollama["per_device"]["usable_bytes"] == 1024 * 2**20
    assert ollama["precision_support"] == plain["precision_support"]


def test_the_part_that_stays_free_is_named(connection: sqlite3.Connection) -> None:
    """A tenth stays free under TensorRT-LLM: 1/9 of a gibibyte beside 8192 tokens of 131,072 bytes."""
    answer = ask(connection, "tensorrt-llm")

    assert answer["per_device"]["kept_free_bytes"] == pytest.approx(2**30 / 9, rel=1e-6)
    assert any("stay free" in line for line in answer["assumptions"])


def test_models_together_need_no_free_part(connection: sqlite3.Connection) -> None:
    """What one engine leaves free is there for the next: it is no part of what both need."""
    question = FitQuestion(None, "h100-sxm5-80gb", context=8192, runtime="tensorrt-llm")
    both = fit_together(connection, ["llama-3.1-8b", "llama-3.1-8b"], question)
    alone = ask(connection, "tensorrt-llm")["per_device"]
    needed = alone["total_bytes"] - alone["kept_free_bytes"] + alone["outside_bytes"]

    assert both["per_device"]["total_bytes"] == 2 * needed
