"""Budget equations of the engines: against printed budgets where there are some, else by hand from the rule."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.fit.cell import Question, evaluate
from rackfit.memory.budget import DEFAULT_KNOBS, Knobs, Terms, engine_terms, engine_total, tier_sizes
from rackfit.memory.domain import Budget, Device, Layout, Model
from reference.architectures import (
    ANATOMIES,
    BF16,
    GIB,
    H100,
    LLAMA_8B,
    LLAMA_70B,
    LLAMA_CPP,
    MIB,
    QWEN3_06B,
    QWEN3_32B,
    RTX_3090,
    SGLANG,
    SHARE_OF_REST,
    VLLM,
    VLLM_V0,
)

H100_SEEN = 79.18 * GIB
"""What vLLM 0.11 saw of an H100 80GB (llm-d workload planner, empirical-vllm-memory-results.md)."""

SINGLE = Layout()


def terms(
    model: Model, budget: Budget = VLLM, layout: Layout = SINGLE, on: Device = H100, total: float = H100_SEEN,
    context: int = 16000, knobs: Knobs = DEFAULT_KNOBS,
) -> Terms:  # fmt: skip
    """Return the terms of a model under an engine, by default vLLM 0.11 on one H100."""
    return engine_terms(ANATOMIES[model.name], budget, layout, on, total, context, knobs)


@pytest.mark.parametrize(
    ("model", "layout", "weights", "activation", "non_torch", "pool"),
    [
        # llm-d planner table, vLLM 0.11.0, utilisation 0.9, 16000 tokens: GiB per device
        # (public cases K1-0054..0056 with K2-0138, K1-0058..0060 with K2-0139, K1-0062..0064 with K2-0140)
        (QWEN3_06B, Layout(), 1.12, 5.56, 0.13, 64.45),
        (QWEN3_32B, Layout(), 61.03, 5.64, 0.14, 4.45),
        (QWEN3_32B, Layout(tp=2), 30.59, 5.64, 0.54, 34.49),
    ],
)
def test_vllm_against_printed_budgets(
    model: Model, layout: Layout, weights: float, activation: float, non_torch: float, pool: float
) -> None:
    """Every term of a budget that vLLM 0.11 printed on an H100; the pool, a remainder, as a share of the card."""
    cell = evaluate(ANATOMIES[model.name], BF16, VLLM, layout, H100, Question(16000, 1, 16), H100_SEEN)
    found = terms(model, layout=layout)

    assert cell.weights / GIB == pytest.approx(weights, rel=0.01)
    assert found.workspace / GIB == pytest.approx(activation, rel=0.10)
    assert found.runtime / GIB == pytest.approx(non_torch, abs=0.02)
    assert abs(cell.kv_pool / GIB - pool) < 0.04 * 79.18


def test_sampler_hides_the_model() -> None:
    """0.6B and 32B show the same 5.6 GiB: the sampler's profile over 1024 sequences is larger than either forward pass.

    38 bytes x 1024 x 151936 = 5.5 GiB, not divided by TP (llm-d planner table).
    """
    assert terms(QWEN3_06B).workspace == terms(QWEN3_32B).workspace == 38 * 1024 * 151936
    assert terms(QWEN3_32B, layout=Layout(tp=2)).workspace == 38 * 1024 * 151936


@pytest.mark.parametrize(
    ("context", "gib"),
    # vllm issue 10517: Llama-3.1-8B on an RTX 3090, V0: activation peak as printed (public cases K1-0094, K1-0095)
    [(20000, 2.07), (29000, 2.99)],
)
def test_v0_profiles_the_context(context: int, gib: float) -> None:
    """V0 profiles max_model_len tokens: the peak grows with the context, 2 bytes x tokens x (3 d_ff + 3 d)."""
    found = terms(LLAMA_8B, VLLM_V0, on=RTX_3090, total=23.58 * GIB, context=context)

    assert found.workspace / GIB == pytest.approx(gib, rel=0.01)


def test_v0_leaves_more_room_for_a_longer_context() -> None:
    """Chunked prefill sets in by itself above 32K: 29K leaves less cache than 35K (vllm issue 10517)."""
    shorter = terms(LLAMA_8B, VLLM_V0, on=RTX_3090, total=23.58 * GIB, context=29000)
    longer = terms(LLAMA_8B, VLLM_V0, on=RTX_3090, total=23.58 * GIB, context=35000)

    assert longer.workspace < shorter.workspace / 10


@pytest.mark.parametrize(
    ("name", "gib", "tokens", "sequences"),
    # vllm/engine/arg_utils.py: from 70 GiB on 8192 tokens and 1024 sequences, A100 excepted; else 2048 and 256
    [
        ("NVIDIA H100 SXM5 80GB", 79.18, 8192, 1024),
        ("NVIDIA A100 SXM4 80GB", 79.14, 2048, 256),
        ("NVIDIA L40S", 44.4, 2048, 256),
        ("NVIDIA GeForce RTX 4090", 23.6, 2048, 256),
        ("AMD Instinct MI300X", 191.9, 8192, 1024),
    ],
)
def test_defaults_by_device(name: str, gib: float, tokens: int, sequences: int) -> None:
    """The same engine takes other defaults on another card."""
    assert tier_sizes(VLLM, gib * GIB, name, DEFAULT_KNOBS) == (tokens, sequences)


def test_settings_beat_defaults() -> None:
    """What the user sets is taken, and sequences never exceed batched tokens."""
    assert tier_sizes(VLLM, H100_SEEN, H100.name, Knobs(batched_tokens=4096, max_sequences=64)) == (4096, 64)
    assert tier_sizes(VLLM, H100_SEEN, H100.name, Knobs(batched_tokens=512)) == (512, 512)


@pytest.mark.parametrize(("asked", "limit"), [(None, 0.9), (0.5, 0.5), (0.95, 0.95)])
def test_share_of_total(asked: float | None, limit: float) -> None:
    """vLLM's utilisation is a share of the whole card."""
    assert terms(QWEN3_32B, knobs=Knobs(utilization=asked)).limit == pytest.approx(limit * H100_SEEN)


def test_reserve_lowers_the_limit() -> None:
    """Memory that the user keeps for other things is not available to the engine."""
    free, kept = terms(QWEN3_32B), terms(QWEN3_32B, knobs=Knobs(reserve_bytes=3 * GIB))

    assert free.limit - kept.limit == 3 * GIB


def test_graphs_inside_or_outside() -> None:
    """Captured graphs lie outside vLLM's budget until 0.20 and inside from then on; eager mode has none."""
    inside = replace(VLLM, graphs_in_budget=True)
    old, new = terms(QWEN3_32B), terms(QWEN3_32B, inside)

    assert (old.outside, new.outside) == (old.graphs, 0)
    assert new.runtime - old.runtime == new.graphs > 0
    assert new.doubt == new.graphs and old.doubt == 0
    assert terms(QWEN3_32B, inside, knobs=Knobs(eager=True)).runtime == old.runtime


def test_llama_cpp_takes_what_is_free() -> None:
    """llama.cpp needs room for its context and a compute buffer of 512 rows of fp32 logits: 512 x 4 x vocabulary."""
    found = terms(QWEN3_32B, LLAMA_CPP, on=RTX_3090, total=23.58 * GIB)

    assert found.limit == 23.58 * GIB - 450 * MIB
    assert found.workspace >= 512 * 4 * 151936


@pytest.mark.parametrize(
    ("mib", "gib"),
    [
        # driver total of nvidia-smi against the total that torch or vLLM printed for the same card
        # (public cases K5-0003/0017, K5-0011/0015, K5-0025 with 24576 MiB, K5-0039 with 95830 MiB, K5-0014)
        (81559, 79.10),
        (143771, 139.80),
        (183359, 178.35),
        (24576, 23.58),
        (95830, 93.02),
    ],
)
def test_engines_see_less_than_the_driver_prints(mib: int, gib: float) -> None:
    """torch's total is 0.998 x the driver's - 0.38 GiB on discrete NVIDIA cards, to 0.2 GiB."""
    seen = engine_total(mib * MIB, "NVIDIA", unified=False)

    assert seen / GIB == pytest.approx(gib, abs=0.2)
    assert 0.26 <= mib / 1024 - seen / GIB <= 0.80


@pytest.mark.parametrize(("vendor", "unified"), [("AMD", False), ("Apple", True), ("NVIDIA", True)])
def test_others_see_what_is_printed(vendor: str, unified: bool) -> None:
    """No such difference is on record for other vendors and unified pools."""
    assert engine_total(100 * GIB, vendor, unified) == 100 * GIB


BUDGETS = st.sampled_from([VLLM, VLLM_V0, LLAMA_CPP, SGLANG, SHARE_OF_REST])


@given(
    BUDGETS, st.lists(st.floats(4, 300), min_size=1, max_size=8), st.sampled_from([1, 2, 8]), st.integers(1, 200_000)
)
def test_arrays_equal_scalars(budget: Budget, sizes: list[float], tp: int, context: int) -> None:
    """Terms of an array of memories are those of each memory alone."""
    totals = numpy.array(sizes) * GIB
    together = terms(LLAMA_70B, budget, Layout(tp=tp), H100, totals, context)
    for number, total in enumerate(totals.tolist()):
        alone = terms(LLAMA_70B, budget, Layout(tp=tp), H100, total, context)
        for name in ("workspace", "runtime", "outside", "limit", "batched_tokens", "max_sequences"):
            shared = numpy.broadcast_to(getattr(together, name), totals.shape)[number]
            assert float(shared) == float(getattr(alone, name)), name


@given(BUDGETS, st.floats(8, 300), st.floats(1, 50))
def test_limit_grows_with_memory(budget: Budget, gib: float, more: float) -> None:
    """A larger card never lowers the share that weights and cache may use by more than its defaults rise."""
    small = terms(LLAMA_8B, budget, total=gib * GIB)
    large = terms(LLAMA_8B, budget, total=(gib + more) * GIB)
    if (small.batched_tokens, small.max_sequences) == (large.batched_tokens, large.max_sequences) and not (
        gib * 1024 <= 61440 < (gib + more) * 1024
    ):
        assert large.limit >= small.limit
