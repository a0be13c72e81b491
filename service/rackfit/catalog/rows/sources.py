"""Rows about the records themselves: sources, provenance, disputes, gaps, names and releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.records.base import Record
from rackfit.records.load import Library, iter_records
from rackfit.records.names import name_key, names_of

ALIAS_KINDS = {
    "accelerators": "accelerator",
    "systems": "system",
    "models": "model",
    "checkpoints": "checkpoint",
    "precisions": "precision",
    "runtimes": "runtime",
    "interconnects": "interconnect",
}
"""Kind of record -> kind of name. Class names (several records under one name) come from their own subject."""

TABLE_OF = {"budgets": "runtime_budgets"}
"""Kind of record -> table, where the two are not called the same."""


def rows(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of every table of migration m0001."""
    yield from _sources(library)
    yield from _provenance(library)
    yield from _disputes(library)
    yield from _unknown(library)
    yield from _aliases(library)
    for version, release in sorted(library.kind("releases").items()):
        yield "releases", {"version": version, "date": release.date, "notes": release.notes}


def _sources(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    for key in sorted(library.sources):
        row = library.sources[key].model_dump()
        origin = library.origins.get(("sources", key), "release")
        row |= {"share_alike": int(row["share_alike"]), "origin": origin}
        yield "sources", {"source_id": row.pop("slug"), **row}


def _with_provenance(library: Library) -> Iterator[tuple[str, str, Record]]:
    """Yield (table, key, record) of every record that carries provenance."""
    for kind, slug, record in iter_records(library):
        if isinstance(record, Record):
            yield TABLE_OF.get(kind, kind), slug, record


def _provenance(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield one row per stated fact and source, `*` spelled out; rank 1 is the best source."""
    for kind, slug, record in _with_provenance(library):
        dotted = {field for field in record.provenance if "." in field}
        for field in sorted(record.stated() | dotted):
            weak = field in record.second_hand or field.split(".")[0] in record.second_hand
            for rank, source in enumerate(dict.fromkeys(record.sources_of(field)), start=1):
                yield (
                    "provenance",
                    {
                        "table_name": kind,
                        "key": slug,
                        "field": field,
                        "source_id": source,
                        "rank": rank,
                        "second_hand": int(weak),
                    },
                )


def _disputes(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    number = 0
    for kind, slug, record in _with_provenance(library):
        for dispute in record.disputes:
            number += 1
            yield (
                "disputes",
                {
                    "dispute_id": number,
                    "table_name": kind,
                    "key": slug,
                    "field": dispute.field,
                    "other_value": str(dispute.other_value),
                    "source_id": dispute.source,
                    "reason": dispute.reason,
                },
            )


def _unknown(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind, slug, record in _with_provenance(library):
        for field in sorted(set(record.unknown)):
            yield "unknown_fields", {"table_name": kind, "key": slug, "field": field}


def _aliases(library: Library) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every name of every record once; the first spelling of a name is the one shown."""
    for kind, slug, record in iter_records(library):
        if kind not in ALIAS_KINDS:
            continue
        spelled: dict[str, str] = {}
        for name in names_of(slug, record):
            spelled.setdefault(name_key(name), name)
        for key in sorted(spelled):
            row = {"kind": ALIAS_KINDS[kind], "alias_key": key, "target_id": slug, "alias": spelled[key], "is_class": 0}
            yield "aliases", row
