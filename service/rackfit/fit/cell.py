"""One cell of the matrix: a model at a precision, on a layout of devices, under an engine's rules.

Everything here takes numbers or arrays of device memory, so the live answer and the stored matrix are the same
arithmetic. The verdict compares bytes per device, never a pooled sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rackfit.fit.verdicts import FITS, NO, TIGHT
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.bitsandbytes import as_held
from rackfit.memory.budget import DEFAULT_KNOBS, Knobs, Terms, engine_terms, engine_total
from rackfit.memory.domain import Budget, Device, Layout, Precision
from rackfit.memory.elementwise import Number, ceil_div, choose, floor, maximum, minimum
from rackfit.memory.kv_cache import CacheShape, stage_caches
from rackfit.memory.layouts import spread_layers
from rackfit.memory.shared_pool import stored_caches
from rackfit.memory.token_pools import SplitCache, WindowPool, split_states, with_window_pool
from rackfit.memory.weights import as_loaded, outer_bytes, rotary_table_bytes, stage_weights, table_bytes

STANDARD_CONTEXTS = (8192, 32768, 131072)

WEIGHT_SPREAD = {"fp": 0.005, "gguf": 0.02, "fp8": 0.03, "bnb_nf4_dynamic": 0.12}
"""Relative half-width of weights by family, or by format where one has its own: 16-bit loads follow from the parameter
count (measured loads lie within 0.5 %), quantised ones depend on which tensors a checkpoint keeps in high precision
(Unsloth's dynamic ones none to 15 % of the linear layers)."""
OTHER_WEIGHT_SPREAD = 0.05
WORKSPACE_SPREAD = 0.15
RUNTIME_SPREAD_BYTES = 2**28
COPY_SPREAD = 0.1
"""Share of a cache that grows by copying which may or may not be alive twice at the peak."""
MXFP4_BITS = 4.25
"""Bits of an MXFP4 weight with its scale: what tells the layouts whose expert widths engines pad."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model: how many sequences of how many tokens, at which cache format."""

    context: int
    sequences: int
    kv_bits: float
    knobs: Knobs = DEFAULT_KNOBS

    def per_replica(self, copies: int) -> Question:
        """Return what one of so many replicas is asked: sequences divide over them, rounded up."""
        return self if copies == 1 else replace(self, sequences=ceil_div(self.sequences, copies))


@dataclass(frozen=True, slots=True)
class Cell:
    """Bytes per device on the binding stage, and what follows from them. Numbers or arrays.

    `kv` is what the architecture needs, `kv_reserved` what the engine charges for the same tokens; the difference
    (block rounding, windows that grow by batches in flight, queues that stay empty) is part of `runtime`, as is
    `kept_free`, so that `total` is weights + kv + workspace + runtime. `kv_pool` is all the cache the engine will set
    aside. `usable` is what the engine may use on one device, `outside` what it takes beyond that.
    """

    layout: Layout
    weights: Number
    kv: Number
    kv_reserved: Number
    kv_pool: Number
    workspace: Number
    runtime: Number
    outside: Number
    total: Number
    low: Number
    high: Number
    usable: Number
    verdict: Number
    max_context: Number
    max_sequences: tuple[Number, ...]
    """Sequences of each context that was to be counted (STANDARD_CONTEXTS), all replicas together."""
    most_sequences: Number
    """The same at the context that was asked for."""
    sure_sequences: Number
    """Of these, as many as keep the verdict at `fits`."""
    stage: int = 0
    """The stage whose device binds."""
    crowd: Number = -1.0
    """As in `Terms`: above 0 the verdict is at most tight."""
    kept_free: Number = 0
    """Bytes, part of `runtime`, that an engine which takes a share of what is left leaves free beside this cache."""

    @property
    def reserved(self) -> Number:
        """Bytes that the process holds on one device: its whole budget where it takes a share, else what it needs."""
        held = self.runtime - (self.kv_reserved - self.kv) - self.kept_free
        return self.weights + self.kv_pool + self.workspace + held + self.outside

    @property
    def margin(self) -> Number:
        """Bytes left on the binding device; negative where it does not fit."""
        return self.usable - self.total


def weight_spread(precision: Precision) -> float:
    """Return the relative half-width of the weight estimate of a precision."""
    return WEIGHT_SPREAD.get(precision.precision_id, WEIGHT_SPREAD.get(precision.family, OTHER_WEIGHT_SPREAD))


def device_weights(anatomy: Anatomy, precision: Precision, budget: Budget, layout: Layout) -> tuple[float, ...]:
    """Return the weight bytes on one device of each stage, as the engine places them.

    llama.cpp keeps the token embedding on the host; a tied head stays on the device as its own copy. Embeddings per
    layer are an input too, which no head is tied to (src/llama-arch.cpp: LLM_TENSOR_PER_LAYER_TOKEN_EMBD is of
    LLM_TENSOR_LAYER_INPUT). vLLM builds the table of rotary positions with the model. TensorRT engines hold all of the
    embedding on every rank: "by default embedding parallelism is disabled" (convert_checkpoint.py).
    """
    precision, layout = as_held(precision, budget), spread_layers(layout, budget)
    multiple = budget.mxfp4_width_multiple if precision.bits == MXFP4_BITS else None
    table = whole_tables(anatomy, budget)
    loads = [stage + table for stage in stage_weights(anatomy, precision, layout, multiple)]
    if budget.embedding_on_host:
        first, _, _ = outer_bytes(anatomy, precision, layout)
        shared = anatomy.model.tied_embeddings and layout.pp == 1
        loads[0] -= table_bytes(anatomy, precision) / layout.tp if shared else first
    elif budget.embedding_whole:
        first, _, _ = outer_bytes(anatomy, precision, layout)
        loads[0] += first * (layout.tp - 1)
    return tuple(loads)


def whole_tables(anatomy: Anatomy, budget: Budget) -> int:
    """Return the bytes of tables that an engine builds on every device beside the weights of its layers."""
    return rotary_table_bytes(anatomy) if budget.runtime_id == "vllm" else 0


def window_tokens(window: int, budget: Budget, batched_tokens: float) -> int:
    """Return the tokens that a windowed layer keeps of one request: the window and the batches in flight.

    vLLM counts the newest token with its batch. llama.cpp keeps `GGML_PAD(min(n_ctx, n_swa + n_ubatch), 256)` cells
    (src/llama-kv-cache-iswa.cpp).
    """
    in_flight = int((budget.window_extra_batches or 0) * batched_tokens)
    if budget.family == "llama.cpp":
        return ceil_div(window + in_flight, budget.kv_block_tokens) * budget.kv_block_tokens
    return window - 1 + in_flight


def engine_cache(shape: CacheShape, budget: Budget, batched_tokens: float) -> CacheShape | SplitCache:
    """Return the cache that the engine charges to one request, states apart where they have a pool of their own."""
    return split_states(grown_windows(shape, budget, batched_tokens), budget.token_pools)


def grown_windows(shape: CacheShape, budget: Budget, batched_tokens: float) -> CacheShape:
    """Return a cache whose windows grow by the batches in flight, with the copies that the engine keeps."""
    slopes: list[tuple[float, int | None]] = []
    for slope, cap in shape.slopes:
        if cap is None or budget.window_extra_batches is None:
            slopes.append((slope, None))
        else:
            slopes.append((slope, window_tokens(cap, budget, batched_tokens)))
    return CacheShape(shape.constant, tuple(slopes)).times(budget.cache_copies)


@dataclass(frozen=True, slots=True)
class Added:
    """What the devices of each stage hold beside the model: bytes, and a cache of one request of its own."""

    extras: tuple[float, ...]
    caches: tuple[CacheShape, ...]
    doubt: float = 0.0
    """Bytes that may come on top and that no rule gives."""


def evaluate(
    anatomy: Anatomy,
    precision: Precision,
    budget: Budget,
    layout: Layout,
    device: Device,
    question: Question,
    memory: Number = None,
    spread: Number = None,
    added: Added | None = None,
    lengths: tuple[int, ...] = STANDARD_CONTEXTS,
) -> Cell:
    """Return the cell of one layout.

    Args:
        anatomy: the model.
        precision: its weight layout.
        budget: the engine's rules.
        layout: a layout that `memory.layouts.refusal` lets run.
        device: the device; its name, vendor and kind choose the rules.
        question: context, sequences, cache format and knobs.
        memory: bytes that the engine sees on one device (number or array); None derives it from the device.
        spread: relative uncertainty of `memory`; None takes the device's.
        added: what the devices hold beside the model.
        lengths: contexts whose sequences are counted beside those of the context asked for.
    """
    if memory is None:
        memory = engine_total(device.memory_bytes, device.vendor, device.unified)
    budget = budget.for_stages(layout.pp)
    if spread is None:
        spread = device.memory_spread
    asked = question.per_replica(layout.dp)
    terms = engine_terms(anatomy, budget, layout, device, memory, asked.context, asked.knobs)
    precision = as_loaded(precision, budget, device.compute_capability)
    loads = device_weights(anatomy, precision, budget, layout)
    stages = spread_layers(layout, budget)
    needs = stage_caches(anatomy, stages, asked.kv_bits, budget.state_bits, conv_bits=budget.conv_bits)
    stored = stored_caches(anatomy, stages, asked.kv_bits, budget, asked.knobs.draft)
    if added is not None:
        stored = tuple(own.plus(other) for own, other in zip(stored, added.caches, strict=True))
    in_flight = _batch_in_flight(terms)
    held = tuple(with_window_pool(engine_cache(cache, budget, in_flight), anatomy.model, budget) for cache in stored)
    extras, doubt = ((), 0.0) if added is None else (added.extras, added.doubt)
    parts = Parts(tuple(loads), needs, held, extras, doubt)
    return bind(parts, weight_spread(precision), budget, layout, question, terms, spread * memory, lengths)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the devices of a layout hold: weights, cache of one request as needed, and as the engine charges it."""

    loads: tuple[float, ...]
    needs: tuple[CacheShape, ...]
    held: tuple[CacheShape | SplitCache | WindowPool, ...]
    extras: tuple[float, ...] = ()
    """Bytes that each device holds beside the model: draft model, adapters. Empty: none."""
    doubt: float = 0.0
    """Bytes that may come on top and that no rule gives."""


def bind(
    parts: Parts,
    spread: float,
    budget: Budget,
    layout: Layout,
    question: Question,
    terms: Terms,
    unsure: Number,
    lengths: tuple[int, ...] = STANDARD_CONTEXTS,
) -> Cell:
    """Return the cell of the device that holds most.

    Args:
        parts: what each device holds.
        spread: relative half-width of the weights.
        budget: the engine's rules.
        layout: degrees of parallelism.
        question: what is asked of all replicas together.
        terms: what the engine takes beside weights and cache, and its limit.
        unsure: bytes of the device's memory that are not certain.
        lengths: contexts whose sequences are counted beside those of the context asked for.
    """
    asked, loads, extras = question.per_replica(layout.dp), parts.loads, parts.extras or (0.0,) * len(parts.loads)
    rounded = ceil_div(asked.context, budget.kv_block_tokens) * budget.kv_block_tokens
    queues, share = budget.queues(layout.pp), terms.pool_share
    slots = ceil_div(asked.sequences, queues) * queues
    charges = [cache.bytes(rounded) * slots for cache in parts.held]
    stage = max(range(len(loads)), key=lambda index: loads[index] + charges[index] / share + extras[index])
    weights, kv = loads[stage], parts.needs[stage].bytes(asked.context) * asked.sequences
    kept_free = charges[stage] * (1 / share - 1)
    runtime = terms.runtime + extras[stage] + charges[stage] + kept_free - kv
    total = weights + kv + terms.workspace + runtime
    halves = [
        spread * (load + extra) + WORKSPACE_SPREAD * terms.workspace + RUNTIME_SPREAD_BYTES + parts.doubt + terms.doubt
        for load, extra in zip(loads, extras, strict=True)
    ]
    copied = COPY_SPREAD if budget.cache_copies > 1 else 0.0
    half = halves[stage] + copied * charges[stage]
    low, high = maximum(total - half, weights + kv - spread * weights), total + half
    beside = terms.workspace + terms.runtime
    rests = [terms.limit - load - beside - extra for load, extra in zip(loads, extras, strict=True)]
    pools = [share * rest for rest in rests]
    sure = [share * (rest - own - unsure) / (1 + copied) for rest, own in zip(rests, halves, strict=True)]
    held = list(parts.held)
    return Cell(
        layout=layout,
        weights=weights,
        kv=kv,
        kv_reserved=charges[stage],
        kv_pool=charges[stage] if budget.equation == "all_of_device" else maximum(pools[stage], 0),
        workspace=terms.workspace,
        runtime=runtime,
        outside=terms.outside,
        total=total,
        low=low,
        high=high,
        usable=terms.limit,
        verdict=choose(
            (high <= terms.limit - unsure) & (terms.crowd <= 0), FITS, choose(total <= terms.limit, TIGHT, NO)
        ),
        max_context=_least([cache.tokens_within(pool / queues) for cache, pool in zip(parts.held, pools, strict=True)]),
        max_sequences=tuple(_sequences(held, pools, length, queues) * layout.dp for length in lengths),
        most_sequences=_sequences(held, pools, rounded, queues) * layout.dp,
        sure_sequences=choose(terms.crowd <= 0, _sequences(held, sure, rounded, queues) * layout.dp, 0),
        stage=stage,
        crowd=terms.crowd,
        kept_free=kept_free,
    )


def _batch_in_flight(terms: Terms) -> float:
    """Return one figure for the batch in flight, the largest: callers pass devices of one token budget."""
    tokens: Any = terms.batched_tokens
    return float(tokens.max()) if hasattr(tokens, "max") else float(tokens)


def _least(values: list[Number]) -> Number:
    least = values[0]
    for value in values[1:]:
        least = minimum(least, value)
    return least


def _sequences(
    caches: list[CacheShape | SplitCache | WindowPool], pools: list[Number], context: int, queues: int
) -> Number:
    """Return how many requests of a context the pools hold, each of so many schedulers with an equal share."""
    counts = []
    for cache, pool in zip(caches, pools, strict=True):
        each = cache.bytes(context) * queues
        counts.append(floor(maximum(pool, 0) / each) * queues if each > 0 else float("inf") + 0 * pool)
    return _least(counts)


def limit_term(cell: Cell) -> str:
    """Return the largest term of a cell: what binds where it does not fit, what would be cut first where it does."""
    terms = {"weights": cell.weights, "kv": cell.kv, "workspace": cell.workspace, "runtime": cell.runtime}
    return max(terms, key=lambda name: float(terms[name]))
