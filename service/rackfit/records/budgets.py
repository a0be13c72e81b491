"""How an engine divides a device's memory, by range of versions: the constants of `memory/budget.py`."""

from __future__ import annotations

from typing import Literal

from rackfit.records.base import Count, NonNegative, Part, PartialDate, Positive, PositiveCount, Record, Slug, Text


class Tier(Part):
    """Default token budget and sequence limit on devices with at least so much memory."""

    min_memory_gib: NonNegative
    batched_tokens: PositiveCount
    max_sequences: PositiveCount
    wide_sequences: PositiveCount | None = None
    names: list[Text] = []


class PrefillRate(Part):
    """Rate of a card by which the engine sizes its prefill; from the engine's own table, not the card's record."""

    card: Text
    tflops: Positive


class ReserveStep(Part):
    """The constant part of a reserve on devices with at least so much memory."""

    min_memory_gib: NonNegative
    mib: NonNegative
    mib_per_rank: NonNegative


class ShareStep(Part):
    """The share that an engine takes from so many ranks on, up to the next step."""

    ranks: PositiveCount
    share: Positive


class Reserve(Part):
    """What an engine leaves out of its static share: memory of the device less the reserve, over that memory."""

    steps: list[ReserveStep] = []
    mib_per_token: NonNegative = 0.0
    least_tokens: Count = 0
    mib_per_sequence: NonNegative = 0.0
    sequences_follow_limit: bool = False
    floor_mib: NonNegative = 0.0
    floor_above_mib: NonNegative = 0.0
    mib_per_prefill_graph: NonNegative = 0.0
    latent_prefill_mib: NonNegative = 0.0
    draft_mib: NonNegative = 0.0
    shares: list[ShareStep] = []
    shares_up_to_mib: NonNegative = 0.0
    encoder_factor: bool = False
    shared_memory_mib: NonNegative = 0.0
    workspace_share: Positive = 1.0
    workspace_context: Count = 0


class TokenPools(Part):
    """How an engine divides its cache into pools that are sized by tokens, not by requests."""

    window_share: Positive | None = None
    window_models: list[Text] = []
    compressed_share: Positive | None = None
    compressed_page: PositiveCount | None = None
    compressed_requests: PositiveCount | None = None
    compressed_window_cap: bool = False
    state_share: Positive | None = None
    state_slots: PositiveCount | None = None
    draft_layers_counted: bool = False
    every_layer_caches: bool = False
    every_layer_indexes: bool = False


class Unpacked(Part):
    """A weight format that an engine widens on load where the device lacks a kernel for it."""

    precision: Slug
    below_compute_capability: Text
    bits: Positive


class Budget(Record):
    """One engine in one range of versions. Sizes in MiB are what was measured or read, see `note`."""

    runtime: Slug
    base: Slug | None = None
    engine: Text | None = None
    named_only: bool = False
    runs_on: list[Text] = []
    version_from: Text
    version_to: Text | None = None
    released: PartialDate | None = None
    equation: Literal["share_of_total", "share_of_free", "share_of_rest", "all_of_device"]
    utilization: Positive
    parallelism: Literal["tensor", "layers"]
    profiled_tokens: Literal["batched_tokens", "context", "ubatch", "none"]
    chunked_above: PositiveCount | None = None
    forward_bytes: NonNegative
    sampler_bytes_per_logit: NonNegative
    persistent_bytes_per_logit: NonNegative
    dense_sampler_bytes_per_logit: NonNegative | None = None
    dense_persistent_bytes_per_logit: NonNegative | None = None
    dense_graphs_in_budget: bool | None = None
    extra_hidden_states: Count = 0
    profile_extra_mib: NonNegative = 0.0
    keeps_expert_workspaces: bool = False
    expands_encoder_outputs: bool = False
    logit_rows: Count | None = None
    non_torch_single_mib: NonNegative
    non_torch_parallel_mib: NonNegative
    fused_allreduce_mib: NonNegative = 0.0
    context_mib: NonNegative
    context_in_budget: bool = False
    left_free_mib: NonNegative = 0
    graph_mib: NonNegative
    graphs_in_budget: bool
    graph_share: NonNegative = 0.0
    kv_block_tokens: PositiveCount
    queue_per_stage: bool = False
    pipeline_budget: Slug | None = None
    window_extra_batches: Count | None = None
    group_join_ratio: Positive | None = None
    prints_blocks_per_group: bool = False
    keeps_reduced_inputs: bool = False
    clip_frames: PositiveCount | None = None
    clip_beside_image: bool = False
    state_bits: Literal[16, 32]
    mla_cache: Literal["latent", "padded", "full_heads"]
    mxfp4_width_multiple: PositiveCount | None = None
    cache_copies: Positive
    min_cache_tokens: Count = 0
    prints_gib_as_gb: bool = False
    prompt_logit_bytes: NonNegative = 0.0
    widened_head_bytes: NonNegative = 0.0
    loads_second_head: bool = False
    awq_cache_surplus: NonNegative = 0.0
    rotary_tables: bool = False
    widens_int4_matrix: bool = False
    embedding_on_host: bool
    reserve: Reserve | None = None
    token_pools: TokenPools | None = None
    unpacked: list[Unpacked] = []
    embedding_whole: bool = False
    tiers: list[Tier]
    small_tier_names: list[Text] = []
    prefill_rates: list[PrefillRate] = []
