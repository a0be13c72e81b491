"""A GGUF file as a plan of layers: names of metadata as llama.cpp writes them, parameters as its tensors count them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rackfit.errors import UnsupportedError
from rackfit.modelfiles.config import per_layer
from rackfit.modelfiles.fields import number
from rackfit.modelfiles.gguf_header import Counted, Header, read_header
from rackfit.modelfiles.plan import Layer, Plan
from rackfit.modelfiles.safetensors import shards_of

FILE_TYPES = {
    0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s", 12: "q3_k_m",
    13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs", 20: "iq2_xs",
    21: "q2_k_s", 22: "iq3_xs", 23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m", 28: "iq2_s",
    29: "iq2_m", 30: "iq4_xs", 31: "iq1_m", 32: "bf16", 38: "mxfp4_moe",
}  # fmt: skip
"""`general.file_type` -> file type (enum llama_ftype in llama.cpp's include/llama.h)."""
UNREAD = ("ssm.", "wkv.", "shortconv.", "full_attention_interval", "attention.compress", "time_mix")
"""Starts of keys of layers that no rule here reads."""
BLOCK = re.compile(r"^blk\.(\d+)\.")


@dataclass(frozen=True)
class GgufModel:
    """What a GGUF file, or all parts of a split one, says."""

    plan: Plan
    file_type: str | None
    bytes: int
    params: int


def read_gguf(path: Path) -> tuple[GgufModel, list[str]]:
    """Return the model in a file with all its parts, and what had to be assumed.

    Raises:
        UnsupportedError: a part is missing, the header is damaged, a key that the cache follows from is missing, or a
            kind of layer that no rule here reads.
    """
    parts = shards_of(path)
    headers = [read_header(part) for part in parts]
    size = sum(part.stat().st_size for part in parts)
    metadata = {key: value for header in reversed(headers) for key, value in header.metadata.items()}
    tensors = dict(pair for header in headers for pair in header.tensors)
    _all_there(path.name, metadata, tensors, len(parts))
    try:
        plan, notes = plan_of(Header(metadata, tuple(tensors.items())), path.name)
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}; its weights are {size:,} bytes") from None
    kind = FILE_TYPES.get(metadata.get("general.file_type", -1))
    return GgufModel(plan, kind, size, sum(tensors.values())), notes


def _all_there(name: str, metadata: dict[str, Any], tensors: dict[str, int], parts: int) -> None:
    split = metadata.get("split.count")
    if isinstance(split, int) and split > 1 and parts != split:
        raise UnsupportedError(
            f"{name}: one of {split} parts under a name that does not say so: the others are not found"
        )
    total = metadata.get("split.tensors.count")
    if isinstance(total, int) and total != len(tensors):
        raise UnsupportedError(f"{name}: {len(tensors)} tensors in all parts, {total} expected")


def plan_of(header: Header, name: str) -> tuple[Plan, list[str]]:
    """Return the plan of a header.

    Raises:
        UnsupportedError: a key is missing, with its name, or a kind of layer that no rule here reads.
    """
    keys = _Keys(header.metadata, name)
    keys.refuse()
    count = keys.count("block_count")
    tensors, notes = dict(header.tensors), list[str]()
    if tensors:
        _check_widths(keys, tensors)
    mixers = _mixers(keys, count)
    feeds = _feeds(keys, count)
    sizes = _sizes(tensors, count) if tensors else [None] * count
    layers = tuple(
        Layer(
            mixer.attention, mixer.n_heads, mixer.n_kv_heads, mixer.d_k, mixer.d_v, mixer.window, mixer.owns_cache,
            d_ff=feed.d_ff, n_experts=feed.n_experts, n_experts_active=feed.n_experts_active, moe_d_ff=feed.moe_d_ff,
            shared_d_ff=feed.shared_d_ff, params=size,
        )
        for mixer, feed, size in zip(mixers, feeds, sizes, strict=True)
    )  # fmt: skip
    outer = sum(values for tensor, values in tensors.items() if not BLOCK.match(tensor)) or None
    if not tensors:
        notes.append("no table of tensors: parameters follow from the dimensions")
    return Plan(
        name=keys.get("general.name", plain=True) or name, d_model=keys.count("embedding_length"),
        vocab_size=_vocabulary(keys, tensors), tied=bool(tensors) and "output.weight" not in tensors,
        gated=not tensors or any(".ffn_gate" in tensor for tensor in tensors), layers=layers,
        max_context=keys.get("context_length"), non_layer_params=outer,
        attention_bias="qkv" if "blk.0.attn_q.bias" in tensors else "no", **_latent(keys),
        per_layer_embedding_dim=keys.get("embedding_length_per_layer_input") or None,
    ), notes  # fmt: skip


class _Keys:
    """Metadata by the names behind the architecture's own."""

    def __init__(self, metadata: dict[str, Any], name: str) -> None:
        self.metadata, self.name = metadata, name
        self.architecture = str(metadata.get("general.architecture") or "")
        if not self.architecture:
            raise UnsupportedError(f"{name}: general.architecture is missing")

    def get(self, key: str, plain: bool = False) -> Any:
        return self.metadata.get(key if plain else f"{self.architecture}.{key}")

    def need(self, key: str) -> Any:
        found = self.get(key)
        if found is None:
            raise UnsupportedError(f"{self.name}: {self.architecture}.{key} is missing, so its cache is not known")
        return found

    def count(self, key: str) -> int:
        return number(self.need(key), key, self.name)

    def refuse(self) -> None:
        start = f"{self.architecture}."
        found = next((key for key in self.metadata if key.removeprefix(start).startswith(UNREAD)), None)
        if found is not None or self.architecture.startswith(("rwkv", "mamba", "t5", "bert")):
            raise UnsupportedError(
                f"{self.name}: layers of {self.architecture} ({found or 'no attention'}) are read by no rule here; "
                "name the model's record"
            )


def _vocabulary(keys: _Keys, tensors: dict[str, int]) -> int:
    tokens = keys.get("tokenizer.ggml.tokens", plain=True)
    said = keys.get("vocab_size") or (tokens.length if isinstance(tokens, Counted) else None)
    width = keys.count("embedding_length")
    if "token_embd.weight" in tensors:
        return tensors["token_embd.weight"] // width
    if said is None:
        raise UnsupportedError(f"{keys.name}: neither a vocabulary nor token_embd.weight is there")
    return number(said, "vocab_size", keys.name)


def _check_widths(keys: _Keys, tensors: dict[str, int]) -> None:
    table, width = tensors.get("token_embd.weight"), keys.count("embedding_length")
    if table is not None and (width == 0 or table % width):
        raise UnsupportedError(f"{keys.name}: token_embd.weight is no multiple of embedding_length = {width}")


def _mixers(keys: _Keys, count: int) -> list[Layer]:
    """Return how each layer mixes tokens; no heads on a layer means no attention there."""
    heads = per_layer(keys.need("attention.head_count"), count, "attention.head_count", keys.name)
    latent = keys.get("attention.kv_lora_rank")
    said = keys.get("attention.head_count_kv")
    kv_heads = heads if said is None else per_layer(said, count, "attention.head_count_kv", keys.name)
    most = max(heads, default=0)
    width = keys.get("attention.key_length") or (keys.count("embedding_length") // most if most else 0)
    wide, v_wide = number(width, "attention.key_length", keys.name), keys.get("attention.value_length") or width
    local = keys.get("attention.key_length_swa") or wide
    v_local = keys.get("attention.value_length_swa") or (local if keys.get("attention.key_length_swa") else v_wide)
    window, windowed = keys.get("attention.sliding_window"), _windowed(keys, count)
    owners = count - number(keys.get("attention.shared_kv_layers") or 0, "attention.shared_kv_layers", keys.name)
    found = []
    for place, (head, kv, swa) in enumerate(zip(heads, kv_heads, windowed, strict=True)):
        if not head or not kv:
            found.append(Layer("none"))
        elif latent:
            found.append(Layer("mla", head, head, *_latent_widths(keys)))
        else:
            sizes = (local, v_local) if swa else (wide, v_wide)
            found.append(Layer("sliding" if swa else "gqa", head, kv, *sizes, window if swa else None, place < owners))
    return found


def _windowed(keys: _Keys, count: int) -> list[bool]:
    """Return which layers have a window: as a list says it, or all but every so-many-eth."""
    if not keys.get("attention.sliding_window"):
        return [False] * count
    pattern = keys.get("attention.sliding_window_pattern")
    if isinstance(pattern, list):
        if len(pattern) != count:
            raise UnsupportedError(f"{keys.name}: sliding_window_pattern has {len(pattern)} entries for {count} layers")
        return [bool(one) for one in pattern]
    step = pattern if isinstance(pattern, int) else _PATTERNS.get(keys.architecture, 1)
    return [bool(step) and (step == 1 or (place + 1) % step != 0) for place in range(count)]


_PATTERNS = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4, "qwen2": 0, "qwen3": 0, "llama": 0}
"""Architecture -> every so-many-eth layer sees all tokens, as llama.cpp sets it where the file does not say; 0: all."""


def _latent(keys: _Keys) -> dict[str, Any]:
    rank = keys.get("attention.kv_lora_rank")
    if not rank:
        return {}
    d_k, d_v = _latent_widths(keys)
    rope = keys.count("rope.dimension_count")
    return {
        "kv_lora_rank": rank, "q_lora_rank": keys.get("attention.q_lora_rank") or None, "qk_rope_head_dim": rope,
        "qk_nope_head_dim": d_k - rope, "v_head_dim": d_v,
    }  # fmt: skip


def _latent_widths(keys: _Keys) -> tuple[int, int]:
    """Return the widths of a head of latent attention; newer files have those of the latent beside them."""
    key = keys.get("attention.key_length_mla") or keys.need("attention.key_length")
    value = keys.get("attention.value_length_mla") or keys.need("attention.value_length")
    return number(key, "attention.key_length", keys.name), number(value, "attention.value_length", keys.name)


def _feeds(keys: _Keys, count: int) -> list[Layer]:
    experts = keys.get("expert_count") or 0
    said = keys.get("feed_forward_length")
    widths = per_layer(said, count, "feed_forward_length", keys.name) if said is not None else [0] * count
    if not experts:
        return [Layer("none", d_ff=width or None) for width in widths]
    first = number(keys.get("leading_dense_block_count") or 0, "leading_dense_block_count", keys.name)
    width = keys.get("expert_feed_forward_length") or widths[0]
    shared = keys.get("expert_shared_feed_forward_length") or width * (keys.get("expert_shared_count") or 0)
    sparse = Layer(
        "none", n_experts=experts, n_experts_active=keys.count("expert_used_count"), moe_d_ff=width,
        shared_d_ff=shared or None,
    )  # fmt: skip
    return [Layer("none", d_ff=widths[place] or None) if place < first else sparse for place in range(count)]


def _sizes(tensors: dict[str, int], count: int) -> list[int | None]:
    """Return the parameters of each layer as the tensors count them."""
    found: list[int | None] = [0] * count
    for name, values in tensors.items():
        matched = BLOCK.match(name)
        if matched and int(matched[1]) < count:
            found[int(matched[1])] = (found[int(matched[1])] or 0) + values
    return found
