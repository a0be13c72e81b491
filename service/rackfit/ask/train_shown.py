"""A training answer as a document: strategy, bytes per device and host, limits, alternatives, checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rackfit.fit.training import Footprint, limit_of, usable_bytes
from rackfit.fit.training_search import (
    Answer,
    host_need,
    judge,
    max_micro_batch,
    max_sequence_length,
    smallest_count,
)
from rackfit.memory.training.domain import Job, Offload
from rackfit.memory.training.lora import trained_params
from rackfit.memory.training.offload import load_bytes
from rackfit.memory.training.sharding import COMMUNICATION, PARTITIONED, bytes_per_parameter, explained

if TYPE_CHECKING:
    from rackfit.ask.train import TrainSetting

GIB = 2**30
MOST_ALTERNATIVES = 6


def described(setting: TrainSetting, best: Answer, judged: Sequence[Answer]) -> dict[str, Any]:
    """Return the answer for one machine."""
    params, shards = setting.subject.anatomy.model.params_total, best.job.parallel.state_shards
    answer = {
        **_head(setting, best.job),
        "verdict": best.verdict,
        "limit": None if best.found is None else limit_of(best.found),
        "reason": best.reason or _reason(setting, best),
        "strategy": strategy(best.job),
        "per_device": None if best.found is None else per_device(setting, best),
        "per_host": None if best.found is None else per_host(setting, best),
        "checkpoint": checkpoint(setting, best.job),
        "max_micro_batch": None,
        "max_sequence_length": None,
        "smallest_count": None,
        "max_sequence_length_by_cp": {},
        "stages": explained(params, setting.recipe.state, shards) if best.job.adapter is None else [],
        "alternatives": alternatives(setting, best, judged),
        "assumptions": list(setting.assumed),
    }
    if best.found is not None:
        device, host = setting.machine.device, setting.host
        answer["max_micro_batch"] = max_micro_batch(best.job, device, host)
        answer["max_sequence_length"] = max_sequence_length(best.job, device, host)
        plain = replace(best.job, recompute="full", offload=Offload())
        answer["smallest_count"] = smallest_count(plain, device)
        answer["max_sequence_length_by_cp"] = _by_context_parallel(setting, best.job)
    if setting.machine.device.memory_rule != "printed":
        rule = setting.machine.device.memory_rule
        answer["assumptions"].append(
            f"memory of {setting.machine.device.name}: derived ({rule}), not read from a driver"
        )
    return answer


def _by_context_parallel(setting: TrainSetting, job: Job) -> dict[str, int]:
    """Return the longest sequence by the number of devices that share it: sharding states alone hardly lengthens it."""
    parallel, longest = job.parallel, {}
    ranks = parallel.dp * parallel.cp
    for cp in (1, 2, 4, 8, 16, 32, 64):
        if cp <= ranks and ranks % cp == 0:
            divided = replace(job, parallel=replace(parallel, dp=ranks // cp, cp=cp))
            longest[str(cp)] = max_sequence_length(divided, setting.machine.device, setting.host)
    return longest


def _head(setting: TrainSetting, job: Job) -> dict[str, Any]:
    recipe, anatomy = setting.recipe, setting.subject.anatomy
    trained = anatomy.model.params_total if job.adapter is None else trained_params(anatomy, job.adapter)
    state = recipe.state
    return {
        "model": setting.subject.shown,
        "hardware": setting.machine.shown,
        "accelerator": setting.machine.device.accelerator_id,
        "devices": job.parallel.devices,
        "recipe": recipe.recipe_id,
        "recipe_name": recipe.name,
        "method": recipe.method,
        "job": setting.question.job or "sft",
        "framework": setting.rules.name,
        "trained_params": trained,
        "base_precision": None if job.adapter is None else job.adapter.base.precision_id,
        "rank": None if job.adapter is None else job.adapter.rank,
        "targets": None if job.adapter is None else sorted(job.adapter.targets),
        "bytes_per_trained_parameter": {
            "weights": state.weights,
            "master": state.master,
            "gradients": state.gradients + state.accumulation,
            "optimizer": state.optimizer,
            "total": state.total,
        },
        "sequence_length": job.sequence_length,
        "micro_batch": job.micro_batch,
    }


def strategy(job: Job) -> dict[str, Any]:
    """Return the strategy as names and degrees, with what sharding divides and costs."""
    parallel, offload = job.parallel, job.offload
    return {
        "zero": parallel.zero,
        "partitioned": PARTITIONED[parallel.zero],
        "shards": parallel.state_shards if parallel.zero else 1,
        "state_bytes_per_parameter": bytes_per_parameter(job.recipe.state, parallel.zero, parallel.state_shards),
        "communication": COMMUNICATION[parallel.zero],
        "dp": parallel.dp,
        "tp": parallel.tp,
        "pp": parallel.pp,
        "cp": parallel.cp,
        "ep": parallel.ep,
        "recompute": job.recompute,
        "flash": job.flash,
        "offload_optimizer": offload.optimizer,
        "offload_parameters": offload.parameters,
        "offload_activations": offload.activations,
        "loss": job.loss or job.rules.loss,
    }


def per_device(setting: TrainSetting, best: Answer) -> dict[str, Any]:
    """Return bytes on the fullest device: components, the three moments, what lies there at the peak, and three levels.

    The levels are allocated (the parts at the peak together), reserved by the allocator, and seen by the driver.
    """
    found = best.found
    assert found is not None
    usable = usable_bytes(setting.machine.device)
    driver = round(found.driver)
    document: dict[str, Any] = {f"{name}_bytes": round(value) for name, value in found.components.items() if value}
    document |= {
        "peak_moment": found.moment,
        "moments": {f"{name}_bytes": round(value) for name, value in found.moments.items()},
        "at_peak": {f"{name}_bytes": round(value) for name, value in found.held_at[found.moment].items() if value},
        "allocated_bytes": round(found.allocated),
        "reserved_bytes": round(found.reserved),
        "driver_bytes": driver,
        "freeable_bytes": round(found.freeable),
        "low_bytes": round(found.driver - found.spread * found.allocated),
        "high_bytes": round(found.driver + found.spread * found.allocated),
        "usable_bytes": round(usable),
        "margin_bytes": round(usable) - driver,
        "pipeline_stage": found.stage,
    }
    return document


def per_host(setting: TrainSetting, best: Answer) -> dict[str, Any]:
    """Return bytes on one machine: offloaded shards with buffers, NVMe, and what loading the weights takes."""
    found, host = best.found, setting.host
    assert found is not None
    ram, nvme = host_need(best.job, found, host)
    params = setting.subject.anatomy.model.params_total
    return {
        "offloaded_bytes": {f"{name}_bytes": round(value * host.ranks) for name, value in found.host.items()},
        "ram_bytes": round(ram),
        "ram_available_bytes": None if host.ram_bytes is None else round(host.ram_bytes),
        "nvme_bytes": round(nvme),
        "nvme_available_bytes": None if host.nvme_bytes is None else round(host.nvme_bytes),
        "workers_bytes": round(host.worker_bytes * host.ranks),
        "load_every_rank_bytes": round(load_bytes(params, 2, host.ranks, False)),
        "load_rank_zero_bytes": round(load_bytes(params, 2, host.ranks, True)),
        "load_every_rank_fp32_bytes": round(load_bytes(params, 4, host.ranks, False)),
        "load_rank_zero_fp32_bytes": round(load_bytes(params, 4, host.ranks, True)),
        "devices": host.ranks,
    }


def checkpoint(setting: TrainSetting, job: Job) -> dict[str, int]:
    """Return checkpoint bytes on disk: to resume from, weights alone, and one rank's part of a sharded save.

    Mixed Adam keeps 14 bytes per parameter: 16-bit weights, fp32 copy, two moments.
    """
    anatomy = setting.subject.anatomy
    trained = anatomy.model.params_total if job.adapter is None else trained_params(anatomy, job.adapter)
    state = job.recipe.state
    whole = trained * state.checkpoint
    return {
        "resume_bytes": round(whole),
        "weights_bytes": round(trained * (2 if state.master else state.weights)),
        "gathered_on_one_rank_bytes": round(trained * (4 if job.rules.name == "torchtitan" else 2)),
        "sharded_per_rank_bytes": round(whole / max(1, job.parallel.devices)),
    }


def alternatives(setting: TrainSetting, best: Answer, judged: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return other strategies that were judged, nearest to fitting first."""
    rows: list[dict[str, Any]] = []
    for one in (*judged, *_other_losses(setting, judged)):
        if one is best or one.found is None:
            continue
        margin = usable_bytes(setting.machine.device) - one.found.driver
        shown = {name: value for name, value in strategy(one.job).items() if name in _SHOWN}
        rows.append(
            {**shown, "verdict": one.verdict, "driver_bytes": round(one.found.driver), "margin_bytes": round(margin)}
        )
    rows.sort(key=lambda row: -int(row["margin_bytes"]))
    return rows[:MOST_ALTERNATIVES]


_SHOWN = ("zero", "recompute", "offload_optimizer", "offload_parameters", "tp", "loss")


def _other_losses(setting: TrainSetting, judged: Sequence[Answer]) -> list[Answer]:
    """Return the strategies without offload under a fused loss, which keeps no logits."""
    plain = [one.job for one in judged if one.job.offload.optimizer == "none" and one.job.loss is None]
    jobs = [replace(job, loss="fused_linear") for job in plain[-2:]]
    return [judge(job, setting.machine.device, setting.host) for job in jobs]


def _reason(setting: TrainSetting, best: Answer) -> str:
    found = best.found
    assert found is not None
    usable = usable_bytes(setting.machine.device)
    what = f"{_gib(found.driver)} GiB per device as the driver sees it against {_gib(usable)} GiB"
    if best.verdict == "fits":
        return f"{what}; even the high estimate leaves {_gib(usable - _high(found))} GiB"
    if best.verdict == "tight":
        return f"{what}: {_gib(usable - found.driver)} GiB left, but the high estimate does not fit"
    return f"{what}: {_gib(found.driver - usable)} GiB too much, most of it {limit_of(found)}"


def _high(found: Footprint) -> float:
    return found.driver + found.spread * found.allocated


def _gib(value: float) -> str:
    return f"{value / GIB:.1f}"
