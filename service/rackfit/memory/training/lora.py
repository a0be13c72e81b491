"""Low-rank adapters: trained parameters, and the frozen base in its precision.

Formula: rank x (inputs + outputs) per adapted matrix (Hu et al., arXiv 2106.09685, section 4.1).
"""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Layout, Model, Precision
from rackfit.memory.training.domain import Adapter
from rackfit.memory.weights import layer_bytes, outer_bytes

TARGETS = ("q", "k", "v", "o", "gate", "up", "down", "head")
GROUPS = {
    "attn": ("q", "k", "v", "o"),
    "attention": ("q", "k", "v", "o"),
    "mlp": ("gate", "up", "down"),
    "all": TARGETS[:-1],
    "all_linear": TARGETS[:-1],
    "all-linear": TARGETS[:-1],
    "shared_expert": ("gate", "up", "down"),
    "qkv": ("q", "k", "v"),
}
DEFAULT_TARGETS = frozenset({"q", "v"})
"""PEFT's own default for Llama-like models and litgpt's."""
WIDE_TARGETS = frozenset(TARGETS[:-1])


def read_targets(text: str) -> frozenset[str]:
    """Return the adapted matrices of a text such as `q_proj+v_proj` or `attn+mlp`; unknown words are left out."""
    found: set[str] = set()
    for word in text.casefold().replace(",", "+").split("+"):
        name = word.strip().removesuffix("_proj")
        found.update(GROUPS.get(name, (name,) if name in TARGETS else ()))
    return frozenset(found)


def matrix_shapes(model: Model, group: LayerGroup) -> dict[str, tuple[float, float, int]]:
    """Return (inputs, outputs, how many) of each adaptable matrix of one layer."""
    d, heads, kv_heads = model.d_model, group.n_heads or 0, group.n_kv_heads or 0
    d_k, d_v = group.d_k or 0, group.d_v or 0
    shapes: dict[str, tuple[float, float, int]] = {}
    if heads and group.attention not in ("none", "mla"):
        shapes |= {"q": (d, heads * d_k, 1), "k": (d, kv_heads * d_k, 1), "v": (d, kv_heads * d_v, 1)}
        shapes["o"] = (heads * d_v, d, 1)
    elif group.attention == "mla":
        latent, rope = model.kv_lora_rank or 0, model.qk_rope_head_dim or 0
        shapes |= {"q": (model.q_lora_rank or d, heads * d_k, 1), "k": (d, latent + rope, 1)}
        shapes |= {"v": (latent, heads * (d_k - rope + d_v), 1), "o": (heads * d_v, d, 1)}
    width = group.d_ff or 0
    if width:
        shapes |= {"up": (d, width, 1), "down": (width, d, 1)}
        if model.gated_ffn:
            shapes["gate"] = (d, width, 1)
    return shapes


def adapter_params(anatomy: Anatomy, rank: int, targets: frozenset[str], dora: bool = False) -> int:
    """Return the trained parameters of adapters of a rank on the targets, all layers; experts carry none."""
    model, total = anatomy.model, 0.0
    for group in model.groups:
        for name, (inputs, outputs, count) in matrix_shapes(model, group).items():
            if name in targets:
                total += group.count * count * (rank * (inputs + outputs) + (outputs if dora else 0))
    if "head" in targets:
        total += rank * (model.d_model + model.vocab_size)
    return round(total)


def trained_params(anatomy: Anatomy, adapter: Adapter) -> int:
    """Return all trained parameters of an adapter run: stated, or adapters with embedding and head where trained."""
    if adapter.trained is not None:
        return adapter.trained
    total = adapter_params(anatomy, adapter.rank, adapter.targets, adapter.dora)
    if adapter.trained_embeddings:
        total += outer_params(anatomy)
    return total


def outer_params(anatomy: Anatomy) -> int:
    """Return the parameters of embedding and head, a tied one once."""
    return anatomy.outer_roles.get("embedding", 0) + anatomy.outer_roles.get("head", 0)


def frozen_bytes(anatomy: Anatomy, base: Precision, layout: Layout, upcast_outer: bool) -> float:
    """Return the bytes of the frozen base on the fullest device; `upcast_outer` keeps embedding and head in fp32."""
    layers = layer_bytes(anatomy, base, layout)
    held = sum(group.count * size for group, size in zip(anatomy.model.groups, layers, strict=True)) / layout.pp
    first, last, tower = outer_bytes(anatomy, base, layout)
    outer = first + last
    if upcast_outer:
        outer = max(outer, 4.0 * outer_params(anatomy) / layout.tp)
    return held + outer + tower
