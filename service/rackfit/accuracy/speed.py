"""Estimates of single-stream decoding: tokens per second, from the case's configuration alone."""

from __future__ import annotations

import re
from dataclasses import replace

from rackfit.accuracy.figures import Figure
from rackfit.accuracy.setting import CaseSetting
from rackfit.catalog.read_speed import read_chip, read_efficiencies
from rackfit.memory.domain import Layout
from rackfit.speed.domain import Chip
from rackfit.speed.efficiency import choose_efficiency, family_of
from rackfit.speed.roofline import decode_step, tokens_per_s
from rackfit.speed.traffic import decode_traffic

ENGINES = (
    "gpt-fast", "exllamav2", "exllamav3", "exllama", "autoawq", "sglang", "vllm", "litgpt", "ollama", "mlx",
    "tensorrt-llm", "trt-llm", "lmdeploy", "tgi", "llama", "ggml", "transformers",
)  # fmt: skip
"""Words that name an engine in a case, the more particular ones first."""
RENAMED = {"llama": "llama.cpp", "ggml": "llama.cpp", "mlx": "mlx-lm", "trt-llm": "tensorrt-llm"}
TENSOR_SPLIT = frozenset({"gpt-fast"})
"""Engines that split matrices though their rules of memory are those of a stack that splits layers."""
SHORT_GENERATION = 256
"""Tokens assumed where a case states none: what short benchmarks generate."""
TWO_DEVICES = frozenset({"amd-mi250", "amd-mi250x"})
"""Cards that the driver shows as two devices: a count of such devices is a count of halves."""
POWER_LIMIT = re.compile(r"(\d+)\s*W limit", re.IGNORECASE)


def engine_name(setting: CaseSetting) -> str:
    """Return the engine of a case by the name that efficiencies use."""
    said = setting.case.engine.casefold()
    found = next((word for word in ENGINES if word in said), None)
    return RENAMED.get(found, found) if found else setting.budget.runtime_id


def mean_context(setting: CaseSetting) -> float:
    """Return the tokens that are in the cache on average while the case generates.

    Prompt plus half of what is generated where both are stated; half of all where the prompt is short (a decode test
    of llama-bench, a stated prompt of a few tokens); else the stated context, which generation begins with.
    """
    case = setting.case
    prompt = case.number("input_tokens") or case.number("prefill")
    made = case.number("output_tokens") or case.number("decode")
    if prompt is not None and made is not None:
        return prompt + made / 2
    total = case.context or SHORT_GENERATION
    from_nothing = case.settings.get("test", "").startswith("tg") or "prompt" in case.settings
    return total / 2 if from_nothing or case.context is None else float(total)


def case_layout(setting: CaseSetting, engine: str) -> Layout:
    """Return the layout of a case as its engine splits a model.

    Raises:
        UnsupportedError: the stated layout cannot run.
    """
    case = setting.case
    if engine in TENSOR_SPLIT and setting.count > 1:
        return Layout(tp=case.tp or setting.count // (case.pp or 1), pp=case.pp or 1)
    return setting.layout()


def case_chips(setting: CaseSetting, layout: Layout) -> tuple[Chip, ...]:
    """Return the chip of each stage where cards are unlike, else the one chip."""
    assert setting.machine is not None  # `device` refuses a case without
    devices = [setting.machine.device] * setting.machine.count
    for other, count in setting.machine.others:
        devices += [other] * count
    names = [device.accelerator_id for device in devices]
    if len(set(names)) == 1 or len(names) != layout.pp:
        chip = read_chip(setting.connection, setting.device.accelerator_id)
        if chip.accelerator_id in TWO_DEVICES and chip.bandwidth_gb_s:
            chip = replace(chip, bandwidth_gb_s=chip.bandwidth_gb_s / 2, units=(chip.units or 0) // 2 or None)
        return (chip,)
    return tuple(read_chip(setting.connection, name) for name in names)


def decode_speed(setting: CaseSetting) -> Figure:
    """Return the tokens per second of all sequences of a case while it decodes.

    Raises:
        UnsupportedError: no device, or one whose bandwidth is not on record.
    """
    engine, precision = engine_name(setting), setting.layout_precision
    _ = setting.device
    layout = case_layout(setting, engine)
    chips = case_chips(setting, layout)
    context, sequences = mean_context(setting), setting.case.batch or 1
    kernel = setting.case.settings.get("kernel")
    chosen = choose_efficiency(
        read_efficiencies(setting.connection), engine, chips[0], family_of(precision), kernel,
        setting.anatomy.has_experts,
    )  # fmt: skip
    traffic = decode_traffic(setting.anatomy, precision, layout, context, sequences, setting.kv_bits)
    step = decode_step(setting.anatomy, layout, traffic, chips, chosen, context, sequences)
    speed = tokens_per_s(step, chosen, sequences)
    notes = (f"estimate by {chosen.efficiency.efficiency_id}, {chosen.efficiency.case_count} cases", *chosen.reasons)
    limit = POWER_LIMIT.search(setting.case.gpu)
    if limit is not None:
        notes += (f"power limit of {limit[1]} W: reading memory is not slowed by it",)
    if step.bound_by == "host":
        notes += ("bound by the host that launches the layers, whose speed the case does not state: a wide range",)
    return Figure(speed.value, speed.low, speed.high, notes)


__all__ = ["decode_speed"]
