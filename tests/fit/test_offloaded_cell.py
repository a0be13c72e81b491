"""Offloading to RAM: the most that fits stays on the device, and the host's needs are stated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.fit.cell import Question, evaluate
from rackfit.fit.offload import Case, Host, evaluate_offload, fewest_experts, most_layers
from rackfit.fit.verdicts import FITS, NO, TIGHT
from rackfit.memory.budget import engine_total
from rackfit.memory.domain import Layout, Model
from rackfit.memory.kv_cache import kv_bytes
from rackfit.memory.offload import Offload
from reference.architectures import ANATOMIES, AWQ, BF16, LLAMA_8B, LLAMA_70B, LLAMA_CPP, QWEN3_30B, RTX_3090

ONE_OF_8K = Question(8192, 1, 16.0)


def case(model: Model, devices: int = 1, **facts: object) -> Case:
    """Return a model on RTX 3090 cards under llama.cpp."""
    total = float(engine_total(RTX_3090.memory_bytes, RTX_3090.vendor, False))
    plain = Case(ANATOMIES[model.name], BF16, LLAMA_CPP, RTX_3090, devices, ONE_OF_8K, total, 0.0)
    return replace(plain, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("devices", [1, 2])
def test_everything_on_devices_is_the_ordinary_cell(devices: int) -> None:
    """With all layers on devices, bytes and verdict are those of the layout without offload."""
    asked = case(LLAMA_8B, devices)
    whole = evaluate_offload(asked, Offload(33, 0)).cell
    plain = evaluate(asked.anatomy, BF16, LLAMA_CPP, Layout(pp=devices), RTX_3090, ONE_OF_8K)

    assert (whole.total, whole.verdict, whole.max_context) == (plain.total, plain.verdict, plain.max_context)


def test_most_layers() -> None:
    """The number found fits, and one more does not."""
    asked = case(LLAMA_70B)
    found = most_layers(asked)

    assert 0 < found.offload.gpu_layers < 81
    assert found.cell.verdict == FITS
    assert evaluate_offload(asked, Offload(found.offload.gpu_layers + 1, 0)).cell.verdict < FITS
    assert most_layers(case(LLAMA_8B)).offload.gpu_layers == 33


def test_fewest_experts() -> None:
    """Qwen3-30B-A3B in 16 bits (61 GB) runs on 24 GB when most layers' experts lie in RAM, and not with one fewer."""
    asked = case(QWEN3_30B)
    found = fewest_experts(asked)

    assert found.cell.verdict == FITS
    assert 24 < found.offload.cpu_experts < 48
    assert evaluate_offload(asked, Offload(49, found.offload.cpu_experts - 1)).cell.verdict < FITS
    assert fewest_experts(case(QWEN3_30B, precision=AWQ)).offload.cpu_experts < found.offload.cpu_experts


def test_cache_goes_with_its_layer() -> None:
    """Half of Llama-3.1-8B's layers in RAM take half of the cache along: 65536 B per token of 131072."""
    half = evaluate_offload(case(LLAMA_8B), Offload(17, 0))

    assert half.cell.kv == half.host_kv == kv_bytes(ANATOMIES[LLAMA_8B.name], 16.0, 8192) / 2
    assert half.device_kv + half.host_kv == 131072 * 8192


def test_experts_leave_the_cache_on_the_device() -> None:
    """Experts in RAM move no cache."""
    assert evaluate_offload(case(QWEN3_30B), Offload(49, 48)).host_kv == 0


@pytest.mark.parametrize(("gib", "verdict"), [(None, None), (10, NO), (21, TIGHT), (32, FITS)])
def test_host(gib: float | None, verdict: int | None) -> None:
    """20 GiB need RAM that holds them with a tenth to spare; RAM that is not known gives no verdict."""
    assert Host(gib * 2**30 if gib else None, None).verdict(20 * 2**30) == verdict
