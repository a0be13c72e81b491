"""Engines that cache in a share of what is left: against pools that they printed, and by hand from their source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.fit.cell import FITS, NO, Cell, Question, device_weights, evaluate
from rackfit.memory.budget import Knobs
from rackfit.memory.domain import Budget, Layout
from reference.architectures import ANATOMIES, BF16, GIB, H100, LLAMA_8B, LLAMA_70B, MIB, SHARE_OF_REST

WEIGHTS = 16_060_522_496 / GIB
"""meta-llama/Llama-3.1-8B: bytes of its safetensors index."""
BARE = replace(SHARE_OF_REST, profiled_tokens="none", context_bytes=0, non_torch_bytes_single=0)
"""The equation alone: nothing but the weights is held."""


ONE_OF_8K = Question(8192, 1, 16.0)


def cell(budget: Budget, gib: float, question: Question = ONE_OF_8K, tp: int = 1) -> Cell:
    """Return the cell of Llama-3.1-8B on cards of so many GiB."""
    return evaluate(ANATOMIES[LLAMA_8B.name], BF16, budget, Layout(tp=tp), H100, question, gib * GIB, 0.0)


@pytest.mark.parametrize(
    ("free", "share", "graphs", "pool"),
    [
        # vLLM for Gaudi, log of its README: "Free device memory: 79.22 GiB, 71.3 GiB usable
        # (gpu_memory_utilization=0.9), 7.13 GiB reserved for HPUGraphs (VLLM_GRAPH_RESERVED_MEM=0.1), 64.17 GiB
        # reserved for KV cache"; the older one: "79.16 GiB, 39.58 GiB usable (0.5), 15.83 GiB (0.4), 23.75 GiB"
        (79.22, 0.9, 0.1, 64.17),
        (79.16, 0.5, 0.4, 23.75),
        # TensorRT-LLM, reference/memory.md: "available: 70.48 GiB", "Allocated 63.44 GiB for max tokens"
        (70.48, 0.9, 0.0, 63.44),
        # LMDeploy, docs/zh_cn/inference/turbomind_config.md: (80 - 26) x 0.8 = 43.2
        (80 - 26, 0.8, 0.0, 43.2),
    ],
)
def test_pool_is_a_share_of_what_is_left(free: float, share: float, graphs: float, pool: float) -> None:
    """The pool follows from what is free beside the weights, the share, and the share of it that graphs get."""
    found = cell(replace(BARE, utilization=share, graph_share=graphs), WEIGHTS + free)

    assert found.kv_pool / GIB == pytest.approx(pool, rel=1e-3)


def test_the_users_share_is_taken() -> None:
    """An RTX 4070 SUPER printed 9.06 GiB at 0.9 and 2.52 at 0.25 (lm7, docs/tensorrt-llm.md): the same rest."""
    asked = [Question(2048, 1, 16.0, Knobs(utilization=share)) for share in (0.9, 0.25)]
    most, least = (cell(BARE, 40, question).kv_pool for question in asked)

    assert most / least == pytest.approx(9.06 / 2.52, rel=0.002)


def test_eager_mode_keeps_nothing_for_graphs() -> None:
    """Gaudi: "to maximize the memory available for the KV cache, you can disable HPUGraph completely"."""
    budget = replace(BARE, graph_share=0.1)
    asked = Question(8192, 1, 16.0, Knobs(eager=True))

    assert cell(budget, 40, asked).kv_pool == pytest.approx(cell(budget, 40).kv_pool / 0.9)


@pytest.mark.parametrize("sequences", [1, 40, 71, 72, 80])
def test_it_fits_while_the_cache_is_within_the_share(sequences: int) -> None:
    """One sequence of 8192 tokens is 1 GiB (131,072 bytes a token): 0.9 of 80 GiB hold 72 of them, not 80."""
    found = cell(BARE, WEIGHTS + 80, Question(8192, sequences, 16.0))

    assert found.most_sequences == 72
    assert (found.verdict > NO) is (sequences <= 72)
    assert found.kept_free == pytest.approx(found.kv_reserved / 9)


def test_what_is_left_free_is_not_held() -> None:
    """The process holds weights, pool and what runs beside them; the tenth that stays free is no part of it."""
    found = cell(SHARE_OF_REST, 79.1)
    held = found.weights + found.kv_pool + found.workspace + SHARE_OF_REST.non_torch_bytes_single + found.outside

    assert found.verdict == FITS
    assert found.reserved == pytest.approx(held)
    assert found.reserved < 79.1 * GIB


def test_logits_of_a_batch_are_set_aside_first() -> None:
    """LMDeploy's PyTorch engine: (8192 + 2 x 128) x vocabulary x 2 bytes, then the share.

    lmdeploy/pytorch/engine/executor/base.py, _get_runtime_size.
    """
    from rackfit.memory.domain import Tier

    budget = replace(
        BARE, utilization=0.8, prompt_logit_bytes=2.0, sampler_bytes_per_logit=4.0, tiers=(Tier(0, 8192, 128),)
    )
    left = 80 * GIB - (8192 + 2 * 128) * LLAMA_8B.vocab_size * 2

    assert cell(budget, WEIGHTS + 80).kv_pool == pytest.approx(0.8 * left)


def test_room_left_free_by_engines_that_take_all() -> None:
    """llama.cpp's --fit, which Ollama 0.30 places layers with, keeps 1024 MiB of each device free."""
    plain = replace(BARE, equation="all_of_device")
    margin = replace(plain, left_free_bytes=1024 * MIB)

    assert cell(plain, 40).usable - cell(margin, 40).usable == 1024 * MIB


@pytest.mark.parametrize(
    ("model", "tp", "mib"),
    # triton-inference-server/tensorrtllm_backend issue 577: Llama-3-8B, fp16, TP 2, "Loaded engine size: 8231 MiB" each
    [(LLAMA_8B, 2, 8231)],
)
def test_engines_hold_the_embedding_on_every_rank(model: object, tp: int, mib: int) -> None:
    """A TensorRT engine's token embedding is whole on each rank, so two halves are more than the model."""
    whole = replace(SHARE_OF_REST, embedding_whole=True)
    load = device_weights(ANATOMIES[LLAMA_8B.name], BF16, whole, Layout(tp=tp))[0]

    assert load / MIB == pytest.approx(mib, rel=0.01)
    assert load > 1.05 * device_weights(ANATOMIES[LLAMA_8B.name], BF16, SHARE_OF_REST, Layout(tp=tp))[0]


def test_seventy_billion_leave_a_share_of_little() -> None:
    """What is left beside 70B in 16 bits on two cards is small, and only a share of it is cache."""
    anatomy = ANATOMIES[LLAMA_70B.name]
    found = evaluate(anatomy, BF16, SHARE_OF_REST, Layout(tp=2), H100, Question(8192, 1, 16.0), 79.1 * GIB, 0.0)
    rest = found.usable - found.weights - found.workspace - SHARE_OF_REST.non_torch_bytes_parallel

    assert found.kv_pool == pytest.approx(0.9 * rest)
