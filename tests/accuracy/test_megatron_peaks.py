"""Peaks of Megatron stacks: gradient buffers stand from the start, recipes differ in the width of their states.

Sources: modelscope/ms-swift, first comments of examples/megatron (what a run takes per device); NVIDIA-NeMo/
Megatron-Bridge, skills (activation recompute, expert overlap, memory tuning) and recipes (moonlight_16b.py:
use_precision_aware_optimizer; perf_recipes/_common.py: grad_reduce_in_fp32 = False, cross_entropy_fusion_impl = te);
Megatron-LM, megatron/core/distributed/param_and_grad_buffer.py.
"""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context

SWIFT = {
    "gpu": "NVIDIA A100 80GB", "precision_or_quant": "bf16", "engine_and_version": "ms-swift 3.x Megatron",
    "dp_or_zero": "distributed optimizer", "quantity": "peak_reserved_gib_per_gpu", "batch": "1",
}  # fmt: skip
BRIDGE = {
    "gpu": "NVIDIA H100 80GB", "engine_and_version": "Megatron-Bridge", "quantity": "peak_gb_per_gpu", "batch": "1",
    "precision_or_quant": "bf16, distributed fp32 optimizer", "dp_or_zero": "distributed optimizer",
}  # fmt: skip
PACKED = "packing=true;flash_attn=2;sp=true"


def told(connection: sqlite3.Connection, shared: dict[str, str], **said: str) -> Estimate:
    """Return the estimate of a printed peak."""
    columns = {"case_id": "peak", "kind": "K3", "value": "1", "confidence": "high", **shared, **said}
    return estimate_case(connection, read_context(connection), parse_case(columns))


@pytest.mark.parametrize(
    ("model", "devices", "tp", "pp", "length", "settings", "printed"),
    [
        ("Qwen/Qwen2.5-14B", 8, 4, 1, 8192, "method=full;act_ckpt=selective", 65),
        ("Qwen/Qwen2.5-7B", 4, 4, 1, 32768, "method=full;act_ckpt=full", 50),
        ("Qwen/Qwen3-4B-Instruct-2507", 4, 4, 1, 8192, "method=DPO;act_ckpt=full", 28),
        ("Qwen/Qwen2.5-7B-Instruct", 4, 4, 1, 8192, "method=KTO;act_ckpt=full", 43),
        ("Qwen/Qwen2.5-72B-Instruct", 8, 8, 1, 8192, "method=full;act_ckpt=full;offload_optimizer=cpu", 65),
        ("Qwen/Qwen3-30B-A3B-Base", 16, 1, 2, 8192, "method=full;act_ckpt=full;ep=8", 60),
    ],
)
def test_packed_examples_of_swift(
    connection: sqlite3.Connection, model: str, devices: int, tp: int, pp: int, length: int, settings: str, printed: int
) -> None:
    """Whole batches of the stated length: 15 % of what the example's comment says, which the range holds."""
    found = told(
        connection, SWIFT, model_id=model, gpu_count=str(devices), tp=str(tp), pp=str(pp), context_tokens=str(length),
        other_config=f"{settings};{PACKED}",
    )  # fmt: skip

    assert found.estimate == pytest.approx(printed, rel=0.15)
    assert found.low is not None and found.high is not None
    assert found.low <= printed <= found.high


def test_gradients_stand_while_the_loss_is_computed(connection: sqlite3.Connection) -> None:
    """A longer sequence adds to gradients, not instead of them: 32K tokens of 7B over 4 devices take 4 x 50 GB."""
    short, long = (
        told(
            connection, SWIFT, model_id="Qwen/Qwen2.5-7B", gpu_count="4", tp="4", context_tokens=str(length),
            other_config=f"method=full;act_ckpt=full;{PACKED}",
        )
        for length in (1024, 32768)
    )  # fmt: skip

    assert short.estimate is not None and long.estimate is not None
    assert long.estimate - short.estimate == pytest.approx(13, abs=3)  # logits 32768 x 152064 x 10 B / 4, checkpoints


@pytest.mark.parametrize(
    ("model", "devices", "tp", "length", "settings", "printed"),
    [
        ("moonshotai/Moonlight-16B-A3B", 8, 2, 4096, "act_ckpt=selective;recompute_modules=core_attn;ep=8", 36.614),
        ("moonshotai/Moonlight-16B-A3B", 8, 2, 4096, "act_ckpt=selective;recompute_modules=moe_act;ep=8", 35.941),
        ("nvidia/Nemotron-3-Nano-30B-A3B", 16, 1, 8192, "act_ckpt=selective;recompute_modules=moe;ep=8", 64.653),
        ("Qwen/Qwen3-30B-A3B", 16, 1, 4096, "act_ckpt=none;ep=16", 61.351),
    ],
)
def test_recipes_of_megatron_bridge(
    connection: sqlite3.Connection, model: str, devices: int, tp: int, length: int, settings: str, printed: float
) -> None:
    """Gradients in 16 bits, with latent attention the moments too; the loss writes over its logits."""
    found = told(
        connection, BRIDGE, model_id=model, gpu_count=str(devices), tp=str(tp), context_tokens=str(length),
        other_config=f"method=pretrain;sp=true;moe=true;{settings}",
    )  # fmt: skip

    assert found.estimate == pytest.approx(printed, rel=0.10)
    assert any(note.startswith("optimizer: moments") for note in found.assumed)


def test_a_length_that_is_a_limit(connection: sqlite3.Connection) -> None:
    """Samples that are not packed are shorter: DPO of 7B with max_length 8192 and batch 8 was seen to take 45 GiB."""
    columns = {"model_id": "Qwen/Qwen2.5-7B-Instruct", "gpu_count": "4", "tp": "4", "context_tokens": "8192"}
    loose = told(connection, SWIFT, **columns, batch="8", other_config="method=DPO;act_ckpt=full;sp=true")
    packed = told(connection, SWIFT, **columns, batch="8", other_config=f"method=DPO;act_ckpt=full;{PACKED}")

    assert loose.low is not None and packed.low is not None
    assert loose.estimate == packed.estimate
    assert loose.low <= 45 < packed.low
    assert any("a limit" in note for note in loose.assumed)
