"""Which layouts run: the engines' own refusals, each with the number that forbids it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Layout, Model, Precision
from rackfit.memory.layouts import candidates, divisors, refusal
from reference.architectures import (
    ALL,
    ANATOMIES,
    AWQ,
    BF16,
    DEEPSEEK_V3,
    FP8_BLOCKS,
    LLAMA_8B,
    LLAMA_70B,
    LLAMA_CPP,
    QWEN3_30B,
    QWEN3_32B,
    QWEN3_235B,
    VLLM,
    gqa,
    gqa_params,
    model,
)

# openai-community/gpt2-xl config.json: 48 layers, 1600 wide, 25 heads, vocabulary 50257
GPT2_XL = model(
    "openai-community/gpt2-xl", 1600, 50257,
    [gqa(48, 25, 25, 64, gqa_params(1600, 25, 25, 64, 6400), d_ff=6400)], tied_embeddings=True,
)  # fmt: skip


def refused(one: Model, layout: Layout, precision: Precision = BF16, budget: Budget = VLLM) -> str | None:
    """Return the reason why a model cannot be laid out so."""
    return refusal(ANATOMIES.get(one.name) or Anatomy(one), precision, layout, budget)


@pytest.mark.parametrize("tp", [1, 2, 4, 8, 16, 32, 64])
def test_degrees_that_divide_the_heads(tp: int) -> None:
    """64 heads and 8 KV heads run at every power of two; above 8 the KV heads replicate."""
    assert refused(LLAMA_70B, Layout(tp=tp)) is None


@pytest.mark.parametrize(
    ("tp", "said"), [(3, "64 attention heads"), (6, "64 attention heads"), (128, "64 attention heads")]
)
def test_degrees_that_do_not(tp: int, said: str) -> None:
    """TP 3 of a model with 64 heads and 8 KV heads cannot run: any number of GPUs is not a TP degree."""
    reason = refused(LLAMA_70B, Layout(tp=tp))

    assert reason is not None
    assert f"TP {tp}" in reason
    assert said in reason


def test_key_value_heads_neither_divide_nor_multiply() -> None:
    """12 heads with 8 KV heads at TP 6: 6 divides the heads, but 8 KV heads neither divide by it nor it by them."""
    odd = model("odd", 1536, 128256, [gqa(4, 24, 8, 64, gqa_params(1536, 24, 8, 64, 6144), d_ff=6144)])

    assert "8 KV heads" in (refused(odd, Layout(tp=6)) or "")


def test_more_stages_than_layers() -> None:
    """PP cannot exceed the layers: a stage without one has nothing to run."""
    assert refused(LLAMA_8B, Layout(pp=32)) is None
    assert "has 32" in (refused(LLAMA_8B, Layout(pp=33)) or "")


def test_fp8_blocks_at_tp_8() -> None:
    """Qwen3-235B-A22B-FP8 at TP 8 leaves 1536 / 8 = 192 per rank, no multiple of 128; TP 4 leaves 384 and runs.

    The model card of Qwen/Qwen3-235B-A22B-FP8 says to use TP 4, or expert parallelism beside TP 8.
    """
    reason = refused(QWEN3_235B, Layout(tp=8), FP8_BLOCKS)

    assert reason is not None
    assert "192" in reason
    assert "128" in reason
    assert refused(QWEN3_235B, Layout(tp=4), FP8_BLOCKS) is None
    assert refused(QWEN3_235B, Layout(tp=8, ep=8), FP8_BLOCKS) is None
    assert refused(QWEN3_235B, Layout(tp=8), BF16) is None


def test_groups_of_128_at_tp_8() -> None:
    """AWQ groups of 128 bind as well: Qwen3-30B-A3B experts of 768 run at TP 2 (384) and not at TP 4 (192)."""
    assert refused(QWEN3_30B, Layout(tp=2), AWQ) is None
    assert "192" in (refused(QWEN3_30B, Layout(tp=4), AWQ) or "")


def test_dense_width_in_blocks() -> None:
    """Qwen3-32B in 128 blocks: 25600 / 8 = 3200 is 25 blocks, so TP 8 runs; at TP 16 1600 is 12.5 blocks."""
    assert refused(QWEN3_32B, Layout(tp=8), FP8_BLOCKS) is None
    assert "1600" in (refused(QWEN3_32B, Layout(tp=16), FP8_BLOCKS) or "")


def test_unquantised_experts_have_no_block() -> None:
    """A format that leaves the experts alone does not bind their width."""
    spared = replace(FP8_BLOCKS, high_roles=FP8_BLOCKS.high_roles | {"experts"})

    assert refused(QWEN3_235B, Layout(tp=8), spared) is None


@pytest.mark.parametrize(
    ("one", "layout", "said"),
    [
        (LLAMA_70B, Layout(tp=8, ep=8), "needs experts"),
        (DEEPSEEK_V3, Layout(tp=8, ep=4), "spans the TP x DP ranks"),
        (DEEPSEEK_V3, Layout(tp=8, dp=2, ep=8), "spans the TP x DP ranks"),
        (QWEN3_30B, Layout(tp=4, dp=6, ep=24), "does not divide 128 experts"),
    ],
)
def test_expert_parallelism(one: Model, layout: Layout, said: str) -> None:
    """EP needs experts, spans the TP x DP ranks of a stage, and must divide the experts."""
    assert said in (refused(one, layout) or "")


def test_experts_over_all_ranks() -> None:
    """DeepSeek-V3 runs with its 256 experts over 16 ranks of TP 8 x DP 2."""
    assert refused(DEEPSEEK_V3, Layout(tp=8, dp=2, ep=16)) is None


def test_llama_cpp_splits_layers() -> None:
    """llama.cpp offers no tensor parallelism here: it splits whole layers, and says what to use."""
    reason = refused(LLAMA_70B, Layout(tp=2), BF16, LLAMA_CPP)

    assert reason is not None
    assert "llama.cpp" in reason
    assert "PP 2" in reason
    assert refused(LLAMA_70B, Layout(pp=2), BF16, LLAMA_CPP) is None


@pytest.mark.parametrize(
    ("tp", "said"),
    # vllm issue 1705: 25 heads; vocabulary 50257 is padded to 50304 = 64 x 786, which five does not divide
    [(2, "25 attention heads"), (5, "padded vocabulary of 50304")],
)
def test_odd_heads_and_vocabulary(tp: int, said: str) -> None:
    """gpt2-xl runs on one card only: two ranks fail on the heads, five on the padded vocabulary."""
    assert said in (refused(GPT2_XL, Layout(tp=tp)) or "")
    assert refused(GPT2_XL, Layout()) is None


def test_vocabulary_is_padded_first() -> None:
    """A vocabulary that eight does not divide runs at TP 8 once padded to 64 (vLLM: DEFAULT_VOCAB_PADDING_SIZE)."""
    padded = model("padded", 4096, 32001, [gqa(4, 32, 8, 128, gqa_params(4096, 32, 8, 128, 14336), d_ff=14336)])

    assert refused(padded, Layout(tp=8)) is None


def test_attention_on_every_device() -> None:
    """Eight devices may hold DeepSeek-V3's attention eight times and its experts once (DP attention)."""
    found = list(candidates(ANATOMIES[DEEPSEEK_V3.name], 8, 8, VLLM))

    assert Layout(tp=1, ep=8, dp=8) in found
    assert refused(DEEPSEEK_V3, Layout(tp=1, ep=8, dp=8)) is None
    assert Layout(tp=1, ep=1, dp=1) not in found


@pytest.mark.parametrize("layout", [Layout(tp=0), Layout(pp=0), Layout(ep=0), Layout(dp=-1)])
def test_degrees_start_at_one(layout: Layout) -> None:
    """A degree below one is no layout."""
    assert "start at 1" in (refused(LLAMA_8B, layout) or "")


@given(st.sampled_from(ALL), st.integers(1, 64), st.integers(1, 64), st.sampled_from([VLLM, LLAMA_CPP]))
def test_candidates_use_every_device(one: Model, devices: int, domain: int, budget: Budget) -> None:
    """Every layout offered uses all the devices, keeps TP inside a fast link, and is offered once."""
    found = list(candidates(ANATOMIES[one.name], devices, domain, budget))

    assert found
    assert len(set(found)) == len(found)
    assert all(layout.devices == devices for layout in found)
    assert all(layout.tp <= domain for layout in found)
    assert all(layout.ep in (1, layout.tp * layout.dp) for layout in found)
    if budget.parallelism == "layers":
        assert all(layout.tp == 1 for layout in found)


@given(st.integers(1, 5000))
def test_divisors(number: int) -> None:
    """Divisors come largest first and are exactly those."""
    assert divisors(number) == [one for one in range(number, 0, -1) if number % one == 0]


def test_published_padding_counts() -> None:
    """Qwen's 72B in GPTQ or AWQ runs at TP 2, 4 and 8, 29568 / 2 being no multiple of 128: its makers pad to 29696.

    Commit of Qwen/Qwen2-VL-72B-Instruct-GPTQ-Int8: "pad intermediate_size to 29696 to make sure quantized model can use
    8 tensor-parallel in vllm". Formats that nobody pads are refused as before.
    """
    qwen_72b = model(
        "Qwen/Qwen2.5-72B", 8192, 152064, [gqa(80, 64, 8, 128, gqa_params(8192, 64, 8, 128, 29568), d_ff=29568)]
    )
    assert [refused(qwen_72b, Layout(tp=tp), AWQ) for tp in (1, 2, 4, 8)] == [None] * 4
    assert "not a multiple" in (refused(qwen_72b, Layout(tp=2), FP8_BLOCKS) or "")
