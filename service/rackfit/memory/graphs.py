"""What vLLM's captured CUDA graphs take, by the graphs it captures.

How many it captures is in its source (runtime_rules, terms cudagraph_capture_sizes and cudagraph_mode_default): V0 one
per batch size up to the sequence limit; V1 one per token count, in pieces between the attention calls, and from 0.11
whole ones for decoding as well (its log prints `PIECEWISE=51 (largest=512), FULL=35 (largest=256)`).

A graph keeps its kernels' arguments and a share of the driver's memory per kernel, so bytes go with layers x graphs,
not with tokens; a MoE layer launches about twice as many kernels. Beside them lies one pool of activations, that of the
largest size, which all graphs share. Read off public start-up logs, which these constants meet within half a GiB:

- 235B MoE, 94 layers on 4 x H100, 0.11: 67 + 67 graphs take 1.64 GiB (vllm#25848): 130 KiB per layer and graph;
- a 64-layer 27B on an RTX 5090, 0.26: 51 + 35 graphs take 0.52 GiB (vllm#52872): 70 KiB per layer and graph;
- 27B on 4 x RTX 3090: 5 graphs 0.17 GiB; on 2 x: 15 graphs 0.40 GiB (club-3090#127, #758): the pool, 0.15 GiB;
- H100, 0.19.0, 51 + 51 graphs (llm-d planner sweep, 55 runs): 8 layers 0.51 GiB, 16 layers 0.65, 32 layers 0.76 to
  0.96, 80 layers 1.5 to 1.98; experts 0.82 to 1.41: a pool of 0.35 GiB, 170 and 250 KiB per layer and graph. Layers
  with a recurrent state launch about as many kernels as those with experts (L40S, 0.19.0: 32 layers, 51 + 35 graphs,
  0.65 GiB).

From 0.20 an estimate of theirs is part of the budget. vLLM captures the two largest of each mode and multiplies: on
large models and odd settings that is far too much (vllm#45178, #50780, #53013), so the doubt is as large as the figure.
"""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Layout
from rackfit.memory.elementwise import Number, floor, maximum, minimum
from rackfit.memory.stages import stage_counts
from rackfit.memory.versions import version_key

KIB = 2**10
POOL_BYTES = 3 * 2**30 // 20
BYTES_PER_LAYER = 70 * KIB
BYTES_PER_EXPERT_LAYER = 130 * KIB
SERVER_POOL_BYTES = 7 * 2**30 // 20
SERVER_BYTES_PER_LAYER = 170 * KIB
SERVER_BYTES_PER_EXPERT_LAYER = 250 * KIB
SERVER_VERSIONS = ((0, 17), (0, 26))
"""Versions [from, to) whose graphs on compute capability 9.0 and 10.x were seen at these sizes."""
FULL_FROM = (0, 11)
"""Whole graphs for decoding beside the pieces."""
COARSE_FROM = (0, 11, 1)
"""Sizes in steps of 16 above 256."""
WARMED_UP = ((0, 11), (0, 18))
"""Versions [from, to) whose printed figure holds what the tuning run before it had left: later ones empty the
allocator's cache first (v1/worker/gpu_model_runner.py, `capture_model`)."""


def captured_graphs(budget: Budget, tokens: Number, sequences: Number) -> Number:
    """Return the graphs that vLLM captures at so many batched tokens and sequences; number or array."""
    if budget.engine == "V0":
        return _steps_of_8(minimum(sequences, 256))
    version = version_key(budget.version_from)
    if version < COARSE_FROM:
        pieces = _steps_of_8(minimum(tokens, 512))
    else:
        top = minimum(minimum(2 * sequences, 512), tokens)
        pieces = _steps_of_8(minimum(top, 248)) + floor(maximum(top - 240, 0) / 16)
    if version < FULL_FROM:
        return pieces
    whole = _steps_of_8(minimum(sequences, 248)) + floor(maximum(minimum(sequences, 512) - 240, 0) / 16)
    return pieces + minimum(whole, pieces)


def _steps_of_8(top: Number) -> Number:
    """Return how many sizes 1, 2, 4, 8, 16, 24, ... there are up to a size."""
    return minimum(top, 3) + floor(top / 8)


def graph_bytes(
    anatomy: Anatomy, budget: Budget, layout: Layout, tokens: Number, sequences: Number, server: bool = False
) -> Number:
    """Return the bytes of captured graphs on one device of the fullest stage.

    Engines other than vLLM keep the figure of their record. `server`: whether the device is of compute capability 9.0
    or 10.x.
    """
    if budget.family != "vllm" or not anatomy.caches_tokens:
        return budget.graph_bytes + 0 * sequences
    pool, plain, busy = _sizes(budget, server)
    stages = stage_counts(anatomy.layer_order, len(anatomy.model.groups), layout.pp)
    each = [busy if group.n_experts or group.state_elems else plain for group in anatomy.model.groups]
    layers = max(sum(count * size for count, size in zip(stage, each, strict=True)) for stage in stages)
    return pool + layers * captured_graphs(budget, tokens, sequences)


def _sizes(budget: Budget, server: bool) -> tuple[int, int, int]:
    """Return the bytes of the shared pool, of a plain layer and of one with experts or a state, per graph."""
    seen = budget.engine != "V0" and SERVER_VERSIONS[0] <= version_key(budget.version_from) < SERVER_VERSIONS[1]
    if server and seen:
        return SERVER_POOL_BYTES, SERVER_BYTES_PER_LAYER, SERVER_BYTES_PER_EXPERT_LAYER
    return POOL_BYTES, BYTES_PER_LAYER, BYTES_PER_EXPERT_LAYER


def released_bytes(budget: Budget, compute_capability: str | None, forward: Number) -> Number:
    """Return what a capture gives back before the first graph, which the printed figure is less by.

    On compute capability 9.0 and later the kernels are tuned on a pass of the largest batch first
    (vllm/model_executor/warmup/kernel_warmup.py); the allocator still holds its activations when capturing begins and
    empties its cache: a figure printed as the difference of free memory can be negative.
    """
    version = version_key(budget.version_from)
    tuned = budget.family == "vllm" and budget.engine != "V0" and WARMED_UP[0] <= version < WARMED_UP[1]
    new_enough = compute_capability is not None and float(compute_capability) >= 9.0
    return forward if tuned and new_enough else 0 * forward
