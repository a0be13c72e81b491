"""One estimator per quantity of the case format: figure, low and high, in the quantity's own unit."""

from __future__ import annotations

from rackfit.accuracy.cache_figures import (
    kv_per_million_tokens,
    least_static_fraction,
    longest_context,
    needed_per_device,
    needed_total,
    pool_bytes,
    pool_tokens,
)
from rackfit.accuracy.device_figures import driver_total, engine_visible, metal_limit
from rackfit.accuracy.figures import GB, MB, Estimator, Figure, in_unit
from rackfit.accuracy.process_figures import (
    activation_peak,
    context_bytes,
    free_after_load,
    free_before_load,
    graphs,
    non_torch,
    peak,
    peak_total,
    process_used,
    weights_and_non_torch,
)
from rackfit.accuracy.setting import CaseSetting
from rackfit.accuracy.speed import decode_speed
from rackfit.accuracy.weight_figures import engine_on_disk, file_size, weights_per_device, weights_total
from rackfit.errors import UnsupportedError
from rackfit.fit.verdicts import NO
from rackfit.memory.budget import GIB, MIB


def _fits_by_count(setting: CaseSetting) -> Figure:
    """Return whether weights from a parameter count, with 2 GiB beside them, fit their share of each device."""
    weights = weights_per_device(setting)
    share = 1 if setting.case.tp or setting.case.pp else 1 / setting.count
    room = 0.9 * setting.total() - 2 * GIB
    answer = float(weights.value * share <= room)
    return Figure(answer, float(weights.high * share <= room), answer, weights.assumed)


def fits(setting: CaseSetting) -> Figure:
    """Return 1 where the verdict is fits or tight, else 0."""
    if setting.counted_bytes is not None:
        return _fits_by_count(setting)
    try:
        cell = setting.cell()
    except UnsupportedError as error:
        if "TP" in str(error) or "PP" in str(error):
            return Figure(0.0, 0.0, 0.0, (str(error),))
        raise
    answer = 1.0 if int(cell.verdict) > NO else 0.0
    return Figure(answer, 1.0 if int(cell.verdict) == 2 else 0.0, answer)


QUANTITIES: dict[str, Estimator] = {
    "weights_gib_per_gpu": in_unit(weights_per_device, GIB),
    "weights_gb_per_gpu": in_unit(weights_per_device, GB),
    "weights_gib_total": in_unit(weights_total, GIB),
    "weights_gb_total": in_unit(weights_total, GB),
    "weights_gb_file": in_unit(file_size, GB),
    "weights_plus_nontorch_gib_per_gpu": in_unit(weights_and_non_torch, GIB),
    "file_bytes": file_size,
    "file_gb": in_unit(file_size, GB),
    "file_gib": in_unit(file_size, GIB),
    "engine_disk_gb": in_unit(engine_on_disk, GB),
    "activation_peak_gib_per_gpu": in_unit(activation_peak, GIB),
    "non_torch_gib_per_gpu": in_unit(non_torch, GIB),
    "cuda_graph_gib_per_gpu": in_unit(graphs, GIB),
    "cuda_graph_mib_per_gpu": in_unit(graphs, MIB),
    "cuda_context_gib": in_unit(context_bytes, GIB),
    "initial_used_mib": in_unit(context_bytes, MIB),
    "avail_after_load_gib": in_unit(free_after_load, GIB),
    "free_before_load_gib": in_unit(free_before_load, GIB),
    "nvidia_smi_used_mib_per_gpu": in_unit(process_used, MIB),
    "peak_gb_per_gpu": in_unit(peak, GB),
    "peak_gib_per_gpu": in_unit(peak, GIB),
    "peak_gb_total": in_unit(peak_total, GB),
    "peak_mb_total": in_unit(peak_total, MB),
    "peak_mib_total": in_unit(peak_total, MIB),
    "kv_gib_per_gpu": in_unit(pool_bytes, GIB),
    "kv_tokens_total": pool_tokens,
    "kv_capacity_tokens": pool_tokens,
    "kv_gib_needed_per_gpu": in_unit(needed_per_device, GIB),
    "kv_gib_needed_total": in_unit(needed_total, GIB),
    "kv_mib_total": in_unit(needed_total, MIB),
    "kv_gb_per_1m_tokens": in_unit(kv_per_million_tokens, GB),
    "max_model_len_estimated": longest_context,
    "min_mem_fraction_static": least_static_fraction,
    "total_mib": in_unit(driver_total, MIB),
    "total_bytes": driver_total,
    "usable_total_gib": in_unit(engine_visible, GIB),
    "metal_recommended_max_mib": in_unit(metal_limit, MIB),
    "metal_recommended_max_mb": in_unit(metal_limit, MB),
    "tokens_per_s": decode_speed,
    "fits": fits,
}
TRAINING = frozenset(
    {
        "peak_active_gib_per_gpu", "peak_reserved_gib_per_gpu", "model_state_gb_per_gpu", "model_state_gib_per_gpu",
        "model_state_gib_cpu", "activation_gb_per_gpu", "activation_gb_total", "activation_bytes_per_layer",
        "ratio_5as_over_h", "max_trainable_params_measured",
    }
)  # fmt: skip
SPEED = frozenset({"train_tflops_per_gpu"})
"""Quantities of training speed, which rest on published runs and on no engine's budget."""
