"""Answers with part of the model in RAM: a layout of its own, with the bytes and the speed of each tier."""

from __future__ import annotations

from typing import Any

from rackfit.ask.degrees import offload_refusal
from rackfit.ask.describe import OFFLOAD, described, refused, whole
from rackfit.ask.hosts import CPU
from rackfit.ask.setting import Setting
from rackfit.fit.beside import beside_terms
from rackfit.fit.offload import Case, Host, Offloaded, evaluate_offload, fewest_experts, most_layers
from rackfit.fit.verdicts import NO, TIGHT, VERDICTS
from rackfit.memory.budget import GIB
from rackfit.memory.domain import Layout
from rackfit.memory.offload import Offload, moe_layers

ENGINE = "llama.cpp"


def offload_answer(setting: Setting, host: Host) -> dict[str, Any]:
    """Return the answer with layers or experts in RAM, as asked or as far as needed."""
    reason = _refusal(setting)
    if reason is not None:
        return refused(setting, OFFLOAD, reason)
    layout = Layout(pp=setting.machine.count)
    terms = beside_terms(
        setting.beside, setting.subject.anatomy, setting.precision, setting.budget, layout, setting.asked
    )  # fmt: skip
    case = Case(
        setting.subject.anatomy, setting.precision, setting.budget, setting.machine.device, setting.machine.count,
        setting.asked, setting.memory, setting.spread, None if setting.beside.empty else terms.added(layout.pp),
    )  # fmt: skip
    return _described(setting, case, _choose(setting, case), host)


def _refusal(setting: Setting) -> str | None:
    """Return why nothing can lie in RAM here; None where it can."""
    device, question = setting.machine.device, setting.question
    if device.vendor == CPU:
        return "all of the model lies in RAM already: there is no device to keep layers on"
    if device.unified:
        return f"{device.name} has one pool of memory: RAM is the same memory and is never added to it"
    if setting.budget.family != ENGINE:
        return f"layers and experts in RAM are answered for {ENGINE}, not for {setting.budget.runtime_id}"
    if setting.machine.others:
        return "layers in RAM beside unlike devices are not answered: name one kind of device"
    if question.cpu_experts is not None and not setting.subject.anatomy.has_experts:
        return f"{setting.subject.shown} has no routed experts to keep in RAM"
    if setting.machine.count > setting.subject.anatomy.model.n_layers:
        return (
            f"PP {setting.machine.count} needs as many layers, the model has {setting.subject.anatomy.model.n_layers}"
        )
    return offload_refusal(setting)


def _choose(setting: Setting, case: Case) -> Offloaded:
    """Return the answer for the counts asked, or for those that fit best."""
    layers, experts = setting.question.gpu_layers, setting.question.cpu_experts
    if experts == "auto" and layers in (None, "auto"):
        return fewest_experts(case)
    count = moe_layers(case.anatomy) if experts in ("all", "auto") else min(int(experts or 0), moe_layers(case.anatomy))
    if layers == "auto":
        return most_layers(case, count)
    kept = case.everything if layers is None else min(int(layers), case.everything)
    return evaluate_offload(case, Offload(kept, count))


def _described(setting: Setting, case: Case, found: Offloaded, host: Host) -> dict[str, Any]:
    answer = described(setting, found.cell)
    own, ram = VERDICTS.index(answer["verdict"]), host.verdict(found.host_needed)
    verdict = min(own, TIGHT if ram is None else ram)
    moved = found.offload.gpu_layers < case.everything or found.offload.cpu_experts > 0
    answer["offloaded"] = moved
    answer["offload"] = _block(setting, case, found, host)
    if not moved:
        return answer
    answer["verdict"] = VERDICTS[verdict]
    if verdict < own:
        answer["limit"] = "host_ram"
        answer["reason"] = _ram_reason(found, host)
    if any(found.tiers.layers_on_host):
        answer["assumptions"].append("longest context: as the devices allow, with the layers that lie on them")
    return answer


def _ram_reason(found: Offloaded, host: Host) -> str:
    needed, ram = found.host_needed / GIB, (host.ram_bytes or 0) / GIB
    if host.ram_bytes is None:
        return (
            f"the devices hold their part, but the RAM of the host is not known: {needed:.2f} GiB needed "
            "(--host-ram GIB, in an address host_ram_gib=GIB)"
        )
    if host.verdict(found.host_needed) == NO:
        return f"{needed:.2f} GiB needed in RAM against {ram:.2f} GiB: {needed - ram:.2f} GiB too much"
    return f"{needed:.2f} GiB needed in RAM against {ram:.2f} GiB: less than a tenth stays free"


def _block(setting: Setting, case: Case, found: Offloaded, host: Host) -> dict[str, Any]:
    """Return where the model lies: counts as the engine takes them, bytes and speed of each tier."""
    placed = found.tiers
    speed = setting.machine.device.bandwidth_gb_s
    tiers = [
        {
            "tier": "device",
            "weights_bytes": round(sum(placed.devices)),
            "kv_bytes": round(found.device_kv),
            "read_bytes_per_token": round(placed.devices_read),
            "bandwidth_gb_s": speed,
        },
        {
            "tier": "host",
            "weights_bytes": round(placed.host),
            "kv_bytes": round(found.host_kv),
            "read_bytes_per_token": round(placed.host_read),
            "bandwidth_gb_s": host.bandwidth_gb_s,
        },
    ]
    return {
        "gpu_layers": found.offload.gpu_layers,
        "cpu_experts": found.offload.cpu_experts,
        "layers": case.anatomy.model.n_layers,
        "layers_on_device": sum(sum(counts) for counts in placed.layers_on),
        "head_on_device": found.offload.gpu_layers > 0,
        "device_bytes": round(sum(placed.devices)),
        "host_bytes": round(found.host_needed),
        "host_ram_bytes": whole(host.ram_bytes) if host.ram_bytes else None,
        "host_verdict": None if host.ram_bytes is None else VERDICTS[host.verdict(found.host_needed) or 0],
        "tiers": tiers,
        "most_tokens_per_s": _most_tokens(placed.devices_read, speed, placed.host_read, host.bandwidth_gb_s),
    }


def _most_tokens(device_read: float, device: float | None, host_read: float, host: float | None) -> float | None:
    """Return the tokens per second of one sequence that bandwidth alone allows: weights read once from each tier."""
    if not device or not host:
        return None
    seconds = device_read / (device * 1e9) + host_read / (host * 1e9)
    return round(1 / seconds, 2) if seconds else None
