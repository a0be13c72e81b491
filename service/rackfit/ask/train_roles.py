"""The models of a whole job: what each holds, and the fewest devices where each has its own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rackfit.fit.training import usable_bytes
from rackfit.fit.training_search import Answer, smallest_count
from rackfit.memory.training.domain import Job, Offload

if TYPE_CHECKING:
    from rackfit.ask.train import TrainSetting

ROLES = {
    "ppo": (("actor", True), ("critic", True), ("reference", False), ("reward", False), ("rollout engine", False)),
    "grpo": (("actor", True), ("reference", False), ("rollout engine", False)),
    "dpo": (("policy", True), ("reference", False)),
    "distill": (("student", True), ("teacher", False)),
}
"""Kind of job -> its models, trained or frozen."""
FROZEN_BYTES = 2.0
"""Bytes per parameter of a frozen model: 16-bit weights."""
ENGINE_SHARE = 0.9
"""Share of a device that a frozen model's weights may take; a rollout engine's cache takes what they leave."""


def roles_of(setting: TrainSetting, best: Answer) -> list[dict[str, Any]]:
    """Return the models of a job with their bytes and the fewest devices of each apart; none where it is one model.

    Trained models count their states, frozen ones 16-bit weights divided over their devices. With adapters the base is
    the reference, and what is trained holds the base.
    """
    return [
        _role(setting, best.job, name, trained)
        for name, trained in ROLES.get(setting.question.job or "", ())
        if name != "reference" or best.job.adapter is None
    ]


def _role(setting: TrainSetting, job: Job, name: str, trained: bool) -> dict[str, Any]:
    params = job.anatomy.model.params_total * (setting.teacher if name == "teacher" else 1.0)
    device = setting.machine.device
    each = job.recipe.state.total if trained and job.adapter is None else FROZEN_BYTES
    plain = replace(job, trained_models=1.0, extra_models=0.0, recompute="full", offload=Offload())
    frozen = math.ceil(each * params / (ENGINE_SHARE * usable_bytes(device)))
    return {
        "role": name,
        "trained": trained,
        "parameters": round(params),
        "bytes": round(each * params),
        "devices_apart": smallest_count(plain, device) if trained else frozen,
    }
