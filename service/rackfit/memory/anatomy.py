"""A model taken apart once: parameters by role and the order of its layers, ready for repeated questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from rackfit.memory.domain import LayerGroup, Model
from rackfit.memory.roles import layer_roles, non_layer_roles


@dataclass(frozen=True)
class Anatomy:
    """A model with its parameters split by role. Build it once per model and pass it around."""

    model: Model
    mixes: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict, compare=False)
    """Bits by role of the GGUF file types that were asked for."""

    @cached_property
    def group_roles(self) -> tuple[dict[str, int], ...]:
        """Parameters of one layer of each group, by role."""
        return tuple(layer_roles(self.model, group) for group in self.model.groups)

    @cached_property
    def outer_roles(self) -> dict[str, int]:
        """Parameters outside the layers, by role."""
        return non_layer_roles(self.model)

    @cached_property
    def tower_params(self) -> int:
        """Parameters of vision and audio towers, projectors included."""
        return self.model.params_total - self.model.params_text

    @cached_property
    def layer_order(self) -> tuple[int, ...]:
        """Group index of each layer, in the order of the model.

        Where the order of a model was not read, layers are spread evenly: a stage then holds every kind in
        proportion.
        """
        groups = self.model.groups
        if all(group.indices is not None for group in groups):
            placed = sorted((index, number) for number, group in enumerate(groups) for index in group.indices or ())
            return tuple(number for _, number in placed)
        spread = sorted(
            ((position + 0.5) / group.count, number)
            for number, group in enumerate(groups)
            for position in range(group.count)
        )
        return tuple(number for _, number in spread)

    @cached_property
    def head_counts(self) -> tuple[tuple[int, int], ...]:
        """Distinct (query heads, KV heads) pairs over the attention layers."""
        pairs = {
            (group.n_heads, group.n_kv_heads or group.n_heads)
            for group in self.model.groups
            if group.n_heads and group.attention != "none"
        }
        return tuple(sorted(pairs))

    @cached_property
    def has_experts(self) -> bool:
        """Whether any layer routes tokens to experts."""
        return any(group.n_experts for group in self.model.groups)

    @cached_property
    def n_layers(self) -> int:
        """Number of layers, all groups."""
        return self.model.n_layers

    @cached_property
    def expert_layers(self) -> int:
        """Layers that route tokens to experts."""
        return sum(group.count for group in self.model.groups if group.n_experts)

    @cached_property
    def keeps_states(self) -> bool:
        """Whether any layer keeps a recurrent state."""
        return any(group.state_elems or group.conv_elems for group in self.model.groups)

    @property
    def is_dense(self) -> bool:
        """Whether no layer routes tokens to experts or keeps a recurrent state."""
        return not self.has_experts and not self.keeps_states

    @cached_property
    def keeps_windows(self) -> bool:
        """Whether any layer caches a window of tokens only."""
        return any(group.kv_windowed_elems for group in self.model.groups)

    @cached_property
    def widest_ffn(self) -> int:
        """Width of the widest feed-forward pass of one token: dense, or routed and shared experts together."""

        def width(group: LayerGroup) -> int:
            routed = (group.moe_d_ff or 0) * (group.n_experts_active or 0)
            return max(group.d_ff or 0, routed + (group.shared_d_ff or 0))

        return max((width(group) for group in self.model.groups), default=0)

    @cached_property
    def caches_tokens(self) -> bool:
        """Whether generation keeps anything per token or per sequence (encoders do not)."""
        return any(group.kv_full_elems or group.kv_windowed_elems or group.state_elems for group in self.model.groups)
