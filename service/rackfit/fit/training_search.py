"""Search over training strategies: the least aggressive one that fits, the largest batch, the longest sequence.

Aggressiveness grows with what is paid: first data-parallel sharding (more communication from stage 3 on), then
recompute (a third more arithmetic), then offload (the host's link).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rackfit.fit.training import Footprint, footprint, refusal, verdict
from rackfit.fit.verdicts import RUNNING, WORST_FIRST
from rackfit.memory.domain import Device
from rackfit.memory.training.domain import Job, Offload
from rackfit.memory.training.offload import BUFFER_FACTOR

MOST_TOKENS = 2**26
MOST_SEQUENCES = 4096
LENGTH_STEP = 256
HOST_SHARE = 0.9
"""Share of a host's memory that a job may use; the rest is the system's and the data loader's."""


@dataclass(frozen=True, slots=True)
class Host:
    """What one machine offers beside its devices. None: not on record."""

    ram_bytes: float | None
    """0 where the devices use the host's memory themselves: there is nothing to move anything to."""
    nvme_bytes: float | None
    ranks: int
    """Devices of the job on one machine."""
    worker_bytes: float = 0.0
    """RAM of each rank's process, where a report says what it takes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One strategy with its bytes and verdict."""

    job: Job
    found: Footprint | None
    verdict: str
    reason: str | None = None


def host_need(job: Job, found: Footprint, host: Host) -> tuple[float, float]:
    """Return bytes of RAM and of NVMe on one machine: its ranks' shards, buffers, moved activations and processes."""
    total = found.host_bytes * host.ranks
    beside = (_offloaded_activations(job, found) + host.worker_bytes) * host.ranks
    if job.offload.optimizer != "nvme":
        return total + beside, 0.0
    return 0.1 * total + beside, total / BUFFER_FACTOR


def _offloaded_activations(job: Job, found: Footprint) -> float:
    if not job.offload.activations:
        return 0.0
    plain = footprint(replace(job, offload=replace(job.offload, activations=False)))
    return max(plain.components["activations"] - found.components["activations"], 0.0)


def judge(job: Job, device: Device, host: Host) -> Answer:
    """Return one strategy's bytes and verdict, devices and host together."""
    reason = refusal(job)
    if reason:
        return Answer(job, None, "cannot_run", reason)
    found = footprint(job)
    said = verdict(found, device)
    ram, nvme = host_need(job, found, host)
    if host.ram_bytes is not None and ram > HOST_SHARE * host.ram_bytes:
        least = ram - found.host_bytes * host.ranks * (1 - 1 / BUFFER_FACTOR)
        short = f"{ram / 2**30:.0f} GiB of host memory against {host.ram_bytes / 2**30:.0f}"
        if not host.ram_bytes:
            short = "nothing can be offloaded: the devices use the host's memory themselves"
        if job.offload.optimizer == "nvme" or least > HOST_SHARE * host.ram_bytes:
            return Answer(job, found, "no", short)
        said = "tight" if said == "fits" else said
        return Answer(job, found, said, f"{short}; {least / 2**30:.0f} GiB without pinned copies and buffers")
    if host.nvme_bytes is not None and nvme > host.nvme_bytes:
        return Answer(job, found, "no", f"{nvme / 1e9:.0f} GB of NVMe against {host.nvme_bytes / 1e9:.0f}")
    return Answer(job, found, said)


def strategies(job: Job, fixed: frozenset[str], movable: bool = True) -> Iterator[Job]:
    """Yield the job under every strategy that keeps what the user fixed, least aggressive first.

    Without data-parallel ranks sharding changes nothing and is left out, but offload of parameters needs stage 3.

    Args:
        job: the job as asked.
        fixed: names of zero, recompute, offload.
        movable: whether there is a host's memory to move anything to.
    """
    ranks = job.parallel.state_shards
    stages: tuple[int, ...] = (job.parallel.zero,) if "zero" in fixed else (0, 1, 2, 3) if ranks > 1 else (0,)
    modes = (job.recompute,) if "recompute" in fixed else ("none", "full")
    offloads = [job.offload] if "offload" in fixed or not movable else list(_offloads(job))
    for offload in offloads:
        for mode in modes:
            allowed = stages
            if "zero" not in fixed and offload.parameters != "none":
                allowed = (3,)
            elif "zero" not in fixed and offload.optimizer != "none" and ranks > 1:
                allowed = (2, 3)
            for stage in allowed:
                yield replace(job, recompute=mode, offload=offload, parallel=replace(job.parallel, zero=stage))


def _offloads(job: Job) -> Iterator[Offload]:
    """Yield what is moved to the host, least first.

    A frozen base below 16 bits stays unless it is asked for: few stacks move one (DeepSpeed does not divide it, FSDP
    where it lies in 16-bit storage), and adapters alone have little to move.
    """
    yield Offload()
    if job.adapter is not None and job.adapter.base.bits < 16:
        yield Offload(activations=True)
        return
    yield Offload("cpu")
    yield Offload("cpu", "cpu", True)


def least_aggressive(jobs: Iterator[Job], device: Device, host: Host) -> tuple[Answer, list[Answer]]:
    """Return the first strategy with the best verdict, and all that were judged."""
    judged: list[Answer] = []
    for job in jobs:
        answer = judge(job, device, host)
        judged.append(answer)
        if answer.verdict == "fits":
            break
    best = max(judged, key=_rank)
    return best, judged


def _rank(answer: Answer) -> tuple[int, float]:
    """Order answers: by verdict, and among those that do not fit by the fewest bytes."""
    level = WORST_FIRST.index(answer.verdict)
    if runs(answer):
        return level, 0.0
    return level, -answer.found.driver if answer.found is not None else float("-inf")


def runs(answer: Answer) -> bool:
    """Return whether a strategy fits, with or without room to spare."""
    return answer.verdict in RUNNING


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number from 1 to `most` that fits, 0 where 1 does not; what fits at n fits below n."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def max_micro_batch(job: Job, device: Device, host: Host) -> int:
    """Return the largest micro-batch at the job's sequence length; 0 where not even one sequence fits."""
    return _largest(lambda count: runs(judge(replace(job, micro_batch=count), device, host)), MOST_SEQUENCES)


def max_sequence_length(job: Job, device: Device, host: Host) -> int:
    """Return the longest sequence at micro-batch 1, in steps of 256 tokens that context parallelism divides."""
    step = LENGTH_STEP * job.parallel.cp

    def holds(steps: int) -> bool:
        return runs(judge(replace(job, micro_batch=1, sequence_length=steps * step), device, host))

    return _largest(holds, MOST_TOKENS // step) * step


def smallest_count(job: Job, device: Device, most: int = 1024) -> int | None:
    """Return the fewest data-parallel devices on which the job fits at stage 3; None up to `most`.

    The host is left out of this: more machines bring more memory. More ranks never need more bytes per device, so the
    count is searched by halves.
    """
    unknown = Host(None, None, 1)
    whole = job.parallel.tp * job.parallel.pp * job.parallel.cp

    def holds(ranks: int) -> bool:
        parallel = replace(job.parallel, dp=ranks, zero=3 if ranks > 1 else job.parallel.zero, ep=1)
        return runs(judge(replace(job, parallel=parallel), device, unknown))

    counts = most // whole
    if holds(1) or not counts:
        return whole if counts else None
    ranks = _largest(lambda count: not holds(count), counts) + 1
    return ranks * whole if ranks <= counts else None
