"""What vLLM's profile finds at its peak: images encoded, one step of a full batch, then the sampler.

Before it sizes the cache vLLM encodes as many images of the largest size as its encoder may take at once, keeps their
pixels and features, runs one forward pass over a full batch of tokens, keeps its hidden states, and samples a token for
every sequence (v1/worker/gpu_model_runner.py, `profile_run`). The peak is the largest of the three:

    max(encoder, kept + max(forward, hidden states + sampler + expert workspaces))

Read off the 60 start-up logs that the llm-d planner's sweep printed on H100 under 0.15.0 to 0.19.0
(accuracy/accuracy_report.md), of dense, expert and image models, TP 1 to 4:

- Qwen3-14B, 0.16.0: 5.64 GiB; 0.17.0: 2.23 GiB; Llama-3.1-8B, 0.19.0: 1.89 GiB at TP 1, 2 and 4;
- experts: Qwen3-30B-A3B 2.68 where Qwen3-8B, of the same vocabulary, has 2.21: 0.5 GiB of workspaces;
- images: gemma-3-4b 3.89, gemma-3-27b 3.99 where gemma-2 has 3.62 and 3.66.
"""

from __future__ import annotations

from dataclasses import replace

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, LayerGroup, Layout, Tower
from rackfit.memory.elementwise import Number, floor, maximum, minimum

ACTIVATION_BYTES = 2
COLOURS = 3
MXFP4 = "mxfp4"


def dense_width(anatomy: Anatomy, tp: int) -> float:
    """Return the values per token of the widest dense or shared feed-forward pass: gate, up and their product."""
    return 3 * max((max(group.d_ff or 0, group.shared_d_ff or 0) for group in anatomy.model.groups), default=0) / tp


def forward_bytes(anatomy: Anatomy, budget: Budget, layout: Layout, tokens: Number) -> Number:
    """Return the peak of one forward pass over so many tokens on one device.

    About 2 B x tokens x (3 d_ff / TP + 3 d): gate, up and their product beside three hidden states (V0 logs:
    Llama-3.1-8B at 20,000 tokens 2.07 GiB, 29,000 tokens 2.99 GiB). V1 holds a fourth (0.19.0 on H100: CodeLlama-7b
    0.77, granite-3.1-8b 0.85 GiB). Where the buffers of routed experts are an allocation of their own, they stand for
    the experts' share of the width.
    """
    hidden = (3 + budget.extra_hidden_states) * anatomy.model.d_model
    if not budget.keeps_expert_workspaces or not anatomy.has_experts:
        return budget.forward_bytes * tokens * (3 * anatomy.widest_ffn / layout.tp + hidden)
    inside = budget.forward_bytes * tokens * (dense_width(anatomy, layout.tp) + hidden)
    return inside + expert_workspace_bytes(anatomy, layout, tokens)


def expert_workspace_bytes(anatomy: Anatomy, layout: Layout, tokens: Number) -> Number:
    """Return the buffers in which routed experts work, on one device: two of tokens x experts per token.

    One holds the gate and up products or the output, the other their product or the output, whichever is wider
    (fused_moe.py, TritonExperts.workspace_shapes; v1/worker/workspace.py keeps them). MXFP4 experts run in kernels
    without such buffers (0.19.0: gpt-oss-20b 2.87 GiB, what its vocabulary alone gives).
    """
    if (anatomy.model.native_precision or "").startswith(MXFP4):
        return 0 * tokens
    return tokens * max((_workspace_row(anatomy, group, layout) for group in anatomy.model.groups), default=0.0)


def _workspace_row(anatomy: Anatomy, group: LayerGroup, layout: Layout) -> float:
    """Return the bytes of one token in both buffers of one layer's experts."""
    if not group.n_experts:
        return 0.0
    width = anatomy.model.moe_latent_dim or anatomy.model.d_model
    inner = (group.moe_d_ff or 0) / (1 if layout.ep > 1 else layout.tp)
    return ACTIVATION_BYTES * (group.n_experts_active or 0) * (max(inner, width) + max(2 * inner, width))


def reduced_bytes(anatomy: Anatomy, budget: Budget, layout: Layout, tokens: Number) -> Number:
    """Return what all-reduces keep of one forward pass on one device: the input of each, two per layer.

    torch's collectives hold their inputs until the streams meet, and the host runs ahead of the device; vLLM 0.2.6
    switched that off (worker.py, TORCH_NCCL_AVOID_RECORD_STREAMS). Llama-2-70B, TP 4 on A100 80 GB under 0.2.5:
    20,865 blocks instead of 31,615, which is 13.1 GiB (vllm#2031).
    """
    if not budget.keeps_reduced_inputs or layout.tp == 1:
        return 0 * tokens
    layers = sum(group.count for group in anatomy.model.groups) / layout.pp
    return 2 * layers * ACTIVATION_BYTES * tokens * anatomy.model.d_model


def sampler_bytes(anatomy: Anatomy, budget: Budget, layout: Layout, tokens: Number, logits: Number) -> Number:
    """Return the peak while a token is sampled for every sequence, on one device: TP does not divide it.

    Beside the logits lie the batch's hidden states, and what every such profile shows on top.
    """
    if not budget.sampler_bytes_per_logit:
        return 0 * tokens
    held = budget.extra_hidden_states * ACTIVATION_BYTES * tokens * anatomy.model.d_model + budget.profile_extra_bytes
    if budget.keeps_expert_workspaces:
        held = held + expert_workspace_bytes(anatomy, layout, tokens)
    return logits * budget.sampler_bytes_per_logit + held


def step_bytes(anatomy: Anatomy, budget: Budget, layout: Layout, tokens: Number, logits: Number) -> Number:
    """Return the peak of a full step without images on one device: forward pass or sampler, whichever is larger."""
    forward = forward_bytes(anatomy, budget, layout, tokens) + reduced_bytes(anatomy, budget, layout, tokens)
    return maximum(forward, sampler_bytes(anatomy, budget, layout, tokens, logits))


def encoders(anatomy: Anatomy) -> list[Tower]:
    """Return the towers whose profile follows from their record: width and largest item are known."""
    return [tower for tower in anatomy.model.towers if tower.width and tower.max_tokens_per_image]


def profiled_items(tower: Tower, tokens: Number, sequences: Number, context: int) -> Number:
    """Return how many images of the largest size are encoded at once.

    As many as the encoder's budget holds, which is the batch of tokens but at least one image, and no more than the
    sequences can bring (multimodal/encoder_budget.py; its log: `profiled with 1 image items of the maximum size`).
    """
    each = tower.max_tokens_per_image or 1
    return maximum(minimum(floor(tokens / each), sequences * max(1, context // each)), 1)


def largest_item(tower: Tower, budget: Budget, context: int) -> Tower:
    """Return a tower whose largest item is what an engine profiles: an image, or a clip where one is larger.

    Towers that take clips of any number of full-size frames are profiled with as many pairs of them as the context
    holds, up to the engine's limit of frames (models/qwen2_vl.py, get_num_frames_with_most_features); 0.8 and 0.9 left
    room for one image beside the clip.
    """
    image = tower.max_tokens_per_image
    if not tower.clips or not image or budget.clip_frames is None:
        return tower
    room = context // image - (1 if budget.clip_beside_image else 0)
    return replace(tower, max_tokens_per_image=image * max(1, min(room, budget.clip_frames // tower.frames)))


def encoder_bytes(tower: Tower, layout: Layout, items: Number) -> Number:
    """Return the peak of encoding so many images of the largest size on one device.

    2 B x patches x (pixels + 3 d + 2 d_ff / TP), and where queries and keys are turned (pixels + 8 d + 7 d / TP):
    input, residual and norm whole, q, k, v, their turned copies and the output by heads. Seen: images of 65,536
    patches under a 27B 2.21 GiB on one device (vllm#52872), 1.7 GiB on each of two (talos-argocd-proxmox#1995: a pool
    of 4.99 GiB); MiMo-VL-7B 2.49 GiB on H100 (llm-d planner sweep).
    """
    width = tower.width or 0
    patches = items * (tower.max_tokens_per_image or 0) * tower.patches_per_token
    inside = 3 * width + 2 * (tower.d_ff or 4 * width) / layout.tp
    if tower.rotary:
        inside = max(inside, 8 * width + 7 * width / layout.tp)
    return ACTIVATION_BYTES * patches * (pixel_values(tower) + inside)


def pixel_values(tower: Tower) -> int:
    """Return the values of the pixels of one patch."""
    return COLOURS * tower.frames * (tower.patch or 0) ** 2


def kept_image_bytes(anatomy: Anatomy, budget: Budget, tower: Tower, tokens: Number, items: Number) -> Number:
    """Return what so many encoded images leave on one device while the step runs: pixels and features.

    vLLM 0.11 copied each image's features into a buffer of the encoder's whole budget.
    """
    each = tower.max_tokens_per_image or 0
    rows = maximum(tokens, each) if budget.expands_encoder_outputs else each
    features = rows * anatomy.model.d_model * tower.features_per_token
    pixels = each * tower.patches_per_token * pixel_values(tower)
    return items * ACTIVATION_BYTES * (features + pixels)


def profile_bytes(
    anatomy: Anatomy,
    budget: Budget,
    layout: Layout,
    tokens: Number,
    sequences: Number,
    logits: Number,
    context: int,
    images: bool,
) -> Number:
    """Return the peak of the whole profile on one device.

    Args:
        anatomy: the model.
        budget: the engine's rules.
        layout: degrees of parallelism.
        tokens: rows of the profiled forward pass; number or array.
        sequences: sequences that may run at once.
        logits: values that are sampled from, sequences x vocabulary.
        context: tokens of one request.
        images: whether images are profiled.
    """
    step = step_bytes(anatomy, budget, layout, tokens, logits)
    peak = step
    for tower in (largest_item(one, budget, context) for one in encoders(anatomy) if images):
        items = profiled_items(tower, tokens, sequences, context)
        kept = kept_image_bytes(anatomy, budget, tower, tokens, items)
        peak = maximum(peak, maximum(encoder_bytes(tower, layout, items), kept + step))
    return peak
