"""Measured cases of the open catalog, read once, and the filters that choose among them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from rackfit.accuracy.cases import Case, stored_cases
from rackfit.accuracy.summary import Row, make_row
from rackfit.catalog.read import rows_of
from rackfit.errors import UsageError
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
ONLY = ("misses",)

CASES = """
select estimates.*, measurements.source_url, measurements.source_note,
    coalesce(measured_value, measured_verdict) as measured
from estimates join measurements using (case_id)
order by estimates.case_id
"""


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
    rows = tuple(
        make_row(answers.connection, answers.context, cases[found["case_id"]], found)
        for found in rows_of(answers.connection, CASES)
    )
    choices = {
        "kind": {row.kind for row in rows},
        "quantity": {row.quantity for row in rows},
        "engine": {row.runtime for row in rows} | {row.engine for row in rows},
        "precision": {row.precision for row in rows},
        "confidence": {row.confidence for row in rows},
    }
    return Catalogued(rows, cases, {name: tuple(sorted(found)) for name, found in choices.items()} | {"only": ONLY})


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
