"""Files by who published them: importance matrices, and the rules of the time."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.read import read_model
from rackfit.memory.gguf import gguf_bytes


@pytest.mark.parametrize(
    ("model", "file_type", "publisher", "size"),
    [
        # bytes of files as GPT4All's model list states them (the catalog's artifacts)
        ("meta-llama/llama-3.1-8b", "q4_0", "bartowski/DeepSeek-R1-Distill-Llama-8B-GGUF", 4_675_894_112),
        ("meta-llama/llama-3.2-3b", "q4_0", "bartowski/Llama-3.2-3B-Instruct-GGUF", 1_921_909_280),
        ("deepseek-ai/deepseek-r1-distill-qwen-14b", "q4_0", "bartowski/R1-Distill-Qwen-14B-GGUF", 8_544_267_680),
        # llama.cpp's loader prints 24.62 GiB for the Q4_K_M of Mixtral-8x7B, 46.70 B parameters, 4.53 bits
        ("mistralai/mixtral-8x7b-v0.1", "q4_k_m", "TheBloke/Mixtral-8x7B-Instruct-v0.1-GGUF", 24.62 * 2**30),
    ],
)  # fmt: skip
def test_files_of_a_publisher(
    connection: sqlite3.Connection, model: str, file_type: str, publisher: str, size: float
) -> None:
    """The estimate of a named repository's file is within half a percent, and nearer than that of a file of nobody."""
    found, plain = (gguf_bytes(read_model(connection, model), file_type, owner) for owner in (publisher, ""))
    assert found == pytest.approx(size, rel=0.005)
    assert abs(found - size) < abs(plain - size)
