"""What ms-swift's own benchmark prints: adapters and full tuning of Qwen by length, batch, recompute and base format.

Source of every figure: modelscope/ms-swift before 2024-12-05, docs/source_en/LLM/Benchmark.md (GiB reserved, A100).
"""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner

from rackfit.accuracy.cases import Case, parse_case
from rackfit.accuracy.score import estimate_case
from rackfit.catalog.context import read_context
from rackfit.cli.scoring import accuracy

LENGTHS = (512, 1024, 2048, 4096, 8192)
BY_LENGTH = {
    ("Qwen/Qwen-1_8B-Chat", "LoRA"): (6.99, 10.71, 16.35, 23.80, 37.03),
    ("Qwen/Qwen-7B-Chat", "LoRA"): (18.01, 21.73, 27.74, 35.31, 48.41),
    ("Qwen/Qwen-14B-Chat", "LoRA"): (30.14, 34.43, 40.14, 47.95, 60.74),
    ("01-ai/Yi-34B-Chat", "LoRA"): (66.72, 69.10, 71.34, 78.72),
    ("Qwen/Qwen-7B-Chat", "full"): (73.37, 73.64, 74.26, 78.76),
}
OTHERS = (
    ({"batch": "2"}, 43.11), ({"batch": "4"}, 63.81), ({"batch": "8"}, 76.14),
    ({"act_ckpt": "none"}, 37.70), ({"attention": "eager"}, 27.71), ({"attention": "eager", "act_ckpt": "none"}, 57.67),
    ({"rank": "64"}, 27.85), ({"targets": "all_linear"}, 27.87),
    ({"precision_or_quant": "gptq int4", "method": "QLoRA"}, 19.21),
    ({"precision_or_quant": "bnb nf4", "method": "QLoRA"}, 23.85),
)  # fmt: skip
"""Qwen-7B with adapters at 2048 tokens: what differs -> GiB."""


def printed(value: float, model: str = "Qwen/Qwen-7B-Chat", length: int = 2048, **said: str) -> Case:
    """Return a figure of the benchmark as a case, its defaults filled in."""
    settings = {"method": "LoRA", "act_ckpt": "full", "rank": "8", "targets": "q+k+v", "grad_accum": "16"}
    columns = {
        "case_id": "page", "kind": "K3", "model_id": model, "gpu": "NVIDIA A100 80GB", "gpu_count": "1", "batch": "1",
        "context_tokens": str(length), "precision_or_quant": "bf16", "quantity": "peak_reserved_gib_per_gpu",
        "value": str(value), "unit": "GiB", "engine_and_version": "ms-swift 1.x", "confidence": "high",
    }  # fmt: skip
    columns |= {name: text for name, text in said.items() if name in columns}
    settings |= {name: text for name, text in said.items() if name not in columns}
    return parse_case({**columns, "other_config": ";".join(f"{name}={text}" for name, text in settings.items())})


def cases() -> list[Case]:
    """Return all figures as cases."""
    found = [
        printed(value, model, length, method=method)
        for (model, method), values in BY_LENGTH.items()
        for length, value in zip(LENGTHS, values, strict=False)
    ]
    return found + [printed(value, **said) for said, value in OTHERS]


def test_reserved_memory_where_lengths_vary(connection: sqlite3.Connection) -> None:
    """Half of the figures come out within 10 %, 90 % within 30 %: earlier batches' blocks lie reserved beside."""
    context = read_context(connection)
    errors = sorted(abs(estimate_case(connection, context, one).relative_error or 1.0) for one in cases())

    assert median(errors) <= 0.10
    assert errors[int(0.9 * len(errors))] <= 0.30


def test_what_can_be_freed_does_not_forbid_a_run(connection: sqlite3.Connection) -> None:
    """Batch 8 reserves nearly all of the card and runs: blocks of earlier batches give way."""
    ran = printed(1, batch="8")
    said = parse_case({"case_id": "x", "kind": "K6", "quantity": "fits",
                       "value": "true", "model_id": ran.model, "gpu": ran.gpu, "gpu_count": "1", "batch": "8",
                       "context_tokens": "2048", "precision_or_quant": "bf16", "engine_and_version": "ms-swift",
                       "other_config": "method=LoRA;act_ckpt=full;rank=8;targets=q+k+v"})  # fmt: skip

    assert estimate_case(connection, read_context(connection), said).estimate == 1.0


@pytest.mark.parametrize("model", ["nobody/stranger-7b", "Qwen/Qwen-7B-Chat"])
def test_a_report_comes_out_whatever_the_worst_case_names(catalog: Path, tmp_path: Path, model: str) -> None:
    """A model that is answered by the nearest one has no components of an engine; the report and its rows come out."""
    file = tmp_path / "cases.csv"
    row = {"case_id": "X-1", "kind": "K3", "quantity": "peak_gib_per_gpu", "value": "1", "model_id": model,
           "other_config": "method=LoRA", "context_tokens": "2048", "batch": "1", "confidence": "high"}  # fmt: skip
    with file.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, list(row))
        writer.writeheader()
        writer.writerow(row)
    answer = CliRunner().invoke(accuracy, ["--cases", str(file), "--catalog", str(catalog)])

    assert answer.exit_code == 0, answer.output
    assert "X-1" in answer.output
