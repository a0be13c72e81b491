"""Training recipes and what surrounds them: bytes per parameter, sharding, buffers, activations, logits."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from rackfit.records.base import NonNegative, Record, Text


class Recipe(Record):
    """Model state, sharding rule, buffer default, activation formula or logits formula of one training method."""

    section: Literal["recipe", "zero", "buffer", "activation", "logits"]
    name: Text
    aliases: list[Text] = []
    weights_bytes: NonNegative | None = None
    weights_text: Text | None = None
    master_bytes: NonNegative | None = None
    gradient_bytes: NonNegative | None = None
    gradient_accumulation_bytes: NonNegative | None = None
    optimizer_bytes: NonNegative | None = None
    optimizer_text: Text | None = None
    total_bytes_per_param: NonNegative | None = None
    total_text: Text | None = None
    default_elements: NonNegative | None = None
    formula: Text
    gpu_resident: Text | None = None
    cpu_resident: Text | None = None
    nvme_resident: Text | None = None

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """The section is our own grouping, the name a label."""
        return super().bookkeeping() | {"section", "name"}

    @model_validator(mode="after")
    def _parts_add_up(self) -> Self:
        parts = (
            self.weights_bytes,
            self.master_bytes,
            self.gradient_bytes,
            self.gradient_accumulation_bytes,
            self.optimizer_bytes,
        )
        if self.total_bytes_per_param is None or None in parts or self.section != "recipe":
            return self
        summed = sum(part for part in parts if part is not None)
        if abs(summed - self.total_bytes_per_param) > 0.01:
            raise ValueError(f"total_bytes_per_param must be {summed:g}, the sum of its parts")
        return self
