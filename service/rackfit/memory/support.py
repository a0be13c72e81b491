"""Whether an engine runs a format on a device: native, weight-only, emulated, none, or unknown.

"It loads, so it computes in that format" is a false belief (MEMORY_MODEL section 9): native means that the matrix
unit runs the format, weight_only that the kernel widens it, emulated that it is widened before the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rackfit.memory.domain import Device
from rackfit.memory.versions import version_key

LEVELS = ("native", "weight_only", "emulated", "none", "unknown")
"""From best to worst; unknown is not none."""


@dataclass(frozen=True, slots=True)
class SupportRule:
    """One row of what an engine says about a format on a range of devices, from one of its versions to another."""

    runtime_id: str
    precision_id: str
    vendor: str
    architecture: str
    support: str
    version_rank: int
    kernel: str | None = None
    note: str | None = None
    version_from: str | None = None
    version_to: str | None = None
    """None: the newest version still has it."""


def rules_at(rules: Iterable[SupportRule], runtime_id: str, version: tuple[int, ...]) -> tuple[SupportRule, ...]:
    """Return the rules that hold in a version of one engine, and in the newest version of all others.

    A version before all that is on record is read as the oldest one. Rules of engines that count commits instead of
    versions hold where the newest has them.
    """
    known = list(rules)
    numbered = [rule for rule in known if rule.runtime_id == runtime_id and _is_number(rule.version_from)]
    oldest = min((version_key(str(rule.version_from)) for rule in numbered), default=())
    at = max(version, oldest)

    def holds(rule: SupportRule) -> bool:
        if rule.runtime_id != runtime_id or not _is_number(rule.version_from):
            return rule.version_to is None
        until = rule.version_to is None or at <= (*version_key(rule.version_to), 99)
        return version_key(str(rule.version_from))[: len(at)] <= at and until

    return tuple(rule for rule in known if holds(rule))


def _is_number(version: str | None) -> bool:
    return version is not None and re.match(r"\d+\.\d", version) is not None


def covers(condition: str, device: Device) -> bool:
    """Return whether a condition of `precision_support` includes a device.

    Conditions are alternatives separated by commas: `any`, `cc>=8.0`, `7.5<=cc<10.0`, `cc10.x`, `cc9.0`,
    `gfx90a`, `gfx11xx`, or a name (`apple`, `tpu`, `gaudi2`). Remarks in brackets do not matter.
    """
    text = re.sub(r"\(.*?\)", "", condition).strip()
    return any(_covers_one(part.strip(), device) for part in text.split(","))


def _covers_one(part: str, device: Device) -> bool:
    if part == "any" or (part == "vulkan" and _has_vulkan(device)):
        return True
    if "cc" in part:
        return _covers_capability(part, device)
    target = (device.compute_capability or "").casefold()
    if part.startswith("gfx"):
        return (
            re.fullmatch(part.casefold().replace("x", ".") if part.endswith("x") else part.casefold(), target)
            is not None
        )
    if part.startswith("ROCm"):
        return target.startswith("gfx")
    vendor = device.vendor.casefold()
    if part == "XPU":
        return vendor == "intel" and "gaudi" not in device.accelerator_id
    return part.casefold() == vendor or part.casefold() in device.accelerator_id


def _has_vulkan(device: Device) -> bool:
    """Return whether a device is a GPU with a Vulkan driver: the makers' matrix engines without graphics are not."""
    return device.vendor.casefold() in ("amd", "intel", "nvidia") and "gaudi" not in device.accelerator_id


def _covers_capability(part: str, device: Device) -> bool:
    try:
        capability = float(device.compute_capability or "")
    except ValueError:
        return False
    exact = re.fullmatch(r"cc(\d+)\.(\d+|x)", part)
    if exact:
        major, minor = exact.groups()
        return int(capability) == int(major) if minor == "x" else capability == float(f"{major}.{minor}")
    between = re.fullmatch(r"(?:([\d.]+)(<=?))?cc(?:(>=|<=|<|>)([\d.]+))?", part)
    if not between:
        return False
    low, low_sign, sign, bound = between.groups()
    if low is not None and not (float(low) < capability or (low_sign == "<=" and float(low) == capability)):
        return False
    if bound is None:
        return True
    limit = float(bound)
    holds = {">=": capability >= limit, "<=": capability <= limit, "<": capability < limit, ">": capability > limit}
    return holds[sign]


def _stated(rules: Iterable[SupportRule], runtime_id: str, precision_id: str, vendor: str) -> list[SupportRule]:
    return [
        rule
        for rule in rules
        if rule.runtime_id == runtime_id and rule.precision_id == precision_id and rule.vendor in (vendor, "any")
    ]


def _newest(stated: Iterable[SupportRule], device: Device) -> SupportRule | None:
    matching = [rule for rule in stated if covers(rule.architecture, device)]
    return max(matching, key=lambda rule: (rule.vendor != "any", rule.version_rank), default=None)


def support_rule(
    rules: Iterable[SupportRule], runtime_id: str, precision_id: str, device: Device
) -> SupportRule | None:
    """Return the newest rule that names the device, if any: the kernel that runs there, and what to know of it."""
    return _newest(_stated(rules, runtime_id, precision_id, device.vendor.casefold()), device)


def support_level(rules: Iterable[SupportRule], runtime_id: str, precision_id: str, device: Device) -> str:
    """Return the level that the newest matching rule states.

    `unknown` where no rule speaks of the vendor's devices; `none` where rules do and leave this device out: an engine
    that states a format from compute capability 8.9 on does not run it below.
    """
    vendor = device.vendor.casefold()
    stated = _stated(rules, runtime_id, precision_id, vendor)
    newest = _newest(stated, device)
    if newest is not None:
        return newest.support
    if device.compute_capability and any(rule.vendor == vendor for rule in stated):
        return "none"
    return "unknown"
