"""GGUF files have the bytes that were published for them."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.read import precision_of, read_model
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.gguf import enumerable, gguf_bytes, gguf_role_bits, gguf_size, tensors
from rackfit.memory.gguf_types import BASE, BLOCKS, Traits, block_type, divides, more_bits
from rackfit.memory.weights import fitted, weights_bytes

GIB = 2**30
GPU_BENCHMARKS = "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference/blob/main/README.md"
QUANTIZE = "https://github.com/ggml-org/llama.cpp/blob/master/tools/quantize/README.md"
GGUF_PARSER = "https://github.com/gpustack/gguf-parser-go/blob/main/README.md"
L8, L70 = "meta-llama/llama-3.1-8b", "meta-llama/meta-llama-3-70b"

PUBLISHED = [
    # case, model, file type, GiB as published, where
    ("K4-0005", L70, "iq1_s", 14.29, GPU_BENCHMARKS),
    ("K4-0006", L70, "iq1_m", 15.60, GPU_BENCHMARKS),
    ("K4-0007", L70, "iq2_xxs", 17.79, GPU_BENCHMARKS),
    ("K4-0008", L70, "iq2_xs", 19.69, GPU_BENCHMARKS),
    ("K4-0009", L70, "iq2_s", 20.71, GPU_BENCHMARKS),
    ("K4-0010", L70, "q2_k_s", 22.79, GPU_BENCHMARKS),
    ("K4-0011", L70, "iq2_m", 22.46, GPU_BENCHMARKS),
    ("K4-0012", L70, "q2_k", 24.56, GPU_BENCHMARKS),
    ("K4-0013", L70, "iq3_xxs", 25.58, GPU_BENCHMARKS),
    ("K4-0014", L70, "iq3_xs", 27.29, GPU_BENCHMARKS),
    ("K4-0015", L70, "q3_k_s", 28.79, GPU_BENCHMARKS),
    ("K4-0016", L70, "iq3_s", 28.79, GPU_BENCHMARKS),
    ("K4-0017", L70, "iq3_m", 29.74, GPU_BENCHMARKS),
    ("K4-0018", L70, "q3_k_m", 31.91, GPU_BENCHMARKS),
    ("K4-0019", L70, "q3_k_l", 34.59, GPU_BENCHMARKS),
    ("K4-0022", L70, "q4_k_s", 37.58, GPU_BENCHMARKS),
    ("K4-0023", L70, "q4_k_m", 39.60, GPU_BENCHMARKS),
    ("K4-0024", L70, "q5_k_s", 45.32, GPU_BENCHMARKS),
    ("K4-0025", L70, "q5_k_m", 46.52, GPU_BENCHMARKS),
    ("K4-0026", L70, "q6_k", 53.91, GPU_BENCHMARKS),
    ("K4-0027", L70, "q8_0", 69.83, GPU_BENCHMARKS),
    ("K4-0028", L70, "f16", 131.43, GPU_BENCHMARKS),
    ("K4-0029", L8, "iq1_s", 1.87, QUANTIZE),
    ("K4-0032", L8, "iq2_xs", 2.42, QUANTIZE),
    ("K4-0034", L8, "iq2_m", 2.74, QUANTIZE),
    ("K4-0035", L8, "iq3_xxs", 3.04, QUANTIZE),
    ("K4-0036", L8, "iq3_xs", 3.27, QUANTIZE),
    ("K4-0038", L8, "iq3_m", 3.52, QUANTIZE),
    ("K4-0039", L8, "iq4_xs", 4.17, QUANTIZE),
    ("K4-0040", L8, "iq4_nl", 4.38, QUANTIZE),
    ("K4-0042", L8, "q2_k", 2.95, QUANTIZE),
    ("K4-0043", L8, "q3_k_s", 3.41, QUANTIZE),
    ("K4-0044", L8, "q3_k_l", 4.02, QUANTIZE),
    ("K4-0045", L8, "q4_k_s", 4.36, QUANTIZE),
    ("K4-0046", L8, "q4_k_m", 4.58, QUANTIZE),
    ("K4-0047", L8, "q5_k_s", 5.21, QUANTIZE),
    ("K4-0048", L8, "q5_k_m", 5.33, QUANTIZE),
    ("K4-0049", L8, "q6_k", 6.14, QUANTIZE),
    ("K4-0050", L8, "q8_0", 7.95, QUANTIZE),
    ("K4-0051", L8, "f16", 14.96, QUANTIZE),
    ("K4-0082", "deepseek-ai/deepseek-r1-distill-qwen-7b", "q4_k_m", 4.36, GGUF_PARSER),
    ("K4-0083", "qwen/qwen2.5-7b", "q8_0", 7.54, GGUF_PARSER),
    ("K4-0084", "qwen/qwen2.5-72b", "q4_k_m", 44.15, GGUF_PARSER),
]


@pytest.mark.parametrize(("case", "model_id", "file_type", "gib", "source"), PUBLISHED)
def test_published_sizes(
    connection: sqlite3.Connection, case: str, model_id: str, file_type: str, gib: float, source: str
) -> None:
    """Tensor bytes are within 0.5 % of the published file sizes (printed to 0.01 GiB)."""
    size = gguf_size(read_model(connection, model_id), file_type)
    assert size.method == "tensors"
    assert size.tensor_bytes / GIB == pytest.approx(gib, rel=0.005), f"{case} {source}"


EXACT = [
    # model, file type, bytes of the published file, file
    ("meta-llama/meta-llama-3-8b", "q4_0", 4661724384, "Meta-Llama-3-8B-Instruct.Q4_0.gguf, gpt4all.io"),
    ("bigcode/starcoder", "q4_0", 8987411904, "starcoder-newbpe-q4_0.gguf, gpt4all.io (fused QKV)"),
    ("mistralai/mistral-7b-v0.1", "q6_k", 5942065440, "TheBloke/Mistral-7B-Instruct-v0.2-GGUF"),
    ("mistralai/mistral-7b-v0.1", "q4_k_s", 4140373664, "TheBloke/Mistral-7B-Instruct-v0.1-GGUF"),
    ("codellama/codellama-13b-hf", "q6_k", 10679342592, "TheBloke/NexusRaven-V2-13B-GGUF"),
    ("google/gemma-2-9b", "q4_k_m", 5761057728, "lmstudio-community/gemma-2-9b-it-GGUF (tied)"),
    ("meta-llama/llama-3.2-3b", "q4_k_m", 2019393189, "ollama llama3.2 (tied)"),
    ("microsoft/phi-3-mini-4k-instruct", "q4_k_m", 2393232096, "lmstudio-community/Phi-3.1-mini-4k-instruct-GGUF"),
    ("qwen/qwen1.5-7b", "q5_k_m", 5530664160, "Qwen/Qwen1.5-7B-Chat-GGUF"),
    ("openlm-research/open_llama_3b", "q4_0", 1979946720, "orca-mini-3b-gguf2-q4_0.gguf, gpt4all.io"),
]


@pytest.mark.parametrize(("model_id", "file_type", "stored", "file"), EXACT)
def test_exact_files(connection: sqlite3.Connection, model_id: str, file_type: str, stored: int, file: str) -> None:
    """Files whose bytes are known come out within 0.2 %, tokenizer included."""
    assert gguf_bytes(read_model(connection, model_id), file_type) == pytest.approx(stored, rel=0.002), file


DIFFERENT = {
    "gpt4all-falcon-newbpe-q4_0.gguf (gpt4all.io)": "an old converter stored the tied matrix twice",
    "mpt-7b-chat-newbpe-q4_0.gguf (gpt4all.io)": "an old converter stored the tied matrix twice",
    "unsloth/gpt-oss-20b-GGUF/gpt-oss-20b-F16.gguf": "everything but the experts is 16-bit, not Q8_0",
    "all-MiniLM-L6-v2-f16.gguf (gpt4all.io)": "WordPiece: no merges, so the tokenizer is a third of the usual size",
    "all-MiniLM-L6-v2.gguf2.f16.gguf (gpt4all.io)": "WordPiece: no merges",
}
"""Published files that other rules made. They must still differ, else they leave this list."""


def test_every_known_file(connection: sqlite3.Connection) -> None:
    """All published GGUF files of the model records are within 0.5 %, but for the listed ones."""
    rows = connection.execute(
        "select artifact_id, model_id, precision_id, bytes from artifacts where precision_id like 'gguf%'"
    ).fetchall()
    off = set()
    for name, model_id, precision_id, stored in rows:
        kind = precision_id.removeprefix("ggufmix_").removeprefix("gguf_").replace("mxfp4", "mxfp4_moe")
        if abs(gguf_bytes(read_model(connection, model_id), kind) / stored - 1) > 0.005:
            off.add(name)
    assert len(rows) >= 50
    assert off == set(DIFFERENT)


def test_tensors_add_up(connection: sqlite3.Connection) -> None:
    """The enumerated tensors of every model are its parameters, no more and no less."""
    for (model_id,) in connection.execute("select model_id from models").fetchall():
        model = read_model(connection, model_id)
        assert sum(tensor.values for tensor in tensors(model)) == model.params_text, model_id


def test_embedding_is_told_apart(connection: sqlite3.Connection) -> None:
    """Llama-3.1-8B: 128256 x 4096 at Q4_K is 295.5 MB on the host; a tied table has the type of the head."""
    plain = gguf_size(read_model(connection, L8), "q4_k_m")
    assert plain.embedding_bytes == 128256 * 4096 * 144 // 256
    tied = gguf_size(read_model(connection, "meta-llama/llama-3.2-3b"), "q4_k_m")
    assert tied.embedding_bytes == 128256 * 3072 * 210 // 256
    assert "head" not in dict(tied.role_bytes)


def test_bits_by_role_make_the_file(connection: sqlite3.Connection) -> None:
    """Mean bits per role times the role's parameters are the bytes of the tensors."""
    model = read_model(connection, L70)
    size, bits = gguf_size(model, "q4_k_m"), gguf_role_bits(model, "q4_k_m")
    assert bits["head"] == 6.5625
    assert bits["norms"] == 32
    assert bits["attention_kv"] > gguf_role_bits(model, "q4_k_s")["attention_kv"]
    assert sum(stored for _, stored in size.role_bytes) == size.tensor_bytes


def test_a_ratio_where_there_are_no_rules(connection: sqlite3.Connection) -> None:
    """RWKV and encoder-decoders fall back to the whole-file average and say so; without one, tensors are used."""
    model = read_model(connection, "rwkv/rwkv7-goose-world3-2.9b-hf")
    assert not enumerable(model)
    size = gguf_size(model, "q4_k_m", whole_file_bits=4.8944)
    assert (size.method, size.tensor_bytes) == ("ratio", round(model.params_text * 4.8944 / 8))
    assert gguf_size(model, "q4_k_m").method == "tensors"


def test_unknown_file_type_is_refused(connection: sqlite3.Connection) -> None:
    """A file type that llama.cpp does not have is an error, not a guess."""
    with pytest.raises(KeyError):
        gguf_bytes(read_model(connection, L8), "q4_k_xxl")


LLAMA_70B = Traits(layers=80, value_tensors=80, heads_per_kv=8, experts=0)
LLAMA_8B = Traits(layers=32, value_tensors=32, heads_per_kv=4, experts=0)
MIXTRAL = Traits(layers=32, value_tensors=32, heads_per_kv=4, experts=8)


@pytest.mark.parametrize(
    ("file_type", "part", "index", "traits", "row", "expected"),
    [
        ("q4_k_m", "v", 16, LLAMA_70B, 8192, "q5_k"),
        ("q4_k_m", "v", 0, LLAMA_70B, 8192, "q6_k"),
        ("q4_k_m", "v", 4, LLAMA_8B, 4096, "q4_k"),
        ("q4_k_m", "v", 4, MIXTRAL, 4096, "q8_0"),
        ("q4_k_m", "k", 4, MIXTRAL, 4096, "q8_0"),
        ("q4_k_m", "attn_out", 4, MIXTRAL, 4096, "q5_k"),
        ("q4_k_m", "experts_down", 31, MIXTRAL, 14336, "q6_k"),
        ("q4_k_m", "head", 0, LLAMA_8B, 4096, "q6_k"),
        ("q8_0", "head", 0, LLAMA_8B, 4096, "q8_0"),
        ("q4_k_m", "down", 31, LLAMA_8B, 29568, "q8_0"),
        ("q4_k_m", "down", 16, LLAMA_8B, 29568, "q5_0"),
        ("iq2_xs", "q", 3, LLAMA_8B, 4090, "f16"),
        ("f16", "down", 0, LLAMA_8B, 14336, "f16"),
        ("mxfp4_moe", "experts_up", 0, MIXTRAL, 2880, "mxfp4"),
        ("mxfp4_moe", "q", 0, MIXTRAL, 2880, "q8_0"),
    ],
)
def test_rules(file_type: str, part: str, index: int, traits: Traits, row: int, expected: str) -> None:
    """Single tensors get the type of the quantiser's rules (src/llama-quant.cpp)."""
    assert block_type(file_type, part, index, traits, row) == expected


def test_more_bits_over_32_layers() -> None:
    """Half of 32 layers get more bits: four at either end and every third between."""
    chosen = [index for index in range(32) if more_bits(index, 32)]
    assert chosen == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]


def test_every_type_has_a_block() -> None:
    """Every file type has a main block type, and every block at least one byte."""
    assert set(BASE.values()) <= set(BLOCKS)
    assert all(stored >= 1 and size >= 1 for size, stored in BLOCKS.values())
    assert divides("q4_k", 14336) == "q4_k"


def test_fitted_layouts_weigh_what_the_file_weighs(connection: sqlite3.Connection) -> None:
    """With the bits of its own file, the weights by role are the bytes by tensor within 1 % for every model."""
    cursor = connection.execute("select * from precisions where precision_id = 'ggufmix_q4_k_m'")
    row = dict(zip((column[0] for column in cursor.description), cursor.fetchone(), strict=True))
    average = precision_of(row, [])
    for (model_id,) in connection.execute("select model_id from models").fetchall():
        anatomy = Anatomy(read_model(connection, model_id))
        model, layout = anatomy.model, fitted(anatomy, average)
        towers = (model.params_total - model.params_text) * layout.bits / 8
        weights = weights_bytes(anatomy, layout) - towers
        assert weights == pytest.approx(gguf_size(model, "q4_k_m").tensor_bytes, rel=0.01), model_id
