"""The layers of a model add up to its totals: parameters, cache values, state, number of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem
from rackfit.records.indices import parse_indices

if TYPE_CHECKING:
    from rackfit.records.load import Library
    from rackfit.records.models import Architecture

NAME = "layer-sums"
WHY = "weights and caches per device are cut from the layers, so the layers must hold exactly what the model holds"


def sums(model: Architecture) -> dict[str, int]:
    """Return the totals that follow from the layer groups and towers, by field of the record."""
    groups = model.layer_groups
    own = next((item for item in model.checkpoints if item.hf_id.lower() == model.slug), model.checkpoints[0]).hf_id
    text = sum(group.count * group.params_per_layer for group in groups) + model.non_layer_params
    towers = [tower for tower in model.towers if tower.checkpoint in (None, own) and not tower.inside_text]
    return {
        "n_layers": sum(group.count for group in groups if not group.beside),
        "params_text": text,
        "params_total": text + sum(tower.params for tower in towers),
        "kv_elems_per_token_full": sum(group.count * group.kv_full_elems for group in groups),
        "kv_elems_per_token_windowed": sum(group.count * group.kv_windowed_elems for group in groups),
        "recurrent_state_elems": sum(
            group.count * ((group.state_elems or 0) + (group.conv_elems or 0)) for group in groups
        ),
    }


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each total that the layers do not reproduce, and for positions used twice or out of range."""
    for slug, model in library.kind("models").items():
        file = library.file_of("models", slug)
        for field, total in sums(model).items():
            if getattr(model, field) != total:
                yield Problem(file, field, getattr(model, field), f"{total}, the sum over layer_groups and towers")
        taken: set[int] = set()
        for number, group in enumerate(model.layer_groups):
            if group.beside or group.layer_indices is None:
                continue
            positions = set(parse_indices(group.layer_indices))
            if max(positions) >= model.n_layers or taken & positions:
                expected = f"positions below {model.n_layers} that no other group names"
                yield Problem(file, f"layer_groups.{number}.layer_indices", group.layer_indices, expected)
            taken |= positions
