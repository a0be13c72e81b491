"""Which efficiency record speaks for a question, and how much wider the range becomes where none quite does."""

from __future__ import annotations

from collections.abc import Sequence

from rackfit.errors import UnsupportedError
from rackfit.memory.domain import Precision
from rackfit.speed.domain import Chip, Chosen, Efficiency

ALIKE = {
    "ollama": "llama.cpp",
    "lm-studio": "llama.cpp",
    "ik_llama.cpp": "llama.cpp",
    "ktransformers": "llama.cpp",
    "mlx-lm": "llama.cpp",
    "litgpt": "transformers",
    "exllamav2": "exllama",
    "exllamav3": "exllama",
    "tgi": "vllm",
    "lmdeploy": "vllm",
    "tensorrt-llm": "vllm",
    "vllm-ascend": "vllm",
    "vllm-gaudi": "vllm",
}
"""Engine without measured cases -> the engine of its kind that has some: the same kernels, or the same way to work."""

FAMILIES = {"fp": "16bit", "fp8": "fp8", "mxfp8": "fp8", "int8": "int8", "gguf": "gguf"}
"""Family of a precision -> family of efficiencies; what is not listed has about 4 bits."""
SIXTEEN_BITS = 12.0
"""Effective bits from which a format counts as 16-bit."""

OTHER_ENGINE, OTHER_CLASS, OTHER_FAMILY, OTHER_DEVICE, ROUTING = 0.15, 0.20, 0.15, 0.05, 0.20
"""What is added to either side of the range, per thing that was not measured. The fits of one engine over several
devices leave single devices up to 0.2 off; classes of memory differ by up to twice as much, formats of one engine by
half (gpt-fast: 0.54 of the bandwidth in int4, 0.79 in 16 bits). Set by these differences, not fitted."""
MOST_BELOW, MOST_ABOVE = 0.75, 1.0


def family_of(precision: Precision) -> str:
    """Return the family of efficiencies that a weight layout falls under."""
    if precision.family == "fp" and precision.bits < SIXTEEN_BITS:
        return "fp8"
    return FAMILIES.get(precision.family, "int4")


def choose_efficiency(
    known: Sequence[Efficiency], engine: str, chip: Chip, family: str, kernel: str | None = None, experts: bool = False
) -> Chosen:
    """Return the record nearest to a question: engine first, then class of memory, then format.

    Args:
        known: all records.
        engine: the engine, by its usual name.
        chip: the device.
        family: 16bit, fp8, int8, int4 or gguf.
        kernel: the engine's kernel where the question names one.
        experts: whether the model routes tokens to experts.

    Raises:
        UnsupportedError: there is no record at all.
    """
    if not known:
        raise UnsupportedError("no efficiency is on record, so nothing but bounds can be said")
    wanted = ALIKE.get(engine, engine)

    def nearness(one: Efficiency) -> tuple[float, int, str]:
        near = 8.0 * (one.engine_name == wanted) + 4.0 * (one.memory_class == chip.memory_class)
        near += 2.0 * (one.precision_family in (family, "any")) + 1.0 * (kernel is not None and one.kernel == kernel)
        near += 0.5 * (chip.accelerator_id in one.devices)
        return near, one.case_count, one.efficiency_id

    best = max(known, key=nearness)
    reasons, more = _doubts(best, engine, chip, family, kernel)
    if experts and best.moe_layer_ms is None:
        reasons.append(f"no measured case of {best.efficiency_id} has experts: time of routing unknown, range wider")
        more += ROUTING
    return Chosen(
        best, min(best.spread_below + more, MOST_BELOW), min(best.spread_above + more, MOST_ABOVE), tuple(reasons)
    )


def _doubts(one: Efficiency, engine: str, chip: Chip, family: str, kernel: str | None) -> tuple[list[str], float]:
    """Return what of a question a record was not measured on, and by how much that widens the range."""
    reasons, more = [], 0.0
    if one.engine_name != engine:
        reasons.append(f"no measured case of {engine}: figures of {one.engine_name} used, range wider")
        more += OTHER_ENGINE
    if one.memory_class != chip.memory_class:
        reasons.append(f"no measured case of it on {chip.memory_class} memory: {one.memory_class} used, range wider")
        more += OTHER_CLASS
    elif chip.accelerator_id not in one.devices:
        reasons.append(f"{chip.name} is not among the measured devices: range wider")
        more += OTHER_DEVICE
    if one.precision_family not in (family, "any"):
        reasons.append(f"no measured case of {family} weights: {one.precision_family} used, range wider")
        more += OTHER_FAMILY
    if one.unit_kind is not None and one.unit_kind != chip.unit_kind:
        reasons.append(f"rate per {one.unit_kind} does not carry over to this device: bandwidth alone counts")
    if kernel is None and one.kernel is not None:
        reasons.append(f"kernel: {one.kernel} assumed")
    return reasons, more


def reached_gb_s(one: Efficiency, chip: Chip) -> float:
    """Return the GB/s at which weights are read: a share of the memory's, at most what the compute units take.

    Raises:
        UnsupportedError: the device's bandwidth is not on record.
    """
    if chip.bandwidth_gb_s is None:
        raise UnsupportedError(f"{chip.name}: its memory bandwidth is not on record, so no speed can be said")
    share = one.bandwidth_share * ((one.ecc_share or 1.0) if chip.inline_ecc else 1.0)
    reached = chip.bandwidth_gb_s * share
    if one.unit_gb_s and chip.units and one.unit_kind == chip.unit_kind:
        reached = min(reached, chip.units * one.unit_gb_s)
    return reached
