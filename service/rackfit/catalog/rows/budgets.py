"""Budget records to rows of `runtime_budgets`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rackfit.records.base import Part
from rackfit.records.budgets import Budget, Tier
from rackfit.records.load import Library

MIB = 2**20


def _sizes(tier: Tier) -> list[Any]:
    """Return a tier's values in the order of its fields, without what is not given at its end."""
    values = list(tier.model_dump().values())
    while not values[-1]:
        values.pop()
    return values


def _named(part: Part | None) -> str | None:
    """Return a rule with its fields by name, without those that are not given."""
    return None if part is None else part.model_dump_json(exclude_none=True)


def _number(value: float | None) -> float | None:
    """Return a figure as a float, None where there is none."""
    return None if value is None else float(value)


def _profile(record: Budget) -> dict[str, Any]:
    """Return the columns of what a profile holds beside one step."""
    dense = record.dense_graphs_in_budget
    return {
        "dense_sampler_bytes_per_logit": _number(record.dense_sampler_bytes_per_logit),
        "dense_persistent_bytes_per_logit": _number(record.dense_persistent_bytes_per_logit),
        "dense_graphs_in_budget": None if dense is None else int(dense),
        "extra_hidden_states": record.extra_hidden_states,
        "profile_extra_bytes": round(record.profile_extra_mib * MIB),
        "keeps_expert_workspaces": int(record.keeps_expert_workspaces),
        "expands_encoder_outputs": int(record.expands_encoder_outputs),
        "keeps_reduced_inputs": int(record.keeps_reduced_inputs),
        "clip_frames": record.clip_frames,
        "clip_beside_image": int(record.clip_beside_image),
    }


def _engine(record: Budget) -> dict[str, Any]:
    """Return the columns of what an engine is, and of what it leaves to others."""
    return {
        "base": record.base,
        "named_only": int(record.named_only),
        "runs_on": json.dumps(record.runs_on),
        "graph_share": float(record.graph_share),
        "left_free_bytes": round(record.left_free_mib * MIB),
        "context_in_budget": int(record.context_in_budget),
        "embedding_whole": int(record.embedding_whole),
        "prefill_rates": json.dumps([[rate.card, rate.tflops] for rate in record.prefill_rates]),
    }


def rows(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield one row per budget record, by slug."""
    for slug, record in sorted(library.kind("runtime_budgets").items()):
        yield (
            "runtime_budgets",
            {
                "budget_id": slug,
                "runtime_id": record.runtime,
                "engine": record.engine,
                "version_from": record.version_from,
                "version_to": record.version_to,
                "released": record.released,
                "equation": record.equation,
                "utilization": float(record.utilization),
                "parallelism": record.parallelism,
                "profiled_tokens": record.profiled_tokens,
                "chunked_above": record.chunked_above,
                "forward_bytes": float(record.forward_bytes),
                "sampler_bytes_per_logit": float(record.sampler_bytes_per_logit),
                "persistent_bytes_per_logit": float(record.persistent_bytes_per_logit),
                **_profile(record),
                "logit_rows": record.logit_rows,
                "non_torch_bytes_single": round(record.non_torch_single_mib * MIB),
                "non_torch_bytes_parallel": round(record.non_torch_parallel_mib * MIB),
                "fused_allreduce_bytes": round(record.fused_allreduce_mib * MIB),
                "context_bytes": round(record.context_mib * MIB),
                "graph_bytes": round(record.graph_mib * MIB),
                "graphs_in_budget": int(record.graphs_in_budget),
                "kv_block_tokens": record.kv_block_tokens,
                "queue_per_stage": int(record.queue_per_stage),
                "pipeline_budget_id": record.pipeline_budget,
                "window_extra_batches": record.window_extra_batches,
                "group_join_ratio": _number(record.group_join_ratio),
                "prints_blocks_per_group": int(record.prints_blocks_per_group),
                "state_bits": record.state_bits,
                "mla_cache": record.mla_cache,
                "mxfp4_width_multiple": record.mxfp4_width_multiple,
                "cache_copies": float(record.cache_copies),
                "min_cache_tokens": record.min_cache_tokens,
                "prints_gib_as_gb": int(record.prints_gib_as_gb),
                "prompt_logit_bytes": float(record.prompt_logit_bytes),
                "widened_head_bytes": float(record.widened_head_bytes),
                "loads_second_head": int(record.loads_second_head),
                "awq_cache_surplus": float(record.awq_cache_surplus),
                "rotary_tables": int(record.rotary_tables),
                "widens_int4_matrix": int(record.widens_int4_matrix),
                "embedding_on_host": int(record.embedding_on_host),
                "tiers": json.dumps([_sizes(tier) for tier in record.tiers]),
                "reserve": _named(record.reserve),
                "token_pools": _named(record.token_pools),
                "unpacked": json.dumps([part.model_dump() for part in record.unpacked]) if record.unpacked else None,
                "small_tier_names": json.dumps(record.small_tier_names),
                **_engine(record),
                "confidence": record.confidence,
                "note": record.note,
            },
        )
