"""A Hugging Face config.json as a plan of layers.

What a rule here does not know is refused with its name, never taken for plain attention: a file that speaks of
compressed attention, state space layers or tables per layer is answered by its record, not by a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rackfit.errors import UnsupportedError
from rackfit.modelfiles.feed_forward import feed_forward
from rackfit.modelfiles.fields import language_part, look, need, number
from rackfit.modelfiles.plan import Layer, Plan

UNREAD = (
    "compress_ratios", "o_lora_rank", "ssm_state_size", "mamba_d_state", "mamba_num_heads", "hybrid_override_pattern",
    "hybrid_layer_pattern", "layers_block_type", "linear_num_value_heads", "linear_attn_config",
    "full_attention_interval", "attn_layer_period", "block_configs", "hidden_size_per_layer_input", "global_head_dim",
    "rwkv_version", "conv_L_cache", "layer_group_size", "sparse_attention_config",
)  # fmt: skip
"""Fields of kinds of layers that no rule here reads."""
UNREAD_TYPES = ("mamba", "rwkv", "t5", "bart", "whisper", "bert", "deepseek_v4", "gemma3n", "gemma4", "step3")
"""Starts of model types that are not decoders of the kinds read here."""

KINDS = {
    "full_attention": "gqa", "attention": "gqa", "sliding_attention": "sliding", "local_attention": "sliding",
    "chunked_attention": "chunked", "deepseek_sparse_attention": "gqa",
}  # fmt: skip
"""Kind of layer in `layer_types` -> kind of attention."""
EVERY = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2}
"""Model type whose every so-many-eth layer sees all tokens, the others a window; where the file does not say."""
ALL_WINDOWED = ("mistral", "mixtral", "phi3", "phi4", "starcoder2")
"""Model types whose `sliding_window`, where it is set, holds for every layer."""
PLAIN = ("gpt2", "gpt_neox", "gptj", "opt", "bloom", "falcon", "phi", "starcoder2", "mpt", "gpt_bigcode", "codegen")
"""Model types with two feed-forward matrices instead of three."""
PLAIN_ACTIVATIONS = ("relu", "relu2", "gelu_new", "gelu_fast")
OWN_HEAD = (
    "llama", "mistral", "mixtral", "qwen", "phi", "deepseek", "gpt_neox", "gptj", "glm", "gpt_oss", "minimax", "kimi",
    "mimo", "step", "stablelm", "olmo", "internlm", "baichuan", "yi",
)  # fmt: skip
TIED_HEAD = ("gemma", "gpt2", "opt", "bloom", "gpt_bigcode", "cohere", "starcoder2", "falcon")
"""Starts of model types and what an absent `tie_word_embeddings` means there (defaults of transformers' configs)."""
LEARNED_POSITIONS = {"gpt2": 0, "gpt_bigcode": 0, "opt": 2}
"""Model type with a learned table of positions -> rows beyond the context."""


def read_config(config: Any, name: str) -> tuple[Plan, list[str]]:
    """Return the plan of a config file and what had to be assumed.

    Raises:
        UnsupportedError: a field is missing or no figure, or a kind of layer that no rule here reads.
    """
    if not isinstance(config, dict):
        raise UnsupportedError(f"{name}: expected a JSON object with the fields of a config.json")
    part, beside = language_part(config, name)
    notes = [f"beside the language model, not counted: {one}" for one in beside]
    _refuse(part, config, name)
    layers = number(need(part, "n_layers", name), "num_hidden_layers", name)
    if not 1 <= layers <= 1024:
        raise UnsupportedError(f"{name}: num_hidden_layers = {layers}: expected 1 to 1024")
    kind, d_model = str(part.get("model_type") or config.get("model_type") or ""), need(part, "d_model", name)
    plan = Plan(
        name=name, d_model=number(d_model, "hidden_size", name),
        vocab_size=number(need(part, "vocab_size", name), "vocab_size", name),
        tied=_tied(part, config, kind, notes), gated=_gated(part, kind), layers=(),
        max_context=_context(part), attention_bias=_bias(part, kind), qk_norm=_qk_norm(part, kind),
        norm_rows=4 if kind.startswith(("gemma2", "gemma3")) else 2, ffn_bias=kind in PLAIN and kind != "falcon",
        **_latent(part),
    )  # fmt: skip
    if kind in LEARNED_POSITIONS:
        plan = replace(plan, position_rows=(plan.max_context or 0) + LEARNED_POSITIONS[kind])
    attention = _attention(part, plan, layers, kind, name, notes)
    parts = feed_forward(part, plan.d_model, layers, kind, name)
    if part.get("num_nextn_predict_layers"):
        notes.append("prediction heads of the file are not counted")
    return replace(plan, layers=tuple(_merged(*pair) for pair in zip(attention, parts, strict=True))), notes


def _refuse(part: dict[str, Any], config: dict[str, Any], name: str) -> None:
    unread = next((field for field in UNREAD if part.get(field)), None)
    if unread is None and set(part.get("attn_type_list") or (1,)) != {1}:
        unread = "attn_type_list"
    if unread is not None:
        raise UnsupportedError(
            f"{name}: layers with {unread} are read by no rule here, and are not plain attention; name the model's "
            "record instead"
        )
    kind = str(part.get("model_type") or "")
    if kind.startswith(UNREAD_TYPES) or config.get("is_encoder_decoder"):
        raise UnsupportedError(f"{name}: a {kind or 'encoder-decoder'} model is read by no rule here; name its record")


def _merged(mixer: Layer, feed: Layer) -> Layer:
    return replace(
        mixer, d_ff=feed.d_ff, n_experts=feed.n_experts, n_experts_active=feed.n_experts_active,
        moe_d_ff=feed.moe_d_ff, shared_d_ff=feed.shared_d_ff,
    )  # fmt: skip


def _context(part: dict[str, Any]) -> int | None:
    found = look(part, "max_context")
    return found if isinstance(found, int) and 0 < found < 2**40 else None


def _tied(part: dict[str, Any], config: dict[str, Any], kind: str, notes: list[str]) -> bool:
    said = look(part, "tied")
    said = look(config, "tied") if said is None else said
    if said is not None:
        return bool(said)
    if kind.startswith(TIED_HEAD) or kind.startswith(OWN_HEAD):
        return kind.startswith(TIED_HEAD)
    notes.append("tie_word_embeddings is not in the file: a head of its own assumed")
    return False


def _gated(part: dict[str, Any], kind: str) -> bool:
    if part.get("ffn_with_glu") is not None:
        return bool(part["ffn_with_glu"])
    return kind not in PLAIN and look(part, "act") not in PLAIN_ACTIVATIONS


def _bias(part: dict[str, Any], kind: str) -> str:
    if kind.startswith("qwen2"):
        return "qkv"
    if part.get("attention_bias") or kind in ("gpt2", "opt", "gpt_neox", "bloom"):
        return "qkv" if kind.startswith(("glm", "qwen")) else "qkv+o"
    return "qkv" if part.get("qkv_bias") or part.get("add_qkv_bias") else "no"


def _qk_norm(part: dict[str, Any], kind: str) -> str:
    named = part.get("use_qk_norm") or part.get("normalize_qk_projections")
    return "head" if named or kind.startswith(("qwen3", "gemma3")) else "no"


def _latent(part: dict[str, Any]) -> dict[str, Any]:
    names = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return {name: part.get(name) for name in names} if part.get("kv_lora_rank") else {}


def per_layer(value: Any, layers: int, field: str, name: str) -> list[int]:
    """Return a figure for each layer, whether the file has one for all or a list.

    Raises:
        UnsupportedError: a list of another length, or no figures.
    """
    if isinstance(value, (list, tuple)):
        if len(value) != layers:
            raise UnsupportedError(f"{name}: {field} has {len(value)} entries, the model {layers} layers")
        return [number(one, field, name) for one in value]
    return [number(value, field, name)] * layers


def _attention(
    part: dict[str, Any], plan: Plan, layers: int, kind: str, name: str, notes: list[str]
) -> Sequence[Layer]:
    heads = per_layer(need(part, "n_heads", name), layers, "num_attention_heads", name)
    if plan.kv_lora_rank:
        return _latent_layers(part, plan, heads, name)
    said = look(part, "n_kv_heads")
    said = 1 if said is None and part.get("multi_query") else said
    kv_heads = heads if said is None else per_layer(said, layers, "num_key_value_heads", name)
    width = look(part, "head_dim")
    if width is None:
        if plan.d_model % max(heads[0], 1):
            raise UnsupportedError(f"{name}: head_dim is missing, and {heads[0]} heads do not divide {plan.d_model}")
        width = plan.d_model // max(heads[0], 1)
    width = number(width, "head_dim", name)
    kinds, window = _kinds(part, layers, kind, name, notes)
    return [
        Layer(one, head, kv, width, width, window if one in ("sliding", "chunked") else None) if head else Layer("none")
        for one, head, kv in zip(kinds, heads, kv_heads, strict=True)
    ]


def _latent_layers(part: dict[str, Any], plan: Plan, heads: list[int], name: str) -> list[Layer]:
    """Return layers of latent attention (DeepSeek-V2 paper, section 2.1), with the index of sparse attention."""
    for field in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"):
        if part.get(field) is None:
            raise UnsupportedError(f"{name}: kv_lora_rank is there but {field} is missing")
    d_k = number(plan.qk_nope_head_dim, "qk_nope_head_dim", name) + number(
        plan.qk_rope_head_dim, "qk_rope_head_dim", name
    )
    index = number(part.get("index_head_dim") or 0, "index_head_dim", name)
    index_heads = number(part.get("index_n_heads") or 0, "index_n_heads", name)
    listed = part.get("indexer_types")
    own = (
        [one == "full" for one in listed]
        if isinstance(listed, list) and len(listed) == len(heads)
        else [True] * len(heads)
    )
    return [
        Layer("mla", head, head, d_k, plan.v_head_dim, None, True, index * indexed, index_heads * indexed)
        for head, indexed in zip(heads, own, strict=True)
    ]


def _kinds(part: dict[str, Any], layers: int, kind: str, name: str, notes: list[str]) -> tuple[list[str], int | None]:
    """Return the kind of attention of each layer, and the window of those that have one."""
    window = part.get("sliding_window") if part.get("use_sliding_window") is not False else None
    chunk = part.get("attention_chunk_size")
    listed = part.get("layer_types")
    if isinstance(listed, list):
        if len(listed) != layers:
            raise UnsupportedError(f"{name}: layer_types has {len(listed)} entries, the model {layers} layers")
        strange = next((one for one in listed if one not in KINDS), None)
        if strange is not None:
            raise UnsupportedError(f"{name}: layer_types names {str(strange)[:60]!r}, which no rule here reads")
        kinds = [KINDS[one] for one in listed]
        found = chunk if "chunked" in kinds else part.get("sliding_window")
        if {"sliding", "chunked"} & set(kinds) and not found:
            raise UnsupportedError(f"{name}: layer_types has windows, but sliding_window is missing")
        return kinds, number(found, "sliding_window", name) if found else None
    if chunk:
        return _every(layers, int(part.get("no_rope_layer_interval") or 4), "chunked"), int(chunk)
    if not window:
        return ["gqa"] * layers, None
    window = number(window, "sliding_window", name)
    pattern = part.get("sliding_window_pattern") or EVERY.get(kind)
    if pattern:
        return _every(layers, number(pattern, "sliding_window_pattern", name), "sliding"), window
    if part.get("use_sliding_window") and isinstance(part.get("max_window_layers"), int):
        first = part["max_window_layers"]
        return ["gqa" if place < first else "sliding" for place in range(layers)], window
    if kind in ALL_WINDOWED:
        return ["sliding"] * layers, window
    notes.append("sliding_window is set, but not for which layers: every layer counted with all tokens, an upper bound")
    return ["gqa"] * layers, None


def _every(layers: int, step: int, windowed: str) -> list[str]:
    return [windowed if step < 1 or (place + 1) % step else "gqa" for place in range(layers)]
