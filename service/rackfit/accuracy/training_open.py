"""What a training case leaves open: lengths that it states as a limit or not at all, recompute that it leaves out."""

from __future__ import annotations

import re
from dataclasses import replace

from rackfit.accuracy.cases import Case
from rackfit.memory.training.domain import Job

LENGTHS = (1024, 256, 4096)
"""Tokens taken where a case states none: likely first, then the ends of the range."""


def lengths_of(case: Case) -> tuple[int, ...]:
    """Return the sequence length, or the likely one and the ends of a range."""
    stated = case.number("seq_step") or case.number("seq_len") or case.context
    return (int(stated),) if stated else LENGTHS


def left_open(case: Case, jobs: tuple[Job, ...], assumed: list[str]) -> tuple[Job, ...]:
    """Return the jobs that a case leaves open beside those it states: shorter samples, no recompute.

    A length is a limit where samples are neither packed nor of one length: ms-swift's max_length, torchtune's recipes
    before packing, data sets that are cut at a length.
    """
    found: list[Job] = []
    if limits_length(case, jobs[0]):
        found += [replace(job, sequence_length=shortened(job)) for job in jobs]
        assumed.append("length: a limit, samples are shorter unless they are packed; an eighth of it is in the range")
    if jobs[0].rules.name in RECOMPUTE_VARIES and jobs[0].recompute == "full" and not recompute_stated(case):
        found += [replace(job, recompute="none") for job in jobs]
        assumed.append("recompute: whole layers assumed, none is in the range")
    return tuple(found)


RECOMPUTE_VARIES = frozenset({"torchtune", "ms-swift", "unsloth", "axolotl"})
"""Frameworks whose published configurations recompute layers or do not, by the memory of the card."""
SHORTEST_SAMPLE = 256
"""Tokens below which samples are not taken to be."""


def limits_length(case: Case, job: Job) -> bool:
    """Return whether a case's length is the longest that its samples may have."""
    packed = "true" in (case.settings.get("packed"), case.settings.get("packing"))
    if packed or len(lengths_of(case)) > 1:
        return False
    techniques, said = case.settings.get("cumulative"), case.engine.casefold()
    unpacked = techniques is not None and "packed" not in techniques and not techniques.startswith("all")
    return unpacked or ("swift" in said and not SAMPLES_FILL.search(said)) or "max" in case.settings.get("dataset", "")


SAMPLES_FILL = re.compile(r"swift [12]\b|swift [12]\.")
"""The benchmark of ms-swift 1 and 2 takes samples that are as long as their limit (docs, LLM, Benchmark.md)."""


def shortened(job: Job) -> int:
    """Return an eighth of a job's length, as far as its ranks can divide it."""
    length = max(min(SHORTEST_SAMPLE, job.sequence_length), job.sequence_length // 8)
    return max(length // job.parallel.cp, 1) * job.parallel.cp


def recompute_stated(case: Case) -> bool:
    """Return whether a case says how layers are recomputed."""
    return any(key in case.settings for key in ("act_ckpt", "ac", "cumulative"))
