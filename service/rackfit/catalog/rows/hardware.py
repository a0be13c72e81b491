"""Hardware to rows: what was stated as it was stated, and beside it what follows by a named rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.catalog.rows.memory_levels import memory_levels
from rackfit.catalog.rows.system_links import link_columns
from rackfit.memory.device_memory import DeviceMemory, Label, Report, device_memory, mig_memory
from rackfit.records.accelerators import Accelerator
from rackfit.records.fieldguide import describe
from rackfit.records.interconnects import Interconnect
from rackfit.records.load import Library
from rackfit.records.names import name_key
from rackfit.records.systems import System

Row = tuple[str, dict[str, Any]]

ALONE = frozenset({"laptop", "unified", "edge"})
"""Segments of which one host holds one device."""

NO_LINK = frozenset({"none"})
"""What a record says when the vendor states that there is no scale-up link."""

NOT_COLUMNS = {"slug", "provenance", "unknown", "disputes", "second_hand", "aliases"}
"""Record fields that stand in tables of their own."""

BYTES_PER_TRANSFER = 8
"""A DDR channel is 64 bits wide."""


def rows(library: Library) -> Iterator[Row]:
    """Yield the rows of every table of migration m0002 and the class names, parents first."""
    for slug, link in sorted(library.kind("interconnects").items()):
        yield "interconnects", _interconnect(slug, link)
    accelerators: dict[str, Accelerator] = dict(sorted(library.kind("accelerators").items()))
    fit = {slug: fit_memory(record) for slug, record in accelerators.items()}
    for slug, record in accelerators.items():
        yield "accelerators", _accelerator(slug, record, fit[slug], library.origins.get(("accelerators", slug)))
    yield from _rates(accelerators)
    for slug, record in accelerators.items():
        for level in memory_levels(record, fit[slug]):
            yield "memory_levels", {"accelerator_id": slug, **level}
    yield from _usable_memory(accelerators)
    yield from _mig_profiles(accelerators, fit)
    systems: dict[str, System] = dict(sorted(library.kind("systems").items()))
    for slug, system in systems.items():
        accelerator = accelerators[system.accelerator]
        yield "systems", _system(slug, system, accelerator, library.origins.get(("systems", slug)))
    for slug, system in systems.items():
        yield from _system_facts(slug, system)
    yield from _system_power(library)
    yield from _classes(library)


def fit_memory(record: Accelerator) -> DeviceMemory | None:
    """Return the memory that fits are computed against."""
    label = Label(
        vendor=record.vendor,
        segment=record.segment,
        memory_gb=record.memory_gb,
        memory_unit_label=record.memory_unit_label,
        memory_type=record.memory_type,
        compute_capability=record.compute_capability,
        unified=record.unified_memory,
        usable_bytes=record.usable_memory_bytes,
    )
    reports = [
        Report(item.ram_gb, item.os, item.os_version, item.setting, item.usable_bytes) for item in record.usable_memory
    ]
    return device_memory(label, reports)


def _fit_columns(memory: DeviceMemory | None) -> dict[str, Any]:
    return {
        "fit_memory_bytes": memory.bytes if memory else None,
        "fit_memory_rule": memory.rule if memory else None,
        "fit_memory_spread": memory.spread if memory else None,
    }


def _flags(row: dict[str, Any]) -> dict[str, Any]:
    """Turn true and false into 1 and 0."""
    return {name: int(value) if isinstance(value, bool) else value for name, value in row.items()}


def _accelerator(slug: str, record: Accelerator, memory: DeviceMemory | None, origin: str | None) -> dict[str, Any]:
    parts = {"rates", "usable_memory", "mig_profiles"}
    row = record.model_dump(exclude=NOT_COLUMNS | parts)
    options = row.pop("memory_options_gb")
    link = row["scaleup_interconnect"]
    return _flags(
        {
            "accelerator_id": slug,
            **row,
            "memory_options_gb": ", ".join(f"{size:g}" for size in options) or None,
            "scaleup_interconnect": None if link in NO_LINK else link,
            **_fit_columns(memory),
            "multi_device": record.segment not in ALONE,
            "second_hand": any(name in record.second_hand for name in ("memory_gb", "memory_bandwidth_gb_s")),
            "origin": origin or "release",
        }
    )


def _rates(accelerators: dict[str, Accelerator]) -> Iterator[Row]:
    for slug, record in accelerators.items():
        for name in sorted(record.rates):
            yield (
                "accelerator_rates",
                {"accelerator_id": slug, "precision_name": name, **record.rates[name].model_dump()},
            )


def _usable_memory(accelerators: dict[str, Accelerator]) -> Iterator[Row]:
    number = 0
    for slug, record in accelerators.items():
        for item in record.usable_memory:
            number += 1
            row = item.model_dump()
            source = row.pop("source")
            yield "usable_memory", {"usable_memory_id": number, "accelerator_id": slug, **row, "source_id": source}


def _mig_profiles(accelerators: dict[str, Accelerator], fit: dict[str, DeviceMemory | None]) -> Iterator[Row]:
    for slug, record in accelerators.items():
        whole = fit[slug]
        for item in sorted(record.mig_profiles, key=lambda profile: profile.profile):
            memory = None
            if whole is not None and record.memory_gb is not None:
                memory = mig_memory(whole.bytes, item.memory_gb, record.memory_gb)
            row = item.model_dump()
            source = row.pop("source")
            yield "mig_profiles", {"accelerator_id": slug, **row, **_fit_columns(memory), "source_id": source}


def _interconnect(slug: str, record: Interconnect) -> dict[str, Any]:
    row = record.model_dump(exclude=NOT_COLUMNS | {"measured"})
    best = max((item for item in record.measured if item.unit == "GB/s"), key=lambda item: item.value, default=None)
    return {
        "interconnect_id": slug,
        **row,
        "measured_gb_s": best.value if best else None,
        "measured_what": best.what if best else None,
        "second_hand": int(bool(record.second_hand)),
    }


def _system(slug: str, record: System, part: Accelerator, origin: str | None) -> dict[str, Any]:
    row = record.model_dump(exclude=NOT_COLUMNS | {"low_confidence", "field_notes", "facts_beside"})
    row.update(link_columns(record, part))
    accelerator, interconnect = row.pop("accelerator"), row.pop("interconnect")
    basis = "stated" if record.ram_bandwidth_gb_s else None
    if record.ram_bandwidth_gb_s is None and record.ram_channels and record.ram_mt_s:
        row["ram_bandwidth_gb_s"] = record.ram_channels * record.ram_mt_s * BYTES_PER_TRANSFER / 1000
        basis = "derived: channels x MT/s x 8 bytes"
    return {
        "system_id": slug,
        **row,
        "accelerator_id": accelerator,
        "accelerator_memory_gb": part.memory_gb * record.accelerator_count if part.memory_gb else None,
        "interconnect_id": interconnect,
        "ram_bandwidth_basis": basis,
        "second_hand": int(bool(record.second_hand)),
        "origin": origin or "release",
    }


def _system_facts(slug: str, record: System) -> Iterator[Row]:
    """Yield the facts beside the common fields, and each common field with a note or low confidence of its own."""
    number = 0
    for field in sorted({*record.field_notes, *record.low_confidence}):
        value = getattr(record, field)
        if value is None:
            continue
        number += 1
        yield (
            "system_facts",
            {
                "system_id": slug,
                "fact_index": number,
                "field": field,
                "value": f"{value:g}" if isinstance(value, float) else str(value),
                "unit": describe(field, "systems").unit,
                "source_id": record.sources_of(field)[0],
                "confidence": "low" if field in record.low_confidence else record.confidence,
                "note": record.field_notes.get(field),
            },
        )
    for fact in record.facts_beside:
        number += 1
        row = fact.model_dump(exclude={"source", "date"})
        yield "system_facts", {"system_id": slug, "fact_index": number, **row, "source_id": fact.source}


def _system_power(library: Library) -> Iterator[Row]:
    for number, record in enumerate(library.rows.get("system_power", []), start=1):
        row = record.model_dump(exclude={"file", "origin", "source", "accelerator"})
        yield (
            "system_power",
            {"power_id": number, **row, "accelerator_id": record.accelerator, "source_id": record.source},
        )


def _classes(library: Library) -> Iterator[Row]:
    """Yield the names that fit several accelerators; rank 1 is the most usual reading."""
    for record in sorted(library.rows.get("classes", []), key=lambda item: name_key(item.name)):
        for rank, slug in enumerate(record.candidates, start=1):
            yield (
                "aliases",
                {
                    "kind": "accelerator",
                    "alias_key": name_key(record.name),
                    "target_id": slug,
                    "alias": record.name,
                    "is_class": 1,
                    "rank": rank,
                },
            )
