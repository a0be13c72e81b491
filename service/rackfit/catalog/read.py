"""Catalog rows back into the dataclasses of `memory/`: the stored matrix and a live question share one arithmetic."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rackfit.errors import UnknownNameError
from rackfit.memory.budget_parts import PrefillRate, Reserve, Tier, TokenPools, Unpacked
from rackfit.memory.device_memory import Label, Report, device_memory
from rackfit.memory.domain import Budget, Device, LayerGroup, Model, Precision, Tower
from rackfit.records.indices import parse_indices

MERGED_PATCHES = 4
"""Patches per token where a record does not say: most encoders merge 2 x 2."""

LISTS = frozenset({"small_tier_names", "runs_on", "prefill_rates"})
"""Columns of `runtime_budgets` that hold a list, beside the tiers."""
SWITCHES = frozenset(
    {
        "graphs_in_budget", "prints_gib_as_gb", "loads_second_head", "embedding_on_host", "named_only",
        "context_in_budget", "embedding_whole", "rotary_tables", "widens_int4_matrix", "queue_per_stage",
        "keeps_expert_workspaces", "expands_encoder_outputs", "prints_blocks_per_group", "keeps_reduced_inputs",
        "clip_beside_image",
    }
)  # fmt: skip
"""Columns of `runtime_budgets` that hold yes or no."""


def row_of(connection: sqlite3.Connection, table: str, key: str, value: str | int) -> dict[str, Any]:
    """Return one row by its key.

    Raises:
        UnknownNameError: where there is none.
    """
    cursor = connection.execute(f'select * from "{table}" where "{key}" = ?', (value,))
    found = cursor.fetchone()
    if found is None:
        raise UnknownNameError(table.removesuffix("s"), str(value))
    return dict(zip((column[0] for column in cursor.description), found, strict=True))


def rows_of(connection: sqlite3.Connection, sql: str, *parameters: Any, **named: Any) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries; its parameters have places or names."""
    cursor = connection.execute(sql, named or parameters)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _indices(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else parse_indices(text)


def _group(row: dict[str, Any]) -> LayerGroup:
    beside = bool(row["beside"])
    return LayerGroup(
        count=row["count"],
        indices=None if beside else _indices(row["layer_indices"]),
        attention=row["attention"],
        n_heads=row["n_heads"],
        n_kv_heads=row["n_kv_heads"],
        d_k=row["d_k"],
        d_v=row["d_v"],
        window=row["window"],
        owns_cache=row["kv_shared_with"] != "shares",
        index_dim=row["index_dim"] or 0,
        compress_ratio=row["compress_ratio"],
        ffn=row["ffn"],
        d_ff=row["d_ff"],
        n_experts=row["n_experts"],
        n_experts_active=row["n_experts_active"],
        moe_d_ff=row["moe_d_ff"],
        shared_d_ff=row["shared_d_ff"],
        state_elems=row["state_elems"] or 0,
        conv_elems=row["conv_elems"] or 0,
        kv_full_elems=row["kv_full_elems"],
        kv_windowed_elems=row["kv_windowed_elems"],
        params=row["params_per_layer"],
        output_gate=bool(row["output_gate"]),
        shared_kv_projection=bool(row["shared_kv_projection"]),
        cross_attention=bool(row["cross_attention"]),
        shared_block=bool(row["shared_block"]),
        index_n_heads=row["index_n_heads"] or 0,
    )


def _tower(row: dict[str, Any]) -> Tower:
    """Return a tower; `2x2 pixel shuffle` merges four patches into a token, and so does what names no figure."""
    merged = re.match(r"(\d)x\1", row["merge"] or "")
    patches = int(merged[1]) ** 2 if merged else 1 if row["merge"] == "none" else MERGED_PATCHES
    video = row["tokens_per_video_frame"] or ""
    stacked = re.search(r"DeepStack \(features of (\d+) layers", row["tower_kind"])
    return Tower(
        kind=row["tower_kind"],
        params=row["params"],
        max_tokens_per_image=row["max_tokens_per_image"],
        width=row["width"],
        d_ff=row["d_ff"],
        patches_per_token=patches,
        layers=row["layers"],
        patch=row["patch"],
        frames=2 if video.startswith("per pair of frames") else 1,
        rotary=row["merge"] == "2x2",
        features_per_token=1 + (int(stacked[1]) if stacked else 0),
        clips=video.startswith("per pair of frames") and "capped" not in video and "at most" not in video,
    )


def read_model(connection: sqlite3.Connection, model_id: str) -> Model:
    """Return an architecture with its layer groups and towers.

    Raises:
        UnknownNameError: for an id that is not in `models`.
    """
    row = row_of(connection, "models", "model_id", model_id)
    groups = rows_of(connection, "select * from layer_groups where model_id = ? order by group_index", model_id)
    towers = rows_of(connection, "select * from towers where model_id = ? order by tower_index", model_id)
    return Model(
        model_id=model_id,
        name=row["name"],
        attention_kind=row["attention_kind"],
        d_model=row["d_model"],
        vocab_size=row["vocab_size"],
        tied_embeddings=bool(row["tie_word_embeddings"]),
        gated_ffn=bool(row["gated_ffn"]),
        groups=tuple(_group(group) for group in groups),
        non_layer_params=row["non_layer_params"],
        params_text=row["params_text"],
        params_total=row["params_total"],
        params_active=row["params_active"],
        towers=tuple(_tower(tower) for tower in towers),
        mtp_params=row["mtp_params"] or 0,
        max_context=row["max_context"],
        q_lora_rank=row["q_lora_rank"],
        kv_lora_rank=row["kv_lora_rank"],
        qk_nope_head_dim=row["qk_nope_head_dim"],
        qk_rope_head_dim=row["qk_rope_head_dim"],
        v_head_dim=row["v_head_dim"],
        attention_bias=row["attention_bias"],
        qk_norm=row["qk_norm"],
        native_precision=row["native_precision_id"],
        moe_latent_dim=row["moe_latent_dim"],
        o_lora_rank=row["o_lora_rank"],
        o_groups=row["o_groups"],
        embedding_dim=row["embedding_dim"],
        per_layer_embedding_dim=row["per_layer_embedding_dim"],
        per_layer_embedding_rows=row["per_layer_embedding_rows"],
        mtp_own_tables="own embedding and head" in (row["published_scope"] or ""),
    )


def read_device(connection: sqlite3.Connection, accelerator_id: str) -> Device:
    """Return an accelerator as a fit sees it."""
    row = row_of(connection, "accelerators", "accelerator_id", accelerator_id)
    return device_of(row)


def device_of(row: dict[str, Any]) -> Device:
    """Return the device that an `accelerators` row describes."""
    return Device(
        accelerator_id=row["accelerator_id"],
        name=row["name"],
        vendor=row["vendor"],
        memory_bytes=row["fit_memory_bytes"],
        memory_rule=row["fit_memory_rule"],
        memory_spread=row["fit_memory_spread"] or 0.0,
        unified=bool(row["unified_memory"]),
        compute_capability=row["compute_capability"],
        segment=row["segment"],
        bandwidth_gb_s=row["memory_bandwidth_gb_s"],
        fabric="bridge" not in (row["scaleup_interconnect"] or "bridge").casefold(),
    )


def device_with_ram(connection: sqlite3.Connection, row: dict[str, Any], ram_gb: float) -> Device:
    """Return a chip with shared memory as it is in a machine of so many GB."""
    reports = rows_of(
        connection,
        "select ram_gb, os, os_version, setting, usable_bytes from usable_memory where accelerator_id = ?",
        row["accelerator_id"],
    )
    label = Label(
        row["vendor"], row["segment"], ram_gb, row["memory_unit_label"], row["memory_type"],
        row["compute_capability"], bool(row["unified_memory"]), None,
    )  # fmt: skip
    memory = device_memory(label, [Report(**report) for report in reports])
    assert memory is not None  # a size was given
    return replace(
        device_of(row),
        name=f"{row['name']} {ram_gb:g} GB",
        memory_bytes=memory.bytes,
        memory_rule=memory.rule,
        memory_spread=memory.spread,
    )


def budget_of(row: dict[str, Any]) -> Budget:
    """Return the engine rules that a `runtime_budgets` row holds."""
    own = {name: row[name] for name in Budget.__dataclass_fields__ if name in row}
    own["tiers"] = tuple(_tier(*tier) for tier in json.loads(row["tiers"]))
    for name in LISTS & own.keys():
        own[name] = tuple(json.loads(row[name]))
    for name in SWITCHES & own.keys():
        own[name] = bool(row[name])
    own["prefill_rates"] = tuple(PrefillRate(*rate) for rate in own["prefill_rates"])
    own["reserve"] = _reserve(row["reserve"])
    own["token_pools"] = _token_pools(row["token_pools"])
    own["unpacked"] = tuple(Unpacked(**part) for part in json.loads(row["unpacked"] or "[]"))
    dense = row["dense_graphs_in_budget"]
    own["dense_graphs_in_budget"] = None if dense is None else bool(dense)
    return Budget(**own)


def _tier(least: float, tokens: int, sequences: int, wide: int | None = None, names: Sequence[str] = ()) -> Tier:
    return Tier(least, tokens, sequences, wide, tuple(names))


def _reserve(text: str | None) -> Reserve | None:
    if text is None:
        return None
    own = json.loads(text)
    own["steps"] = tuple(tuple(step.values()) for step in own["steps"])
    own["shares"] = tuple(tuple(step.values()) for step in own["shares"])
    return Reserve(**own)


def _token_pools(text: str | None) -> TokenPools | None:
    if text is None:
        return None
    own = json.loads(text)
    return TokenPools(**{**own, "window_models": tuple(own["window_models"])})


def read_budgets(connection: sqlite3.Connection) -> list[Budget]:
    """Return every engine budget, by id."""
    rows = list(rows_of(connection, "select * from runtime_budgets order by budget_id"))
    found = {row["budget_id"]: budget_of(row) for row in rows}
    return [
        replace(found[row["budget_id"]], pipeline_rules=found[row["pipeline_budget_id"]])
        if row["pipeline_budget_id"]
        else found[row["budget_id"]]
        for row in rows
    ]


def precision_of(row: dict[str, Any], roles: list[tuple[str, float, str]]) -> Precision:
    """Return the weight layout that a `precisions` row holds.

    Args:
        row: the row.
        roles: (role, bits, 'high' | 'own') of the roles that do not have the layout's own bits.
    """
    return Precision(
        precision_id=row["precision_id"],
        family=row["family"],
        bits=row["effective_bits"],
        high_bits=row["high_precision_bits"] or 16.0,
        high_roles=frozenset(role for role, _, source in roles if source == "high"),
        block_size=row["shard_multiple"],
        role_bits=tuple((role, bits) for role, bits, _ in roles),
    )
