"""What a training step pays beside its arithmetic: the bubble of a pipeline, divided sequences, states on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rackfit.speed.training_time import Utilisation

DIVIDED_SHARE = 0.7
"""What remains where four ranks and more share a sequence: torchtitan prints 0.72 and 0.67 of a whole sequence's share
of the peak at four and eight ranks, none lost at two (benchmarks/llama3_h100_202412_torchtitan.md, table 2)."""
DIVIDED_LOW = 0.5
"""Low end of the same: under a causal mask a rank with the last part of the sequence does twice the mean's work."""
UPDATE_BYTES = 28.0
"""Bytes of RAM that an update of one parameter on the host reads and writes: gradient, fp32 weight and two moments
read, the last three written (fp32 each)."""
LINK_BYTES = 4.0
"""Bytes per parameter of a rank's shard that go over its link each step: 16-bit gradient out, 16-bit weight back."""
GATHER_BYTES = 6.0
"""The same for weights that live on the host: brought for forward, backward and recomputed pass."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a job is spread, as far as its speed depends on it."""

    pp: int = 1
    cp: int = 1
    micro_batches: int = 8
    chunks: int = 1
    """Parts of the model that a stage holds (interleaved schedules)."""


def pipeline_share(stages: int, micro_batches: int, chunks: int = 1) -> float:
    """Return the share of a step in which a stage works: 1 / (1 + (p - 1) / (v m)).

    Source: Narayanan et al., arXiv 2104.04473, sections 2.2.1 and 2.2.2.

    >>> round(pipeline_share(8, 8), 3), round(pipeline_share(8, 8, 2), 3)
    (0.533, 0.696)
    """
    return 1.0 / (1.0 + (stages - 1) / (chunks * micro_batches))


def charged(found: Utilisation, spread: Spread) -> Utilisation:
    """Return what remains of a share of the peak under a pipeline and divided sequences, with the reasons."""
    value, low, high, basis = found.value, found.low, found.high, found.basis
    if spread.pp > 1:
        share = pipeline_share(spread.pp, spread.micro_batches, spread.chunks)
        value, low, high = value * share, low * share, high * share
        basis += f"; pipeline of {spread.pp} stages works {share:.0%} of a step of {spread.micro_batches} micro-batches"
    if spread.cp > 1:
        value *= DIVIDED_SHARE if spread.cp >= 4 else 1.0
        low *= DIVIDED_LOW
        basis += f"; sequences divided over {spread.cp} ranks: range wider"
    return replace(found, value=value, low=low, high=high, basis=basis)


def host_seconds(
    shard: float, link_gb_s: float, ranks: int, ram_gb_s: float | None, weights_too: bool = False
) -> float:
    """Return the seconds that a step spends on states which live on the host.

    Args:
        shard: parameters of one rank's shard.
        link_gb_s: a rank's link to the host, GB/s and direction.
        ranks: ranks of one host, which share its RAM.
        ram_gb_s: bandwidth of the RAM; None: its part is not charged.
        weights_too: whether the 16-bit weights live there too.
    """
    link = (LINK_BYTES + (GATHER_BYTES if weights_too else 0.0)) * shard / (link_gb_s * 1e9)
    ram = 0.0 if ram_gb_s is None else UPDATE_BYTES * shard * ranks / (ram_gb_s * 1e9)
    return link + ram
