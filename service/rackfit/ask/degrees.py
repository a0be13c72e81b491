"""Degrees of parallelism: which layouts a question leaves open, and why what it asks for cannot be had.

What is given is kept: a degree that cannot be met is refused with the number that forbids it, never left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rackfit.ask.setting import Setting
from rackfit.memory.domain import Layout
from rackfit.memory.layouts import candidates, idle_candidates, refusal, tensor_degrees

DEGREES = ("tp", "pp", "ep", "dp")


def given_degrees(setting: Setting) -> dict[str, int]:
    """Return the degrees that the user gave."""
    said = {name: getattr(setting.question, name) for name in DEGREES}
    return {name: degree for name, degree in said.items() if degree is not None}


def layouts_of(setting: Setting) -> tuple[list[Layout], str | None]:
    """Return the layouts that keep what the user gave and can run, and the reason of the first that cannot."""
    found, reason = _unstriped(setting)
    dcp = setting.question.dcp
    if dcp is None or dcp == 1:
        return found, reason
    anatomy, precision, budget = setting.subject.anatomy, setting.precision, setting.budget
    layouts = [replace(layout, dcp=dcp) for layout in found]
    refused = [refusal(anatomy, precision, layout, budget) for layout in layouts]
    kept = [layout for layout, why in zip(layouts, refused, strict=True) if why is None]
    return kept, reason if kept or not refused else refused[0]


def _unstriped(setting: Setting) -> tuple[list[Layout], str | None]:
    """Return the layouts without context parallelism, and the reason of the first that cannot run.

    Layouts over all devices come first, then those that leave some idle: five cards hold what four hold.
    """
    machine, budget, anatomy, devices = setting.machine, setting.budget, setting.subject.anatomy, setting.devices
    given = given_degrees(setting)
    if machine.sliced and given.get("dp", 1) <= devices:
        return [Layout(dp=given.get("dp", devices))], None
    if {"tp", "pp"} <= given.keys() or given.get("tp") == devices:
        return _fixed(setting, Layout(given.get("tp", 1), given.get("pp", 1), given.get("ep", 1), given.get("dp", 1)))
    per_domain = devices if given.get("tp") else machine.per_domain
    found, reason = _runnable(setting, candidates(anatomy, devices, per_domain, budget), given)
    if given and not found:
        fewer = (
            layout
            for count in range(devices - 1, 0, -1)
            for layout in candidates(anatomy, count, min(per_domain, count), budget)
        )
        found, other = _runnable(setting, fewer, given)
        reason = reason or other
    elif not given:
        found += _runnable(setting, idle_candidates(anatomy, devices, per_domain, budget), given)[0]
    if not found and reason is None:
        wanted = ", ".join(f"{name.upper()} {value}" for name, value in given.items())
        reason = f"no layout of {devices} device{'s' if devices > 1 else ''} has {wanted}"
    return found, reason


def _fixed(setting: Setting, layout: Layout) -> tuple[list[Layout], str | None]:
    if layout.devices > setting.devices:
        needed = f"TP {layout.tp} x PP {layout.pp} x DP {layout.dp} needs {layout.devices} devices"
        return [], f"{needed}, there are {setting.devices}"
    reason = refusal(setting.subject.anatomy, setting.precision, layout, setting.budget)
    return ([], reason) if reason else ([layout], None)


def _runnable(setting: Setting, layouts: Iterable[Layout], given: dict[str, int]) -> tuple[list[Layout], str | None]:
    """Return the layouts with the degrees given that can run; replicas only where nothing else can."""
    found: list[Layout] = []
    first_reason, copies = None, 0
    for layout in layouts:
        if any(getattr(layout, name) != value for name, value in given.items()):
            continue
        if layout.dp != copies and found and "dp" not in given:
            break
        copies = layout.dp
        reason = refusal(setting.subject.anatomy, setting.precision, layout, setting.budget)
        if reason is None:
            found.append(layout)
        elif first_reason is None:
            first_reason = reason
    return found, first_reason


def with_degrees(setting: Setting, reason: str) -> str:
    """Return why a tensor parallel degree is refused, with the degrees that the model and format allow."""
    names_a_degree = reason.startswith("TP ") and " needs " not in reason
    if not names_a_degree or setting.budget.parallelism == "layers":
        return reason
    allowed = [str(degree) for degree in tensor_degrees(setting.subject.anatomy, setting.precision, setting.budget)]
    return f"{reason}; TP can be {', '.join(allowed)}" if len(allowed) > 1 else f"{reason}; no TP above 1 can run"


def unlike_shares(setting: Setting) -> tuple[str | None, str | None]:
    """Return how unlike devices, or a split of the user's, are shared, and why what was given cannot be had.

    `layers` for one stage on each device, `equal` for tensor parallelism over all, None for what fits.
    """
    given, devices = given_degrees(setting), setting.devices
    tp, pp, split = given.get("tp"), given.get("pp"), setting.question.split
    for name in ("dp", "ep"):
        if given.get(name, 1) > 1:
            return None, f"{name.upper()} {given[name]} over unlike devices is not answered: ask for each kind alone"
    if (setting.question.dcp or 1) > 1:
        return None, f"DCP {setting.question.dcp} over unlike devices is not answered: ask for one kind of device"
    if split is not None and (tp or 1) > 1:
        return None, f"a split places whole layers, TP {tp} divides every one of them: give one of the two"
    if tp is not None and pp is not None and tp * pp != devices:
        return None, f"TP {tp} x PP {pp} is not the {devices} unlike devices: all of them by TP, or one stage on each"
    if tp is not None and tp > 1:
        refused = None if tp == devices else f"TP {tp} over {devices} unlike devices: all of them, or PP"
        return "equal", refused
    if pp is not None and pp not in (1, devices):
        return None, f"PP {pp} over {devices} unlike devices: one stage on each, or TP {devices}"
    if pp == 1 and tp is None:
        return "equal", None
    across = setting.machine.nodes > 1 and tp is None and pp is None
    return ("layers" if split or tp == 1 or pp == devices or across else None), None


def offload_refusal(setting: Setting) -> str | None:
    """Return the degree given that layers in RAM leave no room for: whole layers over all devices, and nothing else."""
    given, devices = given_degrees(setting), setting.devices
    for name, degree in (*given.items(), ("dcp", setting.question.dcp or 1)):
        if degree != (devices if name == "pp" else 1):
            return (
                f"{name.upper()} {degree} with layers in RAM: {setting.budget.runtime_id} puts whole layers on devices"
            )
    if setting.question.split is not None:
        return "a split of layers with layers in RAM is not answered: give one of the two"
    return None
