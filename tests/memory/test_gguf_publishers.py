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
        # lists of files of TheBloke/Llama-2-7B-GGUF (4407fb2) and -70B-GGUF (22bccff): Q2_K 2.83 and 29.3 GB
        ("meta-llama/llama-2-7b-hf", "q2_k", "TheBloke/Llama-2-7B-GGUF", 2.83e9),
        ("meta-llama/llama-2-70b-hf", "q2_k", "TheBloke/Llama-2-70B-GGUF", 29.3e9),
    ],
)  # fmt: skip
def test_files_of_a_publisher(
    connection: sqlite3.Connection, model: str, file_type: str, publisher: str, size: float
) -> None:
    """The estimate of a named repository's file is within half a percent, and nearer than that of a file of nobody."""
    found, plain = (gguf_bytes(read_model(connection, model), file_type, owner) for owner in (publisher, ""))
    assert found == pytest.approx(size, rel=0.005)
    assert abs(found - size) < abs(plain - size)


@pytest.mark.parametrize(
    ("file_type", "gigabytes"),
    [("q3_k_s", 2.95), ("q3_k_m", 3.3), ("q3_k_l", 3.6), ("q4_0", 3.83), ("q4_k_s", 3.86), ("q4_k_m", 4.08)],
)
def test_other_types_of_2023_are_todays(connection: sqlite3.Connection, file_type: str, gigabytes: float) -> None:
    """The list of files of TheBloke/Llama-2-7B-GGUF: of dense models only Q2_K has other rules."""
    size = gguf_bytes(read_model(connection, "meta-llama/llama-2-7b-hf"), file_type, "TheBloke/Llama-2-7B-GGUF")
    assert size / 1e9 == pytest.approx(gigabytes, rel=0.004)


@pytest.mark.parametrize(
    ("model", "file_type", "gigabytes"),
    [
        # list of files of bartowski/Meta-Llama-3.1-8B-Instruct-GGUF (8fe31a4)
        ("meta-llama/llama-3.1-8b", "q2_k_l", 3.69),
        ("meta-llama/llama-3.1-8b", "q4_k_l", 5.31),
        ("meta-llama/llama-3.1-8b", "q5_k_l", 6.06),
        ("meta-llama/llama-3.1-8b", "q6_k_l", 6.85),
        # model cards of bartowski/Qwen_Qwen3-4B-GGUF (one table for embedding and output) and -32B-GGUF
        ("qwen/qwen3-4b", "q4_k_l", 2.59),
        ("qwen/qwen3-4b", "q5_k_l", 2.98),
        ("qwen/qwen3-4b", "q6_k_l", 3.40),
        ("qwen/qwen3-32b", "q6_k_l", 27.26),
    ],
)
def test_files_with_eight_bit_tables(
    connection: sqlite3.Connection, model: str, file_type: str, gigabytes: float
) -> None:
    """A file named _L is the plain one with embedding and output in Q8_0, nearly to the two digits of the card."""
    assert gguf_bytes(read_model(connection, model), file_type) / 1e9 == pytest.approx(gigabytes, rel=0.004)
