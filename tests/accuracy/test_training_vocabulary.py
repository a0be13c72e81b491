"""Words of the case format that say how a run is trained: each changes what it is about, and the rest is named."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context

RUN = {
    "case_id": "X-1", "kind": "K3", "model_id": "meta-llama/Llama-3.1-8B", "gpu": "NVIDIA H100 80GB", "gpu_count": "8",
    "precision_or_quant": "bf16", "context_tokens": "4096", "batch": "1", "quantity": "peak_reserved_gib_per_gpu",
    "value": "1", "confidence": "high",
}  # fmt: skip


def told(connection: sqlite3.Connection, settings: str, **said: str) -> Estimate:
    """Return the estimate of a run."""
    return estimate_case(connection, read_context(connection), parse_case({**RUN, "other_config": settings, **said}))


LARGER, SMALLER = 1, -1


@pytest.mark.parametrize(
    ("engine", "sharding", "plain", "word", "sign"),
    [
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "act_ckpt=none", LARGER),
        ("transformers", "FSDP=8", "method=full", "ac=full", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=none", "attention=eager", LARGER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "loss=liger_fused", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "liger=true", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "task=classification", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "offload_param=cpu", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "offload=cpu", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=none", "expandable_segments=true", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=none", "act_offload=true", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "optimizer=adamw_8bit", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "optimizer=adafactor", SMALLER),
        ("transformers", "FSDP=8", "method=full;act_ckpt=full", "method=DPO", LARGER),
        ("transformers", "FSDP=8", "method=DPO;act_ckpt=full", "precompute_ref=true", SMALLER),
        ("transformers", "FSDP=8", "method=PPO;act_ckpt=full", "models=actor+ref", SMALLER),
        ("deepspeed", "ZeRO-3", "method=full;act_ckpt=full", "offload_optimizer=cpu", SMALLER),
        ("alst", "ZeRO-3, dp=8", "method=full;act_ckpt=full", "sp=8", SMALLER),
        ("alst", "ZeRO-3, dp=8", "method=full;act_ckpt=full;loss=full_logits", "loss=liger_fused", SMALLER),
        ("torchtitan", "FSDP2=8", "method=pretrain;act_ckpt=full", "reshard_after_forward=never", LARGER),
        ("torchtitan", "FSDP2=8", "method=pretrain;act_ckpt=none", "act_ckpt=selective_op", SMALLER),
        ("torchtitan", "FSDP2=4", "method=pretrain;act_ckpt=full", "cp=2", SMALLER),
        ("megatron", "distributed optimizer", "method=pretrain;act_ckpt=none", "grad_reduce=bf16", SMALLER),
        ("peft", "", "method=LoRA;rank=8;targets=q+v;act_ckpt=none", "rank=256", LARGER),
        ("peft", "", "method=LoRA;rank=64;targets=q+v;act_ckpt=none", "targets=all-linear", LARGER),
    ],
)  # fmt: skip
def test_words_change_the_estimate(
    connection: sqlite3.Connection, engine: str, sharding: str, plain: str, word: str, sign: int
) -> None:
    """A word makes the estimate larger or smaller, as what it switches does; none is overlooked."""
    key = word.split("=")[0]
    others = ";".join(part for part in plain.split(";") if part.split("=")[0] != key)
    columns = {"engine_and_version": engine, "dp_or_zero": sharding, "tp": "2" if engine == "megatron" else ""}
    before, after = (told(connection, text, **columns) for text in (plain, f"{others};{word}"))

    assert before.estimate is not None and after.estimate is not None, (before.reason, after.reason)
    assert not any(key in note for note in after.assumed if note.startswith("settings"))
    assert (after.estimate - before.estimate) * sign > 0


def test_sequence_parallelism_can_be_off(connection: sqlite3.Connection) -> None:
    """Tensor parallelism alone keeps what lies between its blocks whole on each rank."""
    columns = {"engine_and_version": "megatron", "tp": "4", "dp_or_zero": "distributed optimizer, dp=2"}
    on, off = (told(connection, f"method=pretrain;act_ckpt=full;sp={word}", **columns) for word in ("true", "false"))

    assert on.estimate is not None and off.estimate is not None
    assert off.estimate > on.estimate


def test_the_drivers_context_may_be_stated(connection: sqlite3.Connection) -> None:
    """What a source says of the context replaces what is assumed."""
    small, large = (
        told(
            connection, f"method=LoRA;rank=8;targets=q+v;cuda_context_mib={size}", gpu_count="1",
            quantity="nvidia_smi_used_mib_per_gpu", engine_and_version="peft",
        )
        for size in (300, 1300)
    )  # fmt: skip

    assert small.estimate is not None and large.estimate is not None
    assert large.estimate - small.estimate == pytest.approx(1000, abs=1)


def test_a_stated_host_is_a_limit(connection: sqlite3.Connection) -> None:
    """What is moved to the host must fit there."""
    settings = "method=full;act_ckpt=full;offload_optimizer=cpu;host_gib="
    columns = {"kind": "K6", "quantity": "fits", "engine_and_version": "deepspeed", "dp_or_zero": "ZeRO-3"}

    assert told(connection, f"{settings}1024", **columns).estimate == 1.0
    assert told(connection, f"{settings}32", **columns).estimate == 0.0


def test_the_authors_flops_are_counted(connection: sqlite3.Connection) -> None:
    """TFLOPS of one run differ by what their author counts: attention, half of it, none, or recompute too."""
    columns = {"kind": "K8", "quantity": "train_tflops_per_gpu", "context_tokens": "32768"}
    found = {
        word: told(connection, f"act_ckpt=full;flops={word}", **columns).estimate
        for word in ("6n", "6n_plus_causal_attention", "6n_plus_attention", "hardware_6n")
    }

    assert all(value is not None for value in found.values())
    assert found["6n"] < found["6n_plus_causal_attention"] < found["6n_plus_attention"]  # type: ignore[operator]
    assert found["hardware_6n"] == pytest.approx(found["6n"] * 8 / 6, rel=1e-6)  # type: ignore[operator]


def test_a_setting_that_is_not_known_is_named(connection: sqlite3.Connection) -> None:
    """A word that nothing asks for is ignored, and the note says which."""
    found = told(connection, "method=full;act_ckpt=full;moon_phase=full", engine_and_version="transformers")
    plain = told(connection, "method=full;act_ckpt=full", engine_and_version="transformers")

    assert found.estimate == plain.estimate
    assert any("moon_phase" in note for note in found.assumed)
    assert not any(note.startswith("settings") for note in plain.assumed)


def test_a_quantity_that_is_not_known_is_refused_with_its_name(connection: sqlite3.Connection) -> None:
    """A figure that no rule gives is refused, not guessed."""
    found = told(connection, "method=full", kind="K6", quantity="peak_furlongs", dp_or_zero="ZeRO-3")

    assert found.status == "refused"
    assert "peak_furlongs" in (found.reason or "")
