"""Cases with their estimates summed up: errors, coverage, verdicts and refusals by what cases have in common."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rackfit.accuracy.cases import Case
from rackfit.accuracy.components import POOL_BYTES, POOL_TOKENS, card_share
from rackfit.accuracy.score import Estimate
from rackfit.accuracy.setting import setting_of
from rackfit.catalog.context import Context
from rackfit.errors import RackfitError
from rackfit.memory.budget import GIB

UNIT_BYTES = {"gib": 2**30, "mib": 2**20, "gb": 10**9, "mb": 10**6, "bytes": 1}
AS_PUBLISHED = "GB_as_published"
TOKENS = frozenset({"kv_tokens_total", "kv_capacity_tokens", "max_model_len_estimated"})
ABSOLUTE = frozenset({"non_torch_gib_per_gpu", "cuda_graph_gib_per_gpu"})
"""Quantities near zero, where GiB say more than a relative error."""
NONE = "none"
"""Engine or precision of a case that was refused before one was found."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case: what its source prints, what is estimated, and how far off that is."""

    case_id: str
    kind: str
    quantity: str
    printed: str
    measured: float | None
    estimate: float | None
    low: float | None
    high: float | None
    unit: str
    relative_error: float | None
    error_gib: float | None
    """Estimate - measured, GiB; None for what is no memory."""
    card_share: float | None
    """The same as a share of the card's memory, KV pools only."""
    inside_range: int | None
    status: str
    reason: str | None
    confidence: str
    engine: str
    runtime: str
    precision: str
    model: str
    gpu: str
    engine_stated: str
    assumptions: str | None
    source_url: str
    source_note: str | None
    size: float | None
    """Bytes of one unit of the quantity, None for what is no memory."""

    @property
    def verdict(self) -> str | None:
        """Which cell of the confusion table a statement of fit falls into."""
        if self.quantity != "fits" or self.status != "resolved" or self.measured is None:
            return None
        right = (self.estimate == 1) == (self.measured == 1)
        return ("true_" if right else "false_") + ("fit" if self.estimate == 1 else "no")

    @property
    def miss(self) -> bool:
        """Whether the verdict is wrong or the measured value lies outside the range."""
        return self.inside_range == 0 or (self.verdict or "").startswith("false")


def unit_bytes(quantity: str, unit: str, binary: bool) -> float | None:
    """Return the bytes of one unit of a quantity, None where it counts no bytes.

    >>> unit_bytes("kv_gib_per_gpu", "GiB", False)
    1073741824
    """
    match = re.search(r"_(gib|mib|gb|mb|bytes)(?:_|$)", quantity)
    if match is None or quantity in TOKENS:
        return None
    return UNIT_BYTES["gib" if binary and unit == AS_PUBLISHED and match[1] == "gb" else match[1]]


def make_row(connection: sqlite3.Connection, context: Context, case: Case, facts: Mapping[str, Any]) -> Row:
    """Return the row of a case.

    Args:
        connection: an open catalog.
        context: its precisions and engines.
        case: the case.
        facts: measured, estimate, low, high, relative_error, inside_range, status, reason, budget_id, precision_id,
            assumptions, and where known source_url and source_note.
    """
    budget = next((budget for budget in context.budgets if budget.budget_id == facts["budget_id"]), None)
    precision = context.precisions.get(facts["precision_id"] or "")
    size = unit_bytes(case.quantity, case.unit, budget is not None and budget.prints_gib_as_gb)
    measured, estimate = facts["measured"], facts["estimate"]
    off = None if estimate is None or measured is None else estimate - measured
    return Row(
        case_id=case.case_id, kind=case.kind, quantity=case.quantity, printed=case.value, measured=measured,
        estimate=estimate, low=facts["low"], high=facts["high"], unit=case.unit,
        relative_error=facts["relative_error"],
        error_gib=off * size / GIB if off is not None and size is not None else None,
        card_share=_card_share(connection, context, case, estimate, measured),
        inside_range=facts["inside_range"], status=facts["status"], reason=facts["reason"],
        confidence=case.confidence, engine=facts["budget_id"] or NONE,
        runtime=budget.runtime_id if budget else NONE, precision=precision.family if precision else NONE,
        model=case.model, gpu=case.gpu, engine_stated=case.engine, assumptions=facts["assumptions"],
        source_url=facts.get("source_url") or "", source_note=facts.get("source_note"), size=size,
    )  # fmt: skip


def estimated_row(connection: sqlite3.Connection, context: Context, one: Estimate) -> Row:
    """Return the row of an estimate that was just made."""
    facts = {name: getattr(one, name) for name in SAME_NAMES}
    inside = None if one.inside is None else int(one.inside)
    facts |= {"inside_range": inside, "assumptions": "; ".join(one.assumed) or None}
    return make_row(connection, context, one.case, facts)


def _card_share(
    connection: sqlite3.Connection, context: Context, case: Case, estimate: float | None, measured: float | None
) -> float | None:
    if estimate is None or measured is None or (case.quantity != POOL_BYTES and case.quantity not in POOL_TOKENS):
        return None
    try:
        return card_share(setting_of(connection, context, case), estimate, measured)
    except RackfitError:
        return None


SAME_NAMES = (
    "measured", "estimate", "low", "high", "relative_error", "status", "reason", "budget_id", "precision_id",
)  # fmt: skip


def spread(errors: Iterable[float | None]) -> dict[str, float | None]:
    """Return median, p90 and largest of absolute errors; None where there are none."""
    found = sorted(abs(error) for error in errors if error is not None)
    if not found:
        return {"median": None, "p90": None, "max": None}
    return {"median": median(found), "p90": found[min(len(found) - 1, int(0.9 * len(found)))], "max": found[-1]}


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return counts, errors and coverage of cases."""
    resolved = sum(row.status == "resolved" for row in rows)
    inside = [row.inside_range for row in rows if row.inside_range is not None]
    return {
        "cases": len(rows),
        "resolved": resolved,
        "refused": len(rows) - resolved,
        **spread(row.relative_error for row in rows),
        "in_range": sum(inside),
        "ranged": len(inside),
        "coverage": sum(inside) / len(inside) if inside else None,
    }


def groups(rows: Sequence[Row], name: str) -> dict[str, dict[str, Any]]:
    """Return the summary by a field of the cases."""
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[getattr(row, name)].append(row)
    return {key: summary(by[key]) for key in sorted(by)}


def confusion(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how statements of fit were answered, those that are true and those that are false apart."""
    counts = {"true_fit": 0, "false_no": 0, "true_no": 0, "false_fit": 0}
    for row in rows:
        if row.verdict is not None:
            counts[row.verdict] += 1
    fits, not_fits = counts["true_fit"] + counts["false_no"], counts["true_no"] + counts["false_fit"]
    stated = [row for row in rows if row.quantity == "fits" and row.status == "refused"]
    return {
        **counts,
        "fits_right": counts["true_fit"] / fits if fits else None,
        "no_right": counts["true_no"] / not_fits if not_fits else None,
        "refused_fit": sum(row.measured == 1 for row in stated),
        "refused_no": sum(row.measured == 0 for row in stated),
    }


def absolute(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return errors where a relative one says little: pools as a share of the card, small terms in GiB."""
    found = []
    for quantity in sorted({row.quantity for row in rows}):
        chosen = [row for row in rows if row.quantity == quantity and row.status == "resolved"]
        if quantity in ABSOLUTE:
            found.append(_absolute(quantity, "GiB", 0.5, chosen, [row.error_gib for row in chosen]))
        elif quantity == POOL_BYTES or quantity in POOL_TOKENS:
            found.append(_absolute(quantity, "share of card", 0.04, chosen, [row.card_share for row in chosen]))
    return [entry for entry in found if entry["cases"]]


def _absolute(
    quantity: str, unit: str, limit: float, rows: Sequence[Row], errors: Sequence[float | None]
) -> dict[str, Any]:
    known = [error for error in errors if error is not None]
    return {
        "quantity": quantity, "unit": unit, "cases": len(known), **spread(known), "limit": limit,
        "within": sum(abs(error) <= limit for error in known),
        "relative": spread(row.relative_error for row in rows),
    }  # fmt: skip


def refusals(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the reasons of refusals, most frequent first, with the first cases of each."""
    by: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.status == "refused":
            by[row.reason or "no reason given"].append(row.case_id)
    ordered = sorted(by.items(), key=lambda item: (-len(item[1]), item[0]))
    return [{"reason": reason, "cases": len(found), "case_ids": found[:6]} for reason, found in ordered]


FAR = 0.1
"""Relative error from which a case is listed even where its range covers it."""


def worst(rows: Sequence[Row]) -> list[Row]:
    """Return the cases outside their range, then those inside it and more than 10 % off, furthest first."""
    found = [row for row in rows if row.inside_range == 0 or abs(row.relative_error or 0) > FAR]
    return sorted(found, key=lambda row: (row.inside_range != 0, -abs(row.relative_error or 0), row.case_id))


def wrong_verdicts(rows: Sequence[Row]) -> list[Row]:
    """Return wrong answers to statements of fit; what was called fitting and does not comes first."""
    found = [row for row in rows if (row.verdict or "").startswith("false")]
    return sorted(found, key=lambda row: (row.verdict != "false_fit", row.case_id))
