"""Where facts come from, what disagrees, what nobody knows, how things are called, and releases."""

from __future__ import annotations

from typing import Any

STATEMENTS = [
    """
    create table sources (
        source_id text primary key not null,
        title text not null,
        url text,
        issuer text,
        version text,
        published text,
        accessed text,
        kind text not null,
        source_class text not null check (
            source_class in ('vendor', 'vendor_data', 'engine_source', 'device_print', 'paper', 'second_hand')
        ),
        licence text,
        use_rule text,
        share_alike integer not null default 0 check (share_alike in (0, 1))
    ) strict
    """,
    "create index sources_source_class on sources (source_class)",
    """
    create table provenance (
        table_name text not null,
        key text not null,
        field text not null,
        source_id text not null references sources (source_id),
        rank integer not null check (rank >= 1),
        second_hand integer not null default 0 check (second_hand in (0, 1)),
        primary key (table_name, key, field, source_id, rank)
    ) strict, without rowid
    """,
    "create index provenance_source_id on provenance (source_id)",
    "create index provenance_second_hand on provenance (second_hand, table_name)",
    """
    create table disputes (
        dispute_id integer primary key not null,
        table_name text not null,
        key text not null,
        field text not null,
        other_value text not null,
        source_id text references sources (source_id),
        reason text not null
    ) strict
    """,
    "create index disputes_table_name_key on disputes (table_name, key)",
    "create index disputes_source_id on disputes (source_id)",
    """
    create table unknown_fields (
        table_name text not null,
        key text not null,
        field text not null,
        primary key (table_name, key, field)
    ) strict, without rowid
    """,
    "create index unknown_fields_field on unknown_fields (table_name, field)",
    """
    create table aliases (
        kind text not null check (
            kind in ('accelerator', 'system', 'model', 'checkpoint', 'precision', 'runtime', 'interconnect')
        ),
        alias_key text not null check (alias_key <> ''),
        target_id text not null,
        alias text not null,
        is_class integer not null default 0 check (is_class in (0, 1)),
        rank integer not null default 1 check (rank >= 1),
        primary key (kind, alias_key, target_id)
    ) strict, without rowid
    """,
    "create index aliases_target_id on aliases (kind, target_id)",
    """
    create table releases (
        version text primary key not null,
        date text not null check (date glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
        logical_hash text check (length(logical_hash) = 64),
        notes text
    ) strict
    """,
    """
    create table changes (
        change_id integer primary key not null,
        version text not null references releases (version),
        table_name text not null,
        key text not null,
        field text,
        old_value text,
        new_value text,
        source_id text references sources (source_id)
    ) strict
    """,
    "create index changes_version on changes (version, table_name)",
    "create index changes_key on changes (table_name, key)",
]


def apply(db: Any) -> None:
    """Create the tables of this step."""
    for statement in STATEMENTS:
        db.execute(statement)
