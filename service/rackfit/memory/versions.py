"""Versions of engines, and which rules hold in one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rackfit.memory.domain import Budget

FIRST_V1_BY_DEFAULT = (0, 8)
"""vLLM runs V1 unless told otherwise from 0.8.0 on (runtime_rules, term engine_default)."""


def version_key(text: str) -> tuple[int, ...]:
    """Return a version as numbers that compare.

    >>> version_key("0.10.2") > version_key("0.9.2")
    True
    """
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def budget_at(budgets: Iterable[Budget], version: tuple[int, ...], v0: bool) -> Budget:
    """Return the rules of one engine at a version: the newest range that holds it, else the nearest.

    The nearest is the newest below; for a version before all that is on record, the oldest.

    Args:
        budgets: the rules of the engine, at least one.
        version: as `version_key` returns it; of fewer parts than a range it stands for all of them.
        v0: whether vLLM's first engine is meant.
    """
    known = list(budgets)
    matching = [
        budget
        for budget in known
        if version_key(budget.version_from)[: len(version)] <= version
        and (budget.version_to is None or version <= (*version_key(budget.version_to), 99))
        and (budget.engine is None or (budget.engine == "V0") == v0)
    ]
    if not matching:
        older = [budget for budget in known if version_key(budget.version_from) <= (*version, 99)]
        if not older:
            return min(known, key=lambda budget: version_key(budget.version_from))
        matching = [budget for budget in older if budget.engine != "V0"] or older
    return max(matching, key=lambda budget: version_key(budget.version_from))
