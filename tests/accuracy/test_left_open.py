"""What a case leaves open widens its range: recompute, what is measured, and copies that only the allocator sees.

Sources: meta-pytorch/torchtune, README (Llama 3.1 8B: LoRA takes 30.3 GiB on a 48 GB card, 16.2 on a 24 GB one);
linkedin/Liger-Kernel, examples/huggingface (54000 and 68500 MB allocated at batches of 32 and 48); huggingface/peft,
docs, DeepSpeed (70B: 64 GB per GPU).
"""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context


def told(connection: sqlite3.Connection, settings: str, **said: str) -> Estimate:
    """Return the estimate of a printed peak."""
    columns = {
        "case_id": "open", "kind": "K3", "value": "1", "confidence": "high", "precision_or_quant": "bf16",
        "other_config": settings, **said,
    }  # fmt: skip
    return estimate_case(connection, read_context(connection), parse_case(columns))


def test_recompute_that_is_not_stated(connection: sqlite3.Connection) -> None:
    """Both are in the range, and the note says which is likely; where it is stated the range is narrow."""
    columns = {
        "model_id": "meta-llama/Llama-3.1-8B", "gpu": "RTX A6000", "gpu_count": "1", "context_tokens": "2048",
        "batch": "2", "quantity": "peak_gib_per_gpu", "engine_and_version": "torchtune",
    }  # fmt: skip
    unsaid = told(connection, "method=LoRA;compile=true;packed=true", **columns)
    said = told(connection, "method=LoRA;compile=true;packed=true;act_ckpt=full", **columns)

    assert unsaid.low is not None and unsaid.high is not None and said.high is not None
    assert unsaid.low <= 16.2 < 30.3 <= unsaid.high
    assert said.high < 30.3
    assert any(note.startswith("recompute") for note in unsaid.assumed)


@pytest.mark.parametrize(("batch", "mib"), [(32, 54000), (48, 68500)])
def test_copies_of_logits_that_are_gone(connection: sqlite3.Connection, batch: int, mib: int) -> None:
    """Shifted fp32 logits: 13 bytes are allocated at once, 18 are reserved."""
    columns = {
        "model_id": "meta-llama/Meta-Llama-3-8B", "gpu": "NVIDIA A100 80GB", "gpu_count": "4", "batch": str(batch),
        "context_tokens": "512", "dp_or_zero": "FSDP1=4 FULL_SHARD", "engine_and_version": "HF Trainer + Liger",
    }  # fmt: skip
    settings = "method=full;act_ckpt=full;liger=false"
    allocated = told(connection, f"{settings};measure=allocated", quantity="peak_gib_per_gpu", **columns)
    reserved = told(connection, f"{settings};measure=reserved", quantity="peak_reserved_gib_per_gpu", **columns)

    assert allocated.estimate == pytest.approx(mib / 1024, rel=0.05)
    assert reserved.estimate is not None and allocated.estimate is not None
    assert reserved.estimate - allocated.estimate > 4 * batch * 512 * 128256 / 2**30


def test_a_figure_that_may_be_the_drivers(connection: sqlite3.Connection) -> None:
    """People report what is at hand: where a figure is not called allocated the driver's is in the range."""
    columns = {
        "model_id": "meta-llama/Llama-2-70b-hf", "gpu": "NVIDIA A100 80GB", "gpu_count": "8", "batch": "8",
        "context_tokens": "2048", "dp_or_zero": "ZeRO-3, dp=8", "engine_and_version": "peft + deepspeed",
        "quantity": "peak_gb_per_gpu",
    }  # fmt: skip
    settings = "method=LoRA;rank=8;act_ckpt=true;flash_attn=true;targets=all-linear"
    unsaid = told(connection, settings, **columns)
    said = told(connection, f"{settings};measure=allocated", **columns)

    assert unsaid.high is not None and said.high is not None
    assert unsaid.high >= 64 > said.high


def test_a_bare_size_is_a_text_model(connection: sqlite3.Connection) -> None:
    """`7B` stands for the nearest decoder of text: LLaVA 1.5, whose parameters are as near, has a vision tower."""
    found = told(
        connection, "method=full;act_ckpt=full", model_id="7B class", params_total="7B", gpu="H100 80GB", gpu_count="8",
        context_tokens="4096", batch="1", dp_or_zero="ZeRO-3", engine_and_version="transformers",
        quantity="peak_reserved_gib_per_gpu",
    )  # fmt: skip
    named = next(note for note in found.assumed if note.startswith("model: ")).removeprefix("model: ").split(",")[0]

    towers = connection.execute("select count(*) from towers where model_id = ?", (named,)).fetchone()[0]
    assert towers == 0, named
