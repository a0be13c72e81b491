"""SQL functions against figures from documents."""

from __future__ import annotations

import json
import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.publish.answers import Answers
from rackfit.publish.errors_in_sql import error_text
from rackfit.publish.sql_functions import functions, register_functions


@pytest.fixture(scope="module")
def connection(catalog):
    """A read-only connection with the functions registered, as `rackfit sql` has it."""
    opened = sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)
    register_functions(opened, catalog)
    yield opened
    opened.close()


def one(connection, sql, *arguments):
    """Return the single value of a query."""
    return connection.execute(sql, arguments).fetchone()[0]


@pytest.mark.parametrize(
    ("model", "expected"),
    [("llama-3.1-8b", 131072), ("llama-3.1-70b", 327680), ("deepseek-v3", 70272)],
)
def test_cache_per_token_is_that_of_the_documents(connection, model, expected):
    """Bytes per token at 16 bits: MEMORY_MODEL section 4; DeepSeek-V3 is 61 x 576 x 2."""
    assert one(connection, "select kv_bytes(?, 'bf16', 1, 1)", model) == expected


def test_an_eight_bit_cache_is_half(connection):
    """FP8 stores one byte per value; 8K tokens of Llama-3.1-8B are 512 MiB."""
    assert one(connection, "select kv_bytes('llama-3.1-8b', 'fp8', 8192, 1)") == 2**29


def test_engines_reserve_whole_blocks(connection):
    """vLLM keeps blocks of 16 tokens (vLLM, block_size): one token of Llama-3.1-8B costs 16."""
    assert one(connection, "select kv_reserved_bytes('llama-3.1-8b', 'bf16', 1, 1, 'vllm')") == 16 * 131072


def test_the_function_and_the_fit_reserve_the_same(connection):
    """llama.cpp keeps a convolution's inputs as the state, in 32 bits: hybrids reserve the same on every surface."""
    asked = FitQuestion(model="qwen3-next-80b-a3b", on="nvidia-h200-sxm-141gb", precision="q4_k_m", context=4096)
    opened = sqlite3.connect(connection.execute("pragma database_list").fetchone()[2])
    answer = fit_one(opened, asked)
    opened.close()
    reserved = answer["per_device"]["kv_reserved_bytes"]
    said = "select kv_reserved_bytes('qwen3-next-80b-a3b', 'bf16', 4096, 1, 'llama.cpp')"

    assert answer["runtime"] == "llama.cpp" and one(connection, said) == pytest.approx(reserved, rel=1e-9)


def test_weights_at_sixteen_bits_are_two_bytes_per_parameter(connection):
    """Llama-3.1-8B has 8,030,261,248 parameters (its safetensors index)."""
    assert one(connection, "select weights_bytes('llama-3.1-8b', 'bf16')") == 2 * 8_030_261_248
    unreleased = "select weights_bytes(model_id, null) from models where native_precision_id is null limit 1"
    assert one(connection, unreleased) is None


def test_the_longest_request_inverts_the_cache(connection):
    """1 GiB holds 8192 tokens of 131072 bytes."""
    assert one(connection, "select max_tokens('llama-3.1-8b', 'bf16', 1073741824)") == 8192


def test_units_are_told_apart(connection):
    """GiB is 2^30, GB is 10^9."""
    assert one(connection, "select gib(1073741824)") == 1.0
    assert one(connection, "select gb(1000000000)") == 1.0
    assert one(connection, "select gib(null)") is None


def test_an_answer_as_json_is_the_answer_of_the_page(connection):
    """fit_json takes a configuration id or any hardware expression."""
    found = json.loads(one(connection, "select fit_json('llama-3.1-8b', '8x-nvidia-h100-sxm5-80gb')"))
    assert found["verdict"] == "fits"
    same = json.loads(one(connection, "select fit_json('llama-3.1-8b', '8x h100-sxm5-80gb', null, 8192, 1)"))
    assert same["per_device"] == found["per_device"]


def test_names_resolve_as_they_do_elsewhere(connection):
    """Names without vendor or organisation lead to the record."""
    assert one(connection, "select resolve_name('accelerator', 'rtx 4090')") == "nvidia-rtx-4090"
    assert one(connection, "select resolve_name('precision', 'Q4_K_M')") == "ggufmix_q4_k_m"
    assert one(connection, "select resolve_name('model', null)") is None


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("select weights_bytes('qwenn3-32b', 'bf16')", "unknown model 'qwenn3-32b'; did you mean"),
        ("select weights_bytes('qwen3-32b', 'q5_banana')", "unknown"),
        ("select kv_bytes('qwen3-32b', 'bf16', -1, 1)", "expected a whole number from 1"),
        ("select kv_bytes('qwen3-32b', 'bf16', 'many', 1)", "expected a whole number from 1"),
        ("select kv_bytes('qwen3-32b', 'kv9', 1, 1)", "unknown KV precision"),
        ("select kv_reserved_bytes('qwen3-32b', 'bf16', 1, 1, 'nonsense')", "unknown runtime"),
        ("select fit_json('qwen3-32b', 'rtx-40900')", "unknown"),
        ("select resolve_name('planet', 'x')", "expected one of"),
        ("select gib('a lot')", "cannot be read"),
    ],
)
def test_a_bad_argument_is_one_clear_line(connection, sql, text):
    """The reason is kept and read through `error_text`."""
    with pytest.raises(sqlite3.OperationalError) as refused:
        connection.execute(sql).fetchone()
    shown = error_text(refused.value)
    assert text in shown and "\n" not in shown


def test_other_errors_keep_their_own_text(connection):
    """A missing table is not blamed on a function."""
    with pytest.raises(sqlite3.OperationalError) as refused:
        connection.execute("select * from nothing_here")
    assert error_text(refused.value) == "no such table: nothing_here"


def test_a_model_is_read_once(catalog):
    """The second question about a model does not go back to its rows."""
    answers = Answers(catalog)
    answers.kv("llama-3.1-8b", "bf16", 1, 1)
    first = answers.subject("llama-3.1-8b")
    answers.kv("llama-3.1-8b", "fp8", 1, 1)
    assert answers.subject("llama-3.1-8b") is first


def test_every_function_says_what_it_does(catalog):
    """Signature and meaning, for the documents and for people."""
    for function in functions(Answers(catalog)):
        assert function.signature.startswith(function.name + "(") and function.meaning
