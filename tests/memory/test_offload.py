"""Layers and experts in RAM: nothing is lost between the tiers, and counts are llama.cpp's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.memory.domain import Model
from rackfit.memory.offload import Offload, moe_layers, tiers
from rackfit.memory.weights import weights_bytes
from reference.architectures import ALL, ANATOMIES, BF16, DEEPSEEK_V3, LLAMA_1B, LLAMA_8B, QWEN3_30B

MODELS = st.sampled_from(ALL)
LLAMA_LAYER = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)
"""Bytes of one layer of Llama-3.1-8B (config.json) in 16 bits."""
LLAMA_TABLE = 2 * 128256 * 4096
QWEN_EXPERTS = 2 * 128 * 3 * 2048 * 768
"""Bytes of the routed experts of one layer of Qwen3-30B-A3B (config.json) in 16 bits."""


@given(MODELS, st.integers(0, 130), st.integers(0, 130), st.sampled_from([1, 2, 3]))
def test_nothing_is_lost(model: Model, layers: int, experts: int, devices: int) -> None:
    """Device and host bytes add up to the model, with a tied table in both tiers as soon as the head is on a device."""
    anatomy = ANATOMIES[model.name]
    placed = tiers(anatomy, BF16, Offload(layers, experts), devices)
    twice = 2 * anatomy.outer_roles["embedding"] if model.tied_embeddings and layers > 0 else 0

    assert sum(placed.devices) + placed.host == pytest.approx(weights_bytes(anatomy, BF16) + twice)
    held = [sum(column) for column in zip(*placed.layers_on, placed.layers_on_host, strict=True)]
    assert held == [group.count for group in model.groups]


@given(MODELS, st.integers(0, 129), st.integers(0, 129))
def test_more_in_ram_is_less_on_the_device(model: Model, layers: int, experts: int) -> None:
    """One layer more on the device, or the experts of one layer fewer in RAM, never shrinks what the device holds."""
    anatomy = ANATOMIES[model.name]
    here = sum(tiers(anatomy, BF16, Offload(layers, experts + 1)).devices)

    assert sum(tiers(anatomy, BF16, Offload(layers + 1, experts + 1)).devices) >= here
    assert sum(tiers(anatomy, BF16, Offload(layers, experts)).devices) >= here


@pytest.mark.parametrize(
    ("count", "device", "host"),
    [
        (33, 32 * LLAMA_LAYER + LLAMA_TABLE, LLAMA_TABLE),
        (32, 31 * LLAMA_LAYER + LLAMA_TABLE, LLAMA_TABLE + LLAMA_LAYER),
        (1, LLAMA_TABLE, LLAMA_TABLE + 32 * LLAMA_LAYER),
        (0, 0, 2 * LLAMA_TABLE + 32 * LLAMA_LAYER),
    ],
)
def test_layers_of_llama(count: int, device: int, host: int) -> None:
    """The head is the first of Llama-3.1-8B's 33 layers to go on the device, the embedding stays in RAM."""
    placed = tiers(ANATOMIES[LLAMA_8B.name], BF16, Offload(count, 0))
    norm = 2 * 4096

    assert placed.devices[0] == device + (norm if count else 0)
    assert placed.host == host + (0 if count else norm)


@pytest.mark.parametrize("count", [1, 20, 48, 60])
def test_experts_in_ram(count: int) -> None:
    """Every layer of Qwen3-30B-A3B gives its 128 experts of 3 x 2048 x 768 weights to RAM; a token reads 8 of them."""
    anatomy = ANATOMIES[QWEN3_30B.name]
    whole, split = tiers(anatomy, BF16, Offload(49, 0)), tiers(anatomy, BF16, Offload(49, count))
    moved = min(count, 48) * QWEN_EXPERTS

    assert whole.devices[0] - split.devices[0] == moved
    assert split.host - whole.host == moved
    assert split.host_read - whole.host_read == pytest.approx(moved * 8 / 128)
    assert whole.devices_read - split.devices_read == pytest.approx(moved * 8 / 128)


def test_first_dense_layers_have_nothing_to_give() -> None:
    """The first 3 of DeepSeek-V3's 61 layers are dense (config.json): their turn moves nothing."""
    anatomy = ANATOMIES[DEEPSEEK_V3.name]

    assert tiers(anatomy, BF16, Offload(62, 3)).devices == tiers(anatomy, BF16, Offload(62, 0)).devices
    assert moe_layers(anatomy) == 61
    assert moe_layers(ANATOMIES[LLAMA_8B.name]) == 0


def test_tied_head() -> None:
    """A tied table is a copy on the device for the head, and one in RAM for the input."""
    placed = tiers(ANATOMIES[LLAMA_1B.name], BF16, Offload(17, 0))

    assert placed.host == 2 * 128256 * 2048
    assert placed.devices[0] == weights_bytes(ANATOMIES[LLAMA_1B.name], BF16)


def test_one_token_reads_the_active_parameters() -> None:
    """Wherever they lie, a token reads all weights but the input table and the experts it does not visit."""
    anatomy = ANATOMIES[QWEN3_30B.name]
    inactive = 48 * QWEN_EXPERTS * (128 - 8) / 128
    active = weights_bytes(anatomy, BF16) - inactive - 2 * 151936 * 2048 + 2 * 2048
    for offload in (Offload(49, 0), Offload(49, 48), Offload(20, 0), Offload(0, 0)):
        placed = tiers(anatomy, BF16, offload)
        assert placed.devices_read + placed.host_read == pytest.approx(active)
