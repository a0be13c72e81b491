"""One cell: bytes that add up, verdicts that follow, and the same answer for a number and an array."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.fit.cell import Cell, Question, device_weights, engine_cache, evaluate, limit_term
from rackfit.fit.verdicts import FITS, NO, TIGHT
from rackfit.memory.budget import Knobs
from rackfit.memory.domain import Budget, Layout, Model, Precision
from rackfit.memory.kv_cache import request_cache
from rackfit.memory.layouts import refusal
from rackfit.memory.weights import weights_bytes
from reference.architectures import (
    ALL,
    ANATOMIES,
    AWQ,
    BF16,
    DEEPSEEK_V3,
    FP8_BLOCKS,
    GEMMA3_27B,
    GIB,
    GPT_OSS_120B,
    H100,
    LLAMA_1B,
    LLAMA_8B,
    LLAMA_70B,
    LLAMA_CPP,
    QWEN3_32B,
    RTX_3090,
    SGLANG,
    SHARE_OF_REST,
    VLLM,
    VLLM_V0,
)

QUESTIONS = st.builds(
    Question, st.sampled_from([1, 128, 8192, 40_000, 131_072]), st.integers(1, 40), st.sampled_from([16.0, 8.0, 8.5])
)
LAYOUTS = st.builds(
    Layout, tp=st.sampled_from([1, 2, 4, 8]), pp=st.sampled_from([1, 2, 3, 8]), dp=st.sampled_from([1, 2])
)
BUDGETS = st.sampled_from([VLLM, VLLM_V0, SGLANG, SHARE_OF_REST, LLAMA_CPP])
PRECISIONS = st.sampled_from([BF16, FP8_BLOCKS, AWQ])
MODELS = st.sampled_from(ALL)

SINGLE = Layout()
ONE_OF_8K = Question(8192, 1, 16.0)


def cell(
    model: Model, precision: Precision = BF16, budget: Budget = VLLM, layout: Layout = SINGLE,
    question: Question = ONE_OF_8K, gib: object = 79.18, spread: object = 0.0,
) -> Cell:  # fmt: skip
    """Return the cell of a model on devices of so many GiB (a number or an array)."""
    memory = gib * GIB  # type: ignore[operator]
    return evaluate(ANATOMIES[model.name], precision, budget, layout, H100, question, memory, spread)


@given(MODELS, PRECISIONS, BUDGETS, LAYOUTS, QUESTIONS, st.floats(4, 300))
def test_bytes_add_up(
    model: Model, precision: Precision, budget: Budget, layout: Layout, question: Question, gib: float
) -> None:
    """Total is weights, cache, workspace and runtime; the range holds it; needed never exceeds what is reserved."""
    one = cell(model, precision, budget, layout, question, gib)
    slack = 1e-9 * one.total

    assert one.total == pytest.approx(one.weights + one.kv + one.workspace + one.runtime)
    assert one.low <= one.total + slack
    assert one.total <= one.high + slack
    assert one.kv <= one.kv_reserved + slack
    if budget is not LLAMA_CPP:
        whole = weights_bytes(ANATOMIES[model.name], precision)
        heaviest = max(device_weights(ANATOMIES[model.name], precision, budget, layout))
        assert heaviest >= whole / (layout.tp * layout.pp) * (1 - 1e-9)
    assert one.margin == pytest.approx(one.usable - one.total)
    if one.verdict != NO and budget.equation != "all_of_device":
        assert one.kv_reserved <= one.kv_pool + slack


@given(MODELS, PRECISIONS, BUDGETS, LAYOUTS, QUESTIONS, st.lists(st.floats(4, 300), min_size=1, max_size=6))
def test_one_column_is_many_cells(
    model: Model, precision: Precision, budget: Budget, layout: Layout, question: Question, sizes: list[float]
) -> None:
    """The matrix and the live answer are one arithmetic: verdict, longest context and sequences are equal."""
    if budget.window_extra_batches and len({size >= 70 for size in sizes}) > 1:
        return  # devices of different tiers are columns of their own: a window cap is one number
    together = cell(model, precision, budget, layout, question, numpy.array(sizes), numpy.zeros(len(sizes)))

    def at(values: object, number: int) -> float:
        return float(numpy.broadcast_to(numpy.asarray(values, dtype=float), (len(sizes),))[number])

    for number, size in enumerate(sizes):
        alone = cell(model, precision, budget, layout, question, float(size), 0.0)
        for name in ("verdict", "total", "low", "high", "usable", "kv_pool", "max_context"):
            assert at(getattr(together, name), number) == pytest.approx(float(getattr(alone, name))), name
        for first, second in zip(together.max_sequences, alone.max_sequences, strict=True):
            assert at(first, number) == float(second)


@given(MODELS, PRECISIONS, BUDGETS, LAYOUTS, QUESTIONS, st.floats(4, 300), st.floats(0, 100))
def test_more_memory_never_hurts(
    model: Model, precision: Precision, budget: Budget, layout: Layout, question: Question, gib: float, more: float
) -> None:
    """With the engine's own sizes held, more memory never worsens verdict, longest context or sequences."""
    fixed = replace(question, knobs=Knobs(batched_tokens=2048, max_sequences=256))
    if budget.equation == "share_of_free" and gib * 1024 <= 61440 < (gib + more) * 1024:
        return  # SGLang's rule keeps 10 GiB from 60 GiB on, less below: a step of the engine itself
    small = cell(model, precision, budget, layout, fixed, gib)
    large = cell(model, precision, budget, layout, fixed, gib + more)

    assert large.verdict >= small.verdict
    assert large.max_context >= small.max_context
    assert all(one <= two for one, two in zip(small.max_sequences, large.max_sequences, strict=True))


@given(MODELS, BUDGETS, st.integers(1, 200_000), st.floats(8, 300))
def test_longest_context_is_the_longest(model: Model, budget: Budget, start: int, gib: float) -> None:
    """Asked for the longest context it reports, an engine still has room for it, and not for a block more."""
    if budget.profiled_tokens == "context":
        return  # V0's workspace itself depends on the context
    longest = cell(model, BF16, budget, question=Question(start, 1, 16.0), gib=gib).max_context
    if not 1 <= longest < 10_000_000:
        return
    block = budget.kv_block_tokens
    within = cell(model, BF16, budget, question=Question(int(longest) // block * block or block, 1, 16.0), gib=gib)
    beyond = cell(model, BF16, budget, question=Question(int(longest) + block + 1, 1, 16.0), gib=gib)

    if longest >= block:
        assert within.verdict != NO
    assert beyond.verdict == NO


@pytest.mark.parametrize(
    ("gib", "verdict"),
    # Llama-3.1-8B at 16 bits and 8192 tokens: weights 14.96, cache 1.00, sampler 38 x 256 x 128256 = 1.16, libraries
    # 0.13, together 17.25 GiB, to be found in 0.9 of the card
    [(24, FITS), (19.4, TIGHT), (19, NO)],
)
def test_verdicts(gib: float, verdict: int) -> None:
    """Fits where the high estimate does, tight where only the likely one does, no where not even that."""
    assert cell(LLAMA_8B, gib=gib).verdict == verdict


def test_unsure_memory_is_not_counted_on() -> None:
    """Where a device's memory is itself uncertain, fits needs the high estimate below the low memory."""
    sure, unsure = cell(LLAMA_8B, gib=20.5), cell(LLAMA_8B, gib=20.5, spread=0.1)

    assert (sure.verdict, unsure.verdict) == (FITS, TIGHT)


def test_published_failure_and_success() -> None:
    """Qwen3-32B at 16 bits on one H100: 16000 tokens run and 32000 do not (llm-d table, cases K6-0283 and K6-0284)."""
    anatomy = ANATOMIES[QWEN3_32B.name]
    verdicts = [
        evaluate(anatomy, BF16, VLLM, Layout(), H100, Question(context, 1, 16.0), 79.18 * GIB, 0.0).verdict
        for context in (16000, 32000)
    ]

    assert verdicts[0] != NO
    assert verdicts[1] == NO


def test_replicas_divide_sequences() -> None:
    """Data parallel replicas each take their part of the sequences, rounded up."""
    one = cell(LLAMA_8B, question=Question(8192, 8, 16.0))
    four = cell(LLAMA_8B, layout=Layout(dp=4), question=Question(8192, 8, 16.0))
    odd = cell(LLAMA_8B, layout=Layout(dp=3), question=Question(8192, 8, 16.0))

    assert (one.kv, four.kv, odd.kv) == (8 * GIB, 2 * GIB, 3 * GIB)


def test_what_an_engine_reserves_is_beside_what_is_needed() -> None:
    """A windowed layer needs its window; vLLM keeps the batch in flight as well, V0 every token."""
    question = Question(131072, 1, 16.0)
    windowed = cell(GPT_OSS_120B, question=question)
    whole = cell(GPT_OSS_120B, budget=VLLM_V0, question=question)

    # 18 full layers x 131072 tokens + 18 x 128, 2048 bytes each: 4.504 GiB (trial R001)
    assert windowed.kv == whole.kv == 2048 * (18 * 131072 + 18 * 128)
    assert windowed.kv_reserved == 2048 * (18 * 131072 + 18 * (127 + 8192))
    assert whole.kv_reserved == 2048 * 36 * 131072


def test_blocks_round_up() -> None:
    """Cache comes in blocks of 16 tokens in vLLM: one token costs sixteen."""
    one = cell(LLAMA_8B, question=Question(1, 1, 16.0))

    assert one.kv == 131072
    assert one.kv_reserved == 16 * 131072


def test_caches_that_grow_by_concatenation() -> None:
    """Caches that grow by torch.cat exist twice at their peak."""
    legacy = replace(VLLM, cache_copies=2)

    assert cell(LLAMA_8B, budget=legacy).kv_reserved == 2 * cell(LLAMA_8B).kv_reserved


def test_embedding_on_the_host() -> None:
    """llama.cpp keeps the token embedding in host memory: 128256 x 4096 values less; a tied one is needed as head."""
    whole = replace(LLAMA_CPP, embedding_on_host=False)
    on_card = device_weights(ANATOMIES[LLAMA_8B.name], BF16, whole, Layout())[0]
    on_host = device_weights(ANATOMIES[LLAMA_8B.name], BF16, LLAMA_CPP, Layout())[0]
    tied = device_weights(ANATOMIES[LLAMA_1B.name], BF16, LLAMA_CPP, Layout())[0]

    assert on_card - on_host == 2 * 128256 * 4096
    assert tied == 2 * LLAMA_1B.params_total


def test_rotary_tables_are_loaded() -> None:
    """vLLM holds sines and cosines of the model's own limit: Llama-3.1-8B loads 14.99 GiB (llm-d planner sweep, H100).

    8,030,261,248 values of 2 B are 14.96 GiB; 131,072 positions x 128 values x 2 B are 0.03.
    """
    loaded = device_weights(ANATOMIES[LLAMA_8B.name], BF16, VLLM, Layout())[0]

    assert loaded / GIB == pytest.approx(14.99, abs=0.005)


def test_fullest_stage_binds() -> None:
    """With stages, the device that holds most decides: the last one of Llama-3.1-70B also holds the head."""
    loads = device_weights(ANATOMIES[LLAMA_70B.name], BF16, VLLM, Layout(pp=4))
    one = cell(LLAMA_70B, layout=Layout(pp=4))

    assert one.weights == max(loads)
    assert one.weights > weights_bytes(ANATOMIES[LLAMA_70B.name], BF16) / 4


@pytest.mark.parametrize(
    ("model", "question", "term"),
    [
        (LLAMA_70B, Question(8192, 1, 16.0), "weights"),
        (LLAMA_8B, Question(131072, 8, 16.0), "kv"),
        (LLAMA_1B, Question(128, 1, 16.0), "workspace"),
    ],
)
def test_limit_term(model: Model, question: Question, term: str) -> None:
    """The term named is the largest of the bytes shown."""
    assert limit_term(cell(model, question=question)) == term


def test_sequences_at_standard_contexts() -> None:
    """Max sequences are the pool divided by what one sequence of 8K, 32K and 128K tokens needs."""
    one = cell(LLAMA_8B)

    assert one.max_sequences == tuple(one.kv_pool // (131072 * length) for length in (8192, 32768, 131072))


def test_engine_cache_of_windows() -> None:
    """A window of 1024 with one batch of 2048 in flight is charged 1023 + 2048 tokens (vLLM from 0.9.2)."""
    shape = engine_cache(request_cache(ANATOMIES[GEMMA3_27B.name], 16), VLLM, 2048)

    assert sorted(cap for _, cap in shape.slopes if cap) == [1023 + 2048]
    assert engine_cache(shape, VLLM_V0, 2048).slopes[0][1] is None


def test_every_layout_that_runs_has_a_cell() -> None:
    """Layouts that are not refused give bytes for all engines and models, and positive ones."""
    for model in ALL:
        for tp in (1, 2, 4, 8):
            layout = Layout(tp=tp)
            if refusal(ANATOMIES[model.name], BF16, layout, VLLM) is None:
                one = cell(model, layout=layout)
                assert one.weights > 0
                assert one.kv > 0


def test_a_mixture_is_not_its_active_part() -> None:
    """DeepSeek-V3 has 37B active of 671B parameters; at 8 bits eight 80 GB cards do not hold it."""
    assert cell(DEEPSEEK_V3, FP8_BLOCKS, layout=Layout(tp=8)).verdict == NO
    assert cell(DEEPSEEK_V3, FP8_BLOCKS, layout=Layout(tp=8), gib=139.8).verdict == FITS


def test_a_consumer_card() -> None:
    """Llama-3.1-8B at 16 bits runs on a 24 GB card at 8K tokens (public start-up logs of RTX 3090 with vLLM 0.6)."""
    one = evaluate(ANATOMIES[LLAMA_8B.name], BF16, VLLM, Layout(), RTX_3090, Question(8192, 1, 16.0))

    assert one.verdict != NO
