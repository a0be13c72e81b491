"""The format that an engine holds weights in, where it is not the checkpoint's own and nobody named one."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion

PARAMS = 7_298_617_344
"""OLMo-2-1124-7B, stored in 32 bits (the safetensors total and `torch_dtype` of its repository)."""


@pytest.mark.parametrize(
    ("runtime", "tp", "bytes_each"), [("vllm", 1, 2), ("vllm", 2, 2), ("sglang", 1, 2), ("transformers", 1, 4)]
)
def test_servers_load_32_bit_checkpoints_in_16_bits(
    connection: sqlite3.Connection, runtime: str, tp: int, bytes_each: int
) -> None:
    """Their `dtype` is `auto`: FP16 for FP32 models; Transformers 5 keeps the checkpoint's own format."""
    question = FitQuestion("allenai/olmo-2-1124-7b", f"{tp}x h100-sxm", runtime=runtime)
    answer = fit_one(connection, question, suggest=False)

    assert answer["per_device"]["weights_bytes"] == pytest.approx(PARAMS * bytes_each / tp, rel=0.001)
    assert any("16 bits unless asked" in text for text in answer["assumptions"]) is (bytes_each == 2)


def test_a_format_that_is_asked_for_stays(connection: sqlite3.Connection) -> None:
    """`--precision fp32` is what vLLM calls `--dtype float32`."""
    question = FitQuestion("allenai/olmo-2-1124-7b", "h100-sxm", precision="fp32", runtime="vllm")
    answer = fit_one(connection, question, suggest=False)

    assert answer["precision"] == "fp32"
    assert answer["per_device"]["weights_bytes"] == pytest.approx(PARAMS * 4, rel=0.001)
