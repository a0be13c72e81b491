"""What devices hold beside the model asked about: a draft model, prediction heads, adapter slots, encoder outputs.

Each is a named term per device. A draft model brings its weights with embeddings of its own and a cache of its own; it
runs at the target's tensor parallel degree, on the last stage (runtime_rules, terms speculative_extra and draft_kv).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rackfit.fit.cell import Added, Question, device_weights
from rackfit.memory.adapters import slot_bytes
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Layout, Precision
from rackfit.memory.kv_cache import CacheShape, layer_cache, stage_caches
from rackfit.memory.layouts import refusal
from rackfit.memory.weights import layer_bytes

NO_CACHE = CacheShape(0.0, ())


@dataclass(frozen=True, slots=True)
class Encoder:
    """The image encoder of a model: tokens of an image at its largest, and widths where they are known."""

    tokens: int
    width: int | None
    d_ff: int | None


@dataclass(frozen=True, slots=True)
class Beside:
    """What is to be held beside the model. Nothing where nothing is said."""

    draft: Anatomy | None = None
    draft_precision: Precision | None = None
    mtp: bool = False
    lora_slots: int = 0
    lora_rank: int = 16
    images: int = 0
    encoder: Encoder | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing comes beside the model."""
        return self.draft is None and not self.mtp and not self.lora_slots and not (self.images and self.encoder)


@dataclass(frozen=True, slots=True)
class Terms:
    """Named bytes on one device of each stage (fixed, and growing with tokens), and what is not certain."""

    fixed: tuple[tuple[str, tuple[float, ...]], ...]
    caches: tuple[tuple[str, tuple[CacheShape, ...]], ...]
    doubt: float

    def added(self, stages: int) -> Added:
        """Return the terms summed per stage."""
        extras = tuple(sum(sizes[at] for _, sizes in self.fixed) for at in range(stages))
        merged = [NO_CACHE] * stages
        for _, shapes in self.caches:
            merged = [own.plus(other) for own, other in zip(merged, shapes, strict=True)]
        return Added(extras, tuple(merged), self.doubt)

    def named(self, stage: int, context: int, sequences: int) -> dict[str, int]:
        """Return whole bytes by name on one device of a stage, caches for so many sequences of so many tokens."""
        found = {name: round(sizes[stage]) for name, sizes in self.fixed}
        for name, shapes in self.caches:
            found[name] = round(float(shapes[stage].bytes(context)) * sequences)
        return found


def beside_terms(
    beside: Beside, anatomy: Anatomy, precision: Precision, budget: Budget, layout: Layout, question: Question
) -> Terms:
    """Return what the devices of a layout hold beside the model."""
    fixed: list[tuple[str, tuple[float, ...]]] = []
    caches: list[tuple[str, tuple[CacheShape, ...]]] = []
    doubt = 0.0
    if beside.draft is not None and beside.draft_precision is not None:
        weights, cache = _draft(beside.draft, beside.draft_precision, budget, layout, question)
        fixed.append(("draft_weights_bytes", _last(weights, layout.pp)))
        caches.append(("draft_kv_bytes", _last_cache(cache, layout.pp)))
    if beside.mtp:
        weights, cache = _heads(anatomy, precision, budget, layout, question)
        fixed.append(("mtp_weights_bytes", _last(weights, layout.pp)))
        caches.append(("mtp_kv_bytes", _last_cache(cache, layout.pp)))
    if beside.lora_slots:
        fixed.append(("lora_bytes", slot_bytes(anatomy, layout, beside.lora_slots, beside.lora_rank)))
    if beside.images and beside.encoder is not None:
        outputs = 2.0 * beside.images * beside.encoder.tokens * anatomy.model.d_model
        fixed.append(("encoder_outputs_bytes", (outputs,) + (0.0,) * (layout.pp - 1)))
        doubt = _encoder_doubt(beside.encoder)
    return Terms(tuple(fixed), tuple(caches), doubt)


def _last(size: float, stages: int) -> tuple[float, ...]:
    return (0.0,) * (stages - 1) + (size,)


def _last_cache(cache: CacheShape, stages: int) -> tuple[CacheShape, ...]:
    return (NO_CACHE,) * (stages - 1) + (cache,)


def draft_layout(draft: Anatomy, precision: Precision, budget: Budget, layout: Layout) -> Layout:
    """Return the layout of a draft model: the target's TP where the draft's heads allow it, else one device."""
    wanted = Layout(tp=layout.tp)
    tensor = replace(budget, parallelism="tensor")
    return wanted if refusal(draft, precision, wanted, tensor) is None else Layout()


def _draft(
    draft: Anatomy, precision: Precision, budget: Budget, layout: Layout, question: Question
) -> tuple[float, CacheShape]:
    """Return the weights of a draft model on one device, and its cache of one request there."""
    own = draft_layout(draft, precision, budget, layout)
    caches = stage_caches(draft, own, question.kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits)
    return device_weights(draft, precision, budget, own)[0], caches[0]


def _heads(
    anatomy: Anatomy, precision: Precision, budget: Budget, layout: Layout, question: Question
) -> tuple[float, CacheShape]:
    """Return the weights of multi-token prediction on one device, and the cache of its one layer.

    The heads are layers of the last kind: their weights have the bits and shares of that layer. Engines run one of
    them, over and over.
    """
    group, number = anatomy.model.groups[anatomy.layer_order[-1]], anatomy.layer_order[-1]
    share = layer_bytes(anatomy, precision, layout)[number] / group.params
    cache = layer_cache(
        group, layout.tp, question.kv_bits, budget.state_bits, budget.mla_cache, budget.conv_bits
    )  # fmt: skip
    return anatomy.model.mtp_params * share, cache


PATCHES_PER_TOKEN = 4
"""Patches that most encoders merge into one token (2 x 2)."""
UNKNOWN_ENCODER = 2**30


def _encoder_doubt(encoder: Encoder) -> float:
    """Return bytes that encoding an image may take: no engine states a rule, so this only widens the range.

    As much as the forward pass of a text model over the patches of one image: 2 B x patches x 3 (d_ff + width).
    """
    if not encoder.width:
        return UNKNOWN_ENCODER
    width = encoder.width + (encoder.d_ff or 4 * encoder.width)
    return 2.0 * PATCHES_PER_TOKEN * encoder.tokens * 3 * width
