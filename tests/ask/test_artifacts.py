"""A published file that is named counts with its own bytes; how far the estimate is off stands beside it."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.errors import UnknownNameError

# Safetensors index totals and file sizes as published, data/models (artifacts).
PUBLISHED = {
    "mistralai/Devstral-Small-2507": 47_144_806_400,
    "mlx-community/DeepSeek-V3.2-4bit": 378_086_226_621,
    "unsloth/Qwen3-30B-A3B-GGUF/BF16/Qwen3-30B-A3B-BF16-00001-of-00002.gguf": 61_089_832_960,
}


@pytest.mark.parametrize("name", sorted(name for name in PUBLISHED if "mlx" not in name))
def test_a_named_file_counts_with_its_bytes(connection: sqlite3.Connection, name: str) -> None:
    """Weights on one device are the published bytes, exactly, beside the table of positions that vLLM builds."""
    answer = fit_one(connection, FitQuestion(model=name, on="1x h200-sxm-141gb"), suggest=False)
    beside = answer["per_device"]["weights_bytes"] - PUBLISHED[name]

    assert -1 <= beside <= (0.001 * PUBLISHED[name] if answer["runtime"] == "vllm" else 1)
    assert answer["artifact"]["bytes"] == PUBLISHED[name]
    assert answer["artifact"]["used"]


def test_a_tower_alone_is_no_model(connection: sqlite3.Connection) -> None:
    """A projector file is a part: it is never taken for the model's weights."""
    with pytest.raises(UnknownNameError):
        fit_one(connection, FitQuestion(model="unsloth/Step-3.7-Flash-GGUF/mmproj-BF16.gguf", on="rtx-4090"))


def test_mlx_builds_run_under_mlx_lm(connection: sqlite3.Connection) -> None:
    """An MLX build on a Mac is answered with MLX-LM's own rules and the build's bytes."""
    question = FitQuestion(model="mlx-community/DeepSeek-V3.2-4bit", on="mac-studio-m3-ultra-512")
    answer = fit_one(connection, question, suggest=False)

    assert answer["runtime"] == "mlx-lm"
    assert answer["per_device"]["weights_bytes"] == pytest.approx(378_086_226_621, abs=1)


def test_shards_of_a_named_file_add_up(connection: sqlite3.Connection) -> None:
    """Over two devices the halves of the file hold at least the file, with what is kept on both."""
    name = "mistralai/Devstral-Small-2507"
    answer = fit_one(connection, FitQuestion(model=name, on="2x h100-sxm5-80gb"), suggest=False)

    assert PUBLISHED[name] <= 2 * answer["per_device"]["weights_bytes"] <= 1.01 * PUBLISHED[name]


def test_another_precision_is_estimated(connection: sqlite3.Connection) -> None:
    """A precision that is not the file's own is estimated, and the answer says that the file was not used."""
    question = FitQuestion(model="mistralai/Devstral-Small-2507", on="1x h100-sxm5-80gb", precision="q4_k_m")
    answer = fit_one(connection, question, suggest=False)

    assert not answer["artifact"]["used"]
    assert answer["per_device"]["weights_bytes"] < 16e9


@pytest.mark.parametrize(("precision", "within"), [("bf16", 0.005), ("mlx_4bit_g64", 0.02)])
def test_estimates_are_near_published_files(connection: sqlite3.Connection, precision: str, within: float) -> None:
    """Of the files in a plain layout nine in ten are estimated within so much."""
    rows = connection.execute(
        "select artifact_id from artifacts where precision_id = ? order by artifact_id", (precision,)
    ).fetchall()
    errors = []
    for (name,) in rows:
        if "mmproj" in name:
            continue
        on = "mac-studio-m3-ultra-512" if precision.startswith("mlx") else "1x h200-sxm-141gb"
        artifact = fit_one(connection, FitQuestion(model=name, on=on), suggest=False).get("artifact")
        if artifact and artifact["used"]:
            errors.append(abs(artifact["difference_bytes"]) / artifact["bytes"])

    assert len(errors) >= 5
    assert sorted(errors)[int(0.9 * len(errors))] < within


@pytest.mark.parametrize(
    "name",
    [
        "mlx-community/GLM-5",
        "mlx-community/Qwen3.6-35B-A3B-bf16",
        "unsloth/GLM-5-GGUF/BF16/GLM-5-BF16-00001-of-00033.gguf",
        "unsloth/Qwen3.6-35B-A3B-GGUF/BF16/Qwen3.6-35B-A3B-BF16-00001-of-00002.gguf",
    ],
)
def test_prediction_layers_by_publisher(connection: sqlite3.Connection, name: str) -> None:
    """MLX files come without prediction layers, GGUF files of GLM with them: 20 GB of GLM-5 are one or the other."""
    answer = fit_one(connection, FitQuestion(model=name, on="8x h200-sxm-141gb"), suggest=False)

    assert abs(answer["artifact"]["difference_bytes"]) < 0.001 * answer["artifact"]["bytes"]
