"""The quick estimate from a parameter count alone, for people who only have "70B, int4".

Formulas of the chapter that Rackfit grew from: weights = parameters x bytes per parameter; KV = 2 x layers x KV heads x
head size x 2 bytes x tokens x batch; model state of mixed-precision Adam = 16 bytes per parameter (Rajbhandari et al.,
ZeRO, arXiv 1910.02054, section 3.1). Results are decimal gigabytes. An architecture from the catalog gives a better
answer: this one lists every default that it had to use.
"""

from __future__ import annotations

import math
from typing import Any

from rackfit.errors import UsageError

NOMINAL_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "int4": 0.5, "nf4": 0.5, "fp4": 0.5}
"""Nominal bytes per parameter; formats below 8 bits add scales, see `precisions.effective_bits`."""
ADAM_STATE_BYTES = 16
"""bf16 weights 2 + bf16 gradients 2 + fp32 master 4 + momentum 4 + variance 4 (ZeRO, section 3.1)."""
WEIGHTS_ONLY = "weights only, not a layout"
DEFAULTS = {"kv_cache_tokens": 4096, "n_layers": 32, "n_kv_heads": 8, "d_head": 128, "batch_size": 1}


def estimate_vram(
    num_params_billions: float,
    precision: str = "bf16",
    mode: str = "inference",
    kv_cache_tokens: int | None = None,
    n_layers: int | None = None,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
    batch_size: int | None = None,
) -> dict[str, Any]:
    """Return gigabytes (10^9 bytes) of weights, cache or model state, and the defaults that were assumed.

    Args:
        num_params_billions: parameters in units of 10^9.
        precision: one of NOMINAL_BYTES.
        mode: `inference` or `training` (mixed-precision Adam, activations excluded).
        kv_cache_tokens: tokens of one sequence in a 16-bit cache; 4096 where not given.
        n_layers: layers that keep a cache; 32 where not given.
        n_kv_heads: KV heads of a layer; 8 where not given.
        d_head: values of a head; 128 where not given.
        batch_size: sequences; 1 where not given.

    Returns:
        `weights`, then `kv_cache` and `total_approx`, or `model_state_excl_activations`; and `assumed`, a mapping of
        each default that entered the result.

    Raises:
        UsageError: an unknown precision or mode, or a number that is not positive.

    >>> estimate_vram(70, "int4")["weights"]
    35.0
    """
    if precision not in NOMINAL_BYTES:
        raise UsageError(f"precision {precision!r}: expected one of {', '.join(NOMINAL_BYTES)}")
    given = {
        "kv_cache_tokens": kv_cache_tokens,
        "n_layers": n_layers,
        "n_kv_heads": n_kv_heads,
        "d_head": d_head,
        "batch_size": batch_size,
    }
    for name, value in {"num_params_billions": num_params_billions, **given}.items():
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{name} = {value}: expected a positive number")
    weights = num_params_billions * 1e9 * NOMINAL_BYTES[precision] / 1e9
    if mode == "training":
        state = num_params_billions * ADAM_STATE_BYTES
        assumed: dict[str, Any] = {"recipe": "mixed-precision Adam, 16 bytes per parameter", "activations": "excluded"}
        return {"weights": weights, "model_state_excl_activations": state, "assumed": assumed}
    if mode != "inference":
        raise UsageError(f"mode {mode!r}: expected inference or training")
    used = {name: DEFAULTS[name] if value is None else value for name, value in given.items()}
    values = used["n_layers"] * used["kv_cache_tokens"] * 2 * used["n_kv_heads"] * used["d_head"]
    cache = values * 2 * used["batch_size"] / 1e9
    assumed = {name: DEFAULTS[name] for name, value in given.items() if value is None}
    assumed["kv_bytes_per_value"] = 2
    if precision in ("int8", "int4", "nf4", "fp4", "fp8"):
        assumed["scales"] = "none: nominal bits, real files are a little larger"
    return {"weights": weights, "kv_cache": cache, "total_approx": weights + cache, "assumed": assumed}


def weights_only_count(params_billions: float, precision: str = "bf16", device_gb: float = 80) -> dict[str, Any]:
    """Return how many devices of so many decimal gigabytes the weights alone would fill: a pooled sum, no layout.

    Memory of devices does not add up: no tensor may cross a device's end, every device needs cache and workspace, and
    only some counts are degrees of parallelism. The remark that says so is part of the result.

    Args:
        params_billions: parameters in units of 10^9.
        precision: one of NOMINAL_BYTES.
        device_gb: memory of one device, 10^9 bytes.

    Returns:
        `weights` (gigabytes), `devices`, and `remark`.

    Raises:
        UsageError: an unknown precision, or a number that is not positive and finite.

    >>> weights_only_count(405)["devices"]
    11
    """
    if not 0 < device_gb < float("inf"):
        raise UsageError(f"device_gb = {device_gb}: expected a positive number")
    weights = estimate_vram(params_billions, precision)["weights"]
    return {"weights": weights, "devices": math.ceil(weights / device_gb), "remark": WEIGHTS_ONLY}
