"""Commands about a model that is a file."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rackfit.cli.app import cli
from rackfit.errors import RackfitError

LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
"""The fields of Llama-3.1-8B's config.json."""


@pytest.fixture
def run(catalog):
    """Run a command and return its JSON."""

    def call(*arguments):
        said = CliRunner().invoke(cli, [*arguments, "--json", "--catalog", str(catalog)], catch_exceptions=False)
        assert said.exit_code == 0, said.output
        return json.loads(said.stdout)

    return call


@pytest.fixture
def folder(tmp_path):
    """A folder with a config."""
    place = tmp_path / "my-finetune"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(LLAMA_8B))
    return place


@pytest.mark.parametrize("command", ["fit", "train", "speed"])
def test_a_file_is_a_model(run, folder, command):
    """A config.json, or the folder that holds it, has the bytes of the record with the same shape."""
    record = run(command, "llama-3.1-8b", "--on", "a100-sxm4-80gb")
    for path in (folder, folder / "config.json"):
        own = run(command, str(path), "--on", "a100-sxm4-80gb")
        assert own["model"] == "my-finetune" and own["verdict"] == record["verdict"]
        assert own.get("per_device") == record.get("per_device")
        assert any("read from my-finetune" in line for line in own["assumptions"])


def test_where_a_file_runs(run, folder):
    """Without hardware: where it runs, with the name in the question."""
    answer = run("fit", str(folder), "--max-price", "1")
    assert answer["query"]["model"] == "my-finetune" and answer["results"]


def test_several_models_one_a_file(run, folder):
    """A file and a record share the devices."""
    answer = run("fit", str(folder), "qwen3-4b", "--on", "h100-sxm5-80gb")
    assert [row["model"] for row in answer["models"]] == ["my-finetune", "qwen/qwen3-4b"]


def test_plans_comparisons_and_quotes_of_a_file(run, folder):
    """Where a record of the same shape has an answer, the file has the same one, under its own name."""
    asked = ["--users", "8", "--precision", "bf16", "--limit", "3"]
    own, record = (run("plan", name, *asked)["results"] for name in (str(folder), "llama-3.1-8b"))
    assert [row["configuration"] for row in own] == [row["configuration"] for row in record]

    cells = run("compare", "rtx-4090", "rtx-3090", "--models", f"{folder},llama-3.1-8b")["models"]
    assert [row["model"] for row in cells] == ["my-finetune", "meta-llama/llama-3.1-8b"]
    assert [cell["margin_bytes"] for cell in cells[0]["cells"]] == [cell["margin_bytes"] for cell in cells[1]["cells"]]

    found = run("export", "quote", "--models", str(folder), "--on", "rtx-4090")
    assert found["models"] == found["query"]["models"] == ["my-finetune"]
    assert found["results"][0]["fits"][0]["verdict"] == "fits"


@pytest.mark.parametrize(("text", "words"), [(None, "no file"), ("{", "no JSON"), ("{}", "number of layers")])
def test_a_file_that_is_none(tmp_path, catalog, text, words):
    """One clear line with the name of the file."""
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RackfitError, match=words):
        CliRunner().invoke(
            cli, ["fit", str(path), "--on", "rtx-4090", "--catalog", str(catalog)], catch_exceptions=False
        )


@pytest.mark.parametrize(
    "name",
    ["unsloth/LFM2-350M-GGUF/LFM2-350M-F16.gguf", "unsloth/lfm2-350m-gguf/lfm2-350m-f16.gguf", "LFM2-350M-F16.gguf"],
)
def test_a_published_file_by_name(run, name):
    """A published GGUF file has a name that looks like a path: its 709,098,496 bytes are used."""
    artifact = run("fit", name, "--on", "rtx-3090")["artifact"]
    assert (artifact["bytes"], artifact["used"]) == (709_098_496, True)


def test_a_file_that_is_nowhere(catalog):
    """Neither there nor on record: the published files that are like it are named."""
    with pytest.raises(RackfitError, match=r"LFM2-350M-F17\.gguf.*mean .*/LFM2-350M-F16\.gguf"):
        CliRunner().invoke(
            cli, ["fit", "LFM2-350M-F17.gguf", "--on", "rtx-4090", "--catalog", str(catalog)], catch_exceptions=False
        )
