"""The weight classes of the stored matrix: native, 16-bit, the best 8-bit and 4-bit that a device runs, and Q4_K_M."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rackfit.memory.domain import Device, Model, Precision
from rackfit.memory.support import LEVELS, EngineFloor, SupportRule, covers, support_level, support_rule

SIXTEEN_BIT = ("bf16", "fp16")
THIRTY_TWO_BIT = "fp32"
ANYTHING = "*"
"""Stands for any format where levels already looked up are kept."""
EIGHT_BIT = ("fp8_e4m3_per_channel", "int8_w8a8", "gptq_int8_g128", "ggufmix_q8_0")
FOUR_BIT = ("awq_int4_g128", "gptq_int4_g128", "nvfp4", "mxfp4", "ggufmix_q4_k_m")
"""Candidates in the order that breaks ties: what most people load first."""
Q4_K_M = "ggufmix_q4_k_m"
SERVER = "vllm"
FILE_RUNTIME = "llama.cpp"
MLX_RUNTIME = "mlx-lm"
SIXTEEN_BIT_CACHE = "kv_bf16"
FILE_TYPES = {"mxfp4": "gguf_mxfp4", "mxfp4_experts_bf16": "gguf_mxfp4", "nvfp4": "gguf_nvfp4"}
"""Formats that a GGUF file keeps bit for bit, and the tensor type that it keeps them in."""
FILE_FAMILIES = ("gguf", "fp")
"""Families of formats that a GGUF file can hold as they are."""
RUNS = ("native", "weight_only", "emulated")


@dataclass(frozen=True, slots=True)
class Choice:
    """A precision with the engine that runs it on a device, and how well."""

    precision_id: str
    runtime_id: str
    support: str


@dataclass(frozen=True, slots=True)
class Chooser:
    """Picks precisions and engines from what versions of the engines state, the newest unless one is asked for.

    `bases` maps a precision to the one that its support is stated for (a GGUF mix to its base type).
    """

    rules: tuple[SupportRule, ...]
    precisions: dict[str, Precision]
    bases: dict[str, str]
    floors: tuple[EngineFloor, ...] = ()
    """What a device must be for an engine to start on it, whatever the format."""
    known: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Levels already looked up: the same few questions come back for every model."""

    def level(self, runtime_id: str, precision_id: str, device: Device) -> str:
        """Return the support level of a precision on a device under an engine."""
        key = (runtime_id, precision_id, device.accelerator_id)
        if key not in self.known:
            base = self._base(runtime_id, precision_id)
            stated = support_level(self.rules, runtime_id, base, device)
            if stated == "unknown" and base == THIRTY_TWO_BIT:
                stated = self._thirty_two_bit(runtime_id, device)
            refused = stated == "unknown" and self._no_file(runtime_id, base)
            self.known[key] = "none" if refused or self.missing(runtime_id, device) else stated
        return self.known[key]

    def missing(self, runtime_id: str, device: Device) -> str | None:
        """Return what an engine needs to start on a device and the device lacks; None where nothing is missing."""
        own = (floor for floor in self.floors if floor.runtime_id == runtime_id and not floor.admits(device))
        return next((floor.said for floor in own), None)

    def _thirty_two_bit(self, runtime_id: str, device: Device) -> str:
        """Return the level of 32-bit floats, which tables leave out because every device computes them.

        What remains is whether the engine runs on the device at all, and its 16-bit formats say that: an engine that
        runs neither of them there does not run there.
        """
        found = {self.level(runtime_id, name, device) for name in SIXTEEN_BIT}
        return "native" if found & set(RUNS) else "none" if found == {"none"} else "unknown"

    def _base(self, runtime_id: str, precision_id: str) -> str:
        base = self.bases.get(precision_id, precision_id)
        return FILE_TYPES.get(precision_id, base) if runtime_id == FILE_RUNTIME else base

    def rule(self, runtime_id: str, precision_id: str, device: Device) -> SupportRule | None:
        """Return the rule that the level comes from; None where no rule names the device."""
        return support_rule(self.rules, runtime_id, self._base(runtime_id, precision_id), device)

    def _no_file(self, runtime_id: str, precision_id: str) -> bool:
        """Return whether an engine that reads GGUF files only is asked for a format that no such file holds."""
        precision = self.precisions.get(precision_id)
        return runtime_id == FILE_RUNTIME and precision is not None and precision.family not in FILE_FAMILIES

    def cache_level(self, runtime_id: str, kv_id: str, device: Device) -> str:
        """Return whether an engine caches in a format: `none` where its rules name formats and leave this one out.

        A rule that leaves a device out is no refusal here: engines widen small caches on read.
        """
        if kv_id == SIXTEEN_BIT_CACHE:
            return "native"
        stated = self.level(runtime_id, kv_id, device)
        if stated in RUNS or any(
            rule.runtime_id == runtime_id and rule.precision_id == kv_id and rule.support == "none"
            for rule in self.rules
        ):
            return stated
        own = [
            rule.precision_id for rule in self.rules if rule.runtime_id == runtime_id and _is_cache(rule.precision_id)
        ]
        elsewhere = any(rule.precision_id == kv_id for rule in self.rules)
        return "none" if own and kv_id not in own and elsewhere else "unknown"

    def speaks_of(self, runtime_id: str, device: Device) -> bool:
        """Return whether an engine's rules say of any format that it runs on this very device."""
        key = (runtime_id, ANYTHING, device.accelerator_id)
        if key not in self.known:
            vendor = device.vendor.casefold()
            named = any(
                rule.vendor == vendor and rule.support in RUNS and covers(rule.architecture, device)
                for rule in self.rules
                if rule.runtime_id == runtime_id
            )
            self.known[key] = "native" if named else "unknown"
        return self.known[key] in RUNS

    def in_doubt(self, choice: Choice, device: Device, assume_16_bit: Callable[[Device], bool]) -> bool:
        """Return whether nothing on record says that a format runs on a device, so that a verdict is at most tight.

        An unquantised format needs no record of its own: the hardware computes it, and the engine runs there.
        """
        if choice.support != "unknown":
            return False
        name = choice.precision_id
        plain = name in (*SIXTEEN_BIT, THIRTY_TWO_BIT) and self.speaks_of(choice.runtime_id, device)
        elsewhere = (self.level(engine, name, device) in RUNS for engine in (SERVER, FILE_RUNTIME))
        return not (plain and (assume_16_bit(device) or any(elsewhere)))

    def runtime_for(self, precision_id: str, device: Device) -> Choice:
        """Return the engine for a precision: MLX-LM for its own, llama.cpp for GGUF, Apple and bare hosts, else vLLM.

        The level is `none` where neither runs it, `unknown` where neither says.
        """
        family = self.precisions[precision_id].family
        options: tuple[str, ...] = (SERVER, FILE_RUNTIME)
        if family == "mlx":
            options = (MLX_RUNTIME,)
        elif family == "gguf" or device.vendor in ("Apple", "cpu"):
            options = (FILE_RUNTIME,)
        choices = [Choice(precision_id, runtime, self.level(runtime, precision_id, device)) for runtime in options]
        return min(choices, key=lambda choice: _preference(choice.support))

    def best_of(self, candidates: tuple[str, ...], device: Device) -> Choice | None:
        """Return the candidate with the best support on a device, None where none of them is known to run."""
        choices = [self.runtime_for(name, device) for name in candidates if name in self.precisions]
        running = [choice for choice in choices if choice.support in RUNS]
        return min(running, key=lambda choice: LEVELS.index(choice.support), default=None)

    def classes(self, model: Model, device: Device, assume_16_bit: Callable[[Device], bool]) -> list[Choice]:
        """Return the classes of a model on a device, doubles merged, best known first.

        Args:
            model: its native precision decides which quantised classes make sense.
            device: the device.
            assume_16_bit: says of a device whether its hardware computes 16-bit floats, for vendors on whom the
                engines' tables are silent; such a choice keeps the level `unknown`.
        """
        native = model.native_precision
        native_bits = self.precisions[native].bits if native in self.precisions else 16.0
        wanted = [self._sixteen(device, assume_16_bit)]
        if native in self.precisions and native not in SIXTEEN_BIT:
            choice = self.runtime_for(native, device)
            wanted.append(choice if choice.support in RUNS else None)
        if native_bits > 10:
            wanted.append(self.best_of(EIGHT_BIT, device))
        if native_bits > 6:
            wanted.append(self.best_of(FOUR_BIT, device))
        wanted.append(self.best_of((Q4_K_M,), device))
        return list({choice.precision_id: choice for choice in wanted if choice is not None}.values())

    def _sixteen(self, device: Device, assume_16_bit: Callable[[Device], bool]) -> Choice | None:
        stated = self.best_of(SIXTEEN_BIT, device)
        if stated is not None:
            return stated
        if device.vendor != "Apple" and assume_16_bit(device):
            return Choice("bf16", SERVER, "unknown")
        return None


def _is_cache(precision_id: str) -> bool:
    return precision_id.startswith("kv_")


def _preference(support: str) -> int:
    order = (*RUNS, "unknown", "none")
    return order.index(support)
