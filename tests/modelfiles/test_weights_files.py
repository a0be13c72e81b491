"""Headers of safetensors files: exact bytes, parameters behind containers, missing and damaged parts."""

from __future__ import annotations

import json

import pytest
from test_config import LLAMA_8B
from writing import write_safetensors

from rackfit.errors import UnsupportedError
from rackfit.modelfiles.reading import read_model_file
from rackfit.modelfiles.safetensors import parameters, read_header

U32_ELEMENTS, BF16_ELEMENTS, GROUP = 78_613_118_976, 9_964_787_842, 64
"""Trial R074: an MLX 8-bit checkpoint, elements by type."""


def test_packed_weights_are_unpacked(tmp_path):
    """U32 x 4 + BF16 - 2 scales per group of 64: 314.59e9, declared 314,590,621,012 (trial R074)."""
    groups = U32_ELEMENTS * 4 // GROUP
    tensors = {
        "model.layers.0.mlp.weight": ("U32", [U32_ELEMENTS], 8),
        "model.layers.0.mlp.scales": ("BF16", [groups], 8),
        "model.layers.0.mlp.biases": ("BF16", [groups], 8),
        "model.norm.weight": ("BF16", [BF16_ELEMENTS - 2 * groups], 8),
    }
    header = read_header(write_safetensors(tmp_path / "model.safetensors", tensors))

    assert parameters(header, {"bits": 8, "group_size": GROUP}) == pytest.approx(314_590_621_012, rel=1e-5)


def test_exact_bytes_of_a_folder(tmp_path):
    """The bytes of all parts, with layers from the config beside them."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    half = 8_030_261_248
    for number in (1, 2):
        name = f"model-{number:05d}-of-00002.safetensors"
        write_safetensors(tmp_path / name, {f"w{number}": ("BF16", [half // 2], half)})
    for place in (tmp_path, tmp_path / "model-00001-of-00002.safetensors"):
        found = read_model_file(place)
        assert (found.bytes, found.params, found.precision_id) == (2 * half, half, "bf16")


def test_a_missing_part_is_named(tmp_path):
    """By the name of the file, and by the index."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    path = write_safetensors(tmp_path / "model-00001-of-00003.safetensors", {"w": ("BF16", [4], 8)})
    with pytest.raises(UnsupportedError, match="model-00002-of-00003"):
        read_model_file(path)
    table = {"weight_map": {"w": path.name, "v": "model-00003-of-00003.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(table))
    with pytest.raises(UnsupportedError, match="model-00003-of-00003"):
        read_model_file(tmp_path)


def test_weights_alone_do_not_say_the_layers(tmp_path):
    """Without a config the cache is not known, and that is said."""
    path = write_safetensors(tmp_path / "model.safetensors", {"w": ("BF16", [4], 8)})
    with pytest.raises(UnsupportedError, match=r"no config\.json beside it"):
        read_model_file(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no safetensors file"),
        (b"\xff" * 64, "no safetensors file"),
        (b"\x04\0\0\0\0\0\0\0abcd", "no table of tensors"),
        (b"\x02\0\0\0\0\0\0\0[]", "no table of tensors"),
    ],
)
def test_damaged_files(tmp_path, content, words):
    """One clear line for what is none of the format."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(UnsupportedError, match=words):
        read_header(path)


def test_a_file_cut_short(tmp_path):
    """A header that promises more than is there."""
    path = write_safetensors(tmp_path / "model.safetensors", {"w": ("BF16", [400], 800)}, data=False)
    with pytest.raises(UnsupportedError, match="cut short"):
        read_header(path)
