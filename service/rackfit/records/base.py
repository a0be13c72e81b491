"""What every record in data/ shares: strictness, provenance, disputes, and the common field types.

A record is what somebody typed into one file. It is not a table row: rows are derived from records in
`catalog/rows`. Field descriptions and units live in `records/fields/*.toml`, once for records and tables alike.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
SourceKey = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
PartialDate = Annotated[str, StringConstraints(pattern=r"^(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$")]
"""A date as precisely as it is known: 2024, 2024-03 or 2024-03-18."""
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^=+@\t\r\n\x00]")]
"""Text for people. The first character may not start a spreadsheet formula."""
Count = Annotated[int, Field(ge=0)]
PositiveCount = Annotated[int, Field(gt=0)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Confidence = Literal["high", "medium", "low"]

WHOLE_RECORD = "*"
"""The provenance key that stands for every field without a key of its own."""


class Part(BaseModel):
    """A strict, immutable piece of a record: no unknown keys, no silent conversion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Dispute(Part):
    """What another source says about a field, and why it was not taken."""

    field: str
    other_value: str | int | float | bool
    source: SourceKey | None = None
    reason: Text


class Record(Part):
    """A record with provenance. Subclasses add the facts."""

    slug: str
    provenance: dict[str, list[SourceKey]] = {}
    second_hand: list[str] = []
    unknown: list[str] = []
    disputes: list[Dispute] = []
    confidence: Confidence
    note: Text | None = None

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """Return the names of the fields that are about the record and need no source."""
        return frozenset({"slug", "provenance", "second_hand", "unknown", "disputes", "confidence", "note", "aliases"})

    @classmethod
    def facts(cls) -> frozenset[str]:
        """Return the names of the fields that state something about the world."""
        return frozenset(cls.model_fields) - cls.bookkeeping()

    def stated(self) -> frozenset[str]:
        """Return the names of the facts that this record gives a value for."""
        return frozenset(name for name in self.facts() if getattr(self, name) not in (None, [], {}))

    def sources_of(self, field: str) -> list[str]:
        """Return the source keys behind a field, best first."""
        return self.provenance.get(field) or self.provenance.get(WHOLE_RECORD, [])

    @model_validator(mode="after")
    def _bookkeeping_is_consistent(self) -> Self:
        known = self.facts()
        for listed in ("second_hand", "unknown"):
            for name in getattr(self, listed):
                if name.split(".")[0] not in known:
                    raise ValueError(f"{listed} names {name!r}, which is not a field of this record")
        for name in self.provenance:
            if name != WHOLE_RECORD and name.split(".")[0] not in known:
                raise ValueError(f"provenance names {name!r}, which is not a field of this record")
        for name in self.unknown:
            if name in self.stated():
                raise ValueError(f"unknown lists {name!r}, which has a value")
        unsourced = sorted(name for name in self.stated() if not self.sources_of(name))
        if unsourced:
            raise ValueError(f"provenance lacks a source for {', '.join(unsourced)}")
        return self


def explain(error: Any) -> tuple[str, object, str]:
    """Turn one pydantic error into (field, value, expected) in plain words."""
    place = ".".join(str(part) for part in error["loc"])
    messages = {
        "extra_forbidden": "no such field here",
        "missing": "a value (the field is required)",
    }
    expected = messages.get(error["type"]) or error["msg"].removeprefix("Value error, ").removeprefix(
        "Input should be "
    )
    value = error.get("input")
    if error["type"] == "missing" or isinstance(value, dict):
        value = None
    return place, value, expected
