"""Peaks that documents print, one framework's rule each: fp32 and mixed training, stage 3 with a fused loss, adapters.

Sources: huggingface/transformers, docs, model_memory_anatomy and perf_train_gpu_one of version 4.27 (BERT large, 512
tokens, driver's MiB); modelscope/ms-swift, comments of examples/train (packed, stage 3, Liger); meta-pytorch/torchtune,
docs, tutorials/lora_finetune.rst; NVIDIA-NeMo/Megatron-Bridge, skills, memory tuning (Llama 3 70B over 32 H100);
artidoro/qlora, issue 225 (13B on 24 GB).
"""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context

BERT = {
    "model_id": "google-bert/bert-large-uncased", "gpu": "V100 16GB", "gpu_count": "1", "context_tokens": "512",
    "quantity": "nvidia_smi_used_mib_per_gpu", "engine_and_version": "transformers 4.27",
}  # fmt: skip
STAGE_3 = {
    "gpu": "NVIDIA A100 80GB", "dp_or_zero": "ZeRO-3", "batch": "1", "precision_or_quant": "bf16",
    "quantity": "peak_reserved_gib_per_gpu", "engine_and_version": "ms-swift 3.x",
    "other_config": "method=full;packing=true;liger=true;flash_attn=2;act_ckpt=full;grad_accum=4",
}  # fmt: skip
TUNE = {
    "model_id": "meta-llama/Llama-2-7b-hf", "gpu": "RTX 4090", "gpu_count": "1", "batch": "2",
    "precision_or_quant": "bf16", "quantity": "peak_gb_per_gpu", "unit": "GB", "engine_and_version": "torchtune 0.1",
}  # fmt: skip
SPLIT = {
    "model_id": "meta-llama/Meta-Llama-3-70B", "gpu": "NVIDIA H100 80GB", "gpu_count": "32", "context_tokens": "4096",
    "batch": "1", "precision_or_quant": "FP8 current scaling, fp32 optimizer", "quantity": "peak_gb_per_gpu",
    "engine_and_version": "Megatron-Bridge",
    "other_config": "method=SFT;micro_batch=1;vpp=5;sp=true;act_ckpt=selective;recompute_modules=core_attn",
}  # fmt: skip


def told(connection: sqlite3.Connection, value: float, shared: dict[str, str], **said: Any) -> Estimate:
    """Return the estimate of a printed figure."""
    columns = {"case_id": "page", "kind": "K3", "confidence": "high", **shared}
    columns |= {name: str(text) for name, text in said.items()} | {"value": str(value)}
    return estimate_case(connection, read_context(connection), parse_case(columns))


@pytest.mark.parametrize(
    ("batch", "precision", "settings", "value"),
    [
        (4, "fp32", "act_ckpt=none", 14949),
        (1, "fp32", "act_ckpt=none;grad_accum=4", 8681),
        (1, "fp32", "act_ckpt=full;grad_accum=4", 6775),
        (4, "fp16 mixed", "act_ckpt=none", 13939),
        (1, "fp16 mixed", "act_ckpt=full;grad_accum=4", 7275),
        (4, "fp32", "act_ckpt=none;optimizer=adafactor", 12295),
    ],
)
def test_activations_are_as_wide_as_they_are_computed(
    connection: sqlite3.Connection, batch: int, precision: str, settings: str, value: float
) -> None:
    """fp32 activations and scores of unfused attention take twice the bytes; states follow the optimizer.

    Under autocast the softmax is fp32 too: 16 bits elsewhere save 7 % of the peak at a batch of 4.
    """
    found = told(
        connection, value, BERT, batch=batch, precision_or_quant=precision, other_config=f"method=full;{settings}"
    )

    assert found.estimate == pytest.approx(value, rel=0.2)
    assert found.low is not None and found.high is not None
    assert found.low <= value <= found.high


@pytest.mark.parametrize(
    ("model", "devices", "length", "value"),
    [
        ("Qwen/Qwen2.5-7B", 4, 8192, 44),
        ("Qwen/Qwen2.5-7B", 4, 16384, 43),
        ("Qwen/Qwen2.5-32B", 8, 8192, 80),
    ],
)
def test_stage_3_with_a_fused_loss_hardly_grows_with_length(
    connection: sqlite3.Connection, model: str, devices: int, length: int, value: float
) -> None:
    """The update, by groups of 1e9 values, is the peak: states and one group's temporaries."""
    found = told(connection, value, STAGE_3, model_id=model, gpu_count=devices, context_tokens=length)

    assert found.estimate == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize(
    ("rank", "targets", "value"),
    [(8, "q+v", 15.57), (8, "attn+mlp+head", 15.87), (64, "q+v", 15.86), (64, "attn+mlp+head", 17.04)],
)
def test_adapters_by_rank_and_targets(connection: sqlite3.Connection, rank: int, targets: str, value: float) -> None:
    """Llama-2-7B on an instruction set, lengths not stated: likely figure within 5 %, and inside the range."""
    settings = f"method=LoRA;rank={rank};targets={targets};act_ckpt=true;measure=reserved"
    found = told(connection, value, TUNE, other_config=settings)

    assert found.estimate == pytest.approx(value, rel=0.05)
    assert found.inside


@pytest.mark.parametrize(("tp", "pp", "dp", "value"), [(4, 4, 2, 58.8), (4, 8, 1, 53.2), (8, 4, 1, 50.2)])
def test_deeper_and_wider_splits(connection: sqlite3.Connection, tp: int, pp: int, dp: int, value: float) -> None:
    """70B over 32 devices by tensor and pipeline parallelism, states divided over what is left."""
    found = told(connection, value, SPLIT, tp=tp, pp=pp, dp_or_zero=f"distributed optimizer, dp={dp}")

    assert found.estimate == pytest.approx(value, rel=0.15)


@pytest.mark.parametrize(("engine", "sure"), [("artidoro/qlora 2023", False), ("transformers 4.44", True)])
def test_attention_before_fused_kernels_keeps_scores(connection: sqlite3.Connection, engine: str, sure: bool) -> None:
    """A 13B model's QLoRA at 4096 tokens failed on 24 GB in 2023: Transformers 4.31 wrote the scores of a layer out."""
    card = {"model_id": "meta-llama/Llama-2-13b-hf", "gpu": "24GB card", "gpu_count": "1", "context_tokens": "4096"}
    said = "method=QLoRA;optimizer=paged_adamw_32bit;rank=64;act_ckpt=full"
    estimate = told(
        connection, 1, card, kind="K6", quantity="fits", batch="1", other_config=said, engine_and_version=engine
    )

    assert bool(estimate.low) is sure
