"""Plain models, devices, links and efficiencies to calculate with by hand."""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Model, Precision
from rackfit.speed.communication import Link
from rackfit.speed.domain import Chip, Efficiency

A100 = Chip("nvidia-a100-sxm4-80gb", "A100", "hbm", 2039.0, False, 108, "SM", {"bf16": 312.0})
BF16 = Precision("bf16", "fp", 16.0, 16.0, frozenset(), None)
NVLINK = Link("NVLink 3", "switched", 300.0, 1, 1.0, "600 GB/s in total")
UPLINK = Link("PCIe 4.0 x16", "PCIe tree", 31.5, 2, 1.0, "two devices on one uplink")


def record(**changed: object) -> Efficiency:
    """Return an efficiency that reads at full bandwidth and has no fixed times, but for what is changed."""
    plain: dict[str, object] = {
        "efficiency_id": "plain", "engine_name": "vllm", "memory_class": "hbm", "precision_family": "16bit",
        "kernel": None, "bandwidth_share": 1.0, "ecc_share": None, "unit_gb_s": None, "unit_kind": None,
        "layer_ms": 0.0, "moe_layer_ms": 0.0, "handover_ms": 0.0, "all_reduce_ms": 0.0, "all_reduce_step_ms": 0.0,
        "host_layer_ms": 0.0, "head_cache_gb_s": None, "spread_below": 0.1, "spread_above": 0.1, "case_count": 1,
        "measured_on": "nvidia-a100-sxm4-80gb",
    }  # fmt: skip
    return Efficiency(**{**plain, **changed})  # type: ignore[arg-type]


def llama(tied: bool = False, experts: int | None = None) -> Anatomy:
    """Return a model of two layers of 4096 by 14336 with a vocabulary of 128256, as Llama-3-8B has 32 of."""
    d, d_ff, vocabulary = 4096, 14336, 128256
    attention, feed = d * d * 2 + 2 * d * 1024, 3 * d * d_ff
    params = attention + 2 * d + (feed if experts is None else experts * feed + d * experts)
    group = LayerGroup(
        count=2, indices=(0, 1), attention="gqa", n_heads=32, n_kv_heads=8, d_k=128, d_v=128, window=None,
        owns_cache=True, index_dim=0, compress_ratio=None, ffn="moe" if experts else "dense",
        d_ff=None if experts else d_ff, n_experts=experts, n_experts_active=2 if experts else None,
        moe_d_ff=d_ff if experts else None, shared_d_ff=None, state_elems=0, conv_elems=0, kv_full_elems=2048,
        kv_windowed_elems=0, params=params,
    )  # fmt: skip
    outside = vocabulary * d * (1 if tied else 2) + d
    total = 2 * params + outside
    active = total if experts is None else total - 2 * (experts - 2) * feed
    return Anatomy(
        Model(
            model_id="own/model", name="own", attention_kind="gqa", d_model=d, vocab_size=vocabulary,
            tied_embeddings=tied, gated_ffn=True, groups=(group,), non_layer_params=outside, params_text=total,
            params_total=total, params_active=active, towers=(), mtp_params=0, max_context=8192, q_lora_rank=None,
            kv_lora_rank=None, qk_nope_head_dim=None, qk_rope_head_dim=None, v_head_dim=None, attention_bias="no",
            qk_norm="no", native_precision="bf16",
        )
    )  # fmt: skip
