"""A hub id stands for one release, and a release that was quantized names another of the same architecture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem
from rackfit.records.names import name_key

if TYPE_CHECKING:
    from rackfit.records.load import Library

NAME = "checkpoint-names"
WHY = "a name of a release that means two things answers one of them silently"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each name that two releases claim and for each reference that leads nowhere."""
    owner: dict[str, tuple[str, int]] = {}
    for slug, model in sorted(library.kind("models").items()):
        file = library.file_of("models", slug)
        ids = {item.hf_id for item in model.checkpoints}
        for number, item in enumerate(model.checkpoints):
            for name in (item.hf_id, *item.aliases):
                first = owner.setdefault(name_key(name), (slug, number))
                if first != (slug, number):
                    expected = f"a name that checkpoint {first[1]} of {first[0]!r} does not use already"
                    yield Problem(file, f"checkpoints.{number}.hf_id", name, expected)
            if item.quantized_from is not None and item.quantized_from not in ids:
                place = f"checkpoints.{number}.quantized_from"
                yield Problem(file, place, item.quantized_from, "a checkpoint of the same architecture")
        for number, tower in enumerate(model.towers):
            if tower.checkpoint is not None and tower.checkpoint not in ids:
                place = f"towers.{number}.checkpoint"
                yield Problem(file, place, tower.checkpoint, "a checkpoint of the same architecture")
        for number, artifact in enumerate(model.artifacts):
            first = owner.setdefault(f"artifact {artifact.artifact_id}", (slug, number))
            if first != (slug, number):
                place = f"artifacts.{number}.artifact_id"
                yield Problem(file, place, artifact.artifact_id, f"an artifact that {first[0]!r} does not list already")
