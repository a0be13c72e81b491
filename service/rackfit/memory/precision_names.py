"""What people write for a number format -> the slug of a precision record. Pure text, no catalog.

`parse_precision` reads weight formats as engines, hubs, papers and benchmark tables print them (`FP8 block`,
`GGUF Q4_K_M`, `AWQ-int4 g128`, `bnb.nf4-dq`, `W4A16`), `parse_kv` reads cache formats. A text that says less than
a layout (`int4`, `fp8`) gets the most common layout and a note that says so; a text that is not understood gets
None with near names, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from rackfit.memory.loose_names import REMARK, loose_format, plainer


@dataclass(frozen=True, slots=True)
class ParsedPrecision:
    """A slug or None, a note on what was assumed, and near names where nothing was found."""

    weight_id: str | None
    note: str | None = None
    near: tuple[str, ...] = ()
    bits: float | None = None
    """Bits per weight where the format has no fixed ones and the name states them."""


SHORT_NAMES: Final[dict[str, str]] = {
    "bf16": "bf16",
    "fp16": "fp16",
    "fp32": "fp32",
    "fp64": "fp64",
    "fp8": "fp8_e4m3_per_channel",
    "int8": "int8_w8a8",
    "int4": "awq_int4_g128",
    "nf4": "bnb_nf4",
    "mxfp8": "mxfp8",
    "mxfp6": "mxfp6",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "awq": "awq_int4_g128",
    "gptq": "gptq_int4_g128",
    "w4a16": "w4a16_ct_g128",
    "w8a8": "int8_w8a8",
    "w8a16": "gptq_int8_g128",
    "hqq": "hqq_4bit_g64",
    "exl2": "exl2",
    "exl3": "exl3",
    "aqlm": "aqlm_1x16_g8",
}
"""Short name -> slug. Exact where the name is a layout, the most common layout where it is not."""

LOOSE: Final[dict[str, str]] = {
    "fp8": "FP8 with a scale per output channel assumed",
    "int8": "INT8 weights and activations with a scale per output channel assumed",
    "int4": "INT4 in groups of 128 with zero points (AWQ) assumed",
    "awq": "groups of 128 assumed",
    "gptq": "4 bits in groups of 128 assumed",
    "w4a16": "groups of 128, symmetric, assumed",
    "nf4": "bitsandbytes blocks of 64, not double quantised, assumed",
}
"""What a short name leaves open, and what is assumed."""

KV_NAMES: Final[dict[str, str]] = {
    "bf16": "kv_bf16", "fp16": "kv_bf16", "f16": "kv_bf16", "bfloat16": "kv_bf16", "float16": "kv_bf16",
    "half": "kv_bf16", "16bit": "kv_bf16", "16-bit": "kv_bf16",
    "fp8": "kv_fp8_e4m3", "fp8_e4m3": "kv_fp8_e4m3", "fp8_e5m2": "kv_fp8_e5m2", "fp8_ds_mla": "kv_mla_fp8_ds",
    "int8": "kv_int8", "int4": "kv_int4", "fp4": "kv_fp4_sglang", "nvfp4": "kv_nvfp4",
    "nvfp4_ds_mla": "kv_mla_nvfp4_ds",
    "q8_0": "kv_q8_0", "q5_1": "kv_q5_1", "q5_0": "kv_q5_0", "q4_1": "kv_q4_1", "q4_0": "kv_q4_0",
    "iq4_nl": "kv_iq4_nl",
    "fp8_inc": "kv_fp8_e4m3", "mlx_8bit": "kv_mlx_8bit_g64", "mlx_4bit": "kv_mlx_4bit_g64",
    "8bit_g64": "kv_mlx_8bit_g64", "4bit_g64": "kv_mlx_4bit_g64",
    "int8_per_token_head": "kv_int8_per_token_head", "fp8_per_token_head": "kv_fp8_per_token_head",
    "int4_per_token_head": "kv_int4_per_token_head",
    "turboquant_k8v4": "kv_turboquant_k8v4", "turboquant_4bit_nc": "kv_turboquant_4bit_nc",
    "turboquant_k3v4_nc": "kv_turboquant_k3v4_nc", "turboquant_3bit_nc": "kv_turboquant_3bit_nc",
}  # fmt: skip
"""Cache format as people and flags name it -> slug. Both 16-bit formats are one size."""

LOOSE_KV: Final[dict[str, tuple[str, str]]] = {
    "8-bit": ("kv_int8", "one byte per value assumed"),
    "8bit": ("kv_int8", "one byte per value assumed"),
    "4-bit": ("kv_int4", "half a byte per value assumed"),
    "4bit": ("kv_int4", "half a byte per value assumed"),
    "q8": ("kv_q8_0", "q8_0 assumed"),
    "q4": ("kv_q4_0", "q4_0 assumed"),
}
"""Cache formats that say a width and no layout, with what is assumed."""

GGUF_FILE_TYPES: Final[tuple[str, ...]] = (
    "f32", "bf16", "f16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s", "q4_1", "q4_0",
    "q3_k_l", "q3_k_m", "q3_k_s", "q2_k", "q2_k_s", "iq4_nl", "iq4_xs", "iq3_m", "iq3_s", "iq3_xs", "iq3_xxs",
    "iq2_m", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s", "mxfp4_moe", "q6_k_l", "q5_k_l", "q4_k_l", "q2_k_l",
)  # fmt: skip
"""File types of llama.cpp, and bartowski's with 8-bit tables, with a record of their own (`ggufmix_` + name)."""

GGUF_BLOCKS: Final = frozenset(
    f"gguf_{name}"
    for name in (
        "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q1_0", "q2_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k",
        "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0",
        "mxfp4", "nvfp4",
    )
)  # fmt: skip
"""Slugs of single block types; with a space or a hyphen the same words name a file."""

_SLUGS: Final = re.compile(
    r"fp8_e4m3_(per_tensor|per_channel|block128x128)|(awq|gptq)_int4_g(32|64|128)|gptq_int[38]_g128|mxint8"
    r"|bnb_(nf4(_double|_dynamic)?|fp4(_double)?|llm_int8)|int8_w8a8|hqq_[12348]bit_g64|mlx_([34568]bit_g64|8bit_g32|mxfp4)"
    r"|nvfp4_(per_row_scale|(fp8_)?modelopt_bf16|mixer_in_bf16|output_gate_bf16)|fp4_experts_fp8|ternary_1\.58"
    r"|(mxfp4|mxfp4_scales32|nvfp4|fp8|int4_g32)_experts_bf16"
    r"|fp8_ffn_per_channel_bf16|int4_sym_g32_ct|w4a16_ct_g(32|128)|aqlm_1x16_g(8|16)"
)
"""Slugs of weight formats that are no short name and no GGUF type."""

MIXTURES: Final[dict[str, str]] = {
    "mxfp4 routed experts + bf16": "mxfp4_experts_bf16",
    "gpt-oss mxfp4": "mxfp4_experts_bf16",
    "int4 group-32 routed experts (qat) + bf16": "int4_g32_experts_bf16",
    "kimi int4": "int4_g32_experts_bf16",
    "nvfp4 (modelopt) + bf16": "nvfp4_modelopt_bf16",
    "nvfp4 experts": "nvfp4_experts_bf16",
    "nvfp4 experts only": "nvfp4_experts_bf16",
    "nvfp4 (routed experts) + bf16": "nvfp4_experts_bf16",
    "nvfp4/fp8 mixed (modelopt) + bf16": "nvfp4_fp8_modelopt_bf16",
    "fp8 e4m3 128x128 (attention/shared) + fp4 routed experts": "fp4_experts_fp8",
    "deepseek-v4 native": "fp4_experts_fp8",
    "fp8 (routed experts) + bf16": "fp8_experts_bf16",
    "fp8 e4m3 per-channel (ffn linears; first/last layers bf16)": "fp8_ffn_per_channel_bf16",
    "fbgemm fp8": "fp8_ffn_per_channel_bf16",
    "compressed-tensors int4 g32": "int4_sym_g32_ct",
    "qlora nf4": "bnb_nf4_double",
    "nvidia fp4": "nvfp4",
    "modelopt fp4": "nvfp4",
    "ocp fp4": "mxfp4",
    "blockwise fp8": "fp8_e4m3_block128x128",
    "smoothquant": "int8_w8a8",
    "hqq int4": "hqq_4bit_g64",
    "hqq int8": "hqq_8bit_g64",
    "exllamav2": "exl2",
    "exllamav3": "exl3",
    "bitnet": "ternary_1.58",
    "b1.58": "ternary_1.58",
    "ternary 1.58-bit (packed)": "ternary_1.58",
    "load_in_8bit": "bnb_llm_int8",
}
"""Names that are said whole: mixtures of native checkpoints, and methods with a name of their own."""


def parse_precision(text: str) -> ParsedPrecision:
    """Return the weight format that a text names.

    >>> parse_precision("GGUF Q4_K_M").weight_id, parse_precision("AWQ-int4 g128").weight_id
    ('ggufmix_q4_k_m', 'awq_int4_g128')
    >>> parse_precision("q5_banana").weight_id is None
    True
    """
    said = _spelled(text)
    if not said:
        return ParsedPrecision(None, "no precision named", ())
    for reading in (said, *plainer(said)):
        for reader in _READERS:
            found = reader(reading)
            if found is not None:
                return found
        loose = loose_format(reading, GGUF_FILE_TYPES)
        if loose is not None:
            return ParsedPrecision(*loose)
    return ParsedPrecision(None, "not a format Rackfit knows", _near(said))


def parse_kv(text: str) -> ParsedPrecision:
    """Return the cache format that a text names; `auto` and nothing at all are 16-bit.

    >>> parse_kv("f16").weight_id, parse_kv("q8_0").weight_id, parse_kv("").weight_id
    ('kv_bf16', 'kv_q8_0', 'kv_bf16')
    """
    said = REMARK.sub(" ", _spelled(text)).strip().removeprefix("kv_").removeprefix("kv ").removesuffix(" kv")
    if said in ("", "auto", "default"):
        return ParsedPrecision("kv_bf16", "16-bit assumed")
    halves = {
        half.strip().removeprefix(letter).strip(" :=") for half, letter in zip(said.split("/"), "kv", strict=False)
    }
    said = halves.pop() if len(halves) == 1 else said
    if said in LOOSE_KV:
        return ParsedPrecision(*LOOSE_KV[said])
    said = said.replace(" ", "_")
    if said in KV_NAMES:
        return ParsedPrecision(KV_NAMES[said])
    if f"kv_{said}" in KV_NAMES.values():
        return ParsedPrecision(f"kv_{said}")
    near = get_close_matches(said, sorted(KV_NAMES), n=3, cutoff=0.5)
    return ParsedPrecision(None, "not a cache format Rackfit knows", tuple(near))


def _spelled(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip().lower())


def _near(said: str) -> tuple[str, ...]:
    known = [*SHORT_NAMES, *GGUF_FILE_TYPES]
    return tuple(get_close_matches(said.replace(" ", "_"), known, n=3, cutoff=0.5))


def _short(said: str) -> ParsedPrecision | None:
    """Short names and their plain spellings (`float16`, `16-bit`)."""
    plain = {
        "bfloat16": "bf16", "f16": "fp16", "float16": "fp16", "half": "fp16", "f32": "fp32", "float32": "fp32",
        "float": "fp32", "32-bit": "fp32", "16-bit": "bf16", "8-bit": "int8", "4-bit": "int4", "bf16/fp16": "bf16",
        "fp16/bf16": "bf16", "float8": "fp8", "bf16-true": "bf16", "16-true": "fp16", "bf16 pure": "bf16",
        "mx-fp4": "mxfp4", "8bit": "int8", "4bit": "int4", "16bit": "bf16", "32bit": "fp32", "float64": "fp64",
        "int8 base": "int8",
    }  # fmt: skip
    name = plain.get(said, said)
    if name not in SHORT_NAMES:
        return None
    return ParsedPrecision(SHORT_NAMES[name], LOOSE.get(name))


def _gguf(said: str) -> ParsedPrecision | None:
    """llama.cpp file types, with or without the word GGUF; `MXFP4 GGUF` is the mixture for experts."""
    marked = re.fullmatch(r"(?:gguf[ _-]*(.+)|(.+?)[ _-]*gguf)", said)
    name = (marked.group(1) or marked.group(2)) if marked else said
    name = name.replace("-", "_").replace(" ", "_").removeprefix("ggufmix_")
    if marked and name in ("mxfp4", "mxfp4_moe"):
        return ParsedPrecision("ggufmix_mxfp4_moe")
    if name in GGUF_FILE_TYPES and (marked or name not in ("f32", "bf16", "f16")):
        return ParsedPrecision(f"ggufmix_{name}")
    dynamic = re.fullmatch(r"(?:ud_)?(i?q\d_\w+?)(?:_dynamic|_xl|_l)?", name)
    if dynamic and ("dynamic" in name or name.startswith("ud_")) and dynamic.group(1) in GGUF_FILE_TYPES:
        note = "a mix chosen layer by layer by its maker: the plain mix of that name assumed, its file is larger"
        return ParsedPrecision(f"ggufmix_{dynamic.group(1)}", note)
    return None


def _grouped(said: str) -> ParsedPrecision | None:
    """AWQ and GPTQ with bits and group size: `AWQ-INT4`, `GPTQ-int4 g32 act-order=yes`, `int4 gptq`, `int4-g32`."""
    method = next((name for name in ("awq", "gptq") if name in said), None)
    bits = re.search(r"(?:int|w)?([348])(?:-?bit)?\b", re.sub(r"g=?\d+|act-order\S*", "", said))
    group = re.search(r"\bg=?(32|64|128)\b", said)
    if method is None and not (group and bits):
        return None
    width, size = bits.group(1) if bits else "4", group.group(1) if group else "128"
    if width in ("3", "8") and (method == "awq" or size != "128"):
        return None
    method = method or "gptq"
    notes = [] if group else ["groups of 128 assumed"]
    if "act-order=yes" in said:
        notes.append("act-order adds 32 bits per input column")
    return ParsedPrecision(f"{method}_int{width}_g{size}", "; ".join(notes) or None)


def _bitsandbytes(said: str) -> ParsedPrecision | None:
    """bitsandbytes formats, double quantisation by `dq` or `double`."""
    if re.search(r"torchao", said):
        slug = "bnb_nf4" if "nf4" in said else None
        return ParsedPrecision(slug, "torchao NF4: blocks of 64 as in bitsandbytes assumed") if slug else None
    if not re.search(r"\bbnb|bitsandbytes|\bnf4\b|llm\.int8", said):
        return None
    double = bool(re.search(r"dq|double", said))
    if re.search(r"int8|8-?bit", said):
        return ParsedPrecision("bnb_llm_int8")
    if re.search(r"fp4", said):
        return ParsedPrecision("bnb_fp4_double" if double else "bnb_fp4")
    if "dynamic" in said or re.search(r"unsloth[ -]bnb", said):
        return ParsedPrecision("bnb_nf4_dynamic", "some matrices stay 16-bit, which ones differs by model")
    if re.search(r"\b4-?bit", said) and not re.search(r"nf4", said):
        return ParsedPrecision("bnb_nf4_double", "NF4 with double quantisation assumed")
    return ParsedPrecision("bnb_nf4_double" if double else "bnb_nf4")


def _floating_8_and_4(said: str) -> ParsedPrecision | None:
    """FP8 and FP4 layouts and mixtures."""
    if re.search(r"fp4/fp8|fp8/fp4|fp4 experts", said):
        return ParsedPrecision("fp4_experts_fp8")
    if "nvfp4" in said:
        return ParsedPrecision("nvfp4", None if "w4a4" in said or said == "nvfp4" else "as NVFP4 by ModelOpt")
    if "mxfp4" in said:
        note = "every linear layer MXFP4 assumed, not the experts alone" if "amd" in said else None
        return ParsedPrecision("mxfp4", note)
    if re.match(r"fp8|float8|amp_fp8", said):
        if re.search(r"block|128x128", said):
            return ParsedPrecision("fp8_e4m3_block128x128")
        if re.search(r"per.tensor|tensorwise|current|delayed", said):
            return ParsedPrecision("fp8_e4m3_per_tensor")
        if "marlin" in said:
            return ParsedPrecision("fp8_e4m3_per_channel", "stored in FP8, computed in 16 bits")
        return ParsedPrecision("fp8_e4m3_per_channel", LOOSE["fp8"])
    return None


def _integer(said: str) -> ParsedPrecision | None:
    """Compressed-tensors names: `W4A16`, `INT4 compressed-tensors`, `W8A8`, with a group size or without."""
    if "w4a16" in said or re.fullmatch(r"(packed )?int4 \(?compressed[- ]tensors\)?( g\d+)?", said):
        size = "32" if re.search(r"g32\b", said) else "128"
        return ParsedPrecision(f"w4a16_ct_g{size}", None if re.search(r"g\d", said) else LOOSE["w4a16"])
    if "w8a8" in said:
        return ParsedPrecision("fp8_e4m3_per_channel" if "fp8" in said else "int8_w8a8")
    return None


def _bits_stated(said: str) -> ParsedPrecision | None:
    """ExLlama files of so many bits: `exl2 4.5bpw`, `EXL3 3.0 bpw`, `4.0bpw`."""
    found = re.fullmatch(r"(?:(exl[23]|exllamav[23])[ _-]*)?(\d+(?:\.\d+)?)[ _-]*(bpw|bits?)?", said)
    if found is None or not (found[1] or found[3] == "bpw") or not 1 <= float(found[2]) <= 8:
        return None
    slug, note = f"exl{(found[1] or '2')[-1]}", f"{found[2]} bits per weight on average over the layers"
    return ParsedPrecision(slug, note if found[1] else f"EXL2 assumed; {note}", bits=float(found[2]))


def _apple(said: str) -> ParsedPrecision | None:
    """MLX builds: `mlx 4bit`, `MLX-8bit g32`."""
    found = re.fullmatch(r"mlx[ _-]*(?:int)?([34568])[ _-]*(?:bit)?(?:[ _-]*g(32|64))?", said)
    if found is None:
        return ParsedPrecision("mlx_mxfp4") if re.fullmatch(r"mlx[ _-]*mxfp4", said) else None
    bits, size = found.group(1), found.group(2) or "64"
    if size == "32" and bits != "8":
        return None
    return ParsedPrecision(f"mlx_{bits}bit_g{size}")


def _training(said: str) -> ParsedPrecision | None:
    """Descriptions of training runs: the format of the weights as a forward pass holds them."""
    if re.match(r"amp_bf16|bf16|bfloat16", said):
        note = "FP8 in the linear layers is compute, not storage" if re.search(r"fp8|float8", said) else None
        return ParsedPrecision("bf16", note or "weights in 16 bits; gradients and states follow from the recipe")
    if re.match(r"fp16|16-mixed", said):
        return ParsedPrecision("fp16", "weights in 16 bits; gradients and states follow from the recipe")
    return None


def _slug(said: str) -> ParsedPrecision | None:
    """A slug of a record, spelled as it is."""
    file_type = said.startswith("ggufmix_") and said.removeprefix("ggufmix_") in GGUF_FILE_TYPES
    return ParsedPrecision(said) if file_type or said in GGUF_BLOCKS or _SLUGS.fullmatch(said) else None


def _mixture(said: str) -> ParsedPrecision | None:
    """Names of MIXTURES."""
    return ParsedPrecision(MIXTURES[said]) if said in MIXTURES else None


_READERS: Final[tuple[Callable[[str], ParsedPrecision | None], ...]] = (
    _slug, _mixture, _short, _bits_stated, _gguf, _apple, _bitsandbytes, _floating_8_and_4, _integer, _grouped,
    _training,
)  # fmt: skip
