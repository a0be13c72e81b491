"""The share of a device that SGLang gives to weights and cache: `mem_fraction_static` where the user sets none.

Read from its released source by version (server_args.py, arg_groups/memory_hook.py): share = (M - reserve) / M, rounded
to three digits, with M what the driver reports of the smallest card, in MiB. The reserve is a constant by memory and
ranks, 1.5 MiB for each token of a prefill chunk, 2 MiB for each sequence of the largest decode graph, what prefill
graphs take, and at least 10 GiB on large cards. Models with an image encoder get less: 0.95 x (1 - 0.1 x (c - 1)), held
within 0.8 and 1.05, where c is layers x width^2 of the encoder over those of ViT-L/14.

On AMD's data-center devices attention runs in AITER kernels, and the share, set or not, is multiplied by 0.85 for their
workspace where the model's context is above 8192 tokens (model_runner.py of 0.4.7, server_args.py of 0.5.8,
arg_groups/attention_hook.py of 0.5.21). Models with a latent cache run there only with 16 or 128 heads per rank; those
with an index or compressed rows have kernels of their own.
"""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget_parts import Reserve
from rackfit.memory.domain import Device, Layout, Tower
from rackfit.memory.elementwise import Number, choose, floor, maximum, minimum

MIB = 2**20
GIB = 2**30
ENCODER_LAYERS, ENCODER_WIDTH = 24, 1024
"""ViT-L/14, which the source measures encoders against; a configuration that does not name its layers
`num_hidden_layers` counts as 24."""
LAYERS_BY_THAT_NAME = ("siglip", "clip", "pixtral", "mllama")
"""Encoders whose configuration has `num_hidden_layers`; Qwen's have `depth`."""
LATENT = "mla"
AITER_LATENT_HEADS = (16, 128)
DATACENTER = "datacenter"
PREFILL_STEPS = ((32, 4), (256, 16), (512, 32), (1024, 64), (4096, 256))
"""Token counts that prefill graphs are captured for: up to so many tokens in steps of so many; above, steps of 512."""
LAST_STEP = 512
LARGE_MIB, GAINED_MIB, LEFT_MIB = 98304, 49152, 18432
"""Above 96 GiB the fixed shares gain: share + 48 GiB x (1 - share) / M, at most M - 18 GiB (0.4.0 to 0.4.7)."""


def driver_bytes(total: Number, vendor: str, unified: bool) -> Number:
    """Return what the driver reports of a device of which an engine sees so many bytes (see budget.engine_total)."""
    if vendor.casefold() == "nvidia" and not unified:
        return (total + 0.38 * GIB) / 0.998
    return total


def prefill_graphs(tokens: Number) -> Number:
    """Return how many prefill graphs are captured up to so many tokens.

    >>> prefill_graphs(2048), prefill_graphs(8192)
    (42, 58)
    """
    counted: Number = 0 * tokens
    last = 0
    for end, step in PREFILL_STEPS:
        counted = counted + floor(maximum(minimum(tokens, end) - last, 0) / step)
        last = end
    return counted + floor(maximum(tokens - last, 0) / LAST_STEP)


def encoder_share(towers: tuple[Tower, ...]) -> float:
    """Return the factor that an image encoder puts on the static share; 1 without one of known width."""
    seen = [tower for tower in towers if tower.width]
    if not seen:
        return 1.0
    tower = max(seen, key=lambda one: one.width or 0)
    named = any(word in tower.kind.casefold() for word in LAYERS_BY_THAT_NAME)
    layers = tower.layers if named and tower.layers else ENCODER_LAYERS
    size = layers * (tower.width or 0) ** 2 / (ENCODER_LAYERS * ENCODER_WIDTH**2)
    return 0.95 * max(0.8, min(1.05, 1 - 0.1 * (size - 1)))


def graphs_mib(anatomy: Anatomy, reserve: Reserve, layout: Layout, tokens: Number, sequences: Number) -> Number:
    """Return what the rule keeps for captured graphs, MiB: by sequences of the largest decode graph, and for prefill.

    Prefill is not captured over a pipeline nor beside an image encoder.
    """
    decode = reserve.mib_per_sequence * sequences
    if layout.pp > 1 or anatomy.tower_params:
        return decode
    if any(group.attention == LATENT for group in anatomy.model.groups):
        return decode + reserve.latent_prefill_mib
    return decode + reserve.mib_per_prefill_graph * prefill_graphs(tokens)


def reserve_mib(
    anatomy: Anatomy, reserve: Reserve, layout: Layout, memory: Number, tokens: Number, sequences: Number, draft: bool
) -> Number:
    """Return what is left out of the static share on one device, MiB.

    Args:
        anatomy: the model.
        reserve: the rule of the engine's version.
        layout: degrees of parallelism.
        memory: what the driver reports of the device, MiB; number or array.
        tokens: tokens of a prefill chunk.
        sequences: sequences of the largest decode graph.
        draft: whether a draft model runs.
    """
    ranks = layout.tp * layout.pp
    kept: Number = 0 * memory
    for least_gib, mib, per_rank in reserve.steps:
        kept = choose(memory >= least_gib * 1024, mib + per_rank * ranks, kept)
    kept = kept + reserve.mib_per_token * maximum(tokens, reserve.least_tokens)
    kept = kept + graphs_mib(anatomy, reserve, layout, tokens, sequences)
    kept = choose(memory > reserve.floor_above_mib, maximum(kept, reserve.floor_mib), kept)
    return kept + (reserve.draft_mib if draft else 0)


def static_share(
    anatomy: Anatomy,
    reserve: Reserve,
    layout: Layout,
    memory: Number,
    tokens: Number,
    sequences: Number,
    draft: bool = False,
    images: bool = True,
) -> Number:
    """Return the static share of a device; arguments as in `reserve_mib`, `images` whether the encoder is loaded."""
    if reserve.shares:
        share = _fixed_share(reserve, layout.tp * layout.pp, memory)
    else:
        kept = reserve_mib(anatomy, reserve, layout, memory, tokens, sequences, draft)
        share = floor(1000 * (memory - kept) / memory + 0.5) / 1000
    return share * (encoder_share(anatomy.model.towers) if reserve.encoder_factor and images else 1.0)


def runs_in_aiter(anatomy: Anatomy, layout: Layout, device: Device) -> bool:
    """Return whether attention runs in AMD's AITER kernels when the user names none."""
    if device.vendor.casefold() != "amd" or device.segment != DATACENTER:
        return False
    if any(group.index_dim or group.compress_ratio for group in anatomy.model.groups):
        return False
    latent = [group for group in anatomy.model.groups if group.attention == LATENT]
    return all(max((group.n_kv_heads or 0) // layout.tp, 1) in AITER_LATENT_HEADS for group in latent)


def workspace_share(anatomy: Anatomy, reserve: Reserve | None, layout: Layout, device: Device) -> float:
    """Return the factor on a share, set or not, that leaves room for the workspace of attention kernels."""
    if reserve is None or not runs_in_aiter(anatomy, layout, device):
        return 1.0
    context = anatomy.model.max_context
    return reserve.workspace_share if context is None or context > reserve.workspace_context else 1.0


def _fixed_share(reserve: Reserve, ranks: int, memory: Number) -> Number:
    """Return the share by ranks of 0.4.0 to 0.4.7: less with more ranks up to 80 GiB, more on cards above 96 GiB."""
    by_ranks = max((step for step in reserve.shares if step[0] <= ranks), key=lambda step: step[0])[1]
    alone = min(reserve.shares, key=lambda step: step[0])[1]
    share = choose(memory <= reserve.shares_up_to_mib, by_ranks, alone)
    larger = minimum(share + GAINED_MIB * (1 - share) / memory, (memory - LEFT_MIB) / memory)
    return choose(memory > LARGE_MIB, larger, share)
