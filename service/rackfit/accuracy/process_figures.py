"""Estimates of what a process holds: activations, libraries, graphs, peaks, what is free."""

from __future__ import annotations

from rackfit.accuracy.figures import Figure, around
from rackfit.accuracy.setting import CaseSetting
from rackfit.accuracy.weight_figures import weights_per_device
from rackfit.errors import UnsupportedError
from rackfit.fit.cell import RUNTIME_SPREAD_BYTES, WORKSPACE_SPREAD, device_weights, weight_spread
from rackfit.memory.budget import GIB, engine_terms, held_before_load, held_bytes, profiled_context
from rackfit.memory.domain import Layout
from rackfit.memory.eager import cache_surplus, head_while_loading, lasting_bytes, prompt_work
from rackfit.memory.graphs import released_bytes
from rackfit.memory.kv_cache import CacheShape
from rackfit.memory.layouts import spread_layers
from rackfit.memory.profile import forward_bytes
from rackfit.memory.shared_pool import stored_caches

CACHE_SPREAD = 0.03
CAPTURE_DOUBT = 2.25 * GIB
"""What graphs of SGLang took beyond what its reserve counts for them, at most."""
V0 = "V0"
PEAK_SPREAD_BYTES = 3 * 2**27
CONTEXT_BYTES = GIB / 2
"""What a driver context and loaded libraries take where the engine's rules do not say."""


def request_caches(setting: CaseSetting, layout: Layout) -> tuple[CacheShape, ...]:
    """Return the cache of one request per stage, in the form in which the engine's version stores it."""
    return stored_caches(setting.anatomy, spread_layers(layout, setting.budget), setting.kv_bits, setting.budget)


def terms_of(setting: CaseSetting):  # type: ignore[no-untyped-def]
    """Return the terms of the engine's budget for a case, bytes per device."""
    question = setting.question()
    return engine_terms(
        setting.anatomy, setting.budget, setting.layout(), setting.device, setting.total(), question.context,
        question.knobs,
    )  # fmt: skip


def activation_peak(setting: CaseSetting) -> Figure:
    """Return the activation peak of the engine's profile on one device, bytes.

    In vLLM V0 only the first rank of a group samples, and every rank prints a line of its own: a line of several ranks
    is most often one of the others. (V0, `execute_model`: `if not self.is_driver_worker: return []`.)

    Raises:
        UnsupportedError: an engine without such a profile.
    """
    budget = setting.budget
    if budget.equation == "share_of_free":
        raise UnsupportedError(
            f"{budget.runtime_id} profiles no activations: they live in the share that it leaves free"
        )
    terms = terms_of(setting)
    value, layout = float(terms.workspace), setting.layout()
    if setting.budget.engine == V0 and layout.tp > 1:
        question = setting.question()
        rows = profiled_context(setting.anatomy, setting.budget, question.context, question.knobs)
        forward = float(forward_bytes(setting.anatomy, setting.budget, layout, rows))
        return Figure(forward, (1 - WORKSPACE_SPREAD) * forward, (1 + WORKSPACE_SPREAD) * value)
    return around(value, WORKSPACE_SPREAD * value)


def non_torch(setting: CaseSetting) -> Figure:
    """Return what libraries and collectives take beside the allocator, bytes per device."""
    return around(held_bytes(setting.budget, setting.layout(), setting.device), RUNTIME_SPREAD_BYTES)


def graphs(setting: CaseSetting) -> Figure:
    """Return what a capture of graphs takes as its engine prints it, bytes per device; it can come out negative.

    From 0.20 on vLLM also prints its own estimate, which is up to three times what the graphs take. SGLang's reserve
    counts for them what is given here; public start-ups print from 0.1 to 3.0 GiB, decode and prefill together.
    """
    terms = terms_of(setting)
    taken = float(terms.graphs)
    if not taken:
        return Figure(0.0, 0.0, 0.0)
    if setting.budget.equation == "share_of_free":
        return Figure(taken, 0.0, taken + CAPTURE_DOUBT)
    forward = float(forward_bytes(setting.anatomy, setting.budget, setting.layout(), terms.batched_tokens))
    released = float(released_bytes(setting.budget, setting.device.compute_capability, forward))
    value = taken - released
    return Figure(value, value - max(released / 2, taken / 2, GIB / 4), max(3 * taken, value + GIB / 2))


def peak(setting: CaseSetting) -> Figure:
    """Return the peak of a process that serves the case's context and batch, bytes on the fullest device."""
    layout = setting.layout()
    if setting.budget.parallelism == "layers" and setting.budget.equation == "all_of_device" and not setting.case.tp:
        layout = Layout()
    return _peak(setting, layout)


def peak_total(setting: CaseSetting) -> Figure:
    """Return the peak summed over devices, bytes: as if on one device where layers are spread.

    What a pass over the prompt works with lies on each of them.
    """
    if setting.case.tp and setting.case.tp > 1:
        one = _peak(setting, setting.layout())
        return one.scaled(1 / setting.count)
    return _peak(setting, Layout(), setting.count)


def _peak(setting: CaseSetting, layout: Layout, devices: int = 1) -> Figure:
    """Return the largest of three moments: the model is loaded, the prompt goes through, the last token is made.

    A prompt whose length the case does not state may be as long as the context: the high end holds such a pass.
    """
    question, budget, anatomy = setting.question(), setting.budget, setting.anatomy
    precision, sequences = setting.layout_precision, question.sequences
    tokens = max(question.context if setting.case.context else 0, budget.min_cache_tokens // sequences)
    tokens = -(-tokens // budget.kv_block_tokens) * budget.kv_block_tokens
    weights = max(device_weights(anatomy, precision, budget, layout))
    cache = request_caches(setting, layout)[0]
    held = float(cache.bytes(tokens)) * sequences * budget.cache_copies
    stated = setting.case.number("prefill") or setting.case.number("input_tokens")
    prompt = int(stated or 0)
    set_aside = budget.min_cache_tokens or budget.kv_block_tokens > 1
    at_prompt = held if set_aside else float(cache.bytes(prompt)) * sequences
    work = prompt_work(anatomy, budget, prompt, sequences, devices)
    beside = max(
        held * (1 + cache_surplus(precision, budget)),
        at_prompt + work,
        head_while_loading(anatomy, precision, budget),
    )
    positions = setting.subject.max_context if setting.subject else None
    lasting = lasting_bytes(anatomy, precision, budget, positions)
    value = weights + beside + lasting + budget.non_torch_bytes_single
    half = weight_spread(precision) * weights + CACHE_SPREAD * held + 0.3 * abs(lasting) + PEAK_SPREAD_BYTES
    half += (0.5 if devices > 1 else 0.3 if set_aside else 0.05) * work
    if budget.cache_copies > 1:
        half += 0.2 * held  # how much of the old copy is still alive at the peak depends on the allocator
    unstated = 0.0 if stated else prompt_work(anatomy, budget, tokens, sequences, devices)
    return Figure(value, max(value - half, weights * 0.95), value + half + unstated)


def process_used(setting: CaseSetting) -> Figure:
    """Return what the driver shows for the whole process, bytes per device: the reserved share plus the context.

    The context comes on top where the engine's rules know nothing of it: it was there before the engine first looked.
    Between steps the workspace may be given back, so the range begins without it.
    """
    cell, budget = setting.cell(), setting.budget
    context = 0.0 if budget.context_in_budget or budget.context_bytes else CONTEXT_BYTES
    value, half = float(cell.reserved) + context, 0.05 * float(cell.reserved) + RUNTIME_SPREAD_BYTES
    return Figure(value, value - half - float(cell.workspace), value + half)


def weights_and_non_torch(setting: CaseSetting) -> Figure:
    """Return weights and library memory together, bytes per device."""
    first, second = weights_per_device(setting), non_torch(setting)
    return Figure(first.value + second.value, first.low + second.low, first.high + second.high)


def context_bytes(setting: CaseSetting) -> Figure:
    """Return what a driver context takes before any tensor, bytes: measured 0.3 to 0.7 GiB by software stack."""
    note = "driver context: 0.5 GiB, range over software stacks"
    return Figure(CONTEXT_BYTES, 0.25 * GIB, 0.8 * GIB, (note,))


def free_before_load(setting: CaseSetting) -> Figure:
    """Return what is free on one device before a model is loaded, bytes."""
    budget = setting.budget
    if budget.equation != "share_of_free":
        value = setting.total() - CONTEXT_BYTES
        return Figure(value, value - CONTEXT_BYTES, setting.total())
    layout = Layout(tp=setting.count) if setting.subject is None else setting.layout()
    held = held_before_load(budget, layout, setting.device)
    return Figure(setting.total() - held, setting.total() - 2 * held, setting.total() - held / 4)


def free_after_load(setting: CaseSetting) -> Figure:
    """Return what is free on one device when the weights are loaded, bytes.

    An engine that divides what is left prints it after its trial run, or after the engine's buffers: `Memory usage when
    calculating max tokens in paged kv cache: total ..., available ...` (TensorRT-LLM, reference/memory.md).
    """
    weights = weights_per_device(setting)
    budget, half = setting.budget, 2.0 * RUNTIME_SPREAD_BYTES
    taken: float = max(budget.context_bytes, CONTEXT_BYTES)
    if budget.equation == "share_of_free":
        taken = held_before_load(budget, setting.layout(), setting.device)
        half = max(taken / 2, half)
    elif budget.equation == "share_of_rest" and budget.profiled_tokens != "none":
        terms = terms_of(setting)
        taken = budget.context_bytes + float(terms.workspace + terms.runtime)
    return around(setting.total() - taken - weights.value, weights.high - weights.value + half)
