"""How long the run of a training answer takes, where published runs say what such devices reach."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from rackfit.ask.links import host_link
from rackfit.ask.training_time import HostWork, training_time
from rackfit.catalog.read import row_of
from rackfit.errors import UnsupportedError
from rackfit.fit.verdicts import RUNNING
from rackfit.speed.training_charges import Spread, host_seconds

if TYPE_CHECKING:
    from rackfit.ask.train import TrainSetting
    from rackfit.fit.training_search import Answer
    from rackfit.memory.training.domain import Job

RECOMPUTE = {"none": "none", "full": "full"}
"""Recompute of a strategy -> that of published runs; every selective form is nearest to selective."""


def time_of(connection: sqlite3.Connection, setting: TrainSetting, best: Answer) -> dict[str, Any]:
    """Return tokens per second of all devices, with range, and days for the tokens asked; or why neither is known."""
    job = best.job
    reason = _not_known(setting, best)
    if reason is None:
        try:
            return training_time(
                connection,
                setting.subject.anatomy,
                setting.machine.device.accelerator_id,
                setting.machine.count,
                job.sequence_length,
                RECOMPUTE.get(job.recompute, "selective"),
                setting.question.tokens,
                Spread(job.parallel.pp, job.parallel.cp, job.parallel.micro_batches),
                _host_work(connection, setting, job),
            )
        except UnsupportedError as error:
            reason = str(error)
    return {"tokens_per_s": None, "reason": reason}


def _not_known(setting: TrainSetting, best: Answer) -> str | None:
    """Return why no published run is like this one; None where one may be."""
    if best.verdict not in RUNNING:
        return "what does not run takes no time"
    if setting.machine.unlike:
        return "no published run on unlike devices"
    if setting.question.job not in (None, "sft"):
        return "published runs are of one model trained alone"
    if best.job.adapter is not None:
        return "published runs train all parameters, this one adapters"
    if best.job.recipe.compute_bytes > 2:
        return "published runs multiply in 16 bits, this one in 32"
    if "nvme" in (best.job.offload.optimizer, best.job.offload.parameters):
        return "published runs keep states in memory; what NVMe costs is not on record"
    return None


def _host_work(connection: sqlite3.Connection, setting: TrainSetting, job: Job) -> HostWork | None:
    """Return what a step spends on states that live on the host; None where none do.

    Raises:
        UnsupportedError: the device's link to its host is not on record.
    """
    if job.offload.optimizer == "none" and job.offload.parameters == "none":
        return None
    machine, parallel = setting.machine, job.parallel
    link = host_link(connection, machine.device.accelerator_id, machine.system_id)
    ram = None
    if machine.system_id is not None:
        ram = row_of(connection, "systems", "system_id", machine.system_id)["ram_bandwidth_gb_s"]
    shard = job.anatomy.model.params_total / (parallel.tp * parallel.pp * parallel.state_shards)
    seconds = host_seconds(shard, link, setting.host.ranks, ram, job.offload.parameters != "none")
    steps = parallel.micro_batches if parallel.pp > 1 else setting.question.accumulation or 1
    tokens = steps * job.tokens / (parallel.tp * parallel.pp)
    known = "RAM's bandwidth" if ram is not None else "the link alone, RAM's bandwidth is not on record"
    note = f"states on the host: {seconds:.2f} s of each step by {link:g} GB/s of link and {known}, hidden at best"
    return HostWork(seconds, tokens, note)
