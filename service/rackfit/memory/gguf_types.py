"""Which block type llama.cpp gives a tensor in a file of a given type.

A file called Q4_K_M is a mixture: the quantiser picks a type per tensor from its part in the layer, the layer's
place, the number of experts, and how many query heads share a KV head; a row that a block does not divide falls
back to a block of 32. The rules follow the project's quantiser (src/llama-quant.cpp at 007dbbf3f), written down
as tables. Files made by other tools, or by older builds, may differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BLOCKS: Final[dict[str, tuple[int, int]]] = {
    "f32": (1, 4), "f16": (1, 2), "bf16": (1, 2),
    "q4_0": (32, 18), "q4_1": (32, 20), "q5_0": (32, 22), "q5_1": (32, 24), "q8_0": (32, 34),
    "q2_k": (256, 84), "q3_k": (256, 110), "q4_k": (256, 144), "q5_k": (256, 176), "q6_k": (256, 210),
    "iq1_s": (256, 50), "iq1_m": (256, 56), "iq2_xxs": (256, 66), "iq2_xs": (256, 74), "iq2_s": (256, 82),
    "iq3_xxs": (256, 98), "iq3_s": (256, 110), "iq4_nl": (32, 18), "iq4_xs": (256, 136), "mxfp4": (32, 17),
}  # fmt: skip
"""Block type -> (values, bytes) of one block, from the block structs of ggml-common.h."""

BASE: Final[dict[str, str]] = {
    "f32": "f32", "bf16": "bf16", "f16": "f16", "q8_0": "q8_0", "q6_k": "q6_k", "q5_k_m": "q5_k", "q5_k_s": "q5_k",
    "q5_1": "q5_1", "q5_0": "q5_0", "q4_k_m": "q4_k", "q4_k_s": "q4_k", "q4_1": "q4_1", "q4_0": "q4_0",
    "q3_k_l": "q3_k", "q3_k_m": "q3_k", "q3_k_s": "q3_k", "q2_k": "q2_k", "q2_k_s": "q2_k", "iq4_nl": "iq4_nl",
    "iq4_xs": "iq4_xs", "iq3_m": "iq3_s", "iq3_s": "iq3_s", "iq3_xs": "iq3_s", "iq3_xxs": "iq3_xxs",
    "iq2_m": "iq2_s", "iq2_s": "iq2_xs", "iq2_xs": "iq2_xs", "iq2_xxs": "iq2_xxs", "iq1_m": "iq1_m",
    "iq1_s": "iq1_s", "mxfp4_moe": "mxfp4",
}  # fmt: skip
"""File type -> block type of a tensor that no rule singles out."""

WIDE_TABLES: Final[dict[str, str]] = {"q6_k_l": "q6_k", "q5_k_l": "q5_k_m", "q4_k_l": "q4_k_m", "q2_k_l": "q2_k"}
"""Files of a maker's own -> the file type that they are but for embedding and output, which are Q8_0: "Uses Q8_0 for
embed and output weights" (bartowski's model cards)."""
BASE.update({name: BASE[plain] for name, plain in WIDE_TABLES.items()})

_FALLBACK: Final[dict[str, str]] = {
    "q2_k": "q4_0", "q3_k": "q4_0", "q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0",
    **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs"), "iq4_nl"),
}  # fmt: skip
_LOWEST: Final = frozenset({"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m"})
_TWO_BIT_S: Final = frozenset({"iq2_s", "iq2_m"})
_EMBEDDING: Final[dict[str, str]] = {
    **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs"), "q2_k"),
    **dict.fromkeys(("iq2_s", "iq2_m", "iq3_xxs"), "iq3_s"),
}
_OUTPUT_FIVE_BITS: Final = _LOWEST | {"iq3_xxs"}
_VALUE: Final[dict[str, tuple[str | None, str | None]]] = {
    "q2_k": ("q4_k", "q3_k"), "q2_k_s": ("q4_k", None), "iq3_xxs": ("q4_k", "iq3_xxs"), "iq3_xs": ("q4_k", None),
    "iq3_s": ("q4_k", None), "iq3_m": ("q4_k", "q4_k"), "q3_k_l": ("q5_k", "q5_k"), "iq4_nl": ("q5_k", None),
    "iq4_xs": ("q5_k", None),
}  # fmt: skip
"""Value projection by file type: with at least four query heads per KV head, and with fewer."""
_OUT: Final[dict[str, str]] = {
    "q2_k": "q3_k", "iq3_xxs": "iq3_s", "q3_k_m": "q4_k", "q3_k_l": "q5_k", "iq3_m": "q4_k",
}  # fmt: skip
_FUSED: Final[dict[str, str]] = {
    "q3_k_m": "q4_k", "q3_k_l": "q4_k", "iq3_m": "q4_k", "q4_k_m": "q5_k", "q5_k_m": "q6_k",
}  # fmt: skip
"""One matrix for query, key and value: the rule under which the published files were made."""
_OUT_EIGHT_EXPERTS: Final = frozenset({
    "q2_k", "iq3_xs", "iq3_xxs", "q3_k_s", "q3_k_m", "iq4_nl", "q4_k_s", "q4_k_m", "iq3_s", "iq3_m", "iq4_xs",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Traits:
    """What the rules ask of a model. `heads_per_kv` is query heads per KV head of the first layer."""

    layers: int
    value_tensors: int
    heads_per_kv: float
    experts: int
    falcon: bool = False
    calibrated: bool = False
    """An importance matrix was used: some guards for early layers fall away."""
    of_2023: bool = False
    """The quantiser of 2023: it gave Q2_K three bits but for query, key and embedding, and singled no expert out."""

    @property
    def seventy_b(self) -> bool:
        """80 layers with grouped heads: the shape the project calls 70B, whose value tensors get more bits."""
        return self.layers == 80 and self.heads_per_kv > 1


def more_bits(index: int, count: int) -> bool:
    """Return whether a layer is among those that get more bits: first and last eighth, every third between."""
    return index < count // 8 or index >= 7 * count // 8 or (index - count // 8) % 3 == 2


def needs_calibration(file_type: str) -> bool:
    """Return whether the quantiser refuses to make files of this type without an importance matrix."""
    return file_type in _LOWEST | {"iq3_xxs", "q2_k_s"}


def block_type(file_type: str, part: str, index: int, traits: Traits, row: int) -> str:
    """Return the block type of a tensor.

    Args:
        file_type: key of BASE.
        part: embedding, head, q, k, v, qkv, attn_out, gate, up, down, experts_gate, experts_up, experts_down, matrix.
        index: layer, or for v the how-many-eth value tensor.
        traits: of the model.
        row: length of a row; a block must divide it.
    """
    base = BASE[file_type]
    if base in ("f32", "f16", "bf16"):
        return base
    if file_type == "mxfp4_moe":
        return "mxfp4" if part.startswith("experts_") else "q8_0"
    if file_type in WIDE_TABLES:
        if part in ("head", "embedding"):
            return divides("q8_0", row)
        return block_type(WIDE_TABLES[file_type], part, index, traits, row)
    if traits.of_2023 and part.startswith("experts_"):
        return divides(base, row)
    chosen = _RULES.get(part.removeprefix("experts_"), _plain)(file_type, index, traits) or base
    if part == "head" and (row % BLOCKS[base][0] or traits.falcon):
        chosen = "q8_0"
    return divides(chosen, row)


def divides(chosen: str, row: int) -> str:
    """Return the type, or the one with blocks of 32 where its blocks do not divide the row, or f16."""
    if row % BLOCKS[chosen][0] == 0:
        return chosen
    fallback = _FALLBACK.get(chosen, "f16")
    return fallback if row % BLOCKS[fallback][0] == 0 else "f16"


def _plain(file_type: str, index: int, traits: Traits) -> str | None:
    return None


def _head(file_type: str, index: int, traits: Traits) -> str | None:
    if file_type in _OUTPUT_FIVE_BITS:
        return "q5_k"
    return None if BASE[file_type] == "q8_0" else "q6_k"


def _embedding(file_type: str, index: int, traits: Traits) -> str | None:
    return _EMBEDDING.get(file_type)


def _value(file_type: str, index: int, traits: Traits) -> str | None:
    grouped = traits.heads_per_kv >= 4 and not (traits.of_2023 and file_type == "q2_k")
    if file_type in _LOWEST:
        if grouped or traits.experts >= 4:
            return "q4_k"
        return "iq3_s" if file_type in _TWO_BIT_S else "q2_k"
    chosen: str | None = _VALUE.get(file_type, (None, None))[0 if grouped else 1]
    if file_type == "q3_k_m":
        chosen = "q5_k" if index < 2 else "q4_k"
    elif file_type in ("q4_k_m", "q5_k_m") and more_bits(index, traits.value_tensors):
        chosen = "q6_k"
    elif file_type == "q4_k_s" and index < 4:
        chosen = "q5_k"
    if traits.seventy_b and (chosen or BASE[file_type]) in ("q3_k", "q4_k"):
        chosen = "q5_k"
    return "q8_0" if traits.experts == 8 else chosen


def _key(file_type: str, index: int, traits: Traits) -> str | None:
    if traits.experts == 8:
        return "q4_k" if file_type in _LOWEST else "q8_0"
    return _query(file_type, index, traits)


def _query(file_type: str, index: int, traits: Traits) -> str | None:
    return {"iq3_xs": "iq3_xxs", "iq3_xxs": "iq2_s"}.get(file_type)


def _fused(file_type: str, index: int, traits: Traits) -> str | None:
    return _FUSED.get(file_type)


def _attention_out(file_type: str, index: int, traits: Traits) -> str | None:
    if file_type in _LOWEST:
        if traits.experts == 8:
            return "q5_k"
        return "iq2_xxs" if file_type in ("iq1_s", "iq1_m") else "iq3_s" if file_type in _TWO_BIT_S else None
    if traits.falcon:
        return "q4_k" if file_type == "q3_k_l" else None
    if traits.experts == 8:
        return "q5_k" if file_type in _OUT_EIGHT_EXPERTS else None
    return _OUT.get(file_type)


def _down(file_type: str, index: int, traits: Traits) -> str | None:
    count, falcon = traits.layers, traits.falcon
    early, bumped = index < count // 8, more_bits(index, count)
    if file_type in _LOWEST:
        return ("iq3_s" if file_type in _TWO_BIT_S else "q2_k") if early else None
    if file_type == "q3_k_m":
        return "q5_k" if index < count // 16 else "q4_k" if not falcon or bumped else "q3_k"
    if file_type == "q4_k_m" and falcon:
        return "q6_k" if index < count // 16 else "q5_k" if bumped else "q4_k"
    by_type = {
        "q2_k": "q3_k",
        "q2_k_s": "q4_k" if early else None,
        "iq3_m": "q4_k" if early or (traits.experts == 8 and bumped) else None,
        "q3_k_l": "q4_k" if falcon else "q5_k",
        "q4_k_m": "q6_k" if bumped else None,
        "q5_k_m": "q6_k" if bumped else None,
        "q4_k_s": "q5_k" if early and not falcon else None,
        "iq4_nl": "q5_k" if early and not traits.calibrated else None,
        "iq4_xs": "q5_k" if early and not traits.calibrated else None,
        "q4_0": "q4_1" if early and traits.calibrated else None,
        "q5_0": "q5_1" if early and traits.calibrated else None,
    }
    return by_type.get(file_type)


def _gate_or_up(file_type: str, index: int, traits: Traits) -> str | None:
    if traits.of_2023 and file_type == "q2_k":
        return "q3_k"
    middle = traits.layers // 8 <= index < 7 * traits.layers // 8
    return "iq3_xxs" if file_type == "iq3_xs" and middle else None


_RULES: Final = {
    "head": _head, "embedding": _embedding, "v": _value, "k": _key, "q": _query, "qkv": _fused,
    "attn_out": _attention_out, "down": _down, "gate": _gate_or_up, "up": _gate_or_up,
}  # fmt: skip
