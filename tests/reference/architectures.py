"""Architectures written down from their published configuration files, so that arithmetic is tested without a catalog.

Figures are those of the `config.json` that the maker published under the name given; parameter counts follow from
the formulas of the docstrings and are compared with the published counts in `tests/memory/test_weights.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget_parts import Reserve, Tier
from rackfit.memory.domain import Budget, Device, LayerGroup, Model, Precision

GIB = 2**30
MIB = 2**20


def gqa_params(d: int, heads: int, kv_heads: int, d_head: int, d_ff: int, qk_norm: bool = False) -> int:
    """Return the parameters of a gated GQA layer: q and o, k and v, three matrices, two norms, head norms."""
    attention = 2 * d * heads * d_head + 2 * d * kv_heads * d_head
    return attention + 3 * d * d_ff + 2 * d + (2 * d_head if qk_norm else 0)


def layer(count: int, params: int, **facts: Any) -> LayerGroup:
    """Return `count` layers; what is not said is absent."""
    blank: dict[str, Any] = {
        "indices": None, "attention": "gqa", "n_heads": None, "n_kv_heads": None, "d_k": None, "d_v": None,
        "window": None, "owns_cache": True, "index_dim": 0, "compress_ratio": None, "ffn": "dense", "d_ff": None,
        "n_experts": None, "n_experts_active": None, "moe_d_ff": None, "shared_d_ff": None, "state_elems": 0,
        "conv_elems": 0, "kv_full_elems": 0, "kv_windowed_elems": 0,
    }  # fmt: skip
    return LayerGroup(count=count, params=params, **{**blank, **facts})


def gqa(count: int, heads: int, kv_heads: int, d_head: int, params: int, **facts: Any) -> LayerGroup:
    """Return grouped-query layers that cache K and V of every token, or of a window where one is given."""
    values = 2 * kv_heads * d_head
    windowed = facts.get("window") is not None
    cached = {"kv_full_elems": 0 if windowed else values, "kv_windowed_elems": values if windowed else 0}
    shape = {"n_heads": heads, "n_kv_heads": kv_heads, "d_k": d_head, "d_v": d_head, "attention": "gqa"}
    return layer(count, params, **{**shape, **cached, **facts})


def model(name: str, d: int, vocabulary: int, groups: list[LayerGroup], **facts: Any) -> Model:
    """Return a text model: embedding, head unless tied, final norm, and its layers."""
    tied = facts.get("tied_embeddings", False)
    outside = (1 if tied else 2) * vocabulary * d + d
    total = outside + sum(group.count * group.params for group in groups)
    blank: dict[str, Any] = {
        "model_id": name.casefold(), "attention_kind": "gqa", "tied_embeddings": tied, "gated_ffn": True,
        "non_layer_params": outside, "params_text": total, "params_total": total, "params_active": total,
        "towers": (), "mtp_params": 0, "max_context": 131072, "q_lora_rank": None, "kv_lora_rank": None,
        "qk_nope_head_dim": None, "qk_rope_head_dim": None, "v_head_dim": None, "attention_bias": "no",
        "qk_norm": "no", "native_precision": "bf16",
    }  # fmt: skip
    return Model(name=name, d_model=d, vocab_size=vocabulary, groups=tuple(groups), **{**blank, **facts})


# meta-llama/Llama-3.1-8B config.json: 32 layers, hidden 4096, 32 heads, 8 KV heads, FFN 14336, vocabulary 128256
LLAMA_8B = model(
    "meta-llama/Llama-3.1-8B", 4096, 128256,
    [gqa(32, 32, 8, 128, gqa_params(4096, 32, 8, 128, 14336), d_ff=14336)],
)  # fmt: skip

# meta-llama/Llama-3.1-70B config.json: 80 layers, hidden 8192, 64 heads, 8 KV heads, FFN 28672
LLAMA_70B = model(
    "meta-llama/Llama-3.1-70B", 8192, 128256,
    [gqa(80, 64, 8, 128, gqa_params(8192, 64, 8, 128, 28672), d_ff=28672)],
)  # fmt: skip

# meta-llama/Llama-3.2-1B config.json: 16 layers, hidden 2048, 32 heads of 64, 8 KV heads, FFN 8192, tied head
LLAMA_1B = model(
    "meta-llama/Llama-3.2-1B", 2048, 128256,
    [gqa(16, 32, 8, 64, gqa_params(2048, 32, 8, 64, 8192), d_ff=8192)], tied_embeddings=True,
)  # fmt: skip

# Qwen/Qwen3-32B config.json: 64 layers, hidden 5120, 64 heads, 8 KV heads, head 128, FFN 25600, vocabulary 151936
QWEN3_32B = model(
    "Qwen/Qwen3-32B", 5120, 151936,
    [gqa(64, 64, 8, 128, gqa_params(5120, 64, 8, 128, 25600, qk_norm=True), d_ff=25600)],
    qk_norm="per_head", max_context=40960,
)  # fmt: skip

# Qwen/Qwen3-0.6B config.json: 28 layers, hidden 1024, 16 heads, 8 KV heads, head 128, FFN 3072, tied head
QWEN3_06B = model(
    "Qwen/Qwen3-0.6B", 1024, 151936,
    [gqa(28, 16, 8, 128, gqa_params(1024, 16, 8, 128, 3072, qk_norm=True), d_ff=3072)],
    qk_norm="per_head", tied_embeddings=True, max_context=40960,
)  # fmt: skip


def moe_params(d: int, heads: int, kv_heads: int, d_head: int, experts: int, width: int) -> int:
    """Return the parameters of a Qwen3 mixture layer: attention with head norms, router, gated experts, two norms."""
    attention = 2 * d * heads * d_head + 2 * d * kv_heads * d_head + 2 * d_head
    return attention + d * experts + experts * 3 * d * width + 2 * d


# Qwen/Qwen3-30B-A3B config.json: 48 layers, hidden 2048, 32 heads, 4 KV heads, head 128, 128 experts of 768, 8 active
QWEN3_30B = model(
    "Qwen/Qwen3-30B-A3B", 2048, 151936,
    [gqa(48, 32, 4, 128, moe_params(2048, 32, 4, 128, 128, 768), ffn="moe", n_experts=128, n_experts_active=8,
         moe_d_ff=768)],
    qk_norm="per_head",
)  # fmt: skip

# Qwen/Qwen3-235B-A22B config.json: 94 layers, hidden 4096, 64 heads, 4 KV heads, head 128, 128 experts of 1536
QWEN3_235B = model(
    "Qwen/Qwen3-235B-A22B", 4096, 151936,
    [gqa(94, 64, 4, 128, moe_params(4096, 64, 4, 128, 128, 1536), ffn="moe", n_experts=128, n_experts_active=8,
         moe_d_ff=1536)],
    qk_norm="per_head",
)  # fmt: skip


def mla_params(d: int, heads: int, q_lora: int, kv_lora: int, nope: int, rope: int, value: int) -> int:
    """Return the parameters of multi-head latent attention with query compression (arXiv 2405.04434, section 2.1)."""
    query = d * q_lora + q_lora + q_lora * heads * (nope + rope)
    return query + d * (kv_lora + rope) + kv_lora + kv_lora * heads * (nope + value) + heads * value * d


_MLA = mla_params(7168, 128, 1536, 512, 128, 64, 128)
_V3 = {"attention": "mla", "n_heads": 128, "n_kv_heads": 128, "d_k": 192, "d_v": 128, "kv_full_elems": 576}
# deepseek-ai/DeepSeek-V3 config.json: 61 layers, 3 dense of 18432, 256 experts of 2048 and one shared,
# vocabulary 129280 (the router carries one correction bias per expert)
DEEPSEEK_V3 = model(
    "deepseek-ai/DeepSeek-V3", 7168, 129280,
    [
        layer(3, _MLA + 3 * 7168 * 18432 + 2 * 7168, indices=(0, 1, 2), d_ff=18432, **_V3),
        layer(58, _MLA + 257 * 3 * 7168 * 2048 + 256 * 7168 + 256 + 2 * 7168, indices=tuple(range(3, 61)), ffn="moe",
              n_experts=256, n_experts_active=8, moe_d_ff=2048, shared_d_ff=2048, **_V3),
    ],
    attention_kind="mla", q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
)  # fmt: skip

# google/gemma-3-27b-it config.json (text): 62 layers, every sixth global, window 1024, 32 heads, 16 KV heads of 128
_GEMMA = gqa_params(5376, 32, 16, 128, 21504, qk_norm=True) + 2 * 5376
GEMMA3_27B = model(
    "google/gemma-3-27b", 5376, 262208,
    [
        gqa(10, 32, 16, 128, _GEMMA, d_ff=21504, indices=tuple(range(5, 62, 6))),
        gqa(52, 32, 16, 128, _GEMMA, d_ff=21504, window=1024, attention="sliding",
            indices=tuple(index for index in range(62) if index % 6 != 5)),
    ],
    tied_embeddings=True, qk_norm="per_head",
)  # fmt: skip


def oss_params(experts: int) -> int:
    """Return the parameters of a gpt-oss layer: attention of 64 heads of 64 and experts of 2880, all with biases."""
    attention = 2880 * 4096 + 4096 + 2 * (2880 * 512 + 512) + 4096 * 2880 + 2880 + 64
    expert = 2880 * 5760 + 5760 + 2880 * 2880 + 2880
    return attention + 2880 * experts + experts + experts * expert + 2 * 2880


_OSS = {"d_ff": None, "ffn": "moe", "n_experts": 128, "n_experts_active": 4, "moe_d_ff": 2880}
# openai/gpt-oss-120b config.json: 36 layers, alternating window of 128 and full, 64 heads of 64, 8 KV heads
GPT_OSS_120B = model(
    "openai/gpt-oss-120b", 2880, 201088,
    [
        gqa(18, 64, 8, 64, oss_params(128), indices=tuple(range(1, 36, 2)), **_OSS),
        gqa(18, 64, 8, 64, oss_params(128), indices=tuple(range(0, 36, 2)), window=128, attention="sliding", **_OSS),
    ],
    attention_bias="qkvo",
)  # fmt: skip

_SCOUT = 5120 * 40 * 128 * 2 + 5120 * 8 * 128 * 2 + 17 * 3 * 5120 * 8192 + 5120 * 16 + 2 * 5120
_SCOUT_FFN = {"ffn": "moe", "n_experts": 16, "n_experts_active": 1, "moe_d_ff": 8192, "shared_d_ff": 8192}
# meta-llama/Llama-4-Scout-17B-16E config.json (text): 48 layers, every fourth global, chunk 8192, 40 heads, 8 KV heads
LLAMA4_SCOUT = model(
    "meta-llama/Llama-4-Scout-17B-16E", 5120, 202048,
    [
        gqa(12, 40, 8, 128, _SCOUT, indices=tuple(range(3, 48, 4)), **_SCOUT_FFN),
        gqa(36, 40, 8, 128, _SCOUT, indices=tuple(i for i in range(48) if i % 4 != 3), window=8192,
            attention="chunked", **_SCOUT_FFN),
    ],
)  # fmt: skip

# a hybrid of 30 linear layers and 10 full ones, sizes of Qwen3.6-35B-A3B (trial R003): 2 KV heads of 256
HYBRID = model(
    "hybrid 10 of 40", 2048, 151936,
    [
        gqa(10, 16, 2, 256, gqa_params(2048, 16, 2, 256, 6144), d_ff=6144),
        layer(30, 60_000_000, attention="linear", d_ff=6144, state_elems=32 * 128 * 128, conv_elems=3 * 8192),
    ],
)  # fmt: skip

ALL = (
    LLAMA_8B, LLAMA_70B, LLAMA_1B, QWEN3_32B, QWEN3_06B, QWEN3_30B, QWEN3_235B, DEEPSEEK_V3, GEMMA3_27B, GPT_OSS_120B,
    LLAMA4_SCOUT, HYBRID,
)  # fmt: skip
ANATOMIES = {one.name: Anatomy(one) for one in ALL}

BF16 = Precision("bf16", "fp", 16.0, 16.0, frozenset(), None)
# DeepSeek-V3 report (arXiv 2412.19437, section 3.3): one fp32 scale per 128x128 block, i.e. 8 + 32/16384 bits
FP8_BLOCKS = Precision(
    "fp8_e4m3_block128x128", "fp8", 8 + 32 / 128**2, 16.0, frozenset({"embedding", "head", "norms", "router"}), 128
)
# AWQ (arXiv 2306.00978) with groups of 128: 4 bits, one fp16 scale and one 4-bit zero point per group
AWQ = Precision(
    "awq_int4_g128", "int4", 4 + 20 / 128, 16.0, frozenset({"embedding", "head", "norms", "router", "vision"}), 128
)


def device(name: str, mib: float, vendor: str = "NVIDIA", capability: str | None = "9.0", **facts: Any) -> Device:
    """Return a device with the memory that its driver prints."""
    blank: dict[str, Any] = {
        "memory_rule": "printed", "memory_spread": 0.0, "unified": False, "segment": "datacenter",
        "bandwidth_gb_s": None,
    }  # fmt: skip
    return Device(
        accelerator_id=name.casefold().replace(" ", "-"), name=name, vendor=vendor, memory_bytes=round(mib * MIB),
        compute_capability=capability, **{**blank, **facts},
    )  # fmt: skip


H100 = device("NVIDIA H100 SXM5 80GB", 81559)
A100 = device("NVIDIA A100 SXM4 80GB", 81920, capability="8.0")
RTX_3090 = device("NVIDIA GeForce RTX 3090", 24576, capability="8.6", segment="consumer")


def _nothing(kind: str) -> object:
    """Return the value by which a rule of an engine adds nothing: rules that a test is not about."""
    return None if "None" in kind else {"float": 0.0, "int": 0, "bool": False, "str": "none"}.get(kind, ())


def budget(runtime: str = "vllm", **facts: Any) -> Budget:
    """Return the rules of vLLM 0.11 (V1) with changes: utilisation 0.9, profile of 8192 tokens on large cards.

    Source: vllm/v1/worker/gpu_worker.py and vllm/engine/arg_utils.py of 0.11.0; 133 and 553 MiB of non-torch memory
    from the measured table of the llm-d workload planner.
    """
    blank: dict[str, Any] = {
        "budget_id": "vllm-0.11", "engine": "V1", "version_from": "0.11.0", "version_to": "0.16.0",
        "released": "2025-10-03", "equation": "share_of_total", "utilization": 0.9, "parallelism": "tensor",
        "profiled_tokens": "batched_tokens", "forward_bytes": 2.0, "sampler_bytes_per_logit": 38.0,
        "persistent_bytes_per_logit": 0.0, "logit_rows": None, "non_torch_bytes_single": 133 * MIB,
        "non_torch_bytes_parallel": 553 * MIB, "context_bytes": 0, "graph_bytes": 400 * MIB, "graphs_in_budget": False,
        "kv_block_tokens": 16, "window_extra_batches": 1, "state_bits": 16,
        "mla_cache": "latent",
        "mxfp4_width_multiple": None, "cache_copies": 1,
        "embedding_on_host": False, "tiers": (Tier(0, 2048, 256), Tier(70, 8192, 1024)),
        "small_tier_names": ("a100",),
    }  # fmt: skip
    neutral = {name: _nothing(str(field.type)) for name, field in Budget.__dataclass_fields__.items()}
    return Budget(**{**neutral, **blank, "runtime_id": runtime, **facts})


VLLM = budget()
# vLLM 0.6 (V0): vllm/worker/worker.py profiles max_model_len tokens; 0.3 GiB of context growth counts as non-torch
VLLM_V0 = budget(
    budget_id="vllm-v0", engine="V0", version_from="0.5.0", profiled_tokens="context", sampler_bytes_per_logit=0.0,
    non_torch_bytes_single=320 * MIB, non_torch_bytes_parallel=320 * MIB, window_extra_batches=None,
    tiers=(Tier(0, 2048, 256),), small_tier_names=(), queue_per_stage=True,
    chunked_above=32768,
)  # fmt: skip
# llama.cpp: whole layers per device, all of the free memory, compute buffer of 512 rows, embedding on the host
LLAMA_CPP = budget(
    "llama.cpp", budget_id="llama.cpp", engine=None, equation="all_of_device", utilization=1.0, parallelism="layers",
    profiled_tokens="ubatch", forward_bytes=4.0, sampler_bytes_per_logit=4.0, logit_rows=512,
    non_torch_bytes_single=0, non_torch_bytes_parallel=0, context_bytes=450 * MIB, graph_bytes=0, kv_block_tokens=256,
    window_extra_batches=1, state_bits=32, embedding_on_host=True, tiers=(Tier(0, 512, 512),), small_tier_names=(),
)  # fmt: skip
# a share of what is left: TensorRT-LLM's PyTorch backend (tensorrt_llm/_torch/pyexecutor/_util.py, _cal_max_memory)
SHARE_OF_REST = replace(
    VLLM, budget_id="rest", runtime_id="tensorrt-llm", engine="PyTorch", equation="share_of_rest", utilization=0.9,
    sampler_bytes_per_logit=0.0, context_bytes=500 * MIB, kv_block_tokens=32, window_extra_batches=None,
    tiers=(Tier(0, 8192, 2048),), small_tier_names=(),
)  # fmt: skip
# SGLang 0.5.3: server_args.py, least reserve of 10 GiB above 60 GiB, nothing profiled
SGLANG = replace(
    VLLM, budget_id="sglang", runtime_id="sglang", engine=None, equation="share_of_free", utilization=1.0,
    profiled_tokens="none", sampler_bytes_per_logit=0.0,
    reserve=Reserve(
        steps=((0, 512, 128),), mib_per_token=1.5, least_tokens=2048, mib_per_sequence=2.0, floor_mib=10240,
        floor_above_mib=61440,
    ),
)  # fmt: skip
