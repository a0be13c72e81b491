"""An architecture as a strip of its layers in order: one cell per layer, numbered by the kind that it is of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from rackfit.records.indices import parse_indices

PER_ROW = 24
CELL, HIGH, GAP, MARGIN = 14, 22, 2, 26
"""Size of a cell, the space between cells, and the space in front of a row for the number of its first layer."""

ATTENTION = {
    "gqa": ("full", "attention to all tokens"),
    "mla": ("full", "latent attention (MLA)"),
    "cross": ("full", "cross-attention"),
    "sliding": ("window", "attention within a sliding window"),
    "chunked": ("window", "attention within a chunk"),
    "none": ("absent", "no attention"),
    "linear": ("state", "linear attention"),
    "lightning": ("state", "lightning attention"),
    "mamba1": ("state", "Mamba state space"),
    "mamba2": ("state", "Mamba-2 state space"),
    "gated_deltanet": ("state", "gated DeltaNet"),
    "kda": ("state", "Kimi delta attention"),
    "rwkv": ("state", "RWKV time mixing"),
    "shortconv": ("state", "short convolution"),
}
"""Kind of attention -> (colour class, words)."""

FFN = {"dense": "dense feed-forward", "moe": "mixture of experts", "none": "no feed-forward"}


def words(group: dict[str, Any]) -> str:
    """Return a layer group in a few words."""
    mixing = ATTENTION[group["attention"]][1]
    if group["window"]:
        mixing += f" of {group['window']:,} tokens"
    if group["ffn"] == "moe" and group["n_experts"]:
        feed = f"mixture of experts, {group['n_experts_active']:,} of {group['n_experts']:,} per token"
    else:
        feed = FFN[group["ffn"]]
    return f"{mixing}; {feed}"


def strips(groups: Sequence[dict[str, Any]]) -> list[tuple[str, list[int]]]:
    """Return (name, number of the group of each layer) for the main stack and for each group beside it."""
    placed: dict[int, int] = {}
    loose: list[int] = []
    beside = []
    for group in groups:
        number, count = group["group_index"], group["count"]
        indices = parse_indices(group["layer_indices"]) if group["layer_indices"] else None
        if group["beside"]:
            beside.append((f"beside the stack: group {number}", [number] * count))
        elif indices is None or any(index in placed for index in indices):
            loose += [number] * count
        else:
            placed.update(dict.fromkeys(indices, number))
    main = [placed[index] for index in sorted(placed)] + loose
    return ([("layers", main)] if main else []) + beside


def cell(group: dict[str, Any], x: float = 0, y: float = 0) -> Markup:
    """Return one layer: attention above with the number of its group, feed-forward below."""
    shape = (
        '<g transform="translate({:g} {:g})"><rect class="rf-mix-{}" width="{}" height="16"/>'
        '<rect class="rf-ffn-{}" y="17" width="{}" height="5"/><text x="{}" y="12" text-anchor="middle">{}</text></g>'
    )
    number = group["group_index"]
    return Markup(shape).format(x, y, ATTENTION[group["attention"]][0], CELL, group["ffn"], CELL, CELL / 2, number)


def picture(groups: Sequence[dict[str, Any]]) -> Markup:
    """Return the strips of a model; empty where no layers are on record."""
    known = {group["group_index"]: group for group in groups}
    parts, y = [], 0
    for name, numbers in strips(groups):
        if name != "layers":
            parts.append(Markup('<text class="rf-strip" x="{}" y="{}">{}</text>').format(MARGIN, y + 12, name))
            y += 18
        for start in range(0, len(numbers), PER_ROW):
            label = '<text class="rf-strip" x="{}" y="{}" text-anchor="end">{}</text>'
            parts.append(Markup(label).format(MARGIN - 4, y + 12, start))
            for place, number in enumerate(numbers[start : start + PER_ROW]):
                parts.append(cell(known[number], MARGIN + place * (CELL + 1), y))
            y += HIGH + 2 * GAP
    if not parts:
        return Markup("")
    said = "; ".join(f"{group['count']} x {words(group)}" for group in groups)
    width = MARGIN + PER_ROW * (CELL + 1)
    frame = '<svg class="rf-layers" viewBox="0 0 {} {}" role="img" aria-label="Layers in order: {}">{}</svg>'
    return Markup(frame).format(width, y, said, Markup("").join(parts))


def sign(group: dict[str, Any]) -> Markup:
    """Return the cell of a group for the table that explains it."""
    return Markup('<svg class="rf-layer-sign" viewBox="0 0 14 22" aria-hidden="true">{}</svg>').format(cell(group))
