"""How training frameworks differ: loss, saved tensors, buckets, allocator. Each record rests on the framework's source.

The table states rules, not measurements: which loss is called, which operations are fused, what a step allocates.
`reserved` and `spread` are the exceptions: ratios seen over many runs (MEMORY_MODEL section 6: reserved 1.0 to 1.36 of
active by recompute mode).
"""

from __future__ import annotations

from dataclasses import replace

from rackfit.memory.training.domain import Rules

UNFUSED = ("gpt-oss", "gpt2", "bert", "bloom", "starcoder", "gpt-j", "gpt-neo", "codegen")
"""Parts of ids of models whose modeling code of Transformers writes attention out by default."""

TRANSFORMERS = Rules(
    "transformers",
    "full",
    prints="reserved",
    reserved=1.04,
    reserved_full=1.06,
    reduce_bytes=2.0,
    copies_gradients=True,
    autocasts=True,
    unfused=UNFUSED,
)
"""HF Trainer: eager blocks, norms widened to fp32, logits widened for the loss (transformers/loss/loss_utils.py);
attention with sinks has no fused kernel unless one is asked for (modeling_gpt_oss.py, _supports_sdpa), nor had the
models of before 2023 for as long as they were the usual ones (SDPA for GPT-2 and BERT from 4.42 and 4.46 on)."""

LITGPT = Rules(
    "litgpt",
    "chunked_128",
    unties_head=True,
    fused_qkv_view=True,
    unsharded_gradients=True,
    reserved=1.06,
    reserved_full=1.1,
    prints="allocated",
    step_bytes=2.0,
    spread=0.12,
    spread_high=0.15,
)
"""litgpt/finetune/*.py: bf16-true, head in pieces of 128 tokens, max_memory_allocated / 1e9; under FSDP micro-batches
are accumulated inside no_backward_sync, which keeps whole gradients on each rank; litgpt/model.py takes q, k and v as
views of one projection."""

QWEN = Rules(
    "qwen",
    "full_shifted",
    prints="driver",
    reserved=1.04,
    reserved_full=1.04,
    bucket_elements=5e8,
    spread=0.12,
    step_bytes=8.0,
    context_bytes=1000 * 2**20,
)
"""QwenLM/Qwen finetune.py: HF Trainer with gradient checkpointing; modeling_qwen.py shifts the logits into a copy and
widens them; full training runs under DeepSpeed ZeRO with its buckets; the table is what the driver shows."""

DEEPSPEED = Rules(
    "deepspeed",
    "full",
    bucket_elements=5e8,
    live_elements=1e9,
    step_elements=1e9,
    flat_gradients=True,
    reserved=1.05,
    reserved_full=1.08,
    step_bytes=6.0,
    prints="allocated",
    spread=0.2,
    unfused=UNFUSED,
)
"""deepspeed/runtime/zero/stage_1_and_2.py: fp32 copy of the reduced gradients at the step beside their 16-bit flat copy
(6 bytes per partitioned parameter), two buckets of 5e8 values; partitioned_param_coordinator.py: gathered weights that
are used again within 1e9 values stay; stage3.py: grad_partitions_flat_buffer,
updates by groups of 1e9 values (sub_group_size)."""

TORCHTUNE = Rules(
    "torchtune", "chunked", prints="allocated", reserved=1.05, reserved_full=1.1, step_bytes=0.0, spread=0.1
)
"""recipes/lora_finetune_single_device.py and full_*: bf16 parameters and states, RMSNorm in fp32, chunked loss since
0.3; peak active memory is logged. The fused update needs no temporaries."""

TORCHTITAN = Rules(
    "torchtitan",
    "full_fp32_ce",
    prints="reserved",
    reserved=1.08,
    reserved_full=1.15,
    gathered_layers=2.0,
    reduce_bytes=6.0,
    step_bytes=0.0,
    norm_kept=8.0,
    expanded_kv=True,
    own_streams=True,
    whole_in_pipeline=True,
    split_vocabulary_loss="loss_parallel",
    spread=0.25,
)
"""torchtitan: fp32 shards and states, bf16 gathered layers, fp32 reduction, torch.nn.RMSNorm widened to fp32,
keys and values repeated to all heads (torchtitan/models/llama3), fused AdamW; FSDP2 reduces on a stream of its own and,
under a pipeline, neither reshards nor reduces between micro-batches (torchtitan/models/llama3/infra/parallelize.py,
torch/distributed/pipelining/stage.py); loss parallel by default; max_reserved is logged."""

FSDP_QLORA = Rules(
    "fsdp_qlora",
    "full_shifted",
    prints="reserved",
    reserved=1.12,
    reserved_full=1.2,
    gathered_layers=2.0,
    reduce_bytes=2.0,
    step_bytes=2.0,
    spread=0.2,
    spread_high=0.4,
)
"""AnswerDotAI/fsdp_qlora train.py: FSDP1 full shard with checkpointing per decoder layer, bf16 adapters, logits of
Transformers."""

COLOSSAL = Rules(
    "colossalchat",
    "full_shifted",
    prints="allocated",
    reserved=1.05,
    reserved_full=1.08,
    step_bytes=6.0,
    spread=0.3,
    whole_logits=True,
)
"""ColossalAI low-level ZeRO: fp32 master and moments of HybridAdam, working gradients widened at the step."""

MEGATRON = Rules(
    "megatron",
    "vocab_parallel",
    norm_kept=4.0,
    gated_tensors=3.0,
    prints="allocated",
    reserved=1.06,
    reserved_full=1.1,
    step_bytes=0.0,
    gathered_layers=0.0,
    standing_gradients=True,
    spread=0.15,
    spread_high=0.25,
)
"""Megatron-LM and Megatron-Bridge: Transformer Engine's fused norm and SwiGLU, fp32 main gradients in buffers that are
made with the model (megatron/core/distributed/param_and_grad_buffer.py), distributed optimizer, vocabulary-parallel
loss."""

MEGATRON_BRIDGE = replace(MEGATRON, name="megatron-bridge", loss="fused_in_place")
"""Megatron-Bridge: performance recipes keep gradients in 16 bits and take Transformer Engine's cross entropy, which
writes its gradient over the logits (perf_recipes/_common.py: grad_reduce_in_fp32, cross_entropy_fusion_impl = "te")."""

PEFT = Rules(
    "peft", "full", prints="reserved", reserved=1.06, reserved_full=1.06, spread=0.12, spread_high=0.18, unfused=UNFUSED
)
"""peft/method_comparison: eager Transformers, fp32 adapters on a 16-bit base, no recompute."""

LIGER = replace(TRANSFORMERS, name="liger", spread=0.15, loss="fused_linear", norm_kept=4.0, gated_tensors=2.0)
"""Liger-Kernel: fused norm, rotary, SwiGLU (which recomputes its product) and linear cross entropy."""

AXOLOTL = Rules(
    "axolotl",
    "cut",
    reduce_bytes=6.0,
    gathered_layers=2.0,
    prints="reserved",
    reserved=1.06,
    reserved_full=1.1,
    step_bytes=0.0,
    spread=0.35,
    spread_high=0.7,
)
"""axolotl: Transformers with cut cross entropy and 8-bit AdamW where the configuration says so."""

UNSLOTH = Rules(
    "unsloth",
    "fused_in_place",
    norm_kept=2.0,
    norm_frozen=2.0,
    gated_tensors=2.0,
    prints="reserved",
    reserved=1.05,
    reserved_full=1.05,
    step_bytes=0.0,
    spread=0.3,
    unfused=("gemma-3-",),
)
"""unsloth: own kernels for norm, rotary, SwiGLU and loss, which writes its gradient over the logits
(unsloth/kernels/cross_entropy_loss.py); checkpoints go to host memory. Gemma 3 has a mask and grouped heads at once,
for which torch has no fused kernel (unsloth_zoo/temporary_patches.py, enable_gqa beside attn_mask)."""

ALST = Rules(
    "alst",
    "fused_linear",
    prints="driver",
    reserved=1.02,
    reserved_full=1.02,
    bucket_elements=5e8,
    step_bytes=0.0,
    spread=0.25,
    spread_high=0.35,
    context_bytes=2**30,
)
"""ArcticTraining with DeepSpeed ALST (arXiv 2506.13996): ZeRO-3, optimizer on the host, sequence divided over ranks
(Ulysses), tiled loss and feed-forward, checkpoints on the host."""

LLM_FOUNDRY = Rules(
    "llm-foundry",
    "fused_in_place",
    norm_kept=4.0,
    prints="reserved",
    reserved=1.06,
    reserved_full=1.06,
    step_bytes=4.0,
    spread=0.15,
)
"""mosaicml/llm-foundry: FSDP1 with low-precision layer norm, flash attention and its cross entropy in place."""

NEMO = Rules(
    "nemo-automodel", "full_fp32_ce", norm_kept=4.0, gated_tensors=2.0, prints="allocated", step_bytes=2.0, spread=0.15
)
"""NVIDIA NeMo Automodel: FSDP2 over Transformers blocks with Liger's norm and SwiGLU, 16-bit parameters."""

MS_SWIFT = replace(
    TRANSFORMERS,
    name="ms-swift",
    loss="full_shifted",
    varying=1.4,
    spread=0.25,
    step_bytes=2.0,
)
"""modelscope/ms-swift: Trainer of Transformers on 16-bit weights, loss over a shifted copy of the logits; it prints
torch.cuda.max_memory_reserved. Longer samples are left out, so that lengths vary: its own benchmark (docs, LLM,
Benchmark.md) prints 1.4 to 2.5 times what the loss needs beside the states."""

MLX = Rules("mlx", "full", prints="allocated", spread=0.25, spread_high=0.35)
"""mlx-lm: lazily evaluated; attention's backward pass is not fused."""

TABLE = {
    rules.name: rules
    for rules in (
        TRANSFORMERS,
        LITGPT,
        QWEN,
        DEEPSPEED,
        TORCHTUNE,
        TORCHTITAN,
        FSDP_QLORA,
        COLOSSAL,
        MEGATRON,
        MEGATRON_BRIDGE,
        PEFT,
        LIGER,
        AXOLOTL,
        UNSLOTH,
        ALST,
        LLM_FOUNDRY,
        NEMO,
        MS_SWIFT,
        MLX,
    )
}
"""Name -> rules."""
DEFAULT = replace(TRANSFORMERS, spread=0.15)
"""Where no framework is named: eager blocks as Transformers runs them, with a wider range for what others do."""


def compiled(rules: Rules, *, loss_too: bool = True) -> Rules:
    """Return the rules of a framework whose blocks are compiled, and its loss unless `loss_too` says otherwise.

    The compiler keeps the inputs of matrix products and what lies between costs little to keep: norms lose their fp32
    copies, gated blocks nothing; the loss keeps 16-bit logits and one gradient. Fewer blocks fragment less.
    """
    losses = {"full_fp32_ce": "compiled_with_cast", "full": "compiled", "chunked": "chunked_compiled"}
    return replace(
        rules,
        norm_kept=min(rules.norm_kept, 4.0),
        norm_frozen=min(rules.norm_frozen, 2.0),
        loss=losses.get(rules.loss, rules.loss) if loss_too else rules.loss,
        reserved=min(rules.reserved, 1.04),
        reserved_full=min(rules.reserved_full, 1.1),
    )
