"""What is known: lists of hardware and models, and one record with the source and the doubts of each fact."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from rackfit.catalog.read import row_of, rows_of
from rackfit.catalog.resolve import Resolved, resolve_first
from rackfit.errors import UnknownNameError
from rackfit.records.fieldguide import FieldGuide, guide
from rackfit.records.names import name_key

Row = dict[str, Any]

BILLION = 1e9
NEAR_WORDS = 6
"""Words offered for one that a column does not have."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Where records of one kind are: table, key column, and the tables of their parts."""

    table: str
    key: str
    parts: tuple[str, ...] = ()


KINDS = {
    "accelerator": Kind(
        "accelerators", "accelerator_id", ("accelerator_rates", "memory_levels", "usable_memory", "mig_profiles")
    ),
    "system": Kind("systems", "system_id", ("system_facts",)),
    "model": Kind("models", "model_id", ("layer_groups", "towers", "checkpoints", "artifacts")),
    "checkpoint": Kind("checkpoints", "checkpoint_id"),
    "precision": Kind("precisions", "precision_id", ("precision_roles", "precision_support")),
    "runtime": Kind("runtimes", "runtime_id", ("runtime_versions", "runtime_rules")),
    "interconnect": Kind("interconnects", "interconnect_id"),
}
"""Kind of name -> where its records are. The order is that in which a name is looked up."""

BOOKKEEPING = frozenset({"name", "confidence", "note", "origin", "second_hand"})
"""Columns that are about the record and not facts of the world."""


_MARKS = """
    nullif(trim(
        case when t.second_hand then 'second-hand ' else '' end
        || case when exists (select 1 from disputes where table_name = '{table}' and disputes.key = t.{key})
           then 'disputed ' else '' end
        || case when t.origin = 'local' then 'local' else '' end
    ), '') as marks
"""
"""second-hand: some fact rests on one unconfirmed second-hand source; disputed: another source says otherwise."""

_HARDWARE = f"""
    select t.*, bf16.dense_tflops as bf16_dense_tflops, {_MARKS.format(table="accelerators", key="accelerator_id")}
    from accelerators as t
    left join accelerator_rates as bf16 on bf16.accelerator_id = t.accelerator_id and bf16.precision_name = 'bf16'
    where (:text is null or instr(lower(t.accelerator_id || ' ' || t.name || ' ' || t.vendor || ' '
            || coalesce(t.architecture, '') || ' ' || coalesce(t.compute_capability, '')), lower(:text)) > 0
        or t.accelerator_id in (select target_id from aliases
            where kind = 'accelerator' and not is_class and instr(alias_key, :key) > 0))
      and (:vendor is null or lower(t.vendor) = lower(:vendor))
      and (:segment is null or t.segment = lower(:segment))
      and (:min_memory is null or t.memory_gb >= :min_memory)
      and (:min_bandwidth is null or t.memory_bandwidth_gb_s >= :min_bandwidth)
      and (:announced or t.status = 'released')
    order by t.memory_gb desc, t.memory_bandwidth_gb_s desc, t.accelerator_id
    limit :limit
"""


def hardware(
    connection: sqlite3.Connection,
    text: str | None = None,
    vendor: str | None = None,
    segment: str | None = None,
    min_memory: float | None = None,
    min_bandwidth: float | None = None,
    announced: bool = False,
    limit: int = 400,
) -> list[Row]:
    """Return accelerators, most memory first; `text` is a part of any of their names.

    Memory in GB of the label, bandwidth in GB/s. An accelerator without a known figure is no answer to a minimum.
    """
    values = {
        "text": text,
        "key": name_key(text or "") or None,
        "vendor": vendor,
        "segment": segment,
        "min_memory": min_memory,
        "min_bandwidth": min_bandwidth,
        "announced": announced,
        "limit": limit,
    }
    found = rows_of(connection, _HARDWARE, **values)
    if not found:
        check_words(connection, "accelerators", {"vendor": ("vendor", vendor), "segment": ("segment", segment)})
    return found


def check_words(connection: sqlite3.Connection, table: str, asked: Mapping[str, tuple[str, str | None]]) -> None:
    """Tell a filter that nothing can pass from one that nothing happens to pass.

    Raises:
        UnknownNameError: no row of the table has that word in that column; the words there are come with it.
    """
    for what, (column, word) in asked.items():
        if word is None:
            continue
        words = [row[0] for row in connection.execute(f"select distinct {column} from {table} where {column} <> ''")]
        folded = {known.casefold(): known for known in words}
        if word.casefold() not in folded:
            close = get_close_matches(word.casefold(), folded, NEAR_WORDS, 0.5) or sorted(folded)[:NEAR_WORDS]
            raise UnknownNameError(what, word, [folded[name] for name in close])


_MODELS = f"""
    select
        t.*, t.kv_elems_per_token_full * 2 as kv_bytes_per_token,
        {_MARKS.format(table="models", key="model_id")}
    from models as t
    where (:text is null or instr(lower(t.model_id || ' ' || t.name || ' ' || t.model_family), lower(:text)) > 0
        or t.model_id in (select model_id from checkpoints where instr(checkpoint_id, lower(:text)) > 0)
        or t.model_id in (select target_id from aliases
            where kind = 'model' and instr(alias_key, :key) > 0))
      and (:family is null or lower(t.model_family) = lower(:family))
      and (:attention is null or lower(t.attention_kind) = lower(:attention))
      and (:min_params is null or t.params_total >= :min_params)
      and (:max_params is null or t.params_total <= :max_params)
      and (:min_context is null or t.max_context >= :min_context)
    order by t.params_total, t.model_id
    limit :limit
"""


def models(
    connection: sqlite3.Connection,
    text: str | None = None,
    family: str | None = None,
    attention: str | None = None,
    min_params: float | None = None,
    max_params: float | None = None,
    min_context: int | None = None,
    limit: int = 1000,
) -> list[Row]:
    """Return architectures, smallest first; `text` is a part of any of their names or checkpoints.

    Parameter bounds in units of 10^9, context in tokens. `kv_bytes_per_token` is added: the 16-bit cache of the
    layers that keep every token, bytes.
    """
    values = {
        "text": text,
        "key": name_key(text or "") or None,
        "family": family,
        "attention": attention,
        "min_params": None if min_params is None else min_params * BILLION,
        "max_params": None if max_params is None else max_params * BILLION,
        "min_context": min_context,
        "limit": limit,
    }
    found = rows_of(connection, _MODELS, **values)
    if not found:
        check_words(
            connection, "models", {"family": ("model_family", family), "attention": ("attention_kind", attention)}
        )
    return found


def show(connection: sqlite3.Connection, name: str) -> Row:
    """Return one record: every fact with value, unit, description, sources and marks; its parts, disputes and gaps.

    A class name returns its candidates instead.

    Raises:
        UnknownNameError: with near names.
    """
    found = resolve_first(connection, tuple(KINDS), name, allow_class=True)
    if found.is_class and len(found.ids) > 1:
        return {"query": name, "kind": found.kind, "class": True, "candidates": _candidates(connection, found)}
    if found.kind == "model" and found.checkpoint_id and found.checkpoint_id != found.id:
        return {**_record(connection, "model", found.id, name), "checkpoint": _checkpoint(connection, found)}
    return _record(connection, found.kind, found.id, name)


def record(connection: sqlite3.Connection, kind: str, key: str) -> Row:
    """Return the record of a key of one kind, as `show` does."""
    return _record(connection, kind, key, key)


def _candidates(connection: sqlite3.Connection, found: Resolved) -> list[Row]:
    kind = KINDS[found.kind]
    marks = ", ".join("?" * len(found.ids))
    named = "checkpoint_id" if found.kind == "checkpoint" else "name"
    sql = f"select {kind.key} as id, {named} as name from {kind.table} where {kind.key} in ({marks})"
    names = {row["id"]: row["name"] for row in rows_of(connection, sql, *found.ids)}
    return [{"id": key, "name": names.get(key, key)} for key in found.ids]


def _checkpoint(connection: sqlite3.Connection, found: Resolved) -> Row:
    return row_of(connection, "checkpoints", "checkpoint_id", found.checkpoint_id or "")


def _record(connection: sqlite3.Connection, kind_name: str, key: str, query: str) -> Row:
    """Put together everything that the catalog knows about one record."""
    kind = KINDS[kind_name]
    row = row_of(connection, kind.table, kind.key, key)
    behind = rows_of(
        connection,
        "select field, source_id, second_hand from provenance where table_name = ? and key = ? order by field, rank",
        kind.table, key,
    )  # fmt: skip
    disputes = rows_of(
        connection,
        "select field, other_value, source_id, reason from disputes where table_name = ? and key = ? order by field",
        kind.table, key,
    )  # fmt: skip
    unknown = connection.execute(
        "select field from unknown_fields where table_name = ? and key = ? order by field", (kind.table, key)
    )
    aliases = connection.execute(
        "select alias from aliases where kind = ? and target_id = ? and not is_class order by alias", (kind_name, key)
    )
    row.update({name: bool(row[name]) for name in truths(connection, kind.table) if row[name] is not None})
    facts = [_fact(kind, name, value, behind, disputes) for name, value in row.items() if _is_fact(kind, name, value)]
    return {
        "query": query,
        "kind": kind_name,
        "id": key,
        "name": row.get("name") or key,
        "aliases": [alias for (alias,) in aliases if alias not in (key, row.get("name"))],
        "confidence": row.get("confidence"),
        "note": row.get("note"),
        "origin": row.get("origin", "release"),
        "facts": facts,
        "parts": _parts(connection, kind, key),
        "disputes": disputes,
        "unknown": [field for (field,) in unknown],
        "sources": _sources(connection, sorted({line["source_id"] for line in behind})),
    }


def truths(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns that hold yes or no: those whose CHECK allows 0 and 1 only."""
    sql = connection.execute("select sql from sqlite_master where name = ?", (table,)).fetchone()[0]
    return re.findall(r"(\w+) in \(0, 1\)", sql)


def _is_fact(kind: Kind, name: str, value: Any) -> bool:
    return value is not None and name != kind.key and name not in BOOKKEEPING


def _fact(kind: Kind, name: str, value: Any, behind: list[Row], disputes: list[Row]) -> Row:
    """Return one fact; what has no source of its own was derived from facts that have."""
    sources = [line["source_id"] for line in behind if line["field"] == name]
    marks = []
    if any(line["second_hand"] for line in behind if line["field"] == name):
        marks.append("second-hand")
    if any(dispute["field"].split(".")[0] == name for dispute in disputes):
        marks.append("disputed")
    meaning = _meaning(kind.table, name)
    return {
        "field": name,
        "value": value,
        "unit": meaning.unit,
        "description": meaning.description,
        "sources": list(dict.fromkeys(sources)),
        "origin": "stated" if sources else "derived",
        "marks": marks,
    }


def _meaning(table: str, field: str) -> FieldGuide:
    entries = guide()
    return entries.get(f"{table}.{field}") or entries.get(field) or FieldGuide("")


def _parts(connection: sqlite3.Connection, kind: Kind, key: str) -> dict[str, list[Row]]:
    """Return the rows of the tables that hold lists of this record, without the key that they share."""
    found = {}
    for table in kind.parts:
        rows = rows_of(connection, f"select * from {table} where {kind.key} = ?", key)
        if rows:
            empty = {name for name in rows[0] if all(row[name] is None for row in rows)}
            found[table] = [{n: v for n, v in row.items() if n != kind.key and n not in empty} for row in rows]
    return found


def _sources(connection: sqlite3.Connection, keys: list[str]) -> list[Row]:
    marks = ", ".join("?" * len(keys))
    sql = f"""select source_id, title, url, issuer, published, accessed, source_class, licence from sources
              where source_id in ({marks}) order by source_id"""
    return rows_of(connection, sql, *keys)
