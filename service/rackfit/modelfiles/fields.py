"""Names that config files give the same figure, and where in a file of several models the language model lies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rackfit.errors import UnsupportedError

NAMES = {
    "d_model": ("hidden_size", "n_embd", "d_model", "model_dim", "dim"),
    "n_layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "num_transformer_layers"),
    "n_heads": ("num_attention_heads", "n_head", "num_heads", "n_heads", "num_query_heads"),
    "n_kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "d_ff": ("intermediate_size", "ffn_dim", "n_inner", "d_ff", "ffn_hidden_size", "hidden_dim"),
    "vocab_size": ("vocab_size", "padded_vocab_size", "n_vocab"),
    "max_context": (
        "max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length",
        "max_context_length", "n_ctx", "model_max_length",
    ),
    "tied": ("tie_word_embeddings", "share_input_output_layers", "tie_embeddings"),
    "dtype": ("dtype", "torch_dtype"),
    "act": ("hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act"),
    "n_experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "n_experts_active": (
        "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "experts_per_token", "num_selects",
    ),
    "moe_d_ff": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "shared_d_ff": (
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size",
    ),
    "n_shared": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
}  # fmt: skip
"""Figure -> names in config files, the first that is there counts."""

BESIDE = re.compile(r"vision|visual|image|audio|speech|talker|token2wav|encoder|vae|vocoder|code_predictor|mtp|draft")
"""Parts of a file that are no language model, or not the one that answers."""
LANGUAGE = re.compile(r"text|llm|language|thinker|decoder")
DEPTHS = (*NAMES["n_layers"], "depth")
"""Names under which a part says how many layers it has."""


def look(part: dict[str, Any], figure: str) -> Any:
    """Return a figure of a part of a file by any of its names; None where it is not there or null."""
    return next((part[name] for name in NAMES[figure] if part.get(name) is not None), None)


def need(part: dict[str, Any], figure: str, what: str) -> Any:
    """Return a figure that nothing can stand in for.

    Raises:
        UnsupportedError: naming the file and the names looked for.
    """
    found = look(part, figure)
    if found is None:
        raise UnsupportedError(f"{what}: {NAMES[figure][0]} is missing (looked for {', '.join(NAMES[figure])})")
    return found


def number(value: Any, name: str, what: str) -> int:
    """Return a count.

    Raises:
        UnsupportedError: it is none, with the name and the value.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or not 0 <= value < 2**40:
        raise UnsupportedError(f"{what}: {name} = {str(value)[:60]!r}: expected a whole number")
    return int(value)


def language_part(config: dict[str, Any], what: str) -> tuple[dict[str, Any], list[str]]:
    """Return the part of a config that describes the language model, and what lies beside it in words.

    Raises:
        UnsupportedError: no part has layers and a width, or several may be meant.
    """
    parts = [(path, part) for path, part in _parts(config) if _is_model(part)]
    own = [(path, part) for path, part in parts if not BESIDE.search(path)]
    named = [one for one in own if LANGUAGE.search(one[0])]
    chosen = [one for one in own if one[0] == ""] or named or own
    if not chosen:
        raise UnsupportedError(f"{what}: no part has a number of layers and a width (num_hidden_layers, hidden_size)")
    if len(chosen) > 1:
        raise UnsupportedError(f"{what}: {' and '.join(path for path, _ in chosen)} may each be the language model")
    path, part = chosen[0]
    beside = [
        f"{other} ({depth} layers)" if depth else other
        for other, found in _parts(config)
        if other and other != path and BESIDE.search(other) and not path.startswith(f"{other}.")
        for depth in [next((found[name] for name in DEPTHS if isinstance(found.get(name), int)), None)]
    ]
    return part, beside


def _is_model(part: dict[str, Any]) -> bool:
    return look(part, "n_layers") is not None and look(part, "d_model") is not None


def _parts(config: dict[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the file and the tables within it, each with its dotted path."""
    yield path, config
    if depth < 4:
        for name, value in config.items():
            if isinstance(value, dict) and name.endswith(("_config", "_cfg", "config")):
                yield from _parts(value, f"{path}.{name}" if path else name, depth + 1)
