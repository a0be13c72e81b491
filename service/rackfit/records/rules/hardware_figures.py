"""Figures of hardware that must agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rackfit.errors import Problem

if TYPE_CHECKING:
    from rackfit.records.accelerators import Accelerator
    from rackfit.records.interconnects import Interconnect
    from rackfit.records.load import Library
    from rackfit.records.systems import SystemPower

NAME = "hardware-figures"
WHY = "a dense rate above the sparse one, or a direction above the total, is a swapped or halved figure"

GIB = 2**30
LEAST_SHARE, MOST_SHARE = 0.85, 1.02
"""A driver's total over the label read as GiB: 0.931 to 1.0 in every print read; outside this is a wrong unit."""

ROUNDING = 1.02
"""Totals are printed rounded: 31.5 and 63 GB/s are 15.75 and 31.5 per direction."""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each pair of figures that contradict each other."""
    for slug, record in sorted(library.kind("accelerators").items()):
        for field, value, expected in _accelerator(record):
            yield Problem(library.file_of("accelerators", slug), field, value, expected)
    for slug, link in sorted(library.kind("interconnects").items()):
        for field, value, expected in _interconnect(link):
            yield Problem(library.file_of("interconnects", slug), field, value, expected)
    for row in library.rows.get("system_power", []):
        if not _ordered(row):
            expected = "lowest_w <= load_mean_w <= peak_w"
            yield Problem(f"system_power/{row.file}.csv", "load_mean_w", row.load_mean_w, expected)


def _accelerator(record: Accelerator) -> Iterator[tuple[str, object, str]]:
    for name, rate in record.rates.items():
        if rate.dense_tflops and rate.sparse_tflops and rate.dense_tflops > rate.sparse_tflops:
            yield f"rates.{name}.dense_tflops", rate.dense_tflops, f"at most sparse_tflops {rate.sparse_tflops:g}"
    if record.usable_memory_bytes and record.memory_gb:
        share = record.usable_memory_bytes / (record.memory_gb * GIB)
        if not LEAST_SHARE <= share <= MOST_SHARE:
            expected = f"bytes, about memory_gb ({record.memory_gb:g}) x 2^30"
            yield "usable_memory_bytes", record.usable_memory_bytes, expected
    for profile in record.mig_profiles:
        if record.memory_gb and profile.memory_gb > record.memory_gb * MOST_SHARE:
            yield f"mig_profiles.{profile.profile}", profile.memory_gb, f"at most memory_gb {record.memory_gb:g}"
        if record.mig_max_instances and profile.max_instances > record.mig_max_instances:
            expected = f"at most mig_max_instances {record.mig_max_instances}"
            yield f"mig_profiles.{profile.profile}", profile.max_instances, expected
    if record.memory_options_gb and record.memory_gb != max(record.memory_options_gb):
        yield "memory_gb", record.memory_gb, f"the largest of memory_options_gb, {max(record.memory_options_gb):g}"


def _interconnect(link: Interconnect) -> Iterator[tuple[str, object, str]]:
    one, both = link.per_direction_gb_s, link.total_gb_s
    if one and both and one > both:
        yield "per_direction_gb_s", one, f"at most total_gb_s {both:g}"
    each = link.per_link_per_direction_gb_s
    if each and link.lanes_or_links and one and each * link.lanes_or_links > one * ROUNDING:
        yield "per_link_per_direction_gb_s", each, f"at most per_direction_gb_s {one:g} / {link.lanes_or_links} links"


def _ordered(row: SystemPower) -> bool:
    return row.lowest_w <= row.load_mean_w <= row.peak_w
