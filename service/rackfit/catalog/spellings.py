"""Other ways to write a name that is on record: pure text, looked up only where the name as it stands is unknown.

Models are re-uploaded by others under their own organisation (`unsloth/Llama-3.3-70B-Instruct`), with the maker in
front of the name (`bartowski/Qwen_Qwen3-32B-GGUF`), as tags of a registry (`gemma3:27b`), and with words at the end
that name no format (`-i1`, `-DWQ`, `-128K` for a longer context over the same tensors), with the maker in front and
no slash (`IBM Granite 3.3 8B`), and with the place that a shape was read from (`(torchtitan config)`). Hardware:
`catalog.hardware_spellings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

REPACK_FORMATS: Final[dict[str, str]] = {"mlx-community": "mlx", "mlx community": "mlx"}
"""Organisations whose bare `4bit` is a format of their own: the word that says which."""

NAMELESS_FP4: Final[dict[str, str]] = {"nvidia": "nvfp4", "amd": "mxfp4"}
"""Organisations whose bare `FP4` is the 4-bit float of their own hardware."""

EMPTY_WORDS: Final = frozenset({
    "gguf", "ggml", "mlx", "safetensors", "hf", "i1", "imatrix", "dwq", "unsloth", "quantized", "quant",
    "imat", "optiq", "static", "qat", "preview", "abliterated", "heretic", "uncensored",
    "128k",
})  # fmt: skip
"""Words at the end of an upload's name that say how it was made and nothing about the bytes."""

_FILE: Final = re.compile(r"\.(?:gguf|safetensors)$")

STAGES: Final = frozenset({
    "base", "pt", "pretrained", "instruct", "it", "chat", "sft", "dpo", "rl", "think", "thinking", "reasoning",
})  # fmt: skip
"""Words for how far the weights of one release were trained: its shapes are the same at every stage."""

MAKERS: Final = frozenset({
    "ai21", "alibaba", "cohere", "databricks", "google", "ibm", "liquidai", "meta", "microsoft", "minimax", "moonshot",
    "nvidia", "openai", "stability", "tencent", "xai", "zai",
})  # fmt: skip
"""Makers whose name people write in front of a model, without a slash."""

_READ_FROM: Final = re.compile(r" (?:\w+ )?config$")
"""`(torchtitan config)`: where a case read the shape that it names."""

_FAMILY_PREFIX: Final = "meta "
"""Meta's first uploads of Llama 3 and 3.1 carry the company in the name, later copies do not."""


_FORMAT_WORD: Final = re.compile(
    r"\d(?:\.\d+)?bit|u?int\d|(?:nv|mx|n|b)?fp?\d{1,2}(?:a\d+)?|bf16|nf4|w\d+a(?:fp)?\d+|awq|gptq|hqq|autoround|[it]?q\d.*"
    r"|ud|torchao|qat|mlx|bnb|bitsandbytes|exl[23]|quark|modelopt"
)


def names_format(words: str) -> bool:
    """Return whether some words begin with one that only formats have; what stands before belongs to the name.

    >>> names_format("4bit mlx"), names_format("ud q4 k xl"), names_format("v1.5 awq"), names_format("thinking nvfp4")
    (True, True, False, False)
    """
    return _FORMAT_WORD.fullmatch(words.split(" ")[0]) is not None


def is_empty(word: str) -> bool:
    """Return whether a word of an upload's name says nothing about its format: `gguf`, `i1`, `4.5bpw` beside `exl2`."""
    return word in EMPTY_WORDS or re.fullmatch(r"\d+(?:\.\d+)?bpw", word) is not None


def squashed(text: str, dots: bool = True) -> str:
    """Return a name without anything but letters, digits and what tells names apart: `/`, `+` and, if wanted, dots.

    >>> squashed("gemma3:27b-it") == squashed("Gemma-3-27B it"), squashed("llama 3 1 8b", dots=False)
    (True, 'llama318b')
    """
    return re.sub(r"[^a-z0-9/+.]" if dots else r"[^a-z0-9/+]", "", text.casefold())


def model_spellings(key: str) -> Iterator[tuple[str, str]]:
    """Yield (organisation, name) for each reading of a model's name, the nearest to what was written first."""
    organisation, slash, tail = _FILE.sub("", key).rpartition("/")
    seen = {key}
    plain = _READ_FROM.sub("", tail)
    for base in (tail, plain, plain.removeprefix(_FAMILY_PREFIX), *_without_maker(organisation, plain)):
        if base and base not in seen:
            seen.add(base)
            yield organisation if slash else "", base


def _without_maker(organisation: str, tail: str) -> list[str]:
    """Return the name without its first word where that is the maker: `Qwen_Qwen3-32B`, `IBM Granite 3.3 8B`."""
    first, _, rest = tail.partition(" ")
    if organisation:
        return [rest, f"{first}/{rest}"] if rest else []
    return [rest] if rest and first in MAKERS else []


def without_stage(key: str) -> str | None:
    """Return a hub id without the words for a stage of training; None for a name without an organisation.

    >>> without_stage("qwen/qwen3.5 9b base") == without_stage("qwen/qwen3.5 9b"), without_stage("qwen3 8b base")
    (True, None)
    """
    organisation, slash, tail = key.rpartition("/")
    words = [word for word in tail.split(" ") if word not in STAGES]
    return f"{organisation}/{' '.join(words)}" if slash and organisation and words else None


def format_spellings(organisation: str, words: str) -> Iterator[str]:
    """Yield what the last words of an upload's name may say of its format, as formats are written elsewhere."""
    own = REPACK_FORMATS.get(organisation)
    if own is not None:
        yield f"{own} {words}"
    if words == "fp4" and organisation in NAMELESS_FP4:
        yield NAMELESS_FP4[organisation]
    grouped = re.fullmatch(r"(gptq|awq) (\d)b(?:it)?(?: (\d+)g)?", words)
    if grouped:
        yield f"{grouped[1]} int{grouped[2]}" + (f" g{grouped[3]}" if grouped[3] else "")
    yield words.removeprefix("quantized.")
    for behind in (" kv", " fp8", " v2", " qad"):
        if words.endswith(behind):
            yield words.removesuffix(behind)
    if words.endswith(" mlx"):
        yield f"mlx {words.removesuffix(' mlx')}"
    mixed = re.fullmatch(r"w (mxfp4|nvfp4|fp8|int[48]) a \w+", words)
    if mixed:
        yield mixed[1]
