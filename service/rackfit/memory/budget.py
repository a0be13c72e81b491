"""What an engine takes beside weights and cache, and how much of a device it may use.

The equations are those of the engines' own source (see the budget records for versions and evidence):

- vLLM: KV pool = utilization x total - weights - activation peak - non-torch [- graphs from 0.20];
- SGLang: KV pool = free after load - (1 - f) x free before load, f from the reserve rule (memory.static_share);
- TensorRT-LLM: KV pool = f x (total - peak of a trial run, its cache added back): a share of what is left, as LMDeploy
  (f x (free after load - logits of a batch)), TGI before 3.0 and Gaudi (f x (1 - graphs) x free after a profile);
- llama.cpp, Ollama, ExLlama: free memory must hold weights + cache + compute buffers, with a margin that stays free;
- Transformers: everything that the driver leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget_parts import Reserve
from rackfit.memory.domain import Budget, Device, Layout
from rackfit.memory.elementwise import Number, choose, maximum, minimum
from rackfit.memory.graphs import graph_bytes
from rackfit.memory.prefill import sized_prefill
from rackfit.memory.profile import forward_bytes, profile_bytes
from rackfit.memory.static_share import driver_bytes, graphs_mib, static_share, workspace_share
from rackfit.memory.token_pools import fixed_pool_bytes

GIB = 2**30
MIB = 2**20
LEAST_PROFILED = 2048
LEAST_PROFILED_WITH_IMAGES = 5120
LEAST_PROFILED_BY_ENCODERS = 32768
"""Floors of vLLM V0's batch where prefill is not chunked (config.py, 0.2.5 to 0.8.5: `max(max_model_len, 2048)` and the
two `_MAX_NUM_BATCHED_TOKENS`)."""
WIDE_TP = 4
"""Tensor parallel degree from which SGLang captures larger decode graphs."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What a user may set; None means the engine's own default."""

    utilization: float | None = None
    batched_tokens: int | None = None
    max_sequences: int | None = None
    eager: bool = False
    reserve_bytes: int = 0
    chunked: bool | None = None
    """Whether prefill is chunked, for engines that profile the context; None: by the engine's own rule."""
    text_only: bool = False
    """Images are switched off: nothing is profiled for them."""
    draft: bool = False
    """A draft model or the model's own prediction heads run beside it."""
    final_share: bool = False
    """`utilization` is what the engine printed after it had applied every factor of its own."""


DEFAULT_KNOBS = Knobs()


@dataclass(frozen=True, slots=True)
class Terms:
    """Bytes per device that are neither weights nor cache, and the limit they count against.

    `workspace` is what a step needs (activations, sampler, compute buffer), `runtime` what the engine holds all the
    time inside its budget (libraries, collective buffers, graphs). `outside` lies beyond the budget (driver context,
    graphs of engines that do not count them). `limit` is what weights, cache, workspace and runtime may use together.
    """

    workspace: Number
    runtime: Number
    outside: Number
    limit: Number
    batched_tokens: Number
    max_sequences: Number
    graphs: Number = 0
    """Bytes of captured graphs, which lie in `runtime` or `outside`."""
    doubt: Number = 0
    """Bytes that the engine may charge on top and that its source does not fix."""
    crowd: Number = -1.0
    """Bytes by which what lies beyond an engine's share may exceed what the share leaves; below 0 there is room."""
    pool_share: float = 1.0
    """Share of what weights, workspace and runtime leave of the limit that the engine takes for its cache."""


DRIVER_CONTEXT = 3 * GIB // 10
"""What a CUDA process takes beyond any budget, the low end of what is measured (0.3 to 0.7 GiB)."""
GRAPH_DOUBT = GIB // 2
"""How far captured graphs lie above their estimate on measured runs."""


def crowd_bytes(budget: Budget, knobs: Knobs, total: Number, outside: Number, graphs: Number) -> Number:
    """Return by how many bytes what an engine holds beyond its share may exceed the rest of the device.

    Graphs that an engine captures outside its share, and the driver's context, need what the share leaves: vLLM 0.6.4
    with 15.77 GiB runs at 0.90 and ends at 0.95 when it captures (vllm#11251). Engines without a share leave nothing.
    """
    if budget.equation != "share_of_total":
        return -1.0 + 0 * total
    share = budget.utilization if knobs.utilization is None else knobs.utilization
    captured = choose(graphs > 0, 0 if budget.graphs_in_budget else GRAPH_DOUBT, 0)
    context = 0 if budget.context_in_budget else DRIVER_CONTEXT
    return outside + captured + context - (1 - share) * total


def engine_total(device_bytes: Number, vendor: str, unified: bool) -> Number:
    """Return the bytes that an engine sees of a device.

    torch's total is 0.998 x the driver's figure - 0.38 GiB on discrete NVIDIA cards (fitted on eight cards with both
    figures, MEMORY_MODEL section 0); other vendors' drivers and unified pools show engines what they print.
    """
    if vendor.casefold() == "nvidia" and not unified:
        return 0.998 * device_bytes - 0.38 * GIB
    return device_bytes


def tier_sizes(budget: Budget, total: Number, device_name: str, knobs: Knobs, tp: int = 1) -> tuple[Number, Number]:
    """Return (batched tokens, sequence limit): what the user set, else the engine's default for this device."""
    named = device_name.casefold()
    fitting = [tier for tier in budget.tiers if not tier.names or any(name in named for name in tier.names)]
    tiers = sorted(fitting, key=lambda tier: (tier.min_memory_gib, bool(tier.names)))
    limits = [(tier.wide_sequences if tp >= WIDE_TP else None) or tier.max_sequences for tier in tiers]
    tokens: Number = tiers[0].batched_tokens + 0 * total
    sequences: Number = limits[0] + 0 * total
    if not any(name in named for name in budget.small_tier_names):
        for tier, limit in zip(tiers[1:], limits[1:], strict=True):
            large = total >= tier.min_memory_gib * GIB
            tokens = choose(large, tier.batched_tokens, tokens)
            sequences = choose(large, limit, sequences)
    if knobs.batched_tokens is not None:
        tokens = knobs.batched_tokens + 0 * total
    if knobs.max_sequences is not None:
        sequences = knobs.max_sequences + 0 * total
    return tokens, minimum(sequences, tokens)


def profiled_context(anatomy: Anatomy, budget: Budget, context: int, knobs: Knobs) -> int:
    """Return the tokens that vLLM V0 profiles: the context, or one chunk where prefill is chunked.

    From 0.5.3 on chunked prefill is on by itself above 32768 tokens, in chunks of 512, from 0.6.5 on of 2048: a longer
    context can leave more cache. It is not with latent attention, windows or towers (arg_utils and config of those
    versions; runtime_rules, term chunked_prefill_default).
    """
    if knobs.batched_tokens is not None:
        return knobs.batched_tokens
    images = anatomy.tower_params > 0
    least = LEAST_PROFILED_WITH_IMAGES if images else LEAST_PROFILED
    if _chunked(anatomy, budget, context) if knobs.chunked is None else knobs.chunked:
        return max(budget.tiers[0].batched_tokens, least if images else 0)
    return max(context, least if anatomy.caches_tokens else LEAST_PROFILED_BY_ENCODERS)


def _chunked(anatomy: Anatomy, budget: Budget, context: int) -> bool:
    """Return whether an engine that profiles the context chunks it by itself."""
    latent = anatomy.model.kv_lora_rank and budget.mla_cache != "full_heads"
    windowed = any(group.window for group in anatomy.model.groups)
    plain = not latent and not windowed and not anatomy.tower_params
    return plain and budget.chunked_above is not None and context > budget.chunked_above


def held_before_load(budget: Budget, layout: Layout, device: Device) -> float:
    """Return what is not free on a device before a model is loaded, bytes, for engines that take a share of the rest.

    The driver's context, over several ranks the collectives' buffers (public start-up logs of SGLang: 1.0 to 1.4 GiB
    where devices have links of their own, next to nothing over PCIe), and what programs beside it hold of a shared
    memory (GB10: 6 to 10 GiB of 119.6).
    """
    held: float = budget.context_bytes
    if layout.devices > 1 and device.fabric:
        held += budget.non_torch_bytes_parallel
    if device.unified and budget.reserve is not None:
        held += budget.reserve.shared_memory_mib * MIB
    return held


def _captured(budget: Budget, reserve: Reserve, layout: Layout, device: Device, total: Number, knobs: Knobs) -> Number:
    """Return the sequences of SGLang's largest decode graph, which are not those that may run."""
    _, captured = tier_sizes(budget, total, device.name, replace(knobs, max_sequences=None), layout.tp)
    if knobs.max_sequences is not None and reserve.sequences_follow_limit:
        return minimum(captured, knobs.max_sequences)
    return captured


def _static_limit(
    anatomy: Anatomy, budget: Budget, layout: Layout, device: Device, total: Number, knobs: Knobs, tokens: Number
) -> Number:
    """Return what weights and cache may use together under SGLang: a share of what is free before loading."""
    free = total - held_before_load(budget, layout, device)
    if not knobs.final_share:
        free = free * workspace_share(anatomy, budget.reserve, layout, device)
    if knobs.utilization is not None or budget.reserve is None:
        return (budget.utilization if knobs.utilization is None else knobs.utilization) * free
    captured = _captured(budget, budget.reserve, layout, device, total, knobs)
    memory = driver_bytes(total, device.vendor, device.unified) / MIB
    share = static_share(
        anatomy, budget.reserve, layout, memory, tokens, captured, knobs.draft, not knobs.text_only
    )  # fmt: skip
    return share * free


def fuses_allreduce(budget: Budget, device: Device) -> bool:
    """Return whether an engine's buffers of the fused all-reduce lie on such devices.

    vLLM switches it on by itself on compute capability 9.0 and 10.x (config/vllm.py, enable_allreduce_rms_fusion).
    """
    return budget.fused_allreduce_bytes > 0 and device.is_hopper_or_later_server


def held_bytes(budget: Budget, layout: Layout, device: Device) -> int:
    """Return what libraries and collectives hold on one device beside the allocator, bytes.

    The fused all-reduce needs tensor parallelism without pipelines and replicas. llm-d planner sweep, H100, 0.19.0:
    0.25 GiB at TP 1, 2.07 at TP 2, 2.13 to 2.21 at TP 4, 0.07 at PP 2 and 4.
    """
    if layout.tp * layout.pp == 1 and layout.ep == 1:  # replicas of a whole model do not talk to each other
        return budget.non_torch_bytes_single
    fused = fuses_allreduce(budget, device) and layout.tp > 1 and layout.pp == layout.dp == 1
    return budget.non_torch_bytes_parallel + (budget.fused_allreduce_bytes if fused else 0)


def engine_terms(
    anatomy: Anatomy, budget: Budget, layout: Layout, device: Device, total: Number, context: int, knobs: Knobs
) -> Terms:
    """Return what the engine takes on each device of a layout.

    Args:
        anatomy: the model.
        budget: the engine's rules.
        layout: degrees of parallelism.
        device: name, vendor and kind of the device (its memory is `total`).
        total: bytes that the engine sees on one device; number or array.
        context: tokens of one request, for engines that profile the context.
        knobs: the user's settings.
    """
    budget = budget.for_runner(anatomy.is_dense)
    tokens, sequences = tier_sizes(budget, total, device.name, knobs, layout.tp)
    if knobs.batched_tokens is None:
        tokens = sized_prefill(anatomy, budget, layout, device.name, tokens)
    rows = {
        "batched_tokens": tokens,
        "context": profiled_context(anatomy, budget, context, knobs) + 0 * total,
        "ubatch": tokens,
        "none": 0 * total,
    }
    profiled = rows[budget.profiled_tokens]
    logit_rows = sequences if budget.logit_rows is None else minimum(budget.logit_rows, sequences)
    logits = logit_rows * anatomy.model.vocab_size if anatomy.caches_tokens else 0
    if budget.profiled_tokens == "ubatch":
        workspace = forward_bytes(anatomy, budget, layout, profiled) + logits * budget.sampler_bytes_per_logit
    else:
        images = budget.family == "vllm" and not knobs.text_only
        workspace = profile_bytes(anatomy, budget, layout, profiled, sequences, logits, context, images)
    if budget.equation != "all_of_device":
        workspace = workspace + budget.prompt_logit_bytes * anatomy.model.vocab_size * tokens
    held = held_bytes(budget, layout, device)
    large = device.is_hopper_or_later_server
    graphs = 0 * total if knobs.eager else graph_bytes(anatomy, budget, layout, tokens, sequences, large) + 0 * total
    runtime = held + logits * budget.persistent_bytes_per_logit + (graphs if budget.graphs_in_budget else 0)
    outside = budget.context_bytes + (0 if budget.graphs_in_budget else graphs)
    share = budget.utilization if knobs.utilization is None else knobs.utilization
    pool_share = 1.0
    if budget.equation == "share_of_total":
        limit = share * total
    elif budget.equation == "share_of_free":
        limit = _static_limit(anatomy, budget, layout, device, total, knobs, tokens)
        workspace = 0 * total  # activations, graphs and collectives live in the share that is left free
        if budget.reserve is not None and not knobs.eager:
            captured = _captured(budget, budget.reserve, layout, device, total, knobs)
            graphs = graphs_mib(anatomy, budget.reserve, layout, tokens, captured) * MIB
        runtime = fixed_pool_bytes(anatomy, layout, budget, tokens, knobs.max_sequences, knobs.draft) + 0 * total
    elif budget.equation == "share_of_rest":
        limit = total - budget.context_bytes  # graphs captured later live in what the share leaves
        pool_share = share * (1.0 if knobs.eager else 1.0 - budget.graph_share)
    else:
        limit = total - outside - budget.left_free_bytes
    doubt = graphs if budget.graphs_in_budget else 0 * total
    crowd = crowd_bytes(budget, knobs, total, outside, graphs)
    limit = maximum(limit - knobs.reserve_bytes, 0)
    return Terms(workspace, runtime, outside, limit, tokens, sequences, graphs, doubt, crowd, pool_share)
