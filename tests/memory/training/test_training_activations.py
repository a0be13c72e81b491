"""Activations: published formulas, and the general count against them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.memory.domain import LayerGroup, Model, Precision
from rackfit.memory.training.activations import (
    divided,
    gpt_layer_bytes,
    in_flight,
    layer_kept,
    score_ratio,
)
from rackfit.memory.training.domain import Adapter, Parallel
from rackfit.memory.training.overheads import MEGATRON, TRANSFORMERS
from rackfit.memory.training.recipes import ADAPTER_BF16


def block(d: int, heads: int, kv_heads: int, d_ff: int, gated: bool) -> tuple[Model, LayerGroup]:
    """Return a model of one kind of dense layer."""
    head = d // heads
    params = d * heads * head * 2 + 2 * d * kv_heads * head + (3 if gated else 2) * d * d_ff + 2 * d
    group = LayerGroup(
        count=32, indices=None, attention="gqa", n_heads=heads, n_kv_heads=kv_heads, d_k=head, d_v=head, window=None,
        owns_cache=True, index_dim=0, compress_ratio=None, ffn="dense", d_ff=d_ff, n_experts=None,
        n_experts_active=None,
        moe_d_ff=None, shared_d_ff=None, state_elems=0, conv_elems=0, kv_full_elems=2 * kv_heads * head,
        kv_windowed_elems=0, params=params,
    )  # fmt: skip
    total = 32 * params + 2 * 32000 * d + d
    model = Model(
        model_id="test/block", name="block", attention_kind="gqa", d_model=d, vocab_size=32000, tied_embeddings=False,
        gated_ffn=gated, groups=(group,), non_layer_params=2 * 32000 * d + d, params_text=total, params_total=total,
        params_active=total, towers=(), mtp_params=0, max_context=4096, q_lora_rank=None, kv_lora_rank=None,
        qk_nope_head_dim=None, qk_rope_head_dim=None, v_head_dim=None, attention_bias="no", qk_norm="no",
        native_precision="bf16",
    )  # fmt: skip
    return model, group


def test_a_plain_block() -> None:
    """sbh(34 + 5as/h), Korthikanti et al. (arXiv 2205.05198), equation 1."""
    s, b, h, a = 2048, 4, 12288, 96

    assert gpt_layer_bytes(s, b, h, a) == s * b * h * (34 + 5 * a * s / h)


def test_tensor_and_sequence_parallel() -> None:
    """sbh(10 + 24/t + 5as/ht) and sbh/t(34 + 5as/h), the paper's table 2."""
    s, b, h, a, t = 2048, 1, 6144, 64, 8

    assert gpt_layer_bytes(s, b, h, a, tp=t) == pytest.approx(s * b * h * (10 + 24 / t + 5 * a * s / (h * t)))
    whole = gpt_layer_bytes(s, b, h, a, tp=t, sequence_parallel=True)
    assert whole == pytest.approx(s * b * h / t * (34 + 5 * a * s / h))


def test_recompute_in_the_formula() -> None:
    """Selective recompute leaves 34sbh/t, full recompute 2sbh."""
    s, b, h, a, t = 2048, 1, 20480, 128, 8

    selective = gpt_layer_bytes(s, b, h, a, tp=t, sequence_parallel=True, recompute="selective")
    assert selective == pytest.approx(34 * s * b * h / t)
    assert gpt_layer_bytes(s, b, h, a, recompute="full") == 2 * s * b * h


@pytest.mark.parametrize(("heads", "hidden", "ratio"), [(96, 12288, 80), (128, 20480, 64)])
def test_score_ratio_of_published_models(heads: int, hidden: int, ratio: float) -> None:
    """5as/h is 80 for GPT-3 and 64 for MT-NLG 530B at 2048 tokens (the paper, section 5)."""
    assert score_ratio(heads, 2048, hidden) == ratio


def test_a_gated_block_keeps_forty_five_widths() -> None:
    """Llama-2-7B measures 45 bytes per unit of width, token and layer (MEMORY_MODEL section 6)."""
    model, group = block(4096, 32, 32, 11008, gated=True)

    assert sum(layer_kept(model, group, TRANSFORMERS, None)) / 4096 == pytest.approx(45, rel=0.03)


def test_grouped_heads_keep_less() -> None:
    """Keys and values of 8 of 32 heads keep a quarter: 2 x 2 x 3/4 d less than full heads."""
    model, group = block(4096, 32, 32, 14336, gated=True)
    grouped, fewer = block(4096, 32, 8, 14336, gated=True)

    saved = sum(layer_kept(model, group, TRANSFORMERS, None)) - sum(layer_kept(grouped, fewer, TRANSFORMERS, None))
    assert saved == 3 * 4096


def test_parallel_ranks_divide_what_they_can() -> None:
    """With sequence parallelism all of a block divides by TP; without, the norms stay whole."""
    model, group = block(4096, 32, 32, 11008, gated=True)
    parts = layer_kept(model, group, MEGATRON, None)

    assert divided(parts, Parallel(tp=4)) == pytest.approx(sum(parts) / 4)
    assert divided(parts, Parallel(tp=4, sequence_parallel=False)) > sum(parts) / 4


def test_the_first_stage_of_a_pipeline_holds_most() -> None:
    """1F1B: stage i of p keeps p - i micro-batches, never more than there are (Megatron-LM)."""
    parallel = Parallel(pp=4, micro_batches=8)

    assert [in_flight(stage, parallel) for stage in range(4)] == [4, 3, 2, 1]
    assert in_flight(0, Parallel(pp=4, micro_batches=2)) == 2


def test_inputs_of_adapted_matrices_are_counted_once_where_they_are_one() -> None:
    """Queries and values of plain heads read one input; of latent attention the value's is narrower, and both stay.

    Whatever order the names of targets have: they are a set.
    """
    model, plain = block(4096, 32, 8, 14336, gated=True)
    base = Precision("bf16", "fp", 16.0, 16.0, frozenset(), None)
    latent_model = replace(model, q_lora_rank=None, kv_lora_rank=512, qk_rope_head_dim=64)
    latent = replace(plain, attention="mla", d_k=192, d_v=128)

    def copies(shape: Model, group: LayerGroup, *names: str) -> float:
        kept = [
            layer_kept(shape, group, TRANSFORMERS, Adapter(8, frozenset(targets), ADAPTER_BF16, base))[0]
            for targets in (names, reversed(names), ())
        ]
        assert kept[0] == kept[1]
        return kept[0] - kept[2]

    assert copies(model, plain, "q", "v") == 2 * 4096
    assert copies(latent_model, latent, "q", "v") == 2 * (4096 + 512)
