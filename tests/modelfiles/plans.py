"""What a plan that was read from a file caches, for the tests that compare it with what is published."""

from __future__ import annotations

from rackfit.modelfiles.plan import Plan, model_of


def cached(plan: Plan) -> tuple[int, int]:
    """Return the values cached per token over all layers: those kept for every token, and those within windows."""
    groups = model_of(plan).groups
    return (
        sum(group.count * (group.kv_full_elems + group.index_dim) for group in groups),
        sum(group.count * group.kv_windowed_elems for group in groups),
    )
