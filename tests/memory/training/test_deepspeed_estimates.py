"""DeepSpeed's own estimate of model states, every offload option, by its documentation."""

from __future__ import annotations

import pytest

from rackfit.memory.training.domain import Offload
from rackfit.memory.training.offload import (
    BUFFER_FACTOR,
    deepspeed_zero2,
    deepspeed_zero3,
    host_bytes,
    load_bytes,
    offload_refusal,
    placed,
)
from rackfit.memory.training.recipes import FP32_ADAM, MIXED_ADAM

GIB = 2**30
T5_3B, T5_LARGEST = 2783e6, 32128 * 2048  # deepspeed.readthedocs.io, memory requirements: t5-3b

# (per node, nodes, optimizer offload, parameter offload, zero_init) -> (GB per CPU, GB per GPU) as printed there.
ZERO_3 = {
    (1, 1, True, True, True): (70.00, 0.25),
    (1, 1, True, False, True): (62.23, 5.43),
    (1, 1, False, False, True): (0.37, 46.91),
    (1, 1, False, False, False): (15.56, 46.91),
}


@pytest.mark.parametrize(("options", "printed"), list(ZERO_3.items()))
def test_stage_three_by_option(options: tuple[int, int, bool, bool, bool], printed: tuple[float, float]) -> None:
    """Host and device figures of stage 3 are met within 1 % for each offload option."""
    need = deepspeed_zero3(T5_3B, T5_LARGEST, *options)

    assert need.host / GIB == pytest.approx(printed[0], rel=0.011)
    assert need.device / GIB == pytest.approx(printed[1], rel=0.02)


@pytest.mark.parametrize(("offload", "printed"), [(True, (127.48, 5.31)), (False, (127.48, 15.93))])
def test_stage_two_by_option(offload: bool, printed: tuple[float, float]) -> None:
    """2851M parameters on 8 GPUs of one node, as the documentation prints them."""
    need = deepspeed_zero2(2851e6, 8, 1, offload)

    assert (need.host / GIB, need.device / GIB) == pytest.approx(printed, rel=0.001)


def test_larger_models() -> None:
    """8B on 8 GPUs 18.8 GiB, 70B on 8 151.8 GiB (the estimator's figures, MEMORY_MODEL section 6)."""
    small = deepspeed_zero3(8.03e9, 128256 * 4096, 8, 1, False, False)
    large = deepspeed_zero3(70.55e9, 128256 * 8192, 8, 1, False, False)

    assert small.device / GIB == pytest.approx(18.8, abs=0.05)
    assert large.device / GIB == pytest.approx(151.8, rel=0.001)


def test_nodes_divide_the_host() -> None:
    """With zero_init each node holds its part; without, each of its ranks first loads the whole."""
    two = deepspeed_zero3(T5_3B, T5_LARGEST, 8, 2, True, True)
    loaded = deepspeed_zero3(T5_3B, T5_LARGEST, 8, 2, True, True, zero_init=False)

    assert two.host == pytest.approx(T5_3B * 9 * BUFFER_FACTOR)
    assert loaded.host == pytest.approx(T5_3B * 32 * BUFFER_FACTOR)


def test_the_newer_accounting_of_stage_two() -> None:
    """Releases after 0.15 count 2P + 18P/N (stage_1_and_2.py at edaa722)."""
    assert deepspeed_zero2(1e9, 8, 1, False, newer=True).device == pytest.approx(2e9 + 18e9 / 8)


def test_offload_moves_the_optimizer_and_not_the_rest() -> None:
    """ZeRO-Offload leaves the 16-bit shard on the device; parameter offload moves it too."""
    here, away = placed(MIXED_ADAM, 3, 8, Offload("cpu"))
    none, everything = placed(MIXED_ADAM, 3, 8, Offload("cpu", "cpu"))

    assert sum(here.values()) == pytest.approx(2 / 8)
    assert sum(away.values()) == pytest.approx(14 / 8)
    assert sum(none.values()) == 0
    assert sum(everything.values()) == pytest.approx(16 / 8)


def test_half_of_the_optimizer_moved() -> None:
    """A share of 0.5 leaves half of the moments and of the fp32 copy on the device (Twin-Flow)."""
    here, away = placed(MIXED_ADAM, 2, 4, Offload("cpu", optimizer_share=0.5))

    assert here["optimizer"] == away["optimizer"] == pytest.approx(1.0)


@pytest.mark.parametrize("offload", [Offload("cpu", "cpu"), Offload("nvme")])
def test_offload_that_needs_stage_three(offload: Offload) -> None:
    """Parameters and NVMe are moved at stage 3 only (DeepSpeed, config-json page)."""
    assert offload_refusal(offload, 2) is not None
    assert offload_refusal(offload, 3) is None


def test_loading_on_every_rank() -> None:
    """70e9 x 4 bytes x 8 ranks = 2.24 TB at load, 280 GB where the first rank loads (huggingface/blog pull 1412)."""
    assert load_bytes(70e9, 4, 8, False) == pytest.approx(2.24e12)
    assert load_bytes(70e9, 4, 8, True) == pytest.approx(280e9)


def test_workers_of_reinforcement_learning_on_a_host() -> None:
    """Eight workers of a 7B model with fp32 shards and moments on the host: 11.1 GB each measured (verl issue 224)."""
    _, away = placed(FP32_ADAM, 3, 8, Offload("cpu", "cpu"))
    each = (away["weights"] + away["optimizer"]) * 7.62e9

    assert each == pytest.approx(11.1e9, rel=0.15)
    assert host_bytes({"weights": 0.5, "optimizer": 1.0}, 7.62e9, 8) / BUFFER_FACTOR > 0.9 * 96e9
