"""What an answer takes for granted of engine and layout, line by line, and which settings change nothing."""

from __future__ import annotations

from rackfit.ask.setting import Setting
from rackfit.memory.budget import tier_sizes
from rackfit.memory.domain import Layout

SHARES = ("share_of_total", "share_of_free")
"""Equations of engines that take a share of a device, run so many tokens a pass and so many sequences at a time."""


def engine_lines(setting: Setting, layout: Layout) -> list[str]:
    """Return the defaults of the engine and the layout that the user left open, and what was said in vain."""
    question, budget = setting.question, setting.budget
    tokens, sequences = (
        int(size) for size in tier_sizes(budget, setting.memory, setting.machine.device.name, setting.asked.knobs)
    )
    lines = []
    if question.precision is None and setting.subject.precision_id == setting.choice.precision_id:
        lines.append(f"precision: {setting.choice.precision_id}, the checkpoint's own")
    if setting.devices > 1 and None in (question.tp, question.pp) and question.split is None:
        degrees = {"TP": layout.tp, "PP": layout.pp, "EP": layout.ep, "DP": layout.dp}
        shown = " x ".join(f"{name} {degree}" for name, degree in degrees.items() if degree > 1)
        lines.append(f"layout: {shown or 'one device'}, chosen")
    if question.utilization is None and budget.equation == "share_of_total":
        lines.append(f"utilization: {budget.utilization:g} of memory, {budget.runtime_id}'s default")
    if question.utilization is None and budget.equation == "share_of_free":
        lines.append(f"utilization: {budget.runtime_id}'s own share of free memory")
    if question.max_batched_tokens is None and _counts_batches(setting):
        lines.append(f"tokens of one pass: {tokens}, {budget.runtime_id}'s default")
    if question.max_sequences is None and budget.equation in SHARES:
        lines.append(f"sequence limit: {sequences}, {budget.runtime_id}'s default")
    return lines + _in_vain(setting)


def _counts_batches(setting: Setting) -> bool:
    return setting.budget.equation in SHARES or setting.budget.profiled_tokens in ("batched_tokens", "ubatch")


def _in_vain(setting: Setting) -> list[str]:
    """Return the settings that the engine or the question has no use for."""
    question, engine = setting.question, setting.budget.runtime_id
    found = []
    if question.utilization is not None and setting.budget.equation not in SHARES:
        found.append(f"utilization: not used, {engine} takes no share of a device")
    if question.max_batched_tokens is not None and not _counts_batches(setting):
        found.append(f"tokens of one pass: not used, {engine} has no such limit on record")
    if question.max_sequences is not None and setting.budget.equation not in SHARES:
        found.append(f"sequence limit: not used, {engine} sets nothing aside for it")
    if question.lora_rank is not None and question.lora_slots is None:
        found.append("adapters: a rank without slots is none (--lora-slots)")
    return found


def waiting(setting: Setting, layout: Layout) -> list[str]:
    """Return that sequences wait, where more are asked than the engine runs at a time on one replica."""
    if setting.budget.equation not in SHARES:
        return []
    _, limit = tier_sizes(setting.budget, setting.memory, setting.machine.device.name, setting.asked.knobs)
    most = int(limit) * layout.dp
    asked = setting.asked.sequences
    if asked <= most:
        return []
    return [f"{setting.budget.runtime_id} runs {most} sequences at a time (--max-sequences): {asked - most} wait"]
