"""A published file of known size: its bytes beat the estimate and spread over the tensors as the estimate does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Layout, Precision
from rackfit.memory.weights import outer_bytes, prediction_bytes, role_bits, weights_bytes

TOWER_ROLE = "vision"
GGUF_WITH_PREDICTIONS = "zai-org/glm-"
"""Start of the ids of models whose GGUF files hold prediction layers."""
CONVERTED = frozenset({"int4", "int8", "bnb", "mlx", "hqq", "exl", "aqlm", "mxfp4"})
"""Families and formats that others convert to: such files mostly leave the prediction layers out (of Qwen3.5-122B-A10B
in MXFP4 the routed experts and the rest make the 74 GB of its card without them)."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file or checkpoint whose bytes are on record."""

    artifact_id: str
    bytes: int
    with_towers: bool
    """Whether the bytes include vision and audio towers; a GGUF file has them in a file of their own."""
    with_predictions: bool = True
    """Whether the bytes include prediction layers, where the model has them."""


def holds_predictions(artifact_id: str, model_id: str) -> bool:
    """Return whether a published file has the prediction layers of its model.

    mlx-lm leaves them out when it converts (sanitize), in 16 bits too: Qwen3.6-35B-A3B has 70.21 GB there, twice its
    35.107 billion parameters without them. GGUF files have them for GLM, whose blocks llama.cpp counts as layers
    (convert_hf_to_gguf.py adds num_nextn_predict_layers): GLM-5 has 1507.97 GB there against 1487.82 GB in MLX.
    """
    name = artifact_id.casefold()
    if ".gguf" in name:
        return model_id.startswith(GGUF_WITH_PREDICTIONS)
    return not name.startswith("mlx-community/")


def estimated_bytes(anatomy: Anatomy, precision: Precision, file: PublishedFile) -> float:
    """Return what is estimated for the tensors that the file holds: a checkpoint has the prediction layers too."""
    whole = weights_bytes(anatomy, precision)
    towers = 0.0 if file.with_towers else outer_bytes(anatomy, precision, Layout())[2]
    held = file.with_predictions and not is_converted(precision)
    return whole - towers + (prediction_bytes(anatomy, precision) if held else 0.0)


def is_converted(precision: Precision) -> bool:
    """Return whether files of a format mostly come without prediction layers."""
    return precision.family in CONVERTED or precision.precision_id in CONVERTED


def as_published(anatomy: Anatomy, precision: Precision, file: PublishedFile) -> Precision:
    """Return the layout with bits scaled so that the tensors of the file have its bytes.

    The sum is exact; how it spreads over tensors stays the estimate's.
    """
    factor = file.bytes / estimated_bytes(anatomy, precision, file)
    tower = role_bits(precision, TOWER_ROLE) * (factor if file.with_towers else 1.0)
    others = tuple((role, bits * factor) for role, bits in precision.role_bits if role != TOWER_ROLE)
    return replace(
        precision,
        bits=precision.bits * factor,
        high_bits=precision.high_bits * factor,
        role_bits=(*others, (TOWER_ROLE, tower)),
    )
