"""Which layouts can run, and why the others cannot (MEMORY_MODEL section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Layout, Precision
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.kv_cache import WHOLE_ON_EVERY_RANK
from rackfit.memory.versions import version_key

FIRST_STRIPES = {"vllm": (0, 11), "sglang": (0, 5)}
"""Engines with decode context parallelism, and the first rules on record that have it."""
PADDED_WIDTHS = {29568: 29696}
"""FFN widths that makers pad in their AWQ and GPTQ checkpoints so that the groups divide: Qwen's 72B models, "pad
intermediate_size to 29696 to make sure quantized model can use 8 tensor-parallel in vllm" (Qwen/Qwen2-VL-72B-Instruct-
GPTQ-Int8)."""
PADDED_FORMATS = ("awq_", "gptq_")
VOCABULARY_PADDING = 64
"""vLLM pads the vocabulary to a multiple of 64 before it divides it over ranks (DEFAULT_VOCAB_PADDING_SIZE)."""


def refusal(anatomy: Anatomy, precision: Precision, layout: Layout, budget: Budget) -> str | None:
    """Return why a layout cannot run, naming the number that forbids it; None where it can."""
    return (
        _degrees(anatomy, layout, budget)
        or _heads(anatomy, layout)
        or _stripes(anatomy, layout, budget)
        or _widths(anatomy, precision, layout)
    )


def spread_layers(layout: Layout, budget: Budget) -> Layout:
    """Return the layout with its layers divided as the engine divides them: llama.cpp counts the head as one."""
    return replace(layout, head_slot=True) if budget.parallelism == "layers" and layout.pp > 1 else layout


def tensor_degrees(anatomy: Anatomy, precision: Precision, budget: Budget) -> list[int]:
    """Return the tensor parallel degrees at which a model can be divided without expert parallelism, smallest first.

    A degree divides the attention heads of every layer, so none is above the least number of heads.
    """
    most = min((heads for heads, _ in anatomy.head_counts), default=1)
    return [
        degree for degree in sorted(divisors(most)) if refusal(anatomy, precision, Layout(tp=degree), budget) is None
    ]


def _degrees(anatomy: Anatomy, layout: Layout, budget: Budget) -> str | None:
    if min(layout.tp, layout.pp, layout.ep, layout.dp) < 1:
        return "parallel degrees start at 1"
    if layout.pp > anatomy.model.n_layers:
        return f"PP {layout.pp} needs as many layers, the model has {anatomy.model.n_layers}"
    if layout.tp > 1 and budget.parallelism == "layers":
        return f"{budget.runtime_id} splits whole layers over devices: use PP {layout.tp}, TP is not offered"
    if layout.ep > 1:
        if not anatomy.has_experts:
            return f"EP {layout.ep} needs experts, the model has none"
        if layout.ep != layout.tp * layout.dp:
            return f"EP spans the TP x DP ranks of a stage: {layout.tp * layout.dp}, not {layout.ep}"
    return None


def _heads(anatomy: Anatomy, layout: Layout) -> str | None:
    tp = layout.tp
    if tp == 1:
        return None
    for heads, kv_heads in anatomy.head_counts:
        if heads % tp:
            return f"TP {tp} does not divide {heads} attention heads"
        if kv_heads % tp and tp % kv_heads:
            return f"TP {tp} neither divides {kv_heads} KV heads nor is a multiple of them"
    padded = ceil_div(anatomy.model.vocab_size, VOCABULARY_PADDING) * VOCABULARY_PADDING
    if padded % tp:
        return f"TP {tp} does not divide the padded vocabulary of {padded}"
    return None


def _stripes(anatomy: Anatomy, layout: Layout, budget: Budget) -> str | None:
    """Return why decode context parallelism cannot run: it stripes what ranks would otherwise keep copies of.

    A latent is whole on all TP ranks; KV heads are kept TP / heads times (vLLM, SGLang: documentation of DCP).
    """
    dcp, tp = layout.dcp, layout.tp
    if dcp == 1:
        return None
    first = FIRST_STRIPES.get(budget.family)
    if first is None or version_key(budget.version_from) < first:
        return f"DCP is not offered by {budget.runtime_id} {budget.version_from}"
    if tp % dcp:
        return f"DCP {dcp} does not divide TP {tp}"
    for group in anatomy.model.groups:
        if group.attention in WHOLE_ON_EVERY_RANK or not group.kv_full_elems or not group.n_kv_heads:
            continue
        copies = max(tp // group.n_kv_heads, 1)
        if dcp > copies:
            return f"DCP {dcp} needs as many copies of the cache: TP {tp} keeps {copies} of {group.n_kv_heads} KV heads"
    return None


def _widths(anatomy: Anatomy, precision: Precision, layout: Layout) -> str | None:
    tp, block = layout.tp, precision.block_size
    for group in anatomy.model.groups:
        if group.d_ff and group.ffn != "none":
            padded = precision.precision_id.startswith(PADDED_FORMATS)
            width = PADDED_WIDTHS.get(group.d_ff, group.d_ff) if padded else group.d_ff
            reason = _width("FFN", width, tp, block if "ffn" not in precision.high_roles else None)
            if reason:
                return reason
        if group.n_experts and group.moe_d_ff:
            if layout.ep > 1:
                if group.n_experts % layout.ep:
                    return f"EP {layout.ep} does not divide {group.n_experts} experts"
            else:
                quantised = block if "experts" not in precision.high_roles else None
                reason = _width("expert", group.moe_d_ff, tp, quantised)
                if reason:
                    return reason
    return None


def _width(name: str, width: int, tp: int, block: int | None) -> str | None:
    if tp == 1:
        return None
    if width % tp:
        return f"TP {tp} does not divide the {name} width of {width}"
    if block and (width // tp) % block:
        return f"TP {tp} leaves {name} width {width // tp}, not a multiple of the format's block of {block}"
    return None


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, largest first."""
    return [divisor for divisor in range(number, 0, -1) if number % divisor == 0]


def candidates(anatomy: Anatomy, devices: int, per_domain: int, budget: Budget) -> Iterator[Layout]:
    """Yield layouts over exactly so many devices, in the order in which they are preferred.

    Tensor parallelism stays inside a domain of `per_domain` devices that share a fast link; stages span domains.
    Fewer stages come first, replicas (DP) last. With experts spread over all ranks, replicas are of attention alone:
    each rank keeps its own requests (DP attention). Whether a layout can run is `refusal`'s to say.
    """
    if budget.parallelism == "layers":
        yield from (Layout(pp=devices // copies, dp=copies) for copies in sorted(divisors(devices)))
        return
    for copies in sorted(divisors(devices)):
        for tp in divisors(devices // copies):
            if tp > per_domain:
                continue
            pp = devices // copies // tp
            yield Layout(tp=tp, pp=pp, dp=copies)
            if anatomy.has_experts and tp * copies > 1:
                yield Layout(tp=tp, pp=pp, ep=tp * copies, dp=copies)


def idle_candidates(anatomy: Anatomy, devices: int, per_domain: int, budget: Budget) -> Iterator[Layout]:
    """Yield layouts that leave some of so many devices idle, most devices first.

    Five cards hold what four hold: 5 divides few models, and whole layers over five may leave more on one card than
    tensors over four. A power of two needs none of them, its degrees divide what a smaller count's do.
    """
    if devices & (devices - 1) == 0:
        return
    for count in range(devices - 1, 0, -1):
        for layout in candidates(anatomy, count, min(per_domain, count), budget):
            if layout.dp > 1:
                break
            yield layout
