"""Estimate every case from its configuration alone, and say how far off the estimates are."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rackfit.accuracy.cases import Case, parse_count, read_cases, stored_cases
from rackfit.accuracy.quantities import QUANTITIES, SPEED
from rackfit.accuracy.setting import setting_of
from rackfit.accuracy.training import is_training, tell
from rackfit.accuracy.training_speed import training_speed
from rackfit.catalog.context import Context, read_context
from rackfit.errors import RackfitError
from rackfit.tabular.csv_file import Dialect, write_rows

CSV_COLUMNS = (
    "case_id", "quantity", "value", "estimate", "low", "high", "relative_error", "status", "reason",
    "kind", "unit", "confidence", "assumed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is said of one case. For `fits`, values are 1 and 0."""

    case: Case
    measured: float | None
    estimate: float | None
    low: float | None
    high: float | None
    status: str
    reason: str | None
    assumed: tuple[str, ...] = ()
    model_id: str | None = None
    accelerator_id: str | None = None
    precision_id: str | None = None
    budget_id: str | None = None

    @property
    def relative_error(self) -> float | None:
        """(estimate - measured) / |measured|; None for verdicts, refusals and formulas."""
        if self.case.quantity == "fits" or self.estimate is None or not self.measured:
            return None
        return (self.estimate - self.measured) / abs(self.measured)

    @property
    def inside(self) -> bool | None:
        """Whether the measured value lies in [low, high]."""
        if None in (self.measured, self.low, self.high) or self.case.quantity == "fits":
            return None
        return bool(self.low <= self.measured <= self.high)  # type: ignore[operator]


def measured_value(case: Case) -> float | None:
    """Return the case's value as a number, 1 or 0 for a verdict, None for a formula or a text."""
    text = case.value.strip()
    if case.quantity == "fits":
        return {"true": 1.0, "false": 0.0}.get(text.casefold())
    return parse_count(text)


def estimate_case(connection: sqlite3.Connection, context: Context, case: Case) -> Estimate:
    """Return the estimate of one case, or its refusal with the reason."""
    measured = measured_value(case)
    refusal = _out_of_scope(case)
    if refusal:
        return Estimate(case, measured, None, None, None, "refused", refusal)
    if is_training(case) or _is_training_speed(case):
        return _estimate_training(connection, context, case, measured)
    try:
        setting = setting_of(connection, context, case)
        figure = QUANTITIES[case.quantity](setting)
    except RackfitError as error:
        return Estimate(case, measured, None, None, None, "refused", str(error))
    return Estimate(
        case,
        measured,
        figure.value,
        figure.low,
        figure.high,
        "resolved",
        None,
        (*setting.assumed, *figure.assumed, *_ignored(case)),
        setting.subject.anatomy.model.model_id if setting.subject else None,
        setting.machine.device.accelerator_id if setting.machine else None,
        setting.precision.precision_id if setting.precision else None,
        setting.budget.budget_id,
    )


def _estimate_training(
    connection: sqlite3.Connection, context: Context, case: Case, measured: float | None
) -> Estimate:
    """Return the estimate of a training case, under its framework's rules instead of an engine's budget."""
    try:
        told = training_speed(connection, case) if _is_training_speed(case) else tell(connection, context, case)
    except RackfitError as error:
        return Estimate(case, measured, None, None, None, "refused", str(error))
    figure = told.figure
    return Estimate(
        case, measured, figure.value, figure.low, figure.high, "resolved", None,
        (*figure.assumed, *_ignored(case)), told.model_id,
        told.accelerator_id, told.precision_id,
    )  # fmt: skip


def _is_training_speed(case: Case) -> bool:
    """Return whether a case is of the speed of training."""
    return case.quantity in SPEED or (case.kind == "K8" and case.quantity == "tokens_per_s")


def _ignored(case: Case) -> tuple[str, ...]:
    """Return a note of the settings that have no part in the estimate; none where there are none."""
    unread = case.settings.unread
    return (f"settings without a part in this estimate: {', '.join(unread)}",) if unread else ()


def _out_of_scope(case: Case) -> str | None:
    """Return why a case is of no kind that is estimated, or cannot be read; None where it can be estimated."""
    if is_training(case):
        return None
    if _is_training_speed(case):
        return case.problem
    if case.quantity not in QUANTITIES:
        return f"quantity {case.quantity!r} is not known"
    return case.problem


@dataclass(frozen=True)
class Report:
    """All estimates and their summary."""

    estimates: tuple[Estimate, ...]

    def groups(self, key: str) -> dict[str, dict[str, Any]]:
        """Return cases, resolved, refused and relative errors by a field of the case (`kind`, `quantity`, ...)."""
        by: dict[str, list[Estimate]] = defaultdict(list)
        for one in self.estimates:
            by[str(getattr(one.case, key))].append(one)
        return {name: _summary(by[name]) for name in sorted(by)}

    def fits(self) -> dict[str, int]:
        """Return the confusion table of `fits`."""
        counts = {"true_fit": 0, "false_fit": 0, "true_no": 0, "false_no": 0}
        for one in self.estimates:
            if one.case.quantity == "fits" and one.status == "resolved" and one.measured is not None:
                said = one.estimate == 1
                right = said == (one.measured == 1)
                counts[("true_" if right else "false_") + ("fit" if said else "no")] += 1
        return counts

    def coverage(self) -> float | None:
        """Return the share of measured values that lie inside [low, high]."""
        inside = [one.inside for one in self.estimates if one.inside is not None]
        return sum(inside) / len(inside) if inside else None

    def as_json(self) -> dict[str, Any]:
        """Return the summary as the command prints it."""
        return {
            "cases": len(self.estimates),
            "kinds": self.groups("kind"),
            "quantities": self.groups("quantity"),
            "confidences": self.groups("confidence"),
            "fits": self.fits(),
            "coverage": self.coverage(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per case, in the order of the cases."""
        return [_row(one) for one in self.estimates]

    def worst(self, count: int = 20) -> list[dict[str, Any]]:
        """Return the cases with the largest relative error."""
        scored = [one for one in self.estimates if one.relative_error is not None]
        scored.sort(key=lambda one: -abs(one.relative_error or 0.0))
        return [_row(one) for one in scored[:count]]

    def write_csv(self, path: Path) -> None:
        """Write one row per case, atomically.

        Raises:
            RackfitError: the file cannot be written.
        """
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with draft.open("w", encoding="utf-8", newline="") as handle:
                rows = ([row[name] for name in CSV_COLUMNS] for row in self.rows())
                write_rows(handle, CSV_COLUMNS, rows, Dialect())
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise RackfitError(f"{path}: cannot be written ({error.strerror})") from error


def _row(one: Estimate) -> dict[str, Any]:
    case = one.case

    def shown(value: float | None) -> Any:
        if value is None:
            return None
        if case.quantity == "fits":
            return "true" if value else "false"
        return round(value, 6) if abs(value) < 1e9 else round(value)

    return {
        "case_id": case.case_id,
        "quantity": case.quantity,
        "value": case.value,
        "estimate": shown(one.estimate),
        "low": shown(one.low),
        "high": shown(one.high),
        "relative_error": None if one.relative_error is None else round(one.relative_error, 5),
        "status": one.status,
        "reason": one.reason,
        "kind": case.kind,
        "unit": case.unit,
        "confidence": case.confidence,
        "assumed": "; ".join(one.assumed),
    }


def _summary(estimates: list[Estimate]) -> dict[str, Any]:
    errors = sorted(abs(one.relative_error) for one in estimates if one.relative_error is not None)
    resolved = sum(one.status == "resolved" for one in estimates)
    return {
        "cases": len(estimates),
        "resolved": resolved,
        "refused": len(estimates) - resolved,
        "median": median(errors) if errors else None,
        "p90": errors[min(len(errors) - 1, int(0.9 * len(errors)))] if errors else None,
        "max": errors[-1] if errors else None,
    }


def score(connection: sqlite3.Connection, cases: Path | None = None) -> Report:
    """Estimate the cases of a file, or the measurements of the catalog.

    Raises:
        UsageError: the file is no list of cases.
    """
    found: Iterable[Case] = stored_cases(connection) if cases is None else read_cases(cases)
    context = read_context(connection)
    return Report(tuple(estimate_case(connection, context, case) for case in found))
