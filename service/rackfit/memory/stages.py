"""Which layers sit on which pipeline stage."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache


@lru_cache(maxsize=4096)
def stage_sizes(n_layers: int, stages: int, head_slot: bool = False) -> tuple[int, ...]:
    """Return the number of layers on each stage, first to last.

    The remainder goes to the stages before the last one, back to front, as vLLM cuts its stages
    (vllm/distributed/utils.py, get_pp_indices): the last stage also holds the head, so it is spared first.
    `head_slot`: the head is divided as one more layer, as llama.cpp does over equal devices (src/llama-model.cpp,
    get_layer_buft_list: layer i of n goes where `i / (n + 1)` falls among the devices' shares).

    >>> stage_sizes(61, 2)
    (31, 30)
    >>> stage_sizes(80, 4)
    (20, 20, 20, 20)
    >>> stage_sizes(80, 4, head_slot=True)
    (21, 20, 20, 19)
    """
    if head_slot:
        return tuple(Counter(layer * stages // (n_layers + 1) for layer in range(n_layers))[at] for at in range(stages))
    base, rest = divmod(n_layers, stages)
    sizes = [base] * stages
    for step in range(rest):
        sizes[stages - 2 - step if stages > 1 else 0] += 1
    return tuple(sizes)


@lru_cache(maxsize=65536)
def stage_counts(
    layer_order: tuple[int, ...], groups: int, stages: int, head_slot: bool = False
) -> tuple[tuple[int, ...], ...]:
    """Return, per stage, how many layers of each group it holds.

    `layer_order` gives the group of each layer in order; `groups` is the number of groups; `head_slot` as
    `stage_sizes` has it.
    """
    result, start = [], 0
    for size in stage_sizes(len(layer_order), stages, head_slot):
        counts = [0] * groups
        for group in layer_order[start : start + size]:
            counts[group] += 1
        start += size
        result.append(tuple(counts))
    return tuple(result)
