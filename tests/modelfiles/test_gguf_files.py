"""GGUF headers: heads per layer, windows, shared caches, split files, missing keys."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from plans import cached
from writing import write_gguf

from rackfit.errors import UnsupportedError
from rackfit.modelfiles.gguf import plan_of, read_gguf
from rackfit.modelfiles.gguf_header import Header, read_header
from rackfit.modelfiles.plan import model_of
from rackfit.modelfiles.reading import read_model_file

TRIALS = Path(__file__).parents[1] / "reference" / "trials"

SMALL = {
    "general.architecture": "llama", "general.name": "Small", "general.file_type": 15, "llama.block_count": 2,
    "llama.embedding_length": 64, "llama.context_length": 2048, "llama.feed_forward_length": 128,
    "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2, "tokenizer.ggml.tokens": ["a", "b", "c"] * 32,
}  # fmt: skip
TENSORS = {
    "token_embd.weight": [64, 96], "output.weight": [64, 96], "output_norm.weight": [64],
    **{
        f"blk.{layer}.{name}.weight": shape
        for layer in (0, 1)
        for name, shape in {
            "attn_norm": [64], "attn_q": [64, 64], "attn_k": [64, 32], "attn_v": [64, 32], "attn_output": [64, 64],
            "ffn_norm": [64], "ffn_gate": [64, 128], "ffn_up": [64, 128], "ffn_down": [128, 64],
        }.items()
    },
}  # fmt: skip


def dumped(name):
    """Return the metadata of a dump in text."""
    found = {}
    for key, kind, value in re.findall(r"^(\S+) (\S+?)(?:,\d+\])? = (.*)$", (TRIALS / name).read_text(), re.MULTILINE):
        found[key] = value if kind == "str" else json.loads(value)
    return found


def plan(metadata):
    """Return the plan of metadata alone."""
    return plan_of(Header(metadata), "file.gguf")[0]


def test_heads_per_layer_with_zeros(tmp_path):
    """49 of 80 layers keep attention, 8 KV heads x 128: 200,704 bytes per token in 16 bits (trial R077)."""
    said = {**dumped("R077.txt"), "deci.vocab_size": 128256}
    found = plan(read_header(write_gguf(tmp_path / "deci.gguf", said)).metadata)

    assert cached(found) == (200704 // 2, 0)
    assert sum(layer.attention == "none" for layer in found.layers) == 80 - 49


@pytest.mark.parametrize("kv_heads", [1, [1] * 35])
def test_one_number_or_a_list(kv_heads):
    """15 of 35 layers own a cache, 3 of them global x 512: 6,144 bytes per token, 12 local x 256 (trial R079)."""
    found = plan({
        "general.architecture": "gemma4", "gemma4.block_count": 35, "gemma4.embedding_length": 1536,
        "gemma4.attention.head_count": 8, "gemma4.attention.head_count_kv": kv_heads, "gemma4.vocab_size": 262144,
        "gemma4.attention.key_length": 512, "gemma4.attention.value_length": 512,
        "gemma4.attention.key_length_swa": 256, "gemma4.attention.value_length_swa": 256,
        "gemma4.attention.sliding_window": 512, "gemma4.attention.shared_kv_layers": 20,
        "gemma4.attention.sliding_window_pattern": [place % 5 != 4 for place in range(35)],
    })  # fmt: skip

    assert cached(found) == (6144 // 2, 12 * 2 * 256)


def test_all_parts_count(tmp_path):
    """A first part with metadata alone is not the model: the sum of all parts is (trial R081)."""
    parts = [tmp_path / f"laguna-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    write_gguf(parts[0], {**SMALL, "split.no": 0, "split.count": 3, "split.tensors.count": len(TENSORS)})
    names = list(TENSORS)
    for path, some in zip(parts[1:], (names[:10], names[10:]), strict=True):
        write_gguf(path, {"split.count": 3}, {name: TENSORS[name] for name in some})
        with path.open("ab") as file:
            file.truncate(10_000_000)
    total = sum(path.stat().st_size for path in parts)

    for path in (*parts, tmp_path):
        assert read_model_file(path).bytes == total
    parts[1].unlink()
    with pytest.raises(UnsupportedError, match="laguna-00002-of-00003"):
        read_model_file(parts[0])


def test_a_part_under_another_name(tmp_path):
    """A part that was renamed is not taken for the whole."""
    path = write_gguf(tmp_path / "renamed.gguf", {**SMALL, "split.count": 3}, TENSORS)
    with pytest.raises(UnsupportedError, match="one of 3 parts"):
        read_gguf(path)


def test_missing_head_counts_are_not_guessed(tmp_path):
    """The cache is refused with the key that is missing, the weights are given (trial R083)."""
    said = {key: value for key, value in SMALL.items() if "head_count" not in key}
    path = write_gguf(tmp_path / "old.gguf", said, TENSORS)
    with pytest.raises(UnsupportedError, match=r"llama\.attention\.head_count is missing.*weights are [\d,]+ bytes"):
        read_gguf(path)


def test_parameters_are_those_of_the_tensors(tmp_path):
    """Every tensor counts: 2 x (64 x 96) + 64 outside, 2 layers with their norms."""
    found = read_model_file(write_gguf(tmp_path / "small.gguf", SMALL, TENSORS))
    layer = 2 * 64 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128

    assert found.params == found.model.params_total == 2 * 64 * 96 + 64 + 2 * layer
    assert found.precision_id == "ggufmix_q4_k_m"
    assert not found.model.tied_embeddings and found.model.gated_ffn


def test_a_tied_head_is_one_without_a_tensor(tmp_path):
    """No output.weight: the embedding serves as the head."""
    tensors = {name: shape for name, shape in TENSORS.items() if name != "output.weight"}
    assert model_of(read_gguf(write_gguf(tmp_path / "tied.gguf", SMALL, tensors))[0].plan).tied_embeddings


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"llama.ssm.state_size": 16}, "ssm.state_size"),
        ({"general.architecture": "rwkv7", "rwkv7.block_count": 2}, "rwkv7"),
        ({"llama.attention.head_count": [4] * 3}, "3 entries"),
        ({"llama.embedding_length": 60}, "no multiple"),
    ],
)
def test_refused_with_the_name(tmp_path, changes, words):
    """What no rule reads is named."""
    path = write_gguf(tmp_path / "odd.gguf", {**SMALL, **changes}, TENSORS)
    with pytest.raises(UnsupportedError, match=words):
        read_gguf(path)


@pytest.mark.parametrize("cut", [3, 8, 20, 100, 400])
def test_a_file_cut_short(tmp_path, cut):
    """One clear line wherever it ends."""
    path = write_gguf(tmp_path / "cut.gguf", SMALL, TENSORS)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UnsupportedError, match=r"no GGUF file|cut short"):
        read_header(path)


@pytest.mark.parametrize("version", [1, 4, 0x03000000])
def test_other_versions(tmp_path, version):
    """A version that is not read is named."""
    with pytest.raises(UnsupportedError, match="version"):
        read_header(write_gguf(tmp_path / "old.gguf", SMALL, version=version))
