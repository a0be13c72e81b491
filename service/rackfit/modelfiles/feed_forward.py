"""The feed-forward part of each layer of a config.json: dense, experts, or some layers of each."""

from __future__ import annotations

from typing import Any

from rackfit.errors import UnsupportedError
from rackfit.modelfiles.fields import look, need, number
from rackfit.modelfiles.plan import Layer


def feed_forward(part: dict[str, Any], d_model: int, layers: int, kind: str, name: str) -> list[Layer]:
    """Return one layer per place with its feed-forward figures alone.

    Raises:
        UnsupportedError: a width or a count of experts is missing.
    """
    widths = _widths(part, d_model, layers, kind, name)
    experts = look(part, "n_experts")
    if not experts or int(experts) < 2:
        return [Layer("none", d_ff=width) for width in widths]
    count = number(experts, "num_experts", name)
    active = number(need(part, "n_experts_active", name), "num_experts_per_tok", name)
    width = number(look(part, "moe_d_ff") or look(part, "d_ff") or widths[0], "moe_intermediate_size", name)
    sparse = Layer(
        "none", n_experts=count, n_experts_active=active, moe_d_ff=width,
        shared_d_ff=_shared(part, width, kind, name) or None,
    )  # fmt: skip
    return [
        sparse if one else Layer("none", d_ff=widths[place]) for place, one in enumerate(_sparse(part, layers, name))
    ]


def _widths(part: dict[str, Any], d_model: int, layers: int, kind: str, name: str) -> list[int]:
    """Return the width of a dense feed-forward part of each layer."""
    multipliers = part.get("ffn_multipliers")
    if isinstance(multipliers, list):
        if len(multipliers) != layers:
            raise UnsupportedError(f"{name}: ffn_multipliers has {len(multipliers)} entries, the model {layers} layers")
        divisor = number(part.get("ffn_dim_divisor") or 256, "ffn_dim_divisor", name)
        return [rounded(float(one) * d_model, divisor) for one in multipliers]
    own = part.get("intermediate_size_mlp") or look(part, "d_ff")
    if own is None and kind in ("gpt2", "gptj", "bloom"):
        own = 4 * d_model  # their classes fill in four times the width where the file has null
    if own is None:
        own = need(part, "d_ff", name) if not look(part, "moe_d_ff") else look(part, "moe_d_ff")
    if isinstance(own, list):
        if len(own) != layers:
            raise UnsupportedError(f"{name}: intermediate_size has {len(own)} entries, the model {layers} layers")
        return [number(one, "intermediate_size", name) for one in own]
    return [number(own, "intermediate_size", name)] * layers


def rounded(width: float, divisor: int) -> int:
    """Return a width rounded to a multiple of the divisor, never below 90 % of it (OpenELM's `make_divisible`).

    >>> rounded(0.5 * 2048, 256), rounded(0.63 * 2048, 256)
    (1024, 1280)
    """
    near = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * width else near


def _shared(part: dict[str, Any], width: int, kind: str, name: str) -> int:
    """Return the width of the experts that every token visits, together."""
    own = look(part, "shared_d_ff")
    if own:
        return number(own, "shared_expert_intermediate_size", name)
    if kind.startswith("llama4"):
        return width  # one shared expert in every mixture, as the class builds it
    return width * number(look(part, "n_shared") or 0, "n_shared_experts", name)


def _sparse(part: dict[str, Any], layers: int, name: str) -> list[bool]:
    """Return which layers have experts."""
    places = range(layers)
    if isinstance(kinds := part.get("mlp_layer_types"), list) and len(kinds) == layers:
        return [one == "sparse" for one in kinds]
    if isinstance(listed := part.get("moe_layers"), list) and listed:
        return [place in listed for place in places]
    frequency = part.get("moe_layer_freq") or 1
    if isinstance(frequency, list):
        if len(frequency) != layers:
            raise UnsupportedError(f"{name}: moe_layer_freq has {len(frequency)} entries, the model {layers} layers")
        return [bool(one) for one in frequency]
    first = number(part.get("first_k_dense_replace") or 0, "first_k_dense_replace", name)
    step = number(
        part.get("decoder_sparse_step") or part.get("interleave_moe_layer_step") or 1, "decoder_sparse_step", name
    )
    dense = set(part.get("mlp_only_layers") or ())
    return [
        place >= first and place % int(frequency) == 0 and (place + 1) % max(step, 1) == 0 and place not in dense
        for place in places
    ]
