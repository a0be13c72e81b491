"""The one tree of errors Rackfit raises on purpose.

RackfitError
├── UsageError          the question is malformed: exit status 2, HTTP 400
│   ├── UnknownNameError    a name that resolves to nothing, with near names: exit 2, HTTP 404
│   ├── BadRowsError        a file to be imported has bad cells, all of them at once: exit 2
│   ├── AmbiguousNameError  a class name where one record is needed: exit 2, HTTP 400
│   └── BadFileError        a file of the user's with several things wrong, all of them at once: exit 2, HTTP 400
├── BadRecordsError     files in data/ that are not what they must be, all of them at once
├── CatalogError        the catalog is missing, too old, damaged or cannot be written
├── MissingExtraError   an optional library is not installed; the message has the command that does it
└── UnsupportedError    a question that is understood but cannot be answered, with the reason
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class RackfitError(Exception):
    """Any failure that Rackfit explains in one line."""

    exit_code = 1
    http_status = 500


class UsageError(RackfitError):
    """The question is malformed."""

    exit_code = 2
    http_status = 400


class UnknownNameError(UsageError):
    """A name that resolves to nothing."""

    http_status = 404

    def __init__(self, kind: str, name: str, near: Sequence[str] = ()) -> None:
        self.kind, self.name, self.near = kind, name, tuple(near)
        hint = f"; did you mean {', '.join(self.near)}?" if self.near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")


class AmbiguousNameError(UsageError):
    """A name that stands for several records where exactly one is needed."""

    def __init__(self, kind: str, name: str, candidates: Sequence[str]) -> None:
        self.kind, self.name, self.candidates = kind, name, tuple(candidates)
        super().__init__(f"{kind} {name!r} is a class of {len(candidates)}: name one of {', '.join(candidates)}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one place in data/."""

    file: str
    field: str
    value: object
    expected: str

    def __str__(self) -> str:
        shown = repr(self.value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        place = f"{self.file}: {self.field}" if self.field else self.file
        return f"{place} = {shown}: expected {self.expected}" if self.field else f"{place}: {self.expected}"


class BadFileError(UsageError):
    """Everything that is wrong with one file of the user's, reported together."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        noun = "problem" if len(self.problems) == 1 else "problems"
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{len(self.problems)} {noun} in {name}\n{lines}")


class BadRecordsError(RackfitError):
    """Every bad record of a data folder, reported together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        noun = "problem" if len(self.problems) == 1 else "problems"
        super().__init__(f"{len(self.problems)} {noun} in data, nothing was built\n{lines}")


class BadRowsError(UsageError):
    """Every bad cell of a file that was to be imported, reported together."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        noun = "problem" if len(self.problems) == 1 else "problems"
        super().__init__(f"{len(self.problems)} {noun} in {name}, nothing was imported\n{lines}")


class CatalogError(RackfitError):
    """The catalog cannot be read or written."""


class UnreachableError(RackfitError):
    """Something outside, which was asked for, cannot be reached."""

    http_status = 502


class MissingExtraError(RackfitError):
    """An optional library is not installed."""

    http_status = 501

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an optional part of Rackfit: pip install 'rackfit[{extra}]'")


class UnsupportedError(RackfitError):
    """A question that is understood but has no honest answer."""

    exit_code = 1
    http_status = 400
