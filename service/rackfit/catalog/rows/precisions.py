"""Rows of formats, engines, recipes, workloads and MFU runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.records.load import Library
from rackfit.records.precisions import Precision
from rackfit.records.recipes import Recipe
from rackfit.records.runtimes import Runtime, Versioned

Row = tuple[str, dict[str, Any]]

_PRECISION_COLUMNS = (
    "name", "category", "family", "use", "nominal_bits", "effective_bits", "effective_bits_basis", "block_size",
    "block_rows", "block_bytes", "scale_format", "scale_bits_per_block", "zero_point_bits", "extra_per_tensor",
    "high_precision_bits", "shard_multiple", "support_as", "min_nvidia_cc", "min_nvidia_cc_weight_only",
    "min_amd_arch", "hardware_note", "typical_use", "formula", "example", "confidence", "note",
)  # fmt: skip
_RUNTIME_COLUMNS = (
    "name", "maker", "engine_kind", "licence", "home", "newest_version", "newest_version_date", "confidence", "note",
)  # fmt: skip
_RECIPE_COLUMNS = (
    "section", "name", "weights_bytes", "weights_text", "master_bytes", "gradient_bytes",
    "gradient_accumulation_bytes", "optimizer_bytes", "optimizer_text", "total_bytes_per_param", "total_text",
    "default_elements", "formula", "gpu_resident", "cpu_resident", "nvme_resident", "confidence", "note",
)  # fmt: skip


def rows(library: Library) -> Iterator[Row]:
    """Yield the rows of every table of migration m0005, parents first."""
    precisions: dict[str, Precision] = library.kind("precisions")
    for slug in sorted(precisions, key=lambda slug: (precisions[slug].support_as is not None, slug)):
        yield "precisions", precision_row(precisions[slug])
    for slug in sorted(precisions):
        yield from _roles(precisions[slug])
    yield from _runtimes(library)
    recipes: dict[str, Recipe] = library.kind("recipes")
    for slug in sorted(recipes):
        columns = {name: getattr(recipes[slug], name) for name in _RECIPE_COLUMNS}
        yield "recipes", {"recipe_id": slug, **columns, "second_hand": int(bool(recipes[slug].second_hand))}
    for slug, workload in sorted(library.kind("workloads").items()):
        columns = {name: getattr(workload, name) for name in ("name", "context", "sequences", "description")}
        yield "workloads", {"workload_id": slug, **columns}
    yield from _mfu_runs(library)


def precision_row(precision: Precision) -> dict[str, Any]:
    """Return the row of one format; bytes per parameter are bits / 8."""
    nominal, effective = precision.nominal_bits, precision.effective_bits
    return {
        "precision_id": precision.slug,
        **{name: getattr(precision, name) for name in _PRECISION_COLUMNS},
        "nominal_bytes_per_param": None if nominal is None else nominal / 8,
        "bytes_per_param": None if effective is None else effective / 8,
        "second_hand": int(bool(precision.second_hand)),
    }


def _roles(precision: Precision) -> Iterator[Row]:
    bits = dict.fromkeys(precision.high_precision_roles, (precision.high_precision_bits, "high"))
    bits |= {role: (own, "own") for role, own in precision.role_bits.items()}
    for role in sorted(bits):
        row = {"precision_id": precision.slug, "role": role, "bits": bits[role][0], "role_source": bits[role][1]}
        yield "precision_roles", row


def _runtimes(library: Library) -> Iterator[Row]:
    """Yield engines, then their versions, rules, constants and support rows, numbered over the catalog."""
    runtimes: dict[str, Runtime] = library.kind("runtimes")
    for slug in sorted(runtimes):
        columns = {name: getattr(runtimes[slug], name) for name in _RUNTIME_COLUMNS}
        yield "runtimes", {"runtime_id": slug, **columns}
    for slug in sorted(runtimes):
        for position, version in enumerate(runtimes[slug].versions):
            yield "runtime_versions", {"runtime_id": slug, "version": version, "position": position}
    yield from _numbered(runtimes, "rules", "runtime_rules", "rule_id")
    yield from _numbered(runtimes, "constants", "runtime_constants", "constant_id")
    yield from _numbered(runtimes, "precision_support", "precision_support", "support_id")


def _numbered(runtimes: dict[str, Runtime], field: str, table: str, key: str) -> Iterator[Row]:
    number = 0
    for slug in sorted(runtimes):
        for part in getattr(runtimes[slug], field):
            number += 1
            row = _part_row(runtimes[slug], part)
            if field == "rules":
                row["value_number"] = plain_number(part.value)
            if "precision" in row:
                row["precision_id"] = row.pop("precision")
            yield table, {key: number, "runtime_id": slug, **row}


def _part_row(runtime: Runtime, part: Versioned) -> dict[str, Any]:
    place = {version: index for index, version in enumerate(runtime.versions)}
    row = part.model_dump()
    first, *others = row.pop("sources")
    return {
        **row,
        "from_position": None if part.version_from is None else place[part.version_from],
        "to_position": None if part.version_to is None else place[part.version_to],
        "source_id": first,
        "other_sources": " ".join(others) or None,
    }


def plain_number(text: str) -> float | None:
    """Return the number that a text is, or None where it says more than a number.

    >>> plain_number("0.90"), plain_number("min(512, batch)")
    (0.9, None)
    """
    try:
        return float(text)
    except ValueError:
        return None


def _mfu_runs(library: Library) -> Iterator[Row]:
    for number, run in enumerate(library.rows.get("mfu", []), start=1):
        row = run.model_dump(exclude={"origin", "source"})
        flag = int(row.pop("activation_checkpointing"))
        yield "mfu_runs", {"run_id": number, **row, "activation_checkpointing": flag, "source_id": run.source}
