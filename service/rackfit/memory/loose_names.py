"""Names of number formats that say less than a layout, or say it with remarks: read last, and never without a note.

What stands here follows from the makers' own documents: torchao's `int4wo` and AutoRound store 4-bit groups with a
scale, as GPTQ does; `int8wo`, quanto and EETQ keep a scale per output channel; W4A8 stores what W4A16 stores (the
second figure is what the layer computes in); MLC's `q4f16_1` is 4 bits with a 16-bit scale for 32 values.
Unsloth's and bartowski's `_XL` and `_L` files keep more bits in some tensors than the mix they are named after.
"""

from __future__ import annotations

import re
from typing import Final

REMARK: Final = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*")
"""Words in brackets behind or in front of a format: who made it, or the format said again."""

SIZES: Final[dict[str, str]] = {"small": "s", "medium": "m", "large": "l"}
_SIZED: Final = re.compile(r"(i?q\d_k)[ -]+(small|medium|large)")
_BARE: Final = re.compile(r"(?:gguf )?q([2-8])(?:_k|[ -]?bit)?(?: gguf)?")
_BPW_BEHIND: Final = re.compile(r"(i?q\d_\w+) - \d+(?:\.\d+)? bpw")
_REPACKED: Final = re.compile(r"(?:gguf )?(q4_0|iq4_nl)_[48]_[48]")
_TERNARY: Final = re.compile(r"(?:gguf[ _-])?(?:ud[ _-])?(tq[12]_0|q[12]_0)")
_BITS: Final = re.compile(r"(\d(?:\.\d+)?)bit\b")
_GROUP: Final = re.compile(r"g(?:roup)?[ _-]?(?:size)?[ =]*(32|64|128)")
_BARE_MIXES: Final[dict[str, str]] = {
    "2": "q2_k", "3": "q3_k_m", "4": "q4_k_m", "5": "q5_k_m", "6": "q6_k", "8": "q8_0",
}  # fmt: skip
_DYNAMIC: Final = re.compile(r"(?:gguf[ _-])?(?:ud[ _-])?(i?q\d_\w+?|i?q\d)(?:[_ -](?:xl|l))?(?:[ _-]gguf)?")
_NAMED: Final[dict[str, tuple[str, str]]] = {
    "autoround int4": ("gptq_int4_g128", "AutoRound: 4-bit groups of 128 as GPTQ stores them assumed"),
    "int4 autoround": ("gptq_int4_g128", "AutoRound: 4-bit groups of 128 as GPTQ stores them assumed"),
    "autoround": ("gptq_int4_g128", "AutoRound: 4 bits in groups of 128 assumed"),
    "int4wo": ("gptq_int4_g128", "torchao: 4-bit groups of 128 assumed"),
    "torchao int4wo": ("gptq_int4_g128", "torchao: 4-bit groups of 128 assumed"),
    "int4wo-128": ("gptq_int4_g128", "torchao: 4-bit groups of 128"),
    "int4 weight-only": ("gptq_int4_g128", "4-bit groups of 128 assumed"),
    "int4 weight only": ("gptq_int4_g128", "4-bit groups of 128 assumed"),
    "int8wo": ("int8_w8a8", "a scale per output channel assumed"),
    "torchao int8wo": ("int8_w8a8", "a scale per output channel assumed"),
    "int8 weight-only": ("int8_w8a8", "a scale per output channel assumed"),
    "int8 weight only": ("int8_w8a8", "a scale per output channel assumed"),
    "quanto int8": ("int8_w8a8", "a scale per output channel assumed"),
    "eetq": ("int8_w8a8", "EETQ: a scale per output channel assumed"),
    "eetq int8": ("int8_w8a8", "EETQ: a scale per output channel assumed"),
    "smoothquant int8": ("int8_w8a8", "SmoothQuant stores 8-bit weights with a scale per output channel"),
    "hqq 4bit": ("hqq_4bit_g64", "groups of 64 assumed"),
    "hqq 4-bit": ("hqq_4bit_g64", "groups of 64 assumed"),
    "w4a8": ("w4a16_ct_g128", "4-bit weights in groups of 128 assumed; 8 bits are what it computes in"),
    "w4afp8": ("w4a16_ct_g128", "4-bit weights in groups of 128 assumed; FP8 is what it computes in"),
    "fp4": ("nvfp4", "NVFP4 assumed"),
    "q4f16_1": ("gguf_q4_0", "MLC: 4 bits with a 16-bit scale for 32 values"),
    "1.58-bit": ("ternary_1.58", "ternary weights assumed"),
    "2-bit": ("hqq_2bit_g64", "groups of 64 assumed"),
    "3-bit": ("hqq_3bit_g64", "groups of 64 assumed"),
    "5-bit": ("mlx_5bit_g64", "groups of 64 as MLX stores them assumed"),
    "6-bit": ("mlx_6bit_g64", "groups of 64 as MLX stores them assumed"),
    "int8 per-channel": ("int8_w8a8", "a scale per output channel"),
    "int8 sq": ("int8_w8a8", "SmoothQuant stores 8-bit weights with a scale per output channel"),
    "int8 smoothquant": ("int8_w8a8", "SmoothQuant stores 8-bit weights with a scale per output channel"),
    "compressed-tensors int4": ("w4a16_ct_g128", "groups of 128, symmetric, assumed"),
    "torchao int4": ("gptq_int4_g128", "torchao: 4-bit groups of 128 assumed"),
    "int4wo-64": ("gptq_int4_g64", "torchao: 4-bit groups of 64"),
    "int4wo-32": ("gptq_int4_g32", "torchao: 4-bit groups of 32"),
    "autoround int8": ("gptq_int8_g128", "AutoRound: 8 bits in groups of 128 assumed"),
    "hqq": ("hqq_4bit_g64", "4 bits in groups of 64 assumed"),
    "auto-round": ("gptq_int4_g128", "AutoRound: 4 bits in groups of 128 assumed"),
    "q4f16_0": ("gguf_q4_0", "MLC: 4 bits with a 16-bit scale for 32 values"),
    "q0f16": ("fp16", "MLC: not quantised"),
    "q0f32": ("fp32", "MLC: not quantised"),
    "aqlm 2-bit": ("aqlm_1x16_g8", "one codebook of 16 bits for 8 values assumed"),
    "aqlm 2-bit 1x16": ("aqlm_1x16_g8", "one codebook of 16 bits for 8 values"),
    "qlora": ("bnb_nf4_double", "QLoRA: NF4 with double quantisation as in its paper assumed"),
    "qlora 4-bit": ("bnb_nf4_double", "QLoRA: NF4 with double quantisation as in its paper assumed"),
    "qlora 8-bit": ("bnb_llm_int8", "8-bit base weights of bitsandbytes assumed"),
    "int8 qlora": ("bnb_llm_int8", "8-bit base weights of bitsandbytes assumed"),
    "dynamic 4-bit": ("bnb_nf4_double", "dynamic: some layers stay 16-bit, which ones is not named"),
    "32-true": ("fp32", "Lightning's name for weights in 32 bits"),
    "tf32": ("fp32", "TF32 is what is computed in; weights are stored in 32 bits"),
    "amp_fp16": ("fp16", "weights in 16 bits; gradients and states follow from the recipe"),
}
_METHODS: Final = frozenset({"mlx", "awq", "gptq", "bnb", "bitsandbytes", "gguf", "hqq", "torchao", "autoround"})
"""Methods that give a bare width its layout."""
_PREFIXES: Final = (
    "native ", "tensorrt-llm ", "trt-llm ", "vllm ", "official ", "online ", "unsloth ", "quark ", "modelopt ",
    "torchao ", "qat ", "ggml ", "lora ", "mixed ", "mlx ",
)  # fmt: skip
"""Words in front of a format that say who made it or where it runs."""
_SUFFIXES: Final = (" qat", "-dwq", " dwq", " base", " lora")
"""Words behind a format that say how it was found or what is trained beside it."""


def plainer(said: str) -> list[str]:
    """Return what a name says without remarks and makers, likelier readings first; empty where nothing was added."""
    readings = []
    remark = REMARK.search(said)
    if remark is not None:
        group = _GROUP.fullmatch(remark[1].strip())
        if group is not None and re.match(r"(?:int)?4", said):
            readings.append(f"int4-g{group[1]}")
        if remark[1].strip() in _METHODS:
            readings.append(f"{remark[1].strip()} {REMARK.sub(' ', said).strip()}")
        readings += [REMARK.sub(" ", said).strip(), remark[1].strip()]
    dashed = _BITS.sub(r"\1-bit", said)
    if dashed != said:
        readings += [dashed, *plainer(dashed)]
    readings += [said.removesuffix(suffix) for suffix in _SUFFIXES if said.endswith(suffix)]
    readings += [said.removeprefix(prefix) for prefix in _PREFIXES if said.startswith(prefix)]
    swapped = re.fullmatch(r"([34568])-?bit mlx", said)
    if swapped:
        readings.append(f"mlx {swapped[1]}bit")
    return [reading for reading in readings if reading and reading != said]


def loose_format(said: str, file_types: tuple[str, ...]) -> tuple[str, str] | None:
    """Return (slug, note) of a name that says less than a layout; None where it says nothing at all.

    Args:
        said: the name, lower case, single spaces.
        file_types: file types of llama.cpp.
    """
    if said in _NAMED:
        return _NAMED[said]
    sized = _SIZED.fullmatch(said)
    if sized and sized[1] == "q2_k" and sized[2] == "medium":
        return "ggufmix_q2_k", "as llama.cpp prints it"
    if sized and f"{sized[1]}_{SIZES[sized[2]]}" in file_types:
        return f"ggufmix_{sized[1]}_{SIZES[sized[2]]}", "as llama.cpp prints it"
    behind = _BPW_BEHIND.fullmatch(said)
    if behind and behind[1] in file_types:
        return f"ggufmix_{behind[1]}", "as llama.cpp prints it"
    repacked = _REPACKED.fullmatch(said)
    if repacked:
        return f"ggufmix_{repacked[1]}", "rows interleaved for a processor, bytes as without"
    ternary = _TERNARY.fullmatch(said)
    if ternary:
        return f"gguf_{ternary[1]}", "every matrix in blocks of that type assumed, its file keeps some larger"
    bare = _BARE.fullmatch(said)
    if bare and bare[1] in _BARE_MIXES:
        mix = _BARE_MIXES[bare[1]]
        return f"ggufmix_{mix}", f"the GGUF file type {mix.upper()} assumed"
    dynamic = _DYNAMIC.fullmatch(said.replace("-", "_").replace(" ", "_"))
    if dynamic and dynamic[1] != said:
        nearest = _nearest_mix(dynamic[1], file_types)
        if nearest is not None:
            note = f"a mix chosen tensor by tensor by its maker: plain {nearest.upper()} assumed, its file is larger"
            return f"ggufmix_{nearest}", note
    return None


def _nearest_mix(stem: str, file_types: tuple[str, ...]) -> str | None:
    """Return the file type that a mix of one's own is named after: Q4_K_XL is a Q4_K_M with more."""
    if stem in file_types:
        return stem
    return next(
        (name for name in (f"{stem}_m", f"{stem}_0", "q8_0" if stem == "q8_k" else "") if name in file_types), None
    )
