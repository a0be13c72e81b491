"""What must hold in a finished catalog: a query per check whose rows are breaches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A query whose rows are breaches: the first column says where, the second what was found."""

    name: str
    why: str
    tables: tuple[str, ...]
    sql: str


def _stated_or_unknown(name: str, column: str) -> Check:
    return Check(
        name,
        f"an accelerator has {column} or lists it as unknown",
        ("accelerators", "unknown_fields"),
        f"""
        select accelerator_id, 'no {column}' from accelerators as a
        where {column} is null and not exists (
            select 1 from unknown_fields as u
            where u.table_name = 'accelerators' and u.key = a.accelerator_id and u.field = '{column}'
        )
        """,
    )


INVARIANTS: tuple[Check, ...] = (
    _stated_or_unknown("accelerator-memory", "memory_gb"),
    _stated_or_unknown("accelerator-bandwidth", "memory_bandwidth_gb_s"),
    Check(
        "fit-memory",
        "fits are computed against no more than the memory on the label, read as binary",
        ("accelerators",),
        """
        select accelerator_id, fit_memory_bytes || ' bytes of ' || memory_gb || ' GB' from accelerators
        where fit_memory_bytes > memory_gb * 1073741824.0
        """,
    ),
    Check(
        "dense-sparse",
        "a dense rate is never above the sparse rate of the same precision",
        ("accelerator_rates",),
        """
        select accelerator_id || ' ' || precision_name, dense_tflops || ' dense, ' || sparse_tflops || ' sparse'
        from accelerator_rates where dense_tflops > sparse_tflops
        """,
    ),
    Check(
        "per-direction-total",
        "one direction of a link is never above its total",
        ("interconnects",),
        """
        select interconnect_id, per_direction_gb_s || ' per direction, ' || total_gb_s || ' total'
        from interconnects where per_direction_gb_s > total_gb_s
        """,
    ),
    Check(
        "model-layers",
        "layer groups add up to the model's layers",
        ("models", "layer_groups"),
        """
        select model_id, sum(g.count) || ' in groups, ' || m.n_layers || ' layers'
        from models as m join layer_groups as g using (model_id)
        where g.beside = 0 group by model_id having sum(g.count) <> m.n_layers
        """,
    ),
    Check(
        "model-parameters",
        "parameters of layer groups and of what is outside them are the text model's",
        ("models", "layer_groups"),
        """
        select model_id,
            sum(g.count * g.params_per_layer) + m.non_layer_params || ' summed, ' || m.params_text || ' text'
        from models as m join layer_groups as g using (model_id)
        group by model_id having sum(g.count * g.params_per_layer) + m.non_layer_params <> m.params_text
        """,
    ),
    Check(
        "published-parameters",
        "a computed count is within 0.1 % of the published one for its scope, or the row says why not",
        ("checkpoints",),
        """
        select checkpoint_id, computed_params || ' computed, ' || published_params || ' published' from checkpoints
        where abs(computed_params - published_params) > 0.001 * published_params and mismatch_reason is null
        """,
    ),
    Check(
        "active-total",
        "active parameters are never above all parameters",
        ("models",),
        """
        select model_id, params_active || ' active of ' || params_total from models where params_active > params_total
        """,
    ),
    Check(
        "offer-price",
        "a price is above zero or flagged",
        ("offers",),
        "select offer_id, price from offers where price <= 0 and flag is null",
    ),
    Check(
        "spot-price",
        "a spot price above the on-demand price of the same thing on the same day is flagged",
        ("offers",),
        """
        select s.offer_id, s.price || ' spot, ' || d.price || ' on demand' from offers as s join offers as d
        using (provider, product, accelerator_id, device_count, region, tier, currency, valid_from, source_id)
        where d.term = 'on-demand' and s.term = 'spot' and s.price > d.price and s.flag is null
        """,
    ),
    Check(
        "flagged-price",
        "no answer rests on a flagged price",
        ("offers", "configuration_prices", "device_prices"),
        """
        select chosen.offer_id, offers.flag from
            (select offer_id from configuration_prices union select offer_id from device_prices) as chosen
        join offers using (offer_id) where offers.flag is not null
        """,
    ),
    Check(
        "one-name-one-record",
        "a name with several meanings is a class",
        ("aliases",),
        """
        select kind || ' ' || alias_key, group_concat(target_id, ', ') from aliases
        group by kind, alias_key having count(*) > 1 and min(is_class) = 0
        """,
    ),
    Check(
        "provenance-tables",
        "provenance is about tables that exist",
        ("provenance",),
        """
        select distinct table_name, 'no such table' from provenance
        where table_name not in (select name from sqlite_master where type = 'table')
        """,
    ),
    Check(
        "fit-inputs",
        "no fit row without its model, precision, configuration and budget",
        ("inference_fits",),
        """
        select coalesce(model_id, '?') || ' on ' || coalesce(configuration_id, '?'), 'an input is missing'
        from inference_fits
        where model_id is null or precision_id is null or configuration_id is null or budget_id is null
        """,
    ),
)

MUST_EXIST: dict[tuple[str, str], tuple[str, ...]] = {
    ("accelerators", "accelerator_id"): (
        "nvidia-h100-sxm5-80gb",
        "nvidia-h200-sxm-141gb",
        "nvidia-a100-sxm4-80gb",
        "nvidia-rtx-4090",
        "nvidia-b200-sxm-180gb",
        "amd-mi300x",
        "google-tpu-v5e",
        "aws-inferentia1",
    ),
    ("models", "model_id"): (
        "qwen/qwen3-8b",
        "meta-llama/llama-3.1-8b",
        "deepseek-ai/deepseek-v3",
        "mistralai/mistral-7b-v0.1",
        "openai/gpt-oss-120b",
    ),
    ("precisions", "precision_id"): ("bf16", "fp16", "ggufmix_q4_k_m", "awq_int4_g128", "kv_bf16", "nvfp4"),
}
"""Rows without which a catalog is not worth publishing: by table and key column, several vendors each."""

ALIAS_TARGETS = {
    "accelerator": ("accelerators", "accelerator_id"),
    "system": ("systems", "system_id"),
    "model": ("models", "model_id"),
    "checkpoint": ("checkpoints", "checkpoint_id"),
    "precision": ("precisions", "precision_id"),
    "runtime": ("runtimes", "runtime_id"),
    "interconnect": ("interconnects", "interconnect_id"),
}
"""Kind of name -> table and key column that its targets stand in."""


def alias_check(kind: str) -> Check:
    """Return the check that every name of a kind leads to a row."""
    table, column = ALIAS_TARGETS[kind]
    return Check(
        f"{kind}-names",
        "a name leads to a row",
        ("aliases", table),
        f"""
        select alias, target_id from aliases
        where kind = '{kind}' and target_id not in (select {column} from {table})
        """,
    )


CHECKS: tuple[Check, ...] = (*INVARIANTS, *(alias_check(kind) for kind in ALIAS_TARGETS))
