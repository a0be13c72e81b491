"""How a config.json says that weights are stored: the precision it stands for, and the weights of a container."""

from __future__ import annotations

import re
from typing import Any

DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}
SECTIONS = ("quantization_config", "compression_config", "quantization")
"""Names under which a file keeps its quantization; MLX writes the last."""
AWQ_GROUPS, GPTQ_GROUPS = (32, 64, 128), (32, 64, 128)


def stated_precision(config: dict[str, Any], part: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the precision id of a config file, or None with what was found there in words."""
    section = section_of(config, part)
    if section is None:
        dtype = str(
            part.get("dtype") or part.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype") or ""
        )
        found = DTYPES.get(dtype.removeprefix("torch."))
        return found, None if found else f"the file says {dtype or 'no'} dtype"
    method = str(section.get("quant_method") or section.get("quant_algo") or "").casefold()
    found = _READERS.get(method, _mlx)(section)
    return found, None if found else f"quantization of the file ({method or 'no method'}) is no layout on record"


def section_of(config: dict[str, Any], part: dict[str, Any]) -> dict[str, Any] | None:
    """Return the quantization of a file; None without."""
    for place in (part, config):
        for name in SECTIONS:
            if isinstance(place.get(name), dict) and place[name]:
                return dict(place[name])
    return None


def _fp8(section: dict[str, Any]) -> str | None:
    block = section.get("weight_block_size")
    if block:
        return "fp8_e4m3_block128x128" if list(block) == [128, 128] else None
    return "fp8_e4m3_per_tensor"


def _awq(section: dict[str, Any]) -> str | None:
    bits, group = section.get("bits") or section.get("w_bit"), section.get("group_size") or section.get("q_group_size")
    return f"awq_int4_g{group}" if bits == 4 and group in AWQ_GROUPS else None


def _gptq(section: dict[str, Any]) -> str | None:
    bits, group = section.get("bits"), section.get("group_size")
    if (bits == 4 and group in GPTQ_GROUPS) or (bits in (3, 8) and group == 128):
        return f"gptq_int{bits}_g{group}"
    return None


def _bitsandbytes(section: dict[str, Any]) -> str | None:
    if section.get("load_in_8bit"):
        return "bnb_llm_int8"
    kind = section.get("bnb_4bit_quant_type", "fp4")
    if not section.get("load_in_4bit") or kind not in ("nf4", "fp4"):
        return None
    return f"bnb_{kind}" + ("_double" if section.get("bnb_4bit_use_double_quant") else "")


def _mlx(section: dict[str, Any]) -> str | None:
    bits, group = section.get("bits"), section.get("group_size")
    known = {(3, 64), (4, 64), (5, 64), (6, 64), (8, 64), (8, 32)}
    return f"mlx_{bits}bit_g{group}" if (bits, group) in known else None


def _modelopt(section: dict[str, Any]) -> str | None:
    kind = str(section.get("quant_algo") or section.get("quantization", {}).get("quant_algo") or "").upper()
    four_bits = "nvfp4_modelopt_bf16" if _keeps_attention(section) else "nvfp4"
    return {"FP8": "fp8_e4m3_per_tensor", "NVFP4": four_bits}.get(kind)


def _keeps_attention(section: dict[str, Any]) -> bool:
    """Return whether attention stays as it is: only feed-forward parts or experts are quantised."""
    inner = section.get("quantization")
    own = inner if isinstance(inner, dict) else section
    kept = [*(own.get("ignore") or ()), *(own.get("exclude_modules") or ()), *(own.get("modules_to_not_convert") or ())]
    return any("attn" in str(one) for one in kept)


def _compressed(section: dict[str, Any]) -> str | None:
    """Return the layout of compressed-tensors where one group of weights has it; two widths are no single layout."""
    groups = [
        one.get("weights") or {} for one in (section.get("config_groups") or {}).values() if isinstance(one, dict)
    ]
    if len(groups) != 1:
        return None
    bits, kind, group = (groups[0].get(name) for name in ("num_bits", "type", "group_size"))
    strategy = groups[0].get("strategy")
    if kind == "float" and bits == 8:
        return {
            "channel": "fp8_e4m3_per_channel",
            "tensor": "fp8_e4m3_per_tensor",
            "block": "fp8_e4m3_block128x128",
        }.get(str(strategy))
    if kind == "float" and bits == 4:
        wide = "mxfp4_experts_bf16" if _keeps_attention(section) else "mxfp4"
        return "nvfp4" if group == 16 else wide if group == 32 else None
    if kind == "int" and bits == 4 and group == 32 and _keeps_attention(section):
        return "int4_g32_experts_bf16"
    if kind == "int" and bits == 4 and group in (32, 128):
        return f"w4a16_ct_g{group}"
    return "int8_w8a8" if kind == "int" and bits == 8 else None


_READERS = {
    "fp8": _fp8, "fbgemm_fp8": lambda section: "fp8_e4m3_per_channel", "awq": _awq, "gptq": _gptq,
    "bitsandbytes": _bitsandbytes, "mxfp4": lambda section: "mxfp4_experts_bf16", "modelopt": _modelopt,
    "compressed-tensors": _compressed, "nvfp4": _modelopt, "fp8_modelopt": _modelopt,
}  # fmt: skip
"""`quant_method` -> how the rest of the section is read; without a method it is MLX's."""


def bits_of(section: dict[str, Any], tensor: str, module: str = "Linear") -> int | None:
    """Return the bits of a tensor's weights: of the first group whose targets name it, None where none does.

    A target that starts with `re:` is a pattern for the tensor's name, a bare word is a class of modules or the end of
    a name (compressed-tensors, `match_named_modules`).
    """
    if any(_matches(target, tensor, module) for target in section.get("ignore") or ()):
        return None
    groups = section.get("config_groups")
    if not isinstance(groups, dict):
        bits = section.get("bits")
        return bits if isinstance(bits, int) else None
    for group in groups.values():
        if any(_matches(target, tensor, module) for target in group.get("targets") or ()):
            bits = (group.get("weights") or {}).get("num_bits")
            return bits if isinstance(bits, int) else None
    return None


def _matches(target: str, tensor: str, module: str) -> bool:
    name = tensor.rsplit(".", 1)[0]
    if target.startswith("re:"):
        return re.match(target[3:], name) is not None
    return target in (module, name) or name.endswith(f".{target}")


def packed(bits: int, container_bits: int = 32) -> int:
    """Return how many weights one container holds.

    >>> packed(2), packed(4), packed(8)
    (16, 8, 4)
    """
    return container_bits // bits
