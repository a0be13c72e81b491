"""Measured cases with their estimates: read once per catalog, filtered, and summed up by what they have in common."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from rackfit.accuracy.cases import Case, stored_cases
from rackfit.accuracy.components import POOL_BYTES, POOL_TOKENS, card_share
from rackfit.accuracy.setting import setting_of
from rackfit.catalog.read import rows_of
from rackfit.errors import RackfitError, UsageError
from rackfit.publish.answers import Answers

KINDS = {
    "K1": "weights and run time",
    "K2": "KV cache",
    "K3": "training memory",
    "K4": "files",
    "K5": "device memory",
    "K6": "statements of fit",
    "K7": "serving speed",
    "K8": "training speed",
}
UNIT_BYTES = {"gib": 2**30, "mib": 2**20, "gb": 10**9, "mb": 10**6, "bytes": 1}
AS_PUBLISHED = "GB_as_published"
TOKENS = frozenset({"kv_tokens_total", "kv_capacity_tokens", "max_model_len_estimated"})
ABSOLUTE = frozenset({"non_torch_gib_per_gpu", "cuda_graph_gib_per_gpu"})
"""Quantities near zero, where GiB say more than a relative error."""
NONE = "none"
"""Value of engine or precision of a case that was refused before one was found."""

CASES = """
select estimates.*, measurements.value as printed, measurements.model_id as model_named, measurements.gpu,
    measurements.engine_and_version, measurements.precision_or_quant, measurements.source_url,
    measurements.source_note, runtime_budgets.runtime_id, runtime_budgets.prints_gib_as_gb, precisions.family
from estimates join measurements using (case_id)
left join runtime_budgets on runtime_budgets.budget_id = estimates.budget_id
left join precisions on precisions.precision_id = estimates.precision_id
order by estimates.case_id
"""


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


@dataclass(frozen=True, slots=True)
class Catalogued:
    """All cases of one catalog, in both forms, and what the filters may name."""

    rows: tuple[Row, ...]
    cases: dict[str, Case]
    choices: dict[str, tuple[str, ...]]


_kept: dict[tuple[Path, int], Catalogued] = {}
_lock = threading.Lock()


def read(answers: Answers) -> Catalogued:
    """Return the cases of a catalog; they are read once per state of the file."""
    key = (answers.path, answers.path.stat().st_mtime_ns)
    with _lock:
        if key not in _kept:
            _kept.clear()
            _kept[key] = _read(answers)
        return _kept[key]


def _read(answers: Answers) -> Catalogued:
    cases = {case.case_id: case for case in stored_cases(answers.connection)}
    rows = tuple(_row(answers, cases[found["case_id"]], found) for found in rows_of(answers.connection, CASES))
    choices = {
        "kind": {row.kind for row in rows},
        "quantity": {row.quantity for row in rows},
        "engine": {row.runtime for row in rows} | {row.engine for row in rows},
        "precision": {row.precision for row in rows},
        "confidence": {row.confidence for row in rows},
    }
    return Catalogued(rows, cases, {name: tuple(sorted(found)) for name, found in choices.items()} | {"only": ONLY})


def unit_bytes(quantity: str, unit: str, binary: bool) -> float | None:
    """Return the bytes of one unit of a quantity, None where it counts no bytes.

    >>> unit_bytes("kv_gib_per_gpu", "GiB", False)
    1073741824
    """
    match = re.search(r"_(gib|mib|gb|mb|bytes)(?:_|$)", quantity)
    if match is None or quantity in TOKENS:
        return None
    return UNIT_BYTES["gib" if binary and unit == AS_PUBLISHED and match[1] == "gb" else match[1]]


def _row(answers: Answers, case: Case, found: dict[str, Any]) -> Row:
    measured = found["measured_value"] if found["measured_verdict"] is None else float(found["measured_verdict"])
    size = unit_bytes(found["quantity"], found["unit"] or "", bool(found["prints_gib_as_gb"]))
    off = None if None in (found["estimate"], measured) else found["estimate"] - measured
    return Row(
        case_id=found["case_id"], kind=found["kind"], quantity=found["quantity"], printed=found["printed"],
        measured=measured, estimate=found["estimate"], low=found["low"], high=found["high"],
        unit=found["unit"] or "", relative_error=found["relative_error"],
        error_gib=off * size / 2**30 if off is not None and size is not None else None,
        card_share=_card_share(answers, case, found["estimate"], measured),
        inside_range=found["inside_range"], status=found["status"], reason=found["reason"],
        confidence=found["confidence"], engine=found["budget_id"] or NONE, runtime=found["runtime_id"] or NONE,
        precision=found["family"] or NONE, model=found["model_named"] or "", gpu=found["gpu"] or "",
        engine_stated=found["engine_and_version"] or "", assumptions=found["assumptions"],
        source_url=found["source_url"], source_note=found["source_note"], size=size,
    )  # fmt: skip


def _card_share(answers: Answers, case: Case, estimate: float | None, measured: float | None) -> float | None:
    if estimate is None or measured is None or (case.quantity != POOL_BYTES and case.quantity not in POOL_TOKENS):
        return None
    try:
        return card_share(setting_of(answers.connection, answers.context, case), estimate, measured)
    except RackfitError:
        return None


ONLY = ("misses",)


@dataclass(frozen=True)
class Filters:
    """Which cases are shown, as it was asked. Empty: all."""

    kind: str = ""
    quantity: str = ""
    engine: str = ""
    precision: str = ""
    confidence: str = ""
    only: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """The filters that were filled in."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name)}

    def check(self, choices: Mapping[str, Sequence[str]], names: Iterable[str]) -> None:
        """Refuse a filter or a value that does not exist.

        Raises:
            UsageError: with what is expected.
        """
        known = {field.name for field in fields(self)}
        for name in names:
            if name not in known:
                raise UsageError(f"filter {name[:60]!r}: expected one of {', '.join(sorted(known))}")
        for name, value in self.asked.items():
            if value not in choices[name]:
                raise UsageError(f"{name} = {value[:60]!r}: expected one of {', '.join(choices[name])}")

    def keeps(self, row: Row) -> bool:
        """Return whether a case is asked for."""
        return (
            self.kind in ("", row.kind)
            and self.quantity in ("", row.quantity)
            and self.engine in ("", row.engine, row.runtime)
            and self.precision in ("", row.precision)
            and self.confidence in ("", row.confidence)
            and (not self.only or row.miss)
        )


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
    """Return the cases that lie outside their range or more than 10 % off, furthest first."""
    found = [row for row in rows if row.inside_range == 0 or abs(row.relative_error or 0) > FAR]
    return sorted(found, key=lambda row: (-abs(row.relative_error or 0), row.case_id))


def wrong_verdicts(rows: Sequence[Row]) -> list[Row]:
    """Return wrong answers to statements of fit; what was called fitting and does not comes first."""
    found = [row for row in rows if (row.verdict or "").startswith("false")]
    return sorted(found, key=lambda row: (row.verdict != "false_fit", row.case_id))
