"""Weights by role and precision, and what sharding divides, copies and conserves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.memory.domain import Layout, Model, Precision
from rackfit.memory.stages import stage_sizes
from rackfit.memory.weights import REPLICATED, outer_bytes, stage_weights, tensor_share, weights_bytes
from reference.architectures import (
    ALL,
    ANATOMIES,
    AWQ,
    BF16,
    DEEPSEEK_V3,
    FP8_BLOCKS,
    GIB,
    GPT_OSS_120B,
    HYBRID,
    LLAMA_1B,
    LLAMA_8B,
    LLAMA_70B,
    QWEN3_06B,
    QWEN3_30B,
    QWEN3_32B,
    QWEN3_235B,
)

MODELS = st.sampled_from(ALL)
PRECISIONS = st.sampled_from([BF16, FP8_BLOCKS, AWQ])

PUBLISHED = [
    # safetensors totals on the model cards: number of parameters
    (LLAMA_8B, 8_030_261_248),
    (LLAMA_70B, 70_553_706_496),
    (LLAMA_1B, 1_235_814_400),
    (QWEN3_06B, 596_049_920),
    (QWEN3_30B, 30_532_122_624),
    (QWEN3_32B, 32_762_123_264),
    (QWEN3_235B, 235_093_634_560),
    (GPT_OSS_120B, 116_829_156_672),
    # DeepSeek-V3 report (arXiv 2412.19437): 671B, the main model without its prediction module
    (DEEPSEEK_V3, 671_026_419_200),
]


@pytest.mark.parametrize(("model", "count"), PUBLISHED, ids=lambda value: getattr(value, "name", None))
def test_published_counts(model: Model, count: int) -> None:
    """Layer formulas and sizes of the config file give the published number of parameters, hence 16-bit bytes."""
    assert model.params_total == count
    assert weights_bytes(ANATOMIES[model.name], BF16) == 2 * count


MEASURED = [
    # GiB per GPU as engines printed them on loading (truth table of public logs: K1-0054, K1-0058, K1-0062)
    (QWEN3_06B, Layout(), 1.12),
    (QWEN3_32B, Layout(), 61.03),
    (QWEN3_32B, Layout(tp=2), 30.59),
]


@pytest.mark.parametrize(("model", "layout", "gib"), MEASURED)
def test_measured_loads(model: Model, layout: Layout, gib: float) -> None:
    """Weights as vLLM 0.11 printed them on an H100, within one percent."""
    assert max(stage_weights(ANATOMIES[model.name], BF16, layout)) / GIB == pytest.approx(gib, rel=0.01)


@given(MODELS, PRECISIONS, st.integers(1, 16))
def test_stages_conserve_weights(model: Model, precision: Precision, stages: int) -> None:
    """Stages together hold the model once; a tied embedding twice, since the last stage needs it as its head."""
    anatomy = ANATOMIES[model.name]
    layout = Layout(pp=stages)
    whole = weights_bytes(anatomy, precision)
    spread = sum(stage_weights(anatomy, precision, layout))
    embedding = outer_bytes(anatomy, precision, Layout())[0]
    extra = embedding if model.tied_embeddings and stages > 1 else 0

    assert spread >= whole * (1 - 1e-12)
    assert spread == pytest.approx(whole + extra, rel=1e-9)


@given(MODELS, PRECISIONS, st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 8))
def test_a_device_never_holds_less_than_its_share(model: Model, precision: Precision, tp: int, pp: int) -> None:
    """The fullest device holds at least weights / devices, and never more than the model."""
    anatomy = ANATOMIES[model.name]
    whole = weights_bytes(anatomy, precision)
    fullest = max(stage_weights(anatomy, precision, Layout(tp=tp, pp=pp)))

    assert fullest >= whole / (tp * pp) * (1 - 1e-9)
    assert fullest <= whole * (1 + 1e-9)


@pytest.mark.parametrize("role", sorted(REPLICATED))
def test_replicated_roles_stay_whole(role: str) -> None:
    """Norms, routers, MLA down-projections and index projections are whole on every rank (vLLM: ReplicatedLinear)."""
    assert tensor_share(role, Layout(tp=8), 8, 256) == 1
    assert tensor_share(role, Layout(tp=8, ep=8), 8, 256) == 1


@pytest.mark.parametrize("role", ["attention_qo", "attention_mla_up", "mixer", "ffn", "experts", "shared_experts"])
@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_divided_roles_sum_up(role: str, tp: int) -> None:
    """What column- and row-parallel layers divide adds up over the ranks."""
    assert tensor_share(role, Layout(tp=tp), 8, 256) * tp == 1


@pytest.mark.parametrize(("tp", "share"), [(1, 1), (2, 1 / 2), (4, 1 / 4), (8, 1 / 8), (16, 1 / 8), (64, 1 / 8)])
def test_key_value_projections_stop_at_the_heads(tp: int, share: float) -> None:
    """Key and value projections of eight heads divide by eight at most; further ranks hold copies."""
    assert tensor_share("attention_kv", Layout(tp=tp), 8, None) == share


def test_experts_over_ranks() -> None:
    """EP gives each rank whole experts: 256 over 8 are 32; of 16 over 8 ranks two."""
    assert tensor_share("experts", Layout(tp=8, ep=8), None, 256) == 32 / 256
    assert tensor_share("experts", Layout(tp=4, dp=2, ep=8), None, 16) == 2 / 16


def test_tied_head_counts_once() -> None:
    """Llama-3.2-1B on one device: 1235814400 parameters, its embedding of 262668288 once (model card: 1.23B)."""
    assert weights_bytes(ANATOMIES[LLAMA_1B.name], BF16) == 2_471_628_800
    assert sum(stage_weights(ANATOMIES[LLAMA_1B.name], BF16, Layout(pp=2))) == 2_471_628_800 + 2 * 128256 * 2048


def test_awq_keeps_embedding_and_head() -> None:
    """AWQ 4-bit of Llama-3.1-8B: 6.98e9 weights at 4.156 bits and 2 x 525336576 at 16, near the published 5.73 GB."""
    size = weights_bytes(ANATOMIES[LLAMA_8B.name], AWQ)

    # hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4: 5.73e9 bytes of safetensors (file list of the repository)
    assert size == pytest.approx(5.73e9, rel=0.01)
    assert size > 0.5 * 8.03e9 * 1.4


def test_fp8_blocks_of_deepseek() -> None:
    """DeepSeek-V3 in FP8 blocks is about 8.002 bits for all but embedding, head, norms and routers: 672 to 675 GB."""
    assert weights_bytes(ANATOMIES[DEEPSEEK_V3.name], FP8_BLOCKS) == pytest.approx(673e9, rel=0.003)


def test_all_experts_are_resident() -> None:
    """A mixture needs all its experts: Qwen3-30B-A3B at 16 bits is 61 GB, not the 6.6 GB of 3.3B active ones."""
    assert weights_bytes(ANATOMIES[QWEN3_30B.name], BF16) == 2 * 30_532_122_624


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    # vllm/distributed/utils.py, get_pp_indices: the remainder goes before the last stage
    [(61, 2, (31, 30)), (80, 4, (20, 20, 20, 20)), (62, 4, (15, 16, 16, 15)), (5, 3, (2, 2, 1)), (32, 1, (32,))],
)
def test_stage_sizes(layers: int, stages: int, sizes: tuple[int, ...]) -> None:
    """Layers are cut into stages as vLLM cuts them."""
    assert stage_sizes(layers, stages) == sizes


@given(st.integers(1, 200), st.integers(1, 64))
def test_stage_sizes_hold_every_layer(layers: int, stages: int) -> None:
    """No layer is lost or doubled, and stages differ by one layer at most."""
    if stages > layers:
        return
    sizes = stage_sizes(layers, stages)

    assert sum(sizes) == layers
    assert max(sizes) - min(sizes) <= 1


def test_every_architecture_splits_by_role() -> None:
    """Roles of a layer add up to the layer, those outside to what lies outside."""
    for anatomy in ANATOMIES.values():
        for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True):
            assert sum(roles.values()) == group.params
        assert sum(anatomy.outer_roles.values()) == anatomy.model.non_layer_params
    assert "mixer" in ANATOMIES[HYBRID.name].group_roles[1]
