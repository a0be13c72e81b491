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


@dataclass(frozen=True, slots=True)
class EngineFloor:
    """The devices of one maker that an engine starts on at all, whatever the format, from one of its versions on."""

    runtime_id: str
    vendor: str
    version_from: str | None
    least: float | None = None
    """Least compute capability of NVIDIA's devices."""
    targets: frozenset[str] = frozenset()
    """Instruction sets of AMD's devices that the engine is built for."""

    def admits(self, device: Device) -> bool:
        """Return whether the engine starts on a device; a device of another maker or of unknown kind is not refused."""
        if device.vendor.casefold() != self.vendor or device.compute_capability is None:
            return True
        if self.least is None:
            return device.compute_capability in self.targets
        try:
            return float(device.compute_capability) >= self.least
        except ValueError:
            return True

    @property
    def said(self) -> str:
        """What the engine needs, in words."""
        if self.least is not None:
            return f"compute capability {self.least:g}"
        return f"one of {', '.join(sorted(self.targets))}"


def read_floor(
    runtime_id: str, term: str, value: str, applies_when: str | None, version_from: str | None
) -> EngineFloor | None:
    """Return the floor that a rule `min_cc` or `min_gfx` states; None where it holds for some formats only.

    >>> sorted(read_floor("x", "min_gfx", "gfx90a, gfx1100-1102", "vendor=amd", None).targets)
    ['gfx1100', 'gfx1101', 'gfx1102', 'gfx90a']
    """
    conditions = (applies_when or "").split(";")
    if term == "min_cc" and conditions == ["vendor=nvidia"] and (number := re.match(r"\d+\.\d", value)):
        return EngineFloor(runtime_id, "nvidia", version_from, least=float(number[0]))
    if term == "min_gfx" and conditions[0] == "vendor=amd":
        names = re.findall(r"gfx([0-9a-f]+)((?:[/-][0-9a-f]+)*)", value)
        targets = {f"gfx{name}" for first, more in names for name in _named_targets(first, more)}
        return EngineFloor(runtime_id, "amd", version_from, targets=frozenset(targets))
    return None


def _named_targets(first: str, more: str) -> list[str]:
    """Return `1100` with what follows it: `/1101` is one more, `-1102` all up to it."""
    found = [first]
    for sign, last in re.findall(r"([/-])([0-9a-f]+)", more):
        start = int(first, 16) + 1 if sign == "-" else int(last, 16)
        found += [f"{number:x}" for number in range(start, int(last, 16) + 1)]
    return found


def floors_at(
    floors: Iterable[EngineFloor], runtime_id: str | None = None, version: tuple[int, ...] = ()
) -> tuple[EngineFloor, ...]:
    """Return the floor of every engine and maker: the newest, of one engine that of a version.

    A floor holds until the next one; a version before all on record has the oldest.
    """
    own: dict[tuple[str, str], list[EngineFloor]] = {}
    for floor in floors:
        own.setdefault((floor.runtime_id, floor.vendor), []).append(floor)
    chosen = []
    for (runtime, _), listed in own.items():
        ordered = sorted(listed, key=lambda floor: version_key(floor.version_from or ""))
        if runtime == runtime_id:
            reached = [floor for floor in ordered if version_key(floor.version_from or "")[: len(version)] <= version]
            chosen.append(reached[-1] if reached else ordered[0])
        else:
            chosen.append(ordered[-1])
    return tuple(chosen)


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
