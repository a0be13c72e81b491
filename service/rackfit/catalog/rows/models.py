"""Rows of models, checkpoints, layer groups, towers and artifacts, with the figures that follow from the records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rackfit.catalog.rows import model_names
from rackfit.records.load import Library
from rackfit.records.models import Architecture, Artifact, Checkpoint, LayerGroup, Tower

Row = tuple[str, dict[str, Any]]

EXACT = 1e-6
"""Relative difference up to which a count is called exact: a few buffers in 1e9 parameters."""

_PARTS = {"sources", "unknown", "aliases", "unsourced_fields"}
_NOT_COLUMNS = {
    "slug", "provenance", "second_hand", "unknown", "disputes", "aliases", "unsourced_fields",
    "layer_groups", "towers", "checkpoints", "artifacts",
}  # fmt: skip


def rows(library: Library) -> Iterator[Row]:
    """Yield the rows of every table of migration m0004, parents first, then names and sources of the parts."""
    models: dict[str, Architecture] = library.kind("models")
    for slug in sorted(models):
        yield "models", model_row(models[slug], library.origins.get(("models", slug), "release"))
    for slug in sorted(models):
        yield from _checkpoints(library, models[slug], library.origins.get(("models", slug), "release"))
    for slug in sorted(models):
        yield from _layer_groups(library, models[slug])
    for slug in sorted(models):
        yield from _towers(library, models[slug])
    for slug in sorted(models):
        yield from _artifacts(library, models[slug])
    yield from model_names.rows(models)


def relative_error(checkpoint: Checkpoint) -> float | None:
    """Return (computed - published) / published, or None without an independent published count."""
    if checkpoint.published_params is None or checkpoint.computed_params is None or checkpoint.published_is_input:
        return None
    return (checkpoint.computed_params - checkpoint.published_params) / checkpoint.published_params


def verification(checkpoint: Checkpoint) -> str:
    """Return exact, near or unverified: how our count compares with the published one of the same scope."""
    error = relative_error(checkpoint)
    if error is None or checkpoint.mismatch_reason is not None:
        return "unverified"
    return "exact" if abs(error) < EXACT else "near"


def own_checkpoint(model: Architecture) -> Checkpoint:
    """Return the release that gave the architecture its name, else the first one."""
    return next((item for item in model.checkpoints if item.hf_id.lower() == model.slug), model.checkpoints[0])


def counted_checkpoint(model: Architecture) -> Checkpoint:
    """Return the checkpoint whose published count tells most about the architecture."""
    order = ("exact", "near", "unverified")
    own = own_checkpoint(model)
    return min(model.checkpoints, key=lambda item: (order.index(verification(item)), item is not own))


def towers_of(model: Architecture, hf_id: str) -> list[Tower]:
    """Return the towers of one release: those that name it, and those that name none."""
    return [tower for tower in model.towers if tower.checkpoint in (None, hf_id)]


def tower_params(model: Architecture, hf_id: str) -> int:
    """Return the parameters of a release's towers that are not counted in the language model already."""
    return sum(tower.params for tower in towers_of(model, hf_id) if not tower.inside_text)


def model_row(model: Architecture, origin: str) -> dict[str, Any]:
    """Return the row of one architecture; context, precision, licence and date are those of its own release."""
    own, counted = own_checkpoint(model), counted_checkpoint(model)
    return {
        "model_id": model.slug,
        **model.model_dump(exclude=_NOT_COLUMNS),
        "tie_word_embeddings": int(model.tie_word_embeddings),
        "gated_ffn": None if model.gated_ffn is None else int(model.gated_ffn),
        "max_context": own.max_context,
        "tower_params": tower_params(model, own.hf_id),
        "published_params": counted.published_params,
        "published_scope": counted.published_scope,
        "computed_params": counted.computed_params,
        "relative_error": relative_error(counted),
        "verification": verification(counted),
        "mismatch_reason": counted.mismatch_reason,
        "count_method": counted.count_method,
        "native_precision_id": own.native_precision,
        "licence": own.licence,
        "release_date": own.release_date,
        "n_checkpoints": len(model.checkpoints),
        "unsourced_fields": _joined(model.unsourced_fields),
        "second_hand": int(bool(model.second_hand)),
        "origin": origin,
    }


def _joined(names: list[str]) -> str | None:
    return ", ".join(names) or None


Part = Checkpoint | LayerGroup | Tower | Artifact


def _cited(library: Library, table: str, key: str, part: Part) -> Iterator[Row]:
    """Yield the sources of a part: they stand for all of its fields.

    A part is second-hand when it rests on one second-hand source and nothing raised its confidence to high.
    """
    sources = list(dict.fromkeys(part.sources))
    known = library.sources.get(sources[0])
    lone = len(sources) == 1 and known is not None and known.source_class == "second_hand"
    weak = int(lone and part.confidence != "high")
    for rank, source in enumerate(sources, start=1):
        yield (
            "provenance",
            {"table_name": table, "key": key, "field": "*", "source_id": source, "rank": rank, "second_hand": weak},
        )


def _checkpoints(library: Library, model: Architecture, origin: str) -> Iterator[Row]:
    """Yield releases, the unquantized ones first, because quantized ones point to them."""
    for item in sorted(model.checkpoints, key=lambda each: (each.quantized_from is not None, each.hf_id.lower())):
        key = item.hf_id.lower()
        row = item.model_dump(exclude=_PARTS | {"native_precision"})
        row |= {
            "checkpoint_id": key,
            "model_id": model.slug,
            "quantized_from": item.quantized_from and item.quantized_from.lower(),
            "native_precision_id": item.native_precision,
            "params_total": model.params_text + tower_params(model, item.hf_id),
            "published_is_input": int(item.published_is_input),
            "relative_error": relative_error(item),
            "verification": verification(item),
            "unsourced_fields": _joined(item.unsourced_fields),
            "origin": origin,
        }
        yield "checkpoints", row
        yield from _cited(library, "checkpoints", key, item)
        for field in sorted(item.unknown):
            column = "native_precision_id" if field == "native_precision" else field
            yield "unknown_fields", {"table_name": "checkpoints", "key": key, "field": column}


def layer_group_row(model_id: str, index: int, group: LayerGroup) -> dict[str, Any]:
    """Return the row of the index-th (from 1) group of a model."""
    row = group.model_dump(exclude=_PARTS)
    flags = {name: int(value) for name, value in row.items() if isinstance(value, bool)}
    return {**row, **flags, "model_id": model_id, "group_index": index}


def _layer_groups(library: Library, model: Architecture) -> Iterator[Row]:
    for index, group in enumerate(model.layer_groups, start=1):
        yield "layer_groups", layer_group_row(model.slug, index, group)
        yield from _cited(library, "layer_groups", f"{model.slug},{index}", group)


def _towers(library: Library, model: Architecture) -> Iterator[Row]:
    for index, tower in enumerate(model.towers, start=1):
        row = tower.model_dump(exclude=_PARTS | {"checkpoint"})
        row |= {"model_id": model.slug, "tower_index": index, "inside_text": int(tower.inside_text)}
        row["checkpoint_id"] = tower.checkpoint and tower.checkpoint.lower()
        yield "towers", row
        yield from _cited(library, "towers", f"{model.slug},{index}", tower)


def _artifacts(library: Library, model: Architecture) -> Iterator[Row]:
    for item in sorted(model.artifacts, key=lambda each: each.artifact_id):
        row = item.model_dump(exclude=_PARTS | {"precision"})
        yield "artifacts", {**row, "model_id": model.slug, "precision_id": item.precision}
        yield from _cited(library, "artifacts", item.artifact_id, item)
