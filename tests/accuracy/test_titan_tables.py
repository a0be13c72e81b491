"""Peaks that torchtitan's benchmark page of December 2024 prints: FSDP, tensor, pipeline and context parallelism.

Source of every figure: pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, tables 1 to 6 (GiB reserved,
the largest over all devices).
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from statistics import median

import pytest

from rackfit.accuracy.cases import Case, parse_case
from rackfit.accuracy.score import estimate_case
from rackfit.accuracy.training_words import compiles_loss
from rackfit.catalog.context import read_context

SMALL, MIDDLE, LARGE = "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-405B"
EAGER, SELECTIVE = "compile=false;act_ckpt=selective_op", "compile=true;act_ckpt=selective_op"
FULL, PIPELINE = "compile=true;act_ckpt=full", "compile=true;act_ckpt=full;pp_schedule=1F1B"
TABLES = (
    (SMALL, 8, 1, 1, 8, 1, 8192, 2, EAGER, 82.4),
    (SMALL, 8, 1, 1, 8, 1, 8192, 2, SELECTIVE, 77.0),
    (SMALL, 128, 1, 1, 128, 1, 8192, 2, EAGER, 67.0),
    (SMALL, 128, 1, 1, 128, 1, 8192, 2, SELECTIVE, 62.0),
    (SMALL, 8, 1, 1, 8, 1, 32768, 1, FULL, 83.9),
    (SMALL, 8, 1, 1, 4, 2, 65536, 1, FULL, 84.2),
    (SMALL, 8, 1, 1, 2, 4, 131072, 1, FULL, 84.0),
    (SMALL, 8, 1, 1, 1, 8, 262144, 1, FULL, 84.5),
    (MIDDLE, 256, 8, 1, 32, 1, 8192, 16, FULL, 71.9),
    (LARGE, 512, 8, 8, 8, 1, 8192, 32, PIPELINE, 82.5),
    (LARGE, 512, 8, 8, 8, 1, 32768, 8, PIPELINE, 75.3),
    (LARGE, 512, 8, 8, 4, 2, 65536, 8, PIPELINE, 75.9),
    (LARGE, 512, 8, 8, 2, 4, 131072, 8, PIPELINE, 77.1),
    (LARGE, 512, 8, 8, 1, 8, 262144, 8, PIPELINE, 84.9),
)
"""Model, devices, TP, PP, FSDP, CP, sequence length, local batch, settings, GiB."""


def printed(row: tuple[str, int, int, int, int, int, int, int, str, float]) -> Case:
    """Return a row of the tables as a case."""
    model, devices, tp, pp, fsdp, cp, length, batch, settings, value = row
    columns = {
        "model_id": model, "gpu": "NVIDIA H100 96GB", "gpu_count": devices, "tp": tp, "pp": pp,
        "dp_or_zero": f"FSDP2={fsdp}", "context_tokens": length, "batch": batch, "precision_or_quant": "bf16 mixed",
        "other_config": f"{settings};cp={cp}", "engine_and_version": "torchtitan 9dec370", "case_id": "page",
        "kind": "K3", "quantity": "peak_gib_per_gpu", "unit": "GiB", "value": value, "confidence": "high",
    }  # fmt: skip
    return parse_case({name: str(text) for name, text in columns.items()})


def test_tables_of_the_benchmark_page(connection: sqlite3.Connection) -> None:
    """Half of the figures come out within 10 %, all within 25 %, up to 405B over four kinds of parallelism."""
    context = read_context(connection)
    told = [estimate_case(connection, context, printed(row)) for row in TABLES]
    errors = [abs(one.relative_error or 1.0) for one in told]

    assert median(errors) <= 0.10
    assert max(errors) <= 0.25
    assert all(one.inside for one in told)


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("torchtitan 9dec370, torch 2.6", False),
        ("torchtitan e7c0cae, torch 2.8.0a0", True),
        ("torchtitan 2024-12", False),
        ("torchtitan", None),
    ],
)
def test_whether_the_loss_is_compiled_follows_the_version(engine: str, expected: bool | None) -> None:
    """The call was a comment until pull request 859 of 2025-02-20."""
    assert compiles_loss(engine) is expected


def test_a_run_without_version_has_both_losses_in_its_range(connection: sqlite3.Connection) -> None:
    """Compiled blocks with an eager loss and with a compiled one are both possible, and the note says so."""
    row = printed(TABLES[1])
    undated = parse_case(
        {"case_id": "x", "kind": "K3", "quantity": row.quantity, "value": "77", "model_id": row.model, "gpu": row.gpu,
         "gpu_count": "8", "dp_or_zero": row.dp_or_zero, "context_tokens": "8192", "batch": "2",
         "other_config": SELECTIVE, "engine_and_version": "torchtitan"}
    )  # fmt: skip
    context = read_context(connection)
    dated = estimate_case(connection, context, row)
    told = estimate_case(connection, context, undated)

    assert told.estimate is not None and dated.estimate is not None and told.high is not None
    assert told.estimate < dated.estimate <= told.high
    assert any("loss" in note for note in told.assumed)


PRINTED_SPEED = (
    (0, 5762), (1, 6667), (2, 5605), (3, 6514), (4, 3890), (5, 2540), (6, 1071), (7, 548), (8, 829), (10, 76), (11, 47),
    (12, 31), (13, 16),
)  # fmt: skip
"""Row of the tables above -> tokens per second and device that the page prints."""


def test_speed_of_the_same_runs(connection: sqlite3.Connection) -> None:
    """Half within 20 %, all within 30 %, from one kind of parallelism to four, 8,192 tokens to 262,144."""
    context = read_context(connection)
    errors = []
    for number, value in PRINTED_SPEED:
        case = replace(printed(TABLES[number]), kind="K8", quantity="tokens_per_s", value=str(value))
        errors.append(abs(estimate_case(connection, context, case).relative_error or 1.0))

    assert median(errors) <= 0.20
    assert max(errors) <= 0.30
