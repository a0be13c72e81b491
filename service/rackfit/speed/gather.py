"""Records of many configurations as one record of arrays, so that the arithmetic of one answers for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy

from rackfit.memory.domain import Layout
from rackfit.speed.communication import Link, Links
from rackfit.speed.compute import Peak
from rackfit.speed.roofline import Pace
from rackfit.speed.traffic import Reads, Routed

Array = Any


def gathered_reads(reads: Sequence[Reads], at: Array) -> Reads:
    """Return the reads of many layouts of one model; stages add up, for a token passes them one after the other.

    Args:
        reads: distinct reads.
        at: which of them each configuration has.
    """

    def column(sizes: Sequence[tuple[float, ...]]) -> tuple[Array, ...]:
        return (numpy.array([sum(one) for one in sizes])[at],)

    kinds = range(len(reads[0].routed))
    routed = [
        Routed(reads[0].routed[kind].experts, reads[0].routed[kind].active,
               numpy.array([own.routed[kind].replicas for own in reads])[at],
               column([own.routed[kind].sizes for own in reads]))
        for kind in kinds
    ]  # fmt: skip
    return Reads(column([own.fixed for own in reads]), tuple(routed), column([own.cache for own in reads]))


def gathered_paces(paces: Sequence[Pace], at: Array) -> Pace:
    """Return the paces of many devices, each with one bandwidth for all of its stages."""
    columns: dict[str, Any] = {}
    for field in fields(Pace):
        values = [getattr(pace, field.name) for pace in paces]
        several = isinstance(values[0], tuple)
        column = numpy.array([value[0] for value in values] if several else values, dtype=float)[at]
        columns[field.name] = (column,) if several else column
    return Pace(**columns)


def gathered_peaks(peaks: Sequence[Peak | None], at: Array) -> Peak:
    """Return the peaks of many devices; infinite where none is on record, so that no arithmetic is charged there."""

    def column(name: str, missing: float) -> Array:
        return numpy.array([missing if peak is None else getattr(peak, name) for peak in peaks], dtype=float)[at]

    return Peak("", column("tflops", numpy.inf), column("share", 1.0), column("low", 1.0), column("high", 1.0), "")


def gathered_links(links: Sequence[Link | None], at: Array) -> Links:
    """Return the links of many groups; where none is on record nothing is charged."""
    return Links(
        numpy.array([numpy.inf if one is None else one.effective_gb_s for one in links])[at],
        numpy.array([0.0 if one is None else one.latency_us for one in links])[at],
        numpy.array([one is None or one.direct for one in links])[at],
    )


def gathered_layouts(layouts: Sequence[Layout], at: Array) -> Layout:
    """Return many layouts as one."""
    degrees = numpy.array([(one.tp, one.pp, one.ep, one.dp) for one in layouts])[at]
    return Layout(*degrees.T)
