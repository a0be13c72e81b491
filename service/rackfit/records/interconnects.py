"""Interconnects: links between devices, nodes and hosts. Per-direction and total figures are separate fields."""

from __future__ import annotations

from pydantic import model_validator

from rackfit.records.base import Part, Positive, PositiveCount, Record, SourceKey, Text


class MeasuredLink(Part):
    """One published measurement over a link."""

    what: Text
    value: Positive
    unit: Text
    source: SourceKey


class Interconnect(Record):
    """One kind and generation of link, with the rates that one device or port gets from it."""

    name: Text
    aliases: list[Text] = []
    family: Text
    generation: Text | None = None
    lanes_or_links: PositiveCount | None = None
    per_link_per_direction_gb_s: Positive | None = None
    per_direction_gb_s: Positive | None = None
    total_gb_s: Positive | None = None
    signalling: Text | None = None
    topology: Text | None = None
    scope: Text
    latency_class: Text | None = None
    measured: list[MeasuredLink] = []

    @model_validator(mode="after")
    def _has_a_rate(self) -> Interconnect:
        rates = (self.per_direction_gb_s, self.total_gb_s, self.per_link_per_direction_gb_s)
        excused = self.note is not None and "total_gb_s" in self.unknown
        if rates == (None, None, None) and not excused:
            raise ValueError("a rate, or total_gb_s under unknown with a note that says why")
        return self
