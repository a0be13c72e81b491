"""One question about training: verdicts known from measurements, the search, defaults, refusals."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.train import TrainQuestion, read_offload, train_one
from rackfit.errors import UnknownNameError, UsageError

GIB = 2**30


def ask(connection: sqlite3.Connection, model: str, on: str, **asked: Any) -> dict[str, Any]:
    """Return the answer to a question."""
    return train_one(connection, TrainQuestion(model=model, on=on, **asked))


def test_a_7b_model_does_not_train_on_one_card_by_states_alone(connection: sqlite3.Connection) -> None:
    """7B x 16 bytes = 112 GB: no 80 GB card holds the states without offload (the chapter on training)."""
    answer = ask(connection, "Llama-2-7b-hf", "h100-sxm5-80gb", offload="none")

    assert answer["verdict"] == "no"
    assert answer["smallest_count"] >= 2
    assert answer["bytes_per_trained_parameter"]["total"] == 16


def test_a_70b_model_needs_fourteen_cards_and_more(connection: sqlite3.Connection) -> None:
    """1.12 TB of states make 14 cards of 80 GB the least (the chapter on training); activations come on top."""
    answer = ask(connection, "Llama-3.1-70B", "8x h100-sxm5-80gb", offload="none")

    assert answer["verdict"] == "no"
    assert 14 <= answer["smallest_count"] <= 24


def test_qlora_of_8b_on_one_consumer_card(connection: sqlite3.Connection) -> None:
    """An 8B model trains in 4 bits on 24 GB; its base is smaller than in 16 bits, its adapters the same."""
    four = ask(connection, "Llama-3.1-8B", "rtx-4090", recipe="qlora", sequence_length=2048)
    sixteen = ask(connection, "Llama-3.1-8B", "h100-sxm5-80gb", recipe="lora", sequence_length=2048)

    assert four["verdict"] in ("fits", "tight")
    assert four["trained_params"] == sixteen["trained_params"]
    assert four["per_device"]["frozen_bytes"] < sixteen["per_device"]["frozen_bytes"]


def test_three_figures_are_told_apart(connection: sqlite3.Connection) -> None:
    """Allocated, reserved and driver-seen memory grow in this order, and the verdict is about the last."""
    device = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb")["per_device"]

    assert device["allocated_bytes"] < device["reserved_bytes"] < device["driver_bytes"] < device["high_bytes"]
    assert device["margin_bytes"] == device["usable_bytes"] - device["driver_bytes"]


def test_the_least_aggressive_strategy_is_found(connection: sqlite3.Connection) -> None:
    """What is not given is chosen: no recompute or offload while sharding is enough, more where it is not."""
    easy = ask(connection, "Llama-3.2-1B", "8x h100-sxm5-80gb", sequence_length=2048)["strategy"]
    hard = ask(connection, "Llama-3.1-70B", "8x h100-sxm5-80gb")["strategy"]

    assert (easy["zero"], easy["recompute"], easy["offload_optimizer"]) == (0, "none", "none")
    assert hard["offload_optimizer"] == "cpu"


def test_largest_batch_and_longest_sequence_are_edges(connection: sqlite3.Connection) -> None:
    """The largest micro-batch fits and one more does not."""
    asked = {"recipe": "lora", "recompute": "full", "offload": "none", "sequence_length": 2048}
    most = ask(connection, "Qwen3-8B", "h100-sxm5-80gb", **asked)["max_micro_batch"]
    at_edge = ask(connection, "Qwen3-8B", "h100-sxm5-80gb", micro_batch=most, **asked)
    beyond = ask(connection, "Qwen3-8B", "h100-sxm5-80gb", micro_batch=most + 1, **asked)

    assert at_edge["verdict"] in ("fits", "tight")
    assert beyond["verdict"] == "no"


def test_context_parallelism_lengthens_sequences_and_sharding_does_not(connection: sqlite3.Connection) -> None:
    """Sharding states frees a little; dividing the sequence over four ranks lengthens it far more."""
    asked = {"recompute": "full", "offload": "none", "zero": 3}
    sharded = ask(connection, "Llama-3.1-8B", "8x h100-sxm5-80gb", **asked)
    divided = ask(connection, "Llama-3.1-8B", "8x h100-sxm5-80gb", cp=4, **asked)

    assert divided["max_sequence_length"] > 3 * sharded["max_sequence_length"]


def test_attention_without_a_fused_kernel_keeps_its_scores(connection: sqlite3.Connection) -> None:
    """5 bytes per head and pair of tokens come on top of each layer (Korthikanti et al.): 32 heads, 36 layers."""
    asked = {"zero": 3, "recompute": "none", "offload": "none", "sequence_length": 2048, "tp": 1}
    fused = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", **asked)["per_device"]["activations_bytes"]
    plain = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", flash=False, **asked)["per_device"]["activations_bytes"]

    assert plain - fused == pytest.approx(5 * 32 * 2048 * 2048 * 36, rel=1e-6)


def test_hybrid_sharding_divides_less(connection: sqlite3.Connection) -> None:
    """States divided over 4 of 8 ranks are twice as large on each; keeping gathered weights costs more."""
    asked = {"zero": 3, "recompute": "full", "offload": "none", "tp": 1}
    whole = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", **asked)["per_device"]
    part = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", shards=4, **asked)["per_device"]
    kept = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", reshard=False, **asked)["per_device"]

    assert part["optimizer_bytes"] == pytest.approx(2 * whole["optimizer_bytes"], rel=1e-6)
    assert kept["gathered_bytes"] > whole["gathered_bytes"]


def test_reinforcement_learning_holds_several_models(connection: sqlite3.Connection) -> None:
    """PPO trains actor and critic beside reference and reward model: more than supervised training alone."""
    asked = {"zero": 3, "recompute": "full", "offload": "none"}
    alone = ask(connection, "Qwen2.5-7B", "8x h100-sxm5-80gb", **asked)["per_device"]
    four = ask(connection, "Qwen2.5-7B", "8x h100-sxm5-80gb", job="ppo", **asked)["per_device"]

    assert four["optimizer_bytes"] == pytest.approx(2 * alone["optimizer_bytes"], rel=1e-6)
    assert four["extra_models_bytes"] > 0


def test_a_rollout_engine_takes_its_share(connection: sqlite3.Connection) -> None:
    """A colocated engine's share is not there for training."""
    whole = ask(connection, "Qwen2.5-7B", "8x h100-sxm5-80gb", job="grpo")["per_device"]["usable_bytes"]
    shared = ask(connection, "Qwen2.5-7B", "8x h100-sxm5-80gb", job="grpo", rollout_share=0.4)["per_device"]

    assert shared["usable_bytes"] == pytest.approx(0.6 * whole, rel=0.01)


def test_a_teacher_lies_beside_its_student(connection: sqlite3.Connection) -> None:
    """Distillation holds the frozen teacher; without one it is no question."""
    answer = ask(connection, "Llama-3.2-1B", "8x h100-sxm5-80gb", job="distill", teacher="Llama-3.1-8B", zero=0)

    assert answer["per_device"]["extra_models_bytes"] == pytest.approx(2 * 8.03e9, rel=0.01)
    with pytest.raises(UsageError, match="teacher"):
        ask(connection, "Llama-3.2-1B", "h100-sxm5-80gb", job="distill")


def test_checkpoints_of_mixed_adam(connection: sqlite3.Connection) -> None:
    """14 bytes per parameter to resume from, 2 for the weights alone (MEMORY_MODEL section 6)."""
    answer = ask(connection, "Llama-3.1-8B", "8x h100-sxm5-80gb")

    assert answer["checkpoint"]["resume_bytes"] == 14 * answer["trained_params"]
    assert answer["checkpoint"]["weights_bytes"] == 2 * answer["trained_params"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tp": 3}, "TP 3"),
        ({"zero": 4}, "zero = 4"),
        ({"offload": "sideways"}, "sideways"),
        ({"micro_batch": 0}, "micro_batch = 0"),
        ({"rollout_share": 1.0}, "rollout_share"),
        ({"targets": "nothing", "recipe": "lora"}, "targets"),
    ],
)
def test_figures_that_mean_nothing(connection: sqlite3.Connection, asked: dict[str, Any], said: str) -> None:
    """A bad figure is named with what was expected."""
    with pytest.raises(UsageError, match=said):
        ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", **asked)


@pytest.mark.parametrize("asked", [{"recipe": "adm"}, {"optimizer": "adamx"}, {"recompute": "some"}, {"job": "dance"}])
def test_unknown_words(connection: sqlite3.Connection, asked: dict[str, Any]) -> None:
    """An unknown recipe, optimizer, mode or job is answered with near names."""
    with pytest.raises(UnknownNameError):
        ask(connection, "Qwen3-8B", "h100-sxm5-80gb", **asked)


def test_layouts_that_cannot_run(connection: sqlite3.Connection) -> None:
    """Experts of a dense model and a tensor-parallel degree that does not divide heads are refused with the reason."""
    experts = ask(connection, "Qwen3-8B", "8x h100-sxm5-80gb", ep=8)
    heads = ask(connection, "Qwen2.5-14B", "16x h100-sxm5-80gb", tp=16)

    assert experts["verdict"] == heads["verdict"] == "cannot_run"
    assert "experts" in experts["reason"]
    assert "heads" in heads["reason"]


def test_offload_in_words() -> None:
    """Parts are joined by +, tiers stand behind =."""
    both = read_offload("params=nvme+activations")

    assert (both.optimizer, both.parameters, both.activations) == ("nvme", "nvme", True)
    assert read_offload("none").optimizer == "none"


def test_attention_that_a_framework_does_not_fuse_keeps_scores(connection: sqlite3.Connection) -> None:
    """Gemma 3 12B in 8 bits under unsloth at 15,000 tokens ran out of 80 GB (unslothai/unsloth issue 2366).

    Mask and grouped heads together leave torch without a fused kernel (unsloth_zoo/temporary_patches.py, April 2025).
    """
    asked: dict[str, Any] = {"recipe": "lora", "recompute": "full", "sequence_length": 15000, "offload": "none"}
    plain = ask(connection, "gemma-3-12b-it", "h100-sxm5-80gb", framework="unsloth", **asked)
    fused = ask(connection, "gemma-3-12b-it", "h100-sxm5-80gb", framework="unsloth", flash=True, **asked)

    assert plain["verdict"] != "fits"
    assert fused["verdict"] == "fits"
    assert plain["strategy"]["flash"] is False
    assert any("no fused kernel" in note for note in plain["assumptions"])


@pytest.mark.parametrize(("length", "verdict"), [(2048, "fits"), (4096, "tight"), (8192, "no")])
def test_adapters_of_8b_on_a_24_gb_card_by_length(connection: sqlite3.Connection, length: int, verdict: str) -> None:
    """On a 4090, 2K fits, 4K comes right to 24 GB and 8K does not fit (torchtune issue 856)."""
    answer = ask(
        connection, "Llama-3-8B", "rtx-4090", recipe="lora", rank=8, targets="q+v", framework="torchtune",
        recompute="full", offload="none", sequence_length=length,
    )  # fmt: skip

    assert answer["verdict"] == verdict


def test_full_tuning_of_8b_on_a_24_gb_card(connection: sqlite3.Connection) -> None:
    """bf16 weights, a paged 8-bit optimizer and updates inside the backward pass make it fit (torchtune issue 2168)."""
    asked: dict[str, Any] = {
        "recipe": "bf16", "optimizer": "paged_adamw_8bit", "framework": "torchtune", "recompute": "full",
        "offload": "none", "sequence_length": 2048,
    }  # fmt: skip

    assert ask(connection, "Llama-3-8B", "rtx-4090", fused_update=True, **asked)["verdict"] in ("fits", "tight")
    assert ask(connection, "Llama-3-8B", "rtx-4090", **asked)["verdict"] == "no"
    with pytest.raises(UsageError, match="accumulation"):
        ask(connection, "Llama-3-8B", "rtx-4090", fused_update=True, accumulation=4, **asked)


@pytest.mark.parametrize(
    ("model", "card", "fits"), [("Llama-2-70b-hf", "a100-sxm4-40gb", False), ("llama-65b", "a6000", True)]
)
def test_large_models_in_4_bits_on_one_card(connection: sqlite3.Connection, model: str, card: str, fits: bool) -> None:
    """70B on 40 GB does not fit whatever is offloaded (xtuner issue 88), 65B on 48 GB does at 512 tokens (2305.14314).

    A quantised base is not moved away unless that is asked for.
    """
    answer = ask(
        connection, model, card, recipe="qlora", optimizer="paged_adamw_32bit", recompute="full", sequence_length=512,
        rank=64,
    )  # fmt: skip

    assert (answer["verdict"] in ("fits", "tight")) is fits
    assert answer["strategy"]["offload_parameters"] == "none"


def test_the_longest_sequence_on_an_8_bit_base(connection: sqlite3.Connection) -> None:
    """Gemma 3 12B in 8 bits with adapters reached 14,000 tokens on 80 GB (unsloth issue 2366): within 20 %."""
    answer = ask(
        connection, "gemma-3-12b-it", "h100-sxm5-80gb", recipe="lora", base="int8", framework="unsloth",
        recompute="full", offload="none", sequence_length=8192,
    )  # fmt: skip

    assert answer["max_sequence_length"] == pytest.approx(14000, rel=0.2)
    with pytest.raises(UnknownNameError, match="base"):
        ask(connection, "gemma-3-12b-it", "h100-sxm5-80gb", recipe="lora", base="int7")


def test_host_memory_between_bare_states_and_buffers_is_tight(connection: sqlite3.Connection) -> None:
    """13B over four 40 GB cards with offload ran on 240 GB of RAM (llama-cookbook issue 25); half is too little."""
    asked: dict[str, Any] = {"sequence_length": 2048}
    reported = ask(connection, "Llama-2-13b-hf", "4x a100-sxm4-40gb", host_ram_gib=240e9 / GIB, **asked)
    half = ask(connection, "Llama-2-13b-hf", "4x a100-sxm4-40gb", host_ram_gib=120e9 / GIB, **asked)
    eight = ask(connection, "Llama-2-13b-hf", "8x a100-sxm4-40gb", offload="none", **asked)

    assert reported["verdict"] in ("fits", "tight")
    assert half["verdict"] == "no"
    assert eight["verdict"] in ("fits", "tight")


def test_roles_of_a_whole_job(connection: sqlite3.Connection) -> None:
    """PPO: actor and critic hold states, reference, reward and rollout engine 16-bit weights; each has its devices."""
    roles = ask(connection, "Llama-2-7b-hf", "4x a100-sxm4-40gb", job="ppo")["roles"]
    bytes_of = {row["role"]: row["bytes"] for row in roles}
    params = roles[0]["parameters"]

    assert bytes_of["actor"] == bytes_of["critic"] == 16 * params
    assert bytes_of["reference"] == bytes_of["reward"] == bytes_of["rollout engine"] == 2 * params
    assert all(row["devices_apart"] >= 1 for row in roles)
    assert ask(connection, "Llama-2-7b-hf", "4x a100-sxm4-40gb")["roles"] == []


def test_full_precision_doubles_activations(connection: sqlite3.Connection) -> None:
    """Training that multiplies in 32 bits keeps what autocast keeps, twice as wide, and its time is not on record."""
    asked = {"sequence_length": 4096, "micro_batch": 1, "recompute": "none", "zero": 0}
    wide = ask(connection, "Llama-3.2-1B", "h100-sxm5-80gb", recipe="fp32", **asked)
    mixed = ask(connection, "Llama-3.2-1B", "h100-sxm5-80gb", recipe="adam_amp_hf", **asked)

    kept = wide["per_device"]["activations_bytes"] / mixed["per_device"]["activations_bytes"]
    assert kept == pytest.approx(2, rel=0.05)
    assert wide["time"]["tokens_per_s"] is None
    assert mixed["time"]["tokens_per_s"]


def test_unlike_cards_share_evenly(connection: sqlite3.Connection) -> None:
    """Ranks of data-parallel training have equal shares (PyTorch FSDP): the card with the least memory binds."""
    mixed = ask(connection, "Llama-3.1-8B", "1x rtx-4090 + 1x rtx-3070", recipe="lora", offload="none")
    least = ask(connection, "Llama-3.1-8B", "2x rtx-3070", recipe="lora", offload="none")

    assert (mixed["devices"], mixed["strategy"]["dp"]) == (2, 2)
    assert mixed["hardware"] == "1x nvidia-rtx-4090 + 1x nvidia-rtx-3070"
    assert mixed["per_device"]["driver_bytes"] == least["per_device"]["driver_bytes"]
    assert mixed["verdict"] == least["verdict"]


def test_slices_train_alone(connection: sqlite3.Connection) -> None:
    """Peer-to-peer is off between MIG instances (MIG user guide): several slices are no data-parallel group."""
    assert ask(connection, "Llama-3.2-1B", "a100-sxm4-80gb/3g.40gb", recipe="lora")["verdict"] == "fits"
    answer = ask(connection, "Llama-3.2-1B", "2x a100-sxm4-80gb/3g.40gb", recipe="lora")
    assert answer["verdict"] == "cannot_run" and "MIG slices" in answer["reason"]


def test_shared_memory_has_no_host_to_offload_to(connection: sqlite3.Connection) -> None:
    """8.03e9 parameters of 16 bytes are 120 GiB (the ZeRO paper's count): no offload makes them fit 96 GB."""
    answer = ask(connection, "Llama-3.1-8B", "apple-m3-ultra 96gb")
    assert answer["verdict"] == "no" and answer["strategy"]["offload_optimizer"] == "none"
    assert answer["per_device"]["driver_bytes"] > 120 * GIB
    asked = ask(connection, "Llama-3.1-8B", "apple-m3-ultra 96gb", offload="all")
    assert asked["verdict"] == "no" and "nothing can be offloaded" in asked["reason"]
