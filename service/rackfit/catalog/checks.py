"""What must hold in a finished catalog: one named check each, all of them run, every breach reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

SHOWN = 5
"""Offending rows named per check; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Check:
    """A query whose rows are breaches: the first column says where, the second what was found."""

    name: str
    why: str
    tables: tuple[str, ...]
    sql: str


CHECKS: tuple[Check, ...] = (
    Check(
        "accelerator-memory",
        "an accelerator has a memory size or lists it as unknown",
        ("accelerators", "unknown_fields"),
        "select accelerator_id, 'no memory_gb' from accelerators a where memory_gb is null and not exists (select 1 "
        "from unknown_fields u where u.table_name = 'accelerators' and u.key = a.accelerator_id "
        "and u.field = 'memory_gb')",
    ),
    Check(
        "accelerator-bandwidth",
        "an accelerator has a memory bandwidth or lists it as unknown",
        ("accelerators", "unknown_fields"),
        "select accelerator_id, 'no memory_bandwidth_gb_s' from accelerators a where memory_bandwidth_gb_s is null and "
        "not exists (select 1 from unknown_fields u where u.table_name = 'accelerators' and u.key = a.accelerator_id "
        "and u.field = 'memory_bandwidth_gb_s')",
    ),
    Check(
        "fit-memory",
        "fits are computed against at most the memory on the label",
        ("accelerators",),
        "select accelerator_id, fit_memory_bytes from accelerators where fit_memory_bytes > memory_gb * 1.074e9",
    ),
    Check(
        "dense-sparse",
        "a dense rate is never above the sparse rate of the same precision",
        ("accelerator_rates",),
        "select accelerator_id || ' ' || precision_name, dense_tflops || ' dense, ' || sparse_tflops || ' sparse' "
        "from accelerator_rates where dense_tflops > sparse_tflops",
    ),
    Check(
        "per-direction-total",
        "one direction of a link is never above its total",
        ("interconnects",),
        "select interconnect_id, per_direction_gb_s || ' per direction, ' || total_gb_s || ' total' "
        "from interconnects where per_direction_gb_s > total_gb_s",
    ),
    Check(
        "model-layers",
        "layer groups add up to the model's layers",
        ("models", "layer_groups"),
        "select m.model_id, sum(g.count) || ' in groups, ' || m.n_layers || ' layers' from models m "
        "join layer_groups g using (model_id) group by m.model_id having sum(g.count) <> m.n_layers",
    ),
    Check(
        "active-total",
        "active parameters are never above all parameters",
        ("models",),
        "select model_id, params_active || ' active of ' || params_total from models "
        "where params_active > params_total",
    ),
    Check(
        "offer-price",
        "a price is above zero or flagged",
        ("offers",),
        "select offer_id, price from offers where price <= 0 and flag is null",
    ),
    Check(
        "spot-price",
        "a spot price above the on-demand price of the same thing is flagged",
        ("offers",),
        "select s.offer_id, s.price || ' spot, ' || d.price || ' on demand' from offers s join offers d on "
        "d.term = 'on-demand' and s.term = 'spot' and d.provider = s.provider and d.product = s.product and "
        "d.accelerator_id = s.accelerator_id and d.region = s.region and d.tier = s.tier "
        "and d.currency = s.currency and d.device_count = s.device_count "
        "and d.valid_from = s.valid_from and d.source_id = s.source_id "
        "where s.price > d.price and s.flag is null",
    ),
    Check(
        "one-name-one-record",
        "a name with several meanings is a class",
        ("aliases",),
        "select kind || ' ' || alias_key, group_concat(target_id) from aliases group by kind, alias_key "
        "having count(*) > 1 and min(is_class) = 0",
    ),
)

MUST_EXIST: dict[str, dict[str, tuple[str, ...]]] = {
    "accelerators": {
        "accelerator_id": (
            "nvidia-h100-sxm5-80gb",
            "nvidia-h200-sxm-141gb",
            "nvidia-a100-sxm4-80gb",
            "nvidia-rtx-4090",
            "nvidia-b200-sxm-180gb",
            "amd-mi300x",
            "google-tpu-v5e",
            "aws-inferentia1",
        )
    },
    "models": {
        "model_id": (
            "qwen/qwen3-8b",
            "meta-llama/llama-3.1-8b",
            "deepseek-ai/deepseek-v3",
            "mistralai/mistral-7b-v0.1",
            "google/gemma-2-9b",
        )
    },
}
"""Rows without which a catalog is not worth publishing: per table and key column, several vendors each."""

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


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("select name from sqlite_master where type in ('table', 'view')")}


def _breaches(connection: sqlite3.Connection, check: Check) -> Iterator[str]:
    rows = connection.execute(check.sql).fetchall()
    for row in rows[:SHOWN]:
        yield f"{check.name}: {row[0]}: {row[1]} ({check.why})"
    if len(rows) > SHOWN:
        yield f"{check.name}: and {len(rows) - SHOWN} more"


def _missing_rows(connection: sqlite3.Connection, present: set[str]) -> Iterator[str]:
    for table, keys in MUST_EXIST.items():
        for column, values in keys.items():
            found = (
                {row[0] for row in connection.execute(f"select {column} from {table}")} if table in present else set()
            )
            for value in values:
                if value not in found:
                    yield f"must-exist: {table} lacks {value}"


def alias_check(kind: str) -> Check:
    """Return the check that every name of a kind leads to a row."""
    table, column = ALIAS_TARGETS[kind]
    return Check(
        f"{kind}-names",
        "a name leads to a row",
        ("aliases", table),
        f"select alias, target_id from aliases where kind = '{kind}' "
        f"and target_id not in (select {column} from {table})",
    )


def broken_checks(connection: sqlite3.Connection, must_exist: bool = True) -> list[str]:
    """Run every check and return what is wrong, a line each; an empty list means that the catalog is sound."""
    present = _tables(connection)
    found: list[str] = []
    for check in (*CHECKS, *(alias_check(kind) for kind in ALIAS_TARGETS)):
        if set(check.tables) <= present:
            found.extend(_breaches(connection, check))
    for row in connection.execute("pragma foreign_key_check").fetchmany(SHOWN):
        found.append(f"foreign-keys: {row[0]} row {row[1]} points to a row that {row[2]} lacks")
    if must_exist:
        found.extend(_missing_rows(connection, present))
    return found
