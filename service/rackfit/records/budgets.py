"""How an engine divides a device's memory, by range of versions: the constants of `memory/budget.py`."""

from __future__ import annotations

from typing import Literal

from rackfit.records.base import Count, NonNegative, Part, PartialDate, Positive, PositiveCount, Record, Slug, Text


class Tier(Part):
    """Default token budget and sequence limit on devices with at least so much memory."""

    min_memory_gib: NonNegative
    batched_tokens: PositiveCount
    max_sequences: PositiveCount


class Budget(Record):
    """One engine in one range of versions. Sizes in MiB are what was measured or read, see `note`."""

    runtime: Slug
    engine: Text | None = None
    version_from: Text
    version_to: Text | None = None
    released: PartialDate | None = None
    equation: Literal["share_of_total", "share_of_free", "all_of_device"]
    utilization: Positive
    parallelism: Literal["tensor", "layers"]
    profiled_tokens: Literal["batched_tokens", "context", "ubatch", "none"]
    chunked_above: PositiveCount | None = None
    forward_bytes: NonNegative
    sampler_bytes_per_logit: NonNegative
    persistent_bytes_per_logit: NonNegative
    logit_rows: Count | None = None
    non_torch_single_mib: NonNegative
    non_torch_parallel_mib: NonNegative
    context_mib: NonNegative
    graph_mib: NonNegative
    graphs_in_budget: bool
    kv_block_tokens: PositiveCount
    queue_per_stage: bool = False
    pipeline_budget: Slug | None = None
    window_extra_batches: Count | None = None
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
    tiers: list[Tier]
    small_tier_names: list[Text] = []
