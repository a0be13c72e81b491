"""How long the run of a training answer takes, where published runs say what such devices reach."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from rackfit.ask.training_time import training_time
from rackfit.errors import UnsupportedError

if TYPE_CHECKING:
    from rackfit.ask.train import TrainSetting
    from rackfit.fit.training_search import Answer

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
            )
        except UnsupportedError as error:
            reason = str(error)
    return {"tokens_per_s": None, "reason": reason}


def _not_known(setting: TrainSetting, best: Answer) -> str | None:
    """Return why no published run is like this one; None where one may be."""
    if best.verdict not in ("fits", "tight"):
        return "what does not run takes no time"
    if setting.machine.others:
        return "no published run on unlike devices"
    if setting.question.job not in (None, "sft"):
        return "published runs are of one model trained alone"
    if best.job.adapter is not None:
        return "published runs train all parameters, this one adapters"
    offload = best.job.offload
    if offload != type(offload)():
        return "published runs keep states on the devices; what offload costs is not on record"
    return None
