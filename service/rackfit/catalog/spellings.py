"""Other ways to write a name that is on record: pure text, looked up only where the name as it stands is unknown.

Models are re-uploaded by others under their own organisation (`unsloth/Llama-3.3-70B-Instruct`), with the maker in
front of the name (`bartowski/Qwen_Qwen3-32B-GGUF`), as tags of a registry (`gemma3:27b`), and with words at the end
that name no format (`-i1`, `-DWQ`). Hardware is written with its machine (`MacBook Pro M3 Max`), its link
(`RTX 3090 NVLink`), its size in brackets, or without spaces (`RTX4090`).
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
    "gguf", "mlx", "safetensors", "hf", "i1", "imatrix", "dwq", "unsloth", "quantized", "quant",
    "imat", "optiq", "static", "qat", "preview", "abliterated", "heretic", "uncensored",
})  # fmt: skip
"""Words at the end of an upload's name that say how it was made and nothing about the bytes."""

_FILE: Final = re.compile(r"\.(?:gguf|safetensors)$")

_FAMILY_PREFIX: Final = "meta "
"""Meta's first uploads of Llama 3 and 3.1 carry the company in the name, later copies do not."""

_MAC: Final = re.compile(r"^(?:apple )?(?:macbook(?: pro| air)?|mac (?:studio|mini|pro)|imac)\b.*?\b(?=m\d)")
_PRO_BEHIND: Final = re.compile(r"\brtx (\d{4}) pro\b")
_LINK: Final = re.compile(r"\s+(?:with |without |no )?(?:nvlink|nv link|sli|infinity fabric|xgmi)(?: bridge)?$")
_SIZE: Final = re.compile(r"\b\d+ ?gb\b")
_MOBILE: Final = re.compile(r"\b(?:laptop|mobile|notebook)(?: gpu)?\b")


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
    for base in (tail, tail.removeprefix(_FAMILY_PREFIX), *_without_maker(organisation, tail)):
        if base and base not in seen:
            seen.add(base)
            yield organisation if slash else "", base


def _without_maker(organisation: str, tail: str) -> list[str]:
    """Return the name without its first word where a re-uploader put the maker there: `Qwen_Qwen3-32B`."""
    first, _, rest = tail.partition(" ")
    return [rest, f"{first}/{rest}"] if organisation and rest else []


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


def hardware_spellings(key: str) -> Iterator[str]:
    """Yield other ways to write a device: the chip without its machine, without its link, laptop behind the name."""
    mac = _MAC.sub("apple ", key)
    if mac != key:
        yield mac
    turned = _PRO_BEHIND.sub(r"rtx pro \1", key)
    if turned != key:
        yield turned
    plain = _LINK.sub("", key)
    if plain != key:
        yield plain
    if _SIZE.search(key) and _MOBILE.search(key):
        yield re.sub(r"\s+", " ", _MOBILE.sub("", _SIZE.sub("", key))).strip() + " laptop"
    elif _MOBILE.search(key):
        yield re.sub(r"\s+", " ", _MOBILE.sub("", key)).strip() + " laptop"
