"""Runtimes: inference engines with their memory rules by version, measured constants and the formats they run."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from rackfit.records.base import Confidence, Part, PartialDate, Record, Slug, SourceKey, Text

SupportLevel = Literal["native", "weight_only", "emulated", "none"]
SupportVendor = Literal["nvidia", "amd", "intel", "apple", "google", "aws", "huawei", "cpu", "any"]
ConstantKind = Literal["exact", "derived", "measured"]


class Versioned(Part):
    """Something that holds from one opened release to another: version_to absent means the newest opened."""

    version_from: Text | None = None
    version_to: Text | None = None
    sources: list[SourceKey] = Field(min_length=1)
    confidence: Confidence
    note: Text | None = None


class RuntimeRule(Versioned):
    """One rule or default of an engine. Of two that apply, the one with the later version_from wins."""

    term: Slug
    value: Text
    unit: Text | None = None
    applies_when: Text | None = None
    effect: Text | None = None
    source_date: PartialDate | None = None


class PrecisionSupport(Versioned):
    """How one format runs on one kind of device."""

    precision: Slug
    vendor: SupportVendor
    architecture: Text
    support: SupportLevel
    kernel: Text | None = None
    extra_memory: Text | None = None
    source_date: PartialDate | None = None


class RuntimeConstant(Versioned):
    """A number of the memory model that no rule states as such: exact, derived from source, or measured."""

    term: Slug
    value: float
    low: float | None = None
    high: float | None = None
    unit: Text
    kind: ConstantKind
    condition: Text | None = None
    evidence: Text

    @model_validator(mode="after")
    def _range_holds_the_value(self) -> Self:
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        if not low <= self.value <= high:
            raise ValueError(f"low <= value <= high, got {low} <= {self.value} <= {high}")
        return self


class Runtime(Record):
    """One inference engine, all its versions. `versions` is ordered oldest first."""

    name: Text
    aliases: list[Text] = []
    maker: Text
    engine_kind: Literal["server", "library", "application"]
    licence: Text | None = None
    home: Text | None = None
    newest_version: Text
    newest_version_date: PartialDate | None = None
    versions: list[Text] = Field(min_length=1)
    rules: list[RuntimeRule] = []
    precision_support: list[PrecisionSupport] = []
    constants: list[RuntimeConstant] = []

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """Parts carry their own sources; the list of versions is the union of theirs."""
        return super().bookkeeping() | {"rules", "precision_support", "constants", "versions", "name", "engine_kind"}

    @model_validator(mode="after")
    def _versions_are_listed_in_order(self) -> Self:
        place = {version: index for index, version in enumerate(self.versions)}
        if len(place) != len(self.versions):
            raise ValueError("versions lists one twice")
        if self.newest_version != self.versions[-1]:
            raise ValueError("newest_version must be the last of versions")
        for kind in ("rules", "precision_support", "constants"):
            for index, part in enumerate(getattr(self, kind)):
                for end in (part.version_from, part.version_to):
                    if end is not None and end not in place:
                        raise ValueError(f"{kind}.{index} names version {end!r}, which versions does not list")
                first = place[part.version_from] if part.version_from else 0
                if part.version_to is not None and place[part.version_to] < first:
                    raise ValueError(f"{kind}.{index} ends with {part.version_to} before {part.version_from}")
        return self
