"""Peaks that eager stacks print, by version: what a pass over the prompt needs differs from release to release.

Sources: Qwen documentation, speed benchmark of Qwen2.5 (docs/source/benchmark/speed_benchmark.rst at 010c37c;
Transformers 4.46.0, max_memory_allocated over 2^30) and of Qwen2 (the same page of v2.0; Transformers 4.38.2);
ml-explore/mlx-lm, BENCHMARKS.md (0.28.2), pull requests 839 (DeepSeek-V3) and 1781 (Qwen3.8-27B); Transformers
documentation, optimizing LLMs for speed and memory (OctoCoder, bytes over 2^30).
"""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.engines import find_engine
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context
from rackfit.catalog.read import read_model
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.eager import prompt_logits, prompt_pass, rotary_tables

OLD, LAST_ONLY = "transformers 4.38.2, torch 2.1.2", "transformers 4.46.0, torch 2.3.1"


def told(
    connection: sqlite3.Connection, model: str, precision: str, prompt: int, generated: int, engine: str, **said: str
) -> Estimate:
    """Return the estimate of a peak of one generation."""
    columns = {
        "case_id": "peak", "kind": "K2", "model_id": model, "precision_or_quant": precision, "gpu": "NVIDIA A100 80GB",
        "gpu_count": "1", "context_tokens": str(prompt + generated), "batch": "1", "quantity": "peak_gb_total",
        "value": "1", "unit": "GB_as_published", "engine_and_version": engine, "confidence": "high",
        "other_config": f"input_tokens={prompt};output_tokens={generated}", **said,
    }  # fmt: skip
    return estimate_case(connection, read_context(connection), parse_case(columns))


@pytest.mark.parametrize(
    ("model", "precision", "prompt", "devices", "engine", "printed"),
    [
        ("Qwen2.5-0.5B-Instruct", "BF16", 30720, 1, LAST_ONLY, 2.34),
        ("Qwen2.5-7B-Instruct", "BF16", 1, 1, LAST_ONLY, 14.38),
        ("Qwen2.5-7B-Instruct", "BF16", 30720, 1, LAST_ONLY, 19.97),
        ("Qwen2.5-32B-Instruct", "BF16", 30720, 1, LAST_ONLY, 74.47),
        ("Qwen2.5-72B-Instruct", "BF16", 14336, 3, LAST_ONLY, 149.14),
        ("Qwen2.5-72B-Instruct-GPTQ-Int4", "GPTQ-Int4", 14336, 1, LAST_ONLY, 46.86),
        ("Qwen2.5-1.5B-Instruct-AWQ", "AWQ", 1, 1, LAST_ONLY, 1.51),
        ("Qwen2.5-1.5B-Instruct-AWQ", "AWQ", 14336, 1, LAST_ONLY, 2.36),
        ("Qwen2-0.5B-Instruct", "BF16", 1, 1, OLD, 1.17),
        ("Qwen2-0.5B-Instruct", "BF16", 30720, 1, OLD, 27.61),
        ("Qwen2-7B-Instruct", "BF16", 14336, 1, OLD, 27.71),
        ("Qwen2-7B-Instruct-GPTQ-Int8", "GPTQ-Int8", 6144, 1, OLD, 14.31),
        ("Qwen2-72B-Instruct-AWQ", "AWQ", 6144, 1, OLD, 47.42),
    ],
)
def test_peaks_of_transformers(
    connection: sqlite3.Connection, model: str, precision: str, prompt: int, devices: int, engine: str, printed: float
) -> None:
    """Before 4.45 the logits of the whole prompt are the peak, since then one block's pass over it."""
    found = told(connection, f"Qwen/{model}", precision, prompt, 2048, engine, gpu_count=str(devices))

    assert found.estimate == pytest.approx(printed, rel=0.03)
    assert found.low is not None and found.high is not None
    assert found.low <= printed <= found.high


@pytest.mark.parametrize(
    ("model", "precision", "prompt", "generated", "engine", "printed"),
    [
        ("Qwen/Qwen3-4B-Instruct-2507", "bf16", 2048, 128, "mlx-lm 0.28.2", 9.02),
        ("Qwen/Qwen3-4B-Instruct-2507", "mlx 8bit", 2048, 128, "mlx-lm 0.28.2", 5.254),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "mlx 4bit", 2048, 128, "mlx-lm 0.28.2", 18.20),
        ("deepseek-ai/DeepSeek-V3", "mlx 4bit", 4096, 0, "mlx-lm 0.30", 383.213),
        ("deepseek-ai/DeepSeek-V3", "mlx 4bit", 16384, 0, "mlx-lm 0.30", 398.605),
    ],
)
def test_peaks_of_mlx(
    connection: sqlite3.Connection, model: str, precision: str, prompt: int, generated: int, engine: str, printed: float
) -> None:
    """A prompt of one step made all its logits; attention without a fused kernel writes a step's scores out."""
    found = told(
        connection, model, precision, prompt, generated, engine, unit="GB", gpu="M3 Ultra 512GB"
    )  # fmt: skip

    assert found.estimate == pytest.approx(printed, rel=0.02)


@pytest.mark.parametrize(("precision", "printed"), [("bf16", 29.0260), ("bnb int8", 15.2197), ("bnb fp4", 9.5436)])
def test_peaks_of_the_optimisation_guide(connection: sqlite3.Connection, precision: str, printed: float) -> None:
    """OctoCoder, a StarCoder, 60 tokens: weights by format, and under 4 bits the matrix that is widened."""
    found = told(connection, "bigcode/octocoder", precision, 20, 60, "transformers 4.34")

    assert found.estimate == pytest.approx(printed, rel=0.07)


def test_a_prompt_that_is_not_stated_may_be_long(connection: sqlite3.Connection) -> None:
    """Where only the context is known the high end holds a pass over all of it, the likely value none."""
    stated = told(connection, "Qwen/Qwen2.5-7B-Instruct", "BF16", 32768, 0, LAST_ONLY)
    unstated = told(connection, "Qwen/Qwen2.5-7B-Instruct", "BF16", 32768, 0, LAST_ONLY, other_config="")

    assert stated.estimate is not None and unstated.estimate is not None and unstated.high is not None
    assert unstated.estimate < stated.estimate < unstated.high


def test_terms_of_a_prompt(connection: sqlite3.Connection) -> None:
    """Logits 2 + 4 bytes each, a block's 2 x (3 d_ff + 4 d), tables of cos and sin per layer and position."""
    context, anatomy = read_context(connection), Anatomy(read_model(connection, "qwen/qwen2-7b"))
    old, new = (find_engine(text, context.budgets, False, "NVIDIA").budget for text in (OLD, LAST_ONLY))

    assert prompt_logits(anatomy, old, 1000) == 6 * 152064 * 1000
    assert prompt_logits(anatomy, new, 1000) == 0
    assert prompt_pass(anatomy, new, 1000) == 2 * (3 * 18944 + 4 * 3584) * 1000
    assert rotary_tables(anatomy, old, 32768) == 28 * 2 * 2 * 32768 * 128
    assert rotary_tables(anatomy, new, 32768) == 0
