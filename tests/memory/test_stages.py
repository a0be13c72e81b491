"""Which layers lie on which stage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.fit.cell import device_weights
from rackfit.memory.domain import Layout
from rackfit.memory.layouts import spread_layers
from rackfit.memory.stages import stage_sizes
from rackfit.memory.weights import outer_bytes
from reference.architectures import ANATOMIES, BF16, LLAMA_8B, LLAMA_CPP, VLLM


@pytest.mark.parametrize(
    ("layers", "devices", "sizes"),
    [
        # llama.cpp, get_layer_buft_list: layer i of n lies where i / (n + 1) falls among equal shares
        (80, 2, (41, 39)),
        (80, 4, (21, 20, 20, 19)),
        (80, 6, (14, 13, 14, 13, 14, 12)),
        (32, 2, (17, 15)),
        (32, 3, (11, 11, 10)),
    ],
)
def test_llama_cpp_divides_the_head_as_a_layer(layers: int, devices: int, sizes: tuple[int, ...]) -> None:
    """The output layer takes a place of its own, so that the last device has a layer fewer."""
    assert stage_sizes(layers, devices, head_slot=True) == sizes


@given(st.integers(1, 130), st.integers(1, 16), st.booleans())
def test_every_layer_has_one_stage(layers: int, stages: int, head_slot: bool) -> None:
    """Nothing is lost or doubled, and stages differ by two layers at most."""
    sizes = stage_sizes(layers, stages, head_slot)

    assert sum(sizes) == layers
    assert len(sizes) == stages
    assert max(sizes) - min(sizes) <= 2


def test_only_engines_that_split_layers_do_so() -> None:
    """vLLM cuts its stages by layers alone; one device has no split."""
    assert spread_layers(Layout(pp=2), VLLM) == Layout(pp=2)
    assert spread_layers(Layout(pp=2), LLAMA_CPP).head_slot
    assert spread_layers(Layout(), LLAMA_CPP) == Layout()


def test_the_last_device_holds_the_head_and_fewer_layers() -> None:
    """Llama-3.1-8B in 16 bits on two devices: 17 layers against 15 and the head, the embedding on the host."""
    anatomy = ANATOMIES[LLAMA_8B.name]
    layer = 218_112_000 * 2
    _, head, _ = outer_bytes(anatomy, BF16, Layout(pp=2))
    first, last = device_weights(anatomy, BF16, LLAMA_CPP, Layout(pp=2))

    assert first == pytest.approx(17 * layer, rel=1e-6)
    assert last == pytest.approx(15 * layer + head, rel=1e-6)
