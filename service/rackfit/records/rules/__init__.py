"""Rules that hold between records: one rule per module with NAME, WHY and check(library).

All rules run over all records; every broken one is reported with file, field, value and expectation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem
from rackfit.records.rules import (
    aliases_unique,
    checkpoint_names,
    efficiency_devices,
    hardware_figures,
    hardware_refs,
    known_sources,
    layer_sums,
    measurements,
    model_formats,
    parameter_counts,
    precisions_exist,
    prices,
)

if TYPE_CHECKING:
    from rackfit.records.load import Library

RULES = (
    known_sources,
    aliases_unique,
    layer_sums,
    parameter_counts,
    checkpoint_names,
    precisions_exist,
    hardware_refs,
    hardware_figures,
    prices,
    measurements,
    model_formats,
    efficiency_devices,
)


def broken_rules(library: Library) -> Iterator[Problem]:
    """Yield every breach of every rule."""
    for rule in RULES:
        yield from rule.check(library)
