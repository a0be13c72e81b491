"""Estimates of weights: as loaded, as files, as published."""

from __future__ import annotations

from dataclasses import replace

from rackfit.accuracy.figures import Figure, around
from rackfit.accuracy.setting import CaseSetting
from rackfit.catalog.read import rows_of
from rackfit.fit.cell import device_weights, weight_spread
from rackfit.memory.domain import Layout, Model
from rackfit.memory.gguf import gguf_bytes, gguf_size
from rackfit.memory.published import is_converted
from rackfit.memory.weights import GGUF_MIX, prediction_bytes, stage_weights

LOADED_SPREAD = 0.03
"""Loads printed by engines exceed the tensors by up to 3 % (Gemma, Qwen2.5 under vLLM): buffers and towers per rank."""
SIXTEEN_BITS = 16
EARLY_EXPERTS = 8
OWN_MIX = 1.2
"""A file whose tensors its maker chose one by one over the plain mix of its name, at most: 1.04 of DeepSeek-R1's
UD-IQ1_S, more where the model is small."""

COUNT_ALONE = "from the parameter count alone: which tensors keep more bits is not known"


def from_count(value: float) -> Figure:
    """Return weights that follow from a parameter count and the bits of the format, bytes."""
    return Figure(value, 0.97 * value, 1.2 * value, (COUNT_ALONE,))


def _stages(setting: CaseSetting) -> tuple[float, ...]:
    return device_weights(setting.anatomy, setting.layout_precision, setting.budget, setting.layout())


def weights_per_device(setting: CaseSetting) -> Figure:
    """Return the weights on the fullest device, bytes."""
    counted = setting.counted_bytes
    if counted is not None:
        return from_count(counted / max((setting.case.tp or 1) * (setting.case.pp or 1), 1))
    value = max(_stages(setting))
    return around(value, value * LOADED_SPREAD + value * weight_spread(setting.layout_precision))


def weights_total(setting: CaseSetting) -> Figure:
    """Return all weights once, bytes: the published file where one is on record, else the estimate."""
    if setting.counted_bytes is not None:
        return from_count(setting.counted_bytes)
    known = artifact_bytes(setting)
    if known is not None:
        return known
    value = sum(stage_weights(setting.anatomy, setting.layout_precision, Layout()))
    return around(value, value * LOADED_SPREAD + value * weight_spread(setting.layout_precision))


def artifact_bytes(setting: CaseSetting) -> Figure | None:
    """Return the bytes of the published file that the case means, None where none is on record or several may be meant.

    It means the file that it names, exactly; else, where it names a model and another format, the one checkpoint in
    that format that is on record. Others may have converted the same model in another way, so that this has a range.
    """
    if setting.subject is None or setting.precision is None:
        return None
    found = rows_of(
        setting.connection,
        "select artifact_id, bytes from artifacts where lower(artifact_id) = ? and precision_id = ?",
        setting.case.model.casefold(),
        setting.precision.precision_id,
    )
    if found:
        size = float(found[0]["bytes"])
        return Figure(size, size, size, (f"published file {found[0]['artifact_id']}",))
    if setting.precision.precision_id == setting.subject.precision_id:
        return None
    found = rows_of(
        setting.connection,
        "select artifact_id, bytes from artifacts where model_id = ? and precision_id = ? "
        "and instr(lower(artifact_id), 'gguf') = 0 and instr(lower(artifact_id), 'mmproj') = 0",
        setting.subject.anatomy.model.model_id,
        setting.precision.precision_id,
    )
    if len(found) != 1 or setting.precision.family == "fp":
        return None
    figure = around(float(found[0]["bytes"]), found[0]["bytes"] * weight_spread(setting.precision))
    return replace(figure, assumed=(f"the one file on record in that format, {found[0]['artifact_id']}, assumed",))


def file_size(setting: CaseSetting) -> Figure:
    """Return the bytes of the checkpoint on disk."""
    known = artifact_bytes(setting)
    if known is not None:
        return known
    if setting.counted_bytes is not None:
        return from_count(setting.counted_bytes)
    precision = setting.layout_precision
    if precision.precision_id.startswith(GGUF_MIX):
        file_type = precision.precision_id.removeprefix(GGUF_MIX)
        model = setting.anatomy.model
        value = float(gguf_bytes(model, file_type, setting.case.model))
        own_mix = any("a mix chosen" in line for line in setting.assumed)
        least = gguf_size(model, file_type, of_2023=True).file_bytes if _is_early_mixture(model) else value
        return Figure(value, 0.99 * min(value, least), (OWN_MIX if own_mix else 1.01) * value)
    loaded, predicted = weights_total(setting), prediction_bytes(setting.anatomy, precision)
    if is_converted(precision):
        return Figure(loaded.value, loaded.low, loaded.high + predicted, loaded.assumed)
    return Figure(loaded.value + predicted, loaded.low, loaded.high + predicted, loaded.assumed)


def _is_early_mixture(model: Model) -> bool:
    """Return whether files of a mixture were made by the quantiser of 2023 too: eight experts, as Mixtral and Grok."""
    return max((group.n_experts or 0 for group in model.groups), default=0) == EARLY_EXPERTS


def engine_on_disk(setting: CaseSetting) -> Figure:
    """Return the bytes of all shards of a TensorRT-LLM engine.

    A shard holds the weights of its rank. The token embedding is whole in each of them: "by default embedding
    parallelism is disabled" (TensorRT-LLM, convert_checkpoint.py, --use_parallel_embedding); with it they divide.
    """
    total = weights_total(setting)
    if setting.counted_bytes is not None:
        return total
    tables = setting.anatomy.outer_roles.get("embedding", 0) * SIXTEEN_BITS / 8
    copies = (setting.case.tp or 1) - 1
    return Figure(total.value + copies * tables, total.low, total.high + copies * tables, total.assumed)
