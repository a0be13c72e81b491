"""bitsandbytes weights as engines hold them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.fit.cell import device_weights
from rackfit.memory.bitsandbytes import as_held
from rackfit.memory.domain import Layout, Precision
from reference.architectures import ANATOMIES, BF16, LLAMA_8B, VLLM

WIDE = frozenset({"embedding", "head", "norms"})
SINGLE = Precision("bnb_nf4", "bnb", 4.5, 16.0, WIDE, 64)
DOUBLE = Precision("bnb_nf4_double", "bnb", 4.126953, 16.0, WIDE, 64)
DYNAMIC = Precision("bnb_nf4_dynamic", "bnb", 4.77, 16.0, WIDE, 64)
BEFORE, SINCE = (replace(VLLM, version_from=version) for version in ("0.9.1", "0.9.2"))


@pytest.mark.parametrize(("runtime", "version"), [("vllm", "0.9.1"), ("transformers", "5.0"), ("sglang", "0.5.3")])
def test_double_quantised_weights_stay_as_stored(runtime: str, version: str) -> None:
    """QLoRA, section 3: 0.127 bits per parameter for the constants, not 0.5."""
    assert as_held(DOUBLE, replace(VLLM, runtime_id=runtime, version_from=version)) == DOUBLE


def test_vllm_widens_the_constants_when_it_loads() -> None:
    """Pull request 19742, in 0.9.2: the constants are dequantised at load, so NF4 costs 4 + 32/64 bits."""
    assert as_held(DOUBLE, SINCE).bits == pytest.approx(4.5, abs=1e-4)
    assert as_held(SINGLE, SINCE).bits == 4.5
    assert as_held(BF16, SINCE) == BF16


def test_of_a_dynamic_checkpoint_the_quantised_share_grows() -> None:
    """A matrix kept in 16 bits has no constants: less than 0.373 bits come on top, and nothing where all are wide."""
    grown = as_held(DYNAMIC, SINCE).bits - DYNAMIC.bits
    assert 0.3 < grown < 0.373
    assert as_held(replace(DYNAMIC, bits=16.0), SINCE).bits == 16.0


def test_a_device_holds_the_widened_weights() -> None:
    """Llama-3.1-8B: 6.98 billion values in linear layers, so 0.325 GB more."""
    before, since = (
        sum(device_weights(ANATOMIES[LLAMA_8B.name], DOUBLE, rules, Layout())) for rules in (BEFORE, SINCE)
    )
    assert since - before == pytest.approx(6.9793e9 * 0.373047 / 8, rel=1e-3)
