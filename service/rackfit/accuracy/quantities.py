"""One estimator per quantity of the case format: figure, low and high, in the quantity's own unit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rackfit.accuracy.setting import CaseSetting
from rackfit.catalog.read import rows_of
from rackfit.errors import UnsupportedError
from rackfit.fit.cell import (
    NO,
    RUNTIME_SPREAD_BYTES,
    WORKSPACE_SPREAD,
    Cell,
    device_weights,
    engine_cache,
    weight_spread,
)
from rackfit.memory.budget import GIB, MIB, engine_terms
from rackfit.memory.domain import Layout
from rackfit.memory.eager import eager_bytes
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.gguf import gguf_bytes
from rackfit.memory.kv_cache import CacheShape, stage_caches
from rackfit.memory.weights import GGUF_MIX, stage_weights

LOADED_SPREAD = 0.03
"""Loads printed by engines exceed the tensors by up to 3 % (Gemma, Qwen2.5 under vLLM): buffers and towers per rank."""
TOKENS_SPREAD = 0.02
CACHE_SPREAD = 0.03
PEAK_SPREAD_BYTES = 3 * 2**27
AS_PUBLISHED = "GB_as_published"
GB = 10**9
MB = 10**6


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate with its range, and what it rests on beside the case."""

    value: float
    low: float
    high: float
    assumed: tuple[str, ...] = ()

    def scaled(self, unit: float) -> Figure:
        """Return the figure divided by a unit."""
        return Figure(self.value / unit, self.low / unit, self.high / unit, self.assumed)


Estimator = Callable[[CaseSetting], Figure]


def around(value: float, half: float) -> Figure:
    """Return a figure with a symmetric range."""
    return Figure(value, value - half, value + half)


def _stages(setting: CaseSetting) -> tuple[float, ...]:
    return device_weights(setting.anatomy, setting.layout_precision, setting.budget, setting.layout())


def _caches(setting: CaseSetting, layout: Layout) -> tuple[CacheShape, ...]:
    """Return the cache of one request per stage, in the form in which the engine's version stores it."""
    budget = setting.budget
    return stage_caches(setting.anatomy, layout, setting.kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits)


def weights_per_device(setting: CaseSetting) -> Figure:
    """Return the weights on the fullest device, bytes."""
    value = max(_stages(setting))
    return around(value, value * LOADED_SPREAD + value * weight_spread(setting.layout_precision))


def weights_total(setting: CaseSetting) -> Figure:
    """Return all weights once, bytes: the published file where one is on record, else the estimate."""
    known = artifact_bytes(setting)
    if known is not None:
        return known
    value = sum(stage_weights(setting.anatomy, setting.layout_precision, Layout()))
    return around(value, value * LOADED_SPREAD + value * weight_spread(setting.layout_precision))


def artifact_bytes(setting: CaseSetting) -> Figure | None:
    """Return the exact bytes of the published file that the case names, None where none is on record."""
    if setting.subject is None or setting.precision is None:
        return None
    found = rows_of(
        setting.connection,
        "select artifact_id, bytes from artifacts where lower(artifact_id) = ? and precision_id = ?",
        setting.case.model.casefold(),
        setting.precision.precision_id,
    )
    if not found:
        return None
    size = float(found[0]["bytes"])
    return Figure(size, size, size, (f"published file {found[0]['artifact_id']}",))


def file_size(setting: CaseSetting) -> Figure:
    """Return the bytes of the checkpoint on disk."""
    known = artifact_bytes(setting)
    if known is not None:
        return known
    precision = setting.layout_precision
    if precision.precision_id.startswith(GGUF_MIX):
        value = float(gguf_bytes(setting.anatomy.model, precision.precision_id.removeprefix(GGUF_MIX)))
        return around(value, 0.01 * value)
    return weights_total(setting)


def _terms(setting: CaseSetting):  # type: ignore[no-untyped-def]
    question = setting.question()
    return engine_terms(
        setting.anatomy, setting.budget, setting.layout(), setting.device, setting.total(), question.context,
        question.knobs,
    )  # fmt: skip


def activation_peak(setting: CaseSetting) -> Figure:
    """Return the activation peak of the engine's profile on one device, bytes."""
    value = float(_terms(setting).workspace)
    return around(value, WORKSPACE_SPREAD * value)


def non_torch(setting: CaseSetting) -> Figure:
    """Return what libraries and collectives take beside the allocator, bytes per device."""
    budget = setting.budget
    parallel = setting.layout().devices > 1
    return around(budget.non_torch_bytes_parallel if parallel else budget.non_torch_bytes_single, RUNTIME_SPREAD_BYTES)


def graphs(setting: CaseSetting) -> Figure:
    """Return the memory of captured graphs, bytes per device; sizes vary by version and can come out negative."""
    value = 0 if setting.question().knobs.eager else setting.budget.graph_bytes
    return Figure(value, -GIB if value else 0, 4 * value)


def peak(setting: CaseSetting) -> Figure:
    """Return the peak of a process that serves the case's context and batch, bytes on the fullest device."""
    layout = setting.layout()
    if setting.budget.parallelism == "layers" and setting.budget.equation == "all_of_device" and not setting.case.tp:
        layout = Layout()
    return _peak(setting, layout)


def peak_total(setting: CaseSetting) -> Figure:
    """Return the peak summed over devices, bytes: as if on one device where layers are spread."""
    if setting.case.tp and setting.case.tp > 1:
        one = _peak(setting, setting.layout())
        return Figure(*(part * setting.count for part in (one.value, one.low, one.high)), one.assumed)
    return _peak(setting, Layout())


def _peak(setting: CaseSetting, layout: Layout) -> Figure:
    question, budget = setting.question(), setting.budget
    tokens = max(question.context if setting.case.context else 0, budget.min_cache_tokens // question.sequences)
    weights = max(device_weights(setting.anatomy, setting.layout_precision, budget, layout))
    cache = _caches(setting, layout)[0]
    held = float(cache.bytes(tokens)) * question.sequences * budget.cache_copies
    prompt = int(setting.case.number("prefill") or setting.case.number("input_tokens") or 0)
    extra = eager_bytes(setting.anatomy, setting.layout_precision, budget, prompt, question.sequences, held)
    value = weights + held + extra + budget.non_torch_bytes_single
    half = (
        weight_spread(setting.layout_precision) * weights + CACHE_SPREAD * held + 0.3 * abs(extra) + PEAK_SPREAD_BYTES
    )
    if budget.cache_copies > 1:
        half += 0.2 * held  # how much of the old copy is still alive at the peak depends on the allocator
    return Figure(value, max(value - half, weights * 0.95), value + half)


def process_used(setting: CaseSetting) -> Figure:
    """Return what the driver shows for the whole process, bytes per device: the reserved share plus the context."""
    cell = setting.cell()
    context = max(setting.budget.context_bytes, 0.5 * GIB) if setting.budget.equation == "share_of_total" else 0
    return around(float(cell.reserved) + context, 0.05 * float(cell.reserved) + RUNTIME_SPREAD_BYTES)


def _pool(setting: CaseSetting) -> Figure:
    """Return the bytes of the KV pool on one device: what the case states, else what the engine's budget leaves."""
    stated = setting.case.number("kv_gib") or setting.case.number("kv_gib_per_gpu")
    if stated is not None:
        return around(stated * GIB, 0.005 * GIB)
    cell = setting.cell()
    half = weight_spread(setting.layout_precision) * float(cell.weights) + WORKSPACE_SPREAD * float(cell.workspace)
    half += RUNTIME_SPREAD_BYTES + setting.device.memory_spread * setting.total()
    value = _room(setting, cell)
    return Figure(value, max(value - half, 0.0), value + half)


def _room(setting: CaseSetting, cell: Cell) -> float:
    terms = _terms(setting)
    return max(float(terms.limit - cell.weights - terms.workspace - terms.runtime), 0.0)


def _rank_cache(setting: CaseSetting) -> CacheShape:
    """Return the cache of one request on the stage that holds most of it, without what an engine adds."""
    caches = _caches(setting, setting.layout())
    return max(caches, key=lambda cache: cache.bytes(setting.question().context))


def pool_tokens(setting: CaseSetting) -> Figure:
    """Return the tokens that the pool holds, whole blocks.

    Where layers differ engines print concurrency x context; the same is done here.
    """
    pool, cache = _pool(setting), _rank_cache(setting)
    context = setting.question().context
    uniform = len(cache.slopes) == 1 and cache.slopes[0][1] is None and not cache.constant
    rate = cache.bytes_per_token if uniform else float(cache.bytes(context)) / context
    if rate <= 0:
        raise UnsupportedError("this model keeps nothing per token")
    block = setting.budget.kv_block_tokens

    def blocks(size: float) -> float:
        return size / rate // block * block

    low, high = pool.low * (1 - TOKENS_SPREAD), pool.high * (1 + TOKENS_SPREAD)
    return Figure(blocks(pool.value), blocks(low), blocks(high))


def needed_per_device(setting: CaseSetting) -> Figure:
    """Return the cache bytes that the case's requests need on one device, as the engine charges them."""
    question = setting.question()
    caches = _caches(setting, setting.layout())
    block = setting.budget.kv_block_tokens
    tokens = ceil_div(question.context, block) * block
    value = max(float(cache.bytes(tokens)) for cache in caches) * question.sequences
    return around(value, 0.02 * value)


def needed_total(setting: CaseSetting) -> Figure:
    """Return the cache bytes that the case's requests need over the whole model, once."""
    cache = _caches(setting, Layout())[0]
    question = setting.question()
    said = " ".join(setting.case.remarks).casefold()
    if "sliding-window layers" in said:
        cells = re.search(r"(\d+) cells", said)
        tokens = int(cells[1]) if cells else question.context
        value = sum(slope * (tokens if cells else min(tokens, cap)) for slope, cap in cache.slopes if cap is not None)
    elif "full-attention layers" in said:
        value = sum(slope * question.context for slope, cap in cache.slopes if cap is None)
    else:
        value = float(cache.bytes(question.context))
    value *= question.sequences
    return around(value, 0.02 * value)


def longest_context(setting: CaseSetting) -> Figure:
    """Return the longest context that one sequence gets from the pool, tokens."""
    pool = _pool(setting)
    cell = setting.cell()
    held = engine_cache(_rank_cache(setting), setting.budget, 0)
    value = float(held.tokens_within(pool.value))
    del cell
    return Figure(value, float(held.tokens_within(pool.low)), float(held.tokens_within(pool.high)))


def least_static_fraction(setting: CaseSetting) -> Figure:
    """Return SGLang's smallest static fraction that holds weights and the case's cache."""
    total = setting.total() - setting.budget.context_bytes
    need = weights_per_device(setting).value + needed_per_device(setting).value
    return around(need / total, 0.02)


def free_after_load(setting: CaseSetting) -> Figure:
    """Return what is free on one device when the weights are loaded, bytes."""
    weights = weights_per_device(setting)
    value = setting.total() - max(setting.budget.context_bytes, 0.5 * GIB) - weights.value
    return around(value, weights.high - weights.value + 2 * RUNTIME_SPREAD_BYTES)


def weights_and_non_torch(setting: CaseSetting) -> Figure:
    """Return weights and library memory together, bytes per device."""
    first, second = weights_per_device(setting), non_torch(setting)
    return Figure(first.value + second.value, first.low + second.low, first.high + second.high)


def driver_total(setting: CaseSetting) -> Figure:
    """Return the device's memory as its driver prints it, bytes."""
    device = setting.device
    return around(device.memory_bytes, device.memory_spread * device.memory_bytes)


def engine_visible(setting: CaseSetting) -> Figure:
    """Return the device's memory as torch sees it, bytes."""
    value = setting.total()
    return around(value, max(setting.device.memory_spread * value, 0.15 * GIB))


def metal_limit(setting: CaseSetting) -> Figure:
    """Return what Metal recommends as the largest working set, bytes."""
    device = setting.device
    if device.vendor != "Apple":
        raise UnsupportedError(f"{device.name} is no Metal device")
    size = _ram_in_name(setting.case.gpu)
    rows = rows_of(
        setting.connection,
        "select usable_bytes from usable_memory where accelerator_id = ? and ram_gb = ? order by usable_bytes",
        device.accelerator_id,
        size,
    )
    if rows:
        sizes = sorted(float(row["usable_bytes"]) for row in rows)
        return Figure(
            sizes[0], 0.999 * sizes[0], 1.001 * sizes[-1], ("lowest limit on record for this chip and memory",)
        )
    return driver_total(setting)


def _ram_in_name(text: str) -> float | None:
    match = re.search(r"(\d+)\s*GB", text)
    return float(match[1]) if match else None


def context_bytes(setting: CaseSetting) -> Figure:
    """Return what a driver context takes before any tensor, bytes: measured 0.3 to 0.7 GiB by software stack."""
    return Figure(0.5 * GIB, 0.25 * GIB, 0.8 * GIB, ("driver context: 0.5 GiB, range over software stacks",))


def free_before_load(setting: CaseSetting) -> Figure:
    """Return what is free on one device before a model is loaded, bytes."""
    value = setting.total() - 0.5 * GIB
    return Figure(value, value - 0.5 * GIB, setting.total())


def kv_per_million_tokens(setting: CaseSetting) -> Figure:
    """Return the cache bytes of a million tokens of one sequence."""
    cache = _caches(setting, Layout())[0]
    value = float(cache.bytes(10**6))
    return around(value, 0.02 * value)


def fits(setting: CaseSetting) -> Figure:
    """Return 1 where the verdict is fits or tight, else 0."""
    try:
        cell = setting.cell()
    except UnsupportedError as error:
        if "TP" in str(error) or "PP" in str(error):
            return Figure(0.0, 0.0, 0.0, (str(error),))
        raise
    answer = 1.0 if int(cell.verdict) > NO else 0.0
    return Figure(answer, 1.0 if int(cell.verdict) == 2 else 0.0, answer)


def _in(estimator: Estimator, unit: float) -> Estimator:
    """Return the estimator in a unit; a GB "as published" is what the stack's tables mean by it."""

    def scaled(setting: CaseSetting) -> Figure:
        binary = setting.case.unit == AS_PUBLISHED and unit == GB and setting.budget.prints_gib_as_gb
        return estimator(setting).scaled(GIB if binary else unit)

    return scaled


QUANTITIES: dict[str, Estimator] = {
    "weights_gib_per_gpu": _in(weights_per_device, GIB),
    "weights_gb_per_gpu": _in(weights_per_device, GB),
    "weights_gib_total": _in(weights_total, GIB),
    "weights_gb_total": _in(weights_total, GB),
    "weights_gb_file": _in(file_size, GB),
    "weights_plus_nontorch_gib_per_gpu": _in(weights_and_non_torch, GIB),
    "file_bytes": file_size,
    "file_gb": _in(file_size, GB),
    "file_gib": _in(file_size, GIB),
    "engine_disk_gb": _in(weights_total, GB),
    "activation_peak_gib_per_gpu": _in(activation_peak, GIB),
    "non_torch_gib_per_gpu": _in(non_torch, GIB),
    "cuda_graph_gib_per_gpu": _in(graphs, GIB),
    "cuda_graph_mib_per_gpu": _in(graphs, MIB),
    "cuda_context_gib": _in(context_bytes, GIB),
    "initial_used_mib": _in(context_bytes, MIB),
    "avail_after_load_gib": _in(free_after_load, GIB),
    "free_before_load_gib": _in(free_before_load, GIB),
    "nvidia_smi_used_mib_per_gpu": _in(process_used, MIB),
    "peak_gb_per_gpu": _in(peak, GB),
    "peak_gib_per_gpu": _in(peak, GIB),
    "peak_gb_total": _in(peak_total, GB),
    "peak_mb_total": _in(peak_total, MB),
    "peak_mib_total": _in(peak_total, MIB),
    "kv_gib_per_gpu": _in(_pool, GIB),
    "kv_tokens_total": pool_tokens,
    "kv_capacity_tokens": pool_tokens,
    "kv_gib_needed_per_gpu": _in(needed_per_device, GIB),
    "kv_gib_needed_total": _in(needed_total, GIB),
    "kv_mib_total": _in(needed_total, MIB),
    "kv_gb_per_1m_tokens": _in(kv_per_million_tokens, GB),
    "max_model_len_estimated": longest_context,
    "min_mem_fraction_static": least_static_fraction,
    "total_mib": _in(driver_total, MIB),
    "total_bytes": driver_total,
    "usable_total_gib": _in(engine_visible, GIB),
    "metal_recommended_max_mib": _in(metal_limit, MIB),
    "metal_recommended_max_mb": _in(metal_limit, MB),
    "fits": fits,
}
"""Quantity of the case format -> its estimator. What is not here is refused by name."""

TRAINING = frozenset(
    {
        "peak_active_gib_per_gpu", "peak_reserved_gib_per_gpu", "model_state_gb_per_gpu", "model_state_gib_per_gpu",
        "model_state_gib_cpu", "activation_gb_per_gpu", "activation_gb_total", "activation_bytes_per_layer",
        "ratio_5as_over_h", "max_trainable_params_measured",
    }
)  # fmt: skip
SPEED = frozenset({"tokens_per_s", "train_tflops_per_gpu"})
