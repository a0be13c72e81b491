"""Fill `estimates`: what Rackfit says of every stored measurement."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from rackfit.accuracy.score import Estimate, score

Progress = Callable[[str, int, int], None]


def compute(connection: sqlite3.Connection, progress: Progress) -> None:
    """Estimate the measurements of the catalog and write one row for each."""
    report = score(connection)
    connection.executemany(
        f"insert into estimates values ({', '.join('?' * 19)})", [_row(one) for one in report.estimates]
    )
    progress("estimates", len(report.estimates), len(report.estimates))


def _row(one: Estimate) -> tuple[object, ...]:
    case = one.case
    verdict = int(one.measured) if case.quantity == "fits" and one.measured is not None else None
    return (
        case.case_id,
        case.kind,
        case.quantity,
        case.unit or None,
        case.confidence,
        None if case.quantity == "fits" else one.measured,
        verdict,
        one.estimate,
        one.low,
        one.high,
        one.relative_error,
        None if one.inside is None else int(one.inside),
        one.status,
        one.reason,
        one.model_id,
        one.accelerator_id,
        one.precision_id,
        one.budget_id,
        "; ".join(one.assumed) or None,
    )
