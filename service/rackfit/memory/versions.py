"""Versions of engines, and which rules hold in one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rackfit.memory.domain import Budget

FIRST_V1_BY_DEFAULT = (0, 8)
"""vLLM runs V1 unless told otherwise from 0.8.0 on (runtime_rules, term engine_default)."""
FIRST_ENGINE = "V0"
"""vLLM's first engine."""


def version_key(text: str) -> tuple[int, ...]:
    """Return a version as numbers that compare.

    >>> version_key("0.10.2") > version_key("0.9.2")
    True
    """
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def named_engine(budgets: Iterable[Budget], text: str) -> str | None:
    """Return the variant of an engine that a text names as a word of its own, None where it names none.

    Args:
        budgets: the rules of the engine, which say the variants there are.
        text: for example `vLLM 0.9.2 V0` or `lmdeploy pytorch`.
    """
    words = set(re.findall(r"[a-z0-9]+", text.casefold()))
    return next((one.engine for one in budgets if one.engine and one.engine.casefold() in words), None)


def budget_at(budgets: Iterable[Budget], version: tuple[int, ...] | None, engine: str | None = None) -> Budget:
    """Return the rules of one engine at a version: the newest range that holds it, else the nearest.

    The nearest is the newest below; for a version before all that is on record, the oldest.

    Args:
        budgets: the rules of the engine, at least one.
        version: as `version_key` returns it; of fewer parts than a range it stands for all of them; None: the newest.
        engine: the variant that is meant; None: what runs unless another is named.
    """
    known, asked = list(budgets), engine
    if engine is None and any(budget.engine == FIRST_ENGINE for budget in known):
        asked = FIRST_ENGINE if version is not None and version < FIRST_V1_BY_DEFAULT else "V1"
    meant = [budget for budget in known if _is_meant(budget, asked)] or known
    if version is None:
        return max(meant, key=lambda budget: (budget.version_to is None, version_key(budget.version_from)))
    matching = [
        budget
        for budget in meant
        if version_key(budget.version_from)[: len(version)] <= version
        and (budget.version_to is None or version <= (*version_key(budget.version_to), 99))
    ]
    if not matching:
        older = [budget for budget in known if version_key(budget.version_from) <= (*version, 99)]
        if not older:
            return min(meant, key=lambda budget: version_key(budget.version_from))
        matching = [budget for budget in older if budget.engine != FIRST_ENGINE and budget in meant] or older
    return max(matching, key=lambda budget: version_key(budget.version_from))


def _is_meant(budget: Budget, engine: str | None) -> bool:
    """Return whether rules are of a variant; of a variant that only runs where it is named, only then."""
    if engine is None:
        return not budget.named_only
    return budget.engine is None or budget.engine.casefold() == engine.casefold()
