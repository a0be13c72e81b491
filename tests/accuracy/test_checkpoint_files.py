"""Sizes of published checkpoints against the totals of their own index files."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context


def told(connection: sqlite3.Connection, model: str, precision: str, quantity: str = "file_gb") -> Estimate:
    """Return the estimate of one row of the case format that states a model and a format."""
    row = {
        "case_id": "X", "kind": "K4", "model_id": model, "precision_or_quant": precision, "quantity": quantity,
        "value": "1", "unit": "GB",
    }  # fmt: skip
    return estimate_case(connection, read_context(connection), parse_case(row))


@pytest.mark.parametrize(
    ("model", "precision", "gigabytes"),
    [
        # model.safetensors.index.json of deepseek-ai/DeepSeek-V3: total_size 688586727753, with the prediction layer
        ("deepseek-ai/DeepSeek-V3", "FP8", 688.587),
        # index totals as vllm-project/recipes models/Qwen/Qwen3.8-2.4T-A95B.yaml quotes them
        ("Qwen/Qwen3.8-2.4T-A95B", "BF16", 4892.389),
        ("Qwen/Qwen3.8-2.4T-A95B", "FP8 block", 2496.154),
        ("Qwen/Qwen3.8-2.4T-A95B", "NVFP4 W4A4", 1447.266),
        ("Qwen/Qwen3.8-2.4T-A95B", "MXFP4 (AMD)", 1597.052),
        # bytes on disk as models/Qwen/Qwen3.8-27B.yaml and models/meta-models/Muse-Glimmer-30B.yaml there state them
        ("Qwen/Qwen3.8-27B", "BF16", 55.563),
        ("Qwen/Qwen3.8-27B", "NVFP4 (W4A4)", 26.381),
        ("Qwen/Qwen3.8-27B", "W8A8 (Ascend)", 32.129),
        ("Muse-Glimmer-30B", "NVFP4 W4A4", 25.42),
        # safetensors index totals of the catalog's artifacts: MiMo-7B with its prediction layer
        ("XiaomiMiMo/MiMo-7B-RL", "bf16", 15.667),
    ],
)
def test_index_totals(connection: sqlite3.Connection, model: str, precision: str, gigabytes: float) -> None:
    """A checkpoint holds its prediction layers, and a loose name of a format is the layout that it is published in."""
    estimate = told(connection, model, precision)
    assert estimate.estimate == pytest.approx(gigabytes, rel=0.001)


def test_what_others_convert_leaves_the_prediction_layers_out(connection: sqlite3.Connection) -> None:
    """An AWQ of DeepSeek-V3 is estimated without them; the range covers a file that has them."""
    estimate = told(connection, "deepseek-ai/DeepSeek-V3", "AWQ")
    published = told(connection, "deepseek-ai/DeepSeek-V3", "FP8")
    assert estimate.estimate is not None and estimate.high is not None
    assert estimate.high - estimate.estimate > 6 > 0
    assert published.estimate is not None and published.estimate > estimate.estimate


@pytest.mark.parametrize(
    ("model", "said", "layout"),
    [
        ("Qwen/Qwen3-32B", "FP8", "fp8_e4m3_block128x128"),
        ("Qwen/Qwen3-32B", "BF16", "bf16"),
        ("deepseek-ai/DeepSeek-V4-Pro", "FP8", "fp4_experts_fp8"),
        ("openai/gpt-oss-120b", "MXFP4", "mxfp4_experts_bf16"),
        ("Qwen/Qwen3.8-2.4T-A95B", "MXFP4 (AMD)", "mxfp4_scales32_experts_bf16"),
        ("Qwen/Qwen3.8-27B", "NVFP4", "nvfp4_mixer_in_bf16"),
        ("moonshotai/Kimi-K2.5", "INT4 compressed-tensors", "int4_g32_experts_bf16"),
        ("meta-llama/Llama-3.3-70B-Instruct", "FP8", "fp8_e4m3_per_channel"),
        ("Qwen/Qwen3-8B", "native", "bf16"),
        ("openai/gpt-oss-120b", "bf16", "bf16"),
        ("Qwen/Qwen3-1.7B", "fp16", "fp16"),
    ],
)
def test_a_loose_name_means_the_published_layout(
    connection: sqlite3.Connection, model: str, said: str, layout: str
) -> None:
    """`FP8` is the layout of the model's own FP8 checkpoint where there is one; a named layout stays itself."""
    assert told(connection, model, said).precision_id == layout


@pytest.mark.parametrize(
    ("model", "precision", "gigabytes", "within"),
    [
        # sizes in the download bars of unslothai/notebooks at bdda2efc, original_template
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "bnb-4bit", 5.55, 0.005),
        ("google/gemma-2-9b", "bnb-4bit", 6.13, 0.005),
        ("meta-llama/Llama-3.3-70B-Instruct", "bnb-4bit", 39.53, 0.005),
        ("microsoft/Phi-3-medium-4k-instruct", "bnb-4bit", 7.69, 0.005),
        ("Qwen/Qwen3-32B", "bnb-4bit", 19.20, 0.005),
        # with a tower, which is quantised as the rest is
        ("mistralai/Pixtral-12B-2409", "bnb-4bit", 8.54, 0.005),
        ("Qwen/Qwen2-VL-7B-Instruct", "bnb-4bit", 5.90, 0.005),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "bnb-4bit", 5.97, 0.02),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", "bnb-4bit", 7.18, 0.02),
        # some matrices stay 16-bit, which ones is not published
        ("meta-llama/Llama-3.1-8B-Instruct", "unsloth-bnb-4bit", 5.96, 0.12),
        ("microsoft/phi-4", "unsloth-bnb-4bit", 10.39, 0.12),
        ("Qwen/Qwen2.5-3B-Instruct", "unsloth-bnb-4bit", 2.36, 0.12),
        ("Qwen/Qwen3-14B", "unsloth-bnb-4bit", 11.12, 0.12),
        ("Qwen/Qwen3-VL-8B-Instruct", "unsloth-bnb-4bit", 7.70, 0.12),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "unsloth-bnb-4bit", 6.90, 0.12),
        ("google/gemma-3-4b-it", "unsloth-bnb-4bit", 4.56, 0.12),
    ],
)
def test_bitsandbytes_checkpoints(
    connection: sqlite3.Connection, model: str, precision: str, gigabytes: float, within: float
) -> None:
    """Checkpoints of Unsloth's have the size that their download shows; of dynamic ones the range holds it."""
    estimate = told(connection, model, precision)
    assert estimate.estimate == pytest.approx(gigabytes, rel=within)
    assert estimate.low is not None and estimate.high is not None
    assert estimate.low <= gigabytes <= estimate.high


def test_a_checkpoint_named_by_its_id_is_not_taken_for_anothers_copy(connection: sqlite3.Connection) -> None:
    """DeepSeek-V4-Flash holds its prediction layer (vLLM recipe: about 160 GB); a re-upload on record leaves it out."""
    estimate = told(connection, "deepseek-ai/DeepSeek-V4-Flash", "")
    copy = told(connection, "mlx-community/DeepSeek-V4-Flash", "")
    assert estimate.estimate == pytest.approx(160, rel=0.005)
    assert copy.estimate == pytest.approx(155.096, rel=0.001)


def test_the_one_file_on_record_in_a_format_is_assumed_and_said(connection: sqlite3.Connection) -> None:
    """A model with a format means the checkpoint that is known in it, with a range: others may convert it otherwise."""
    estimate = told(connection, "Qwen/Qwen3.8-27B", "int8 w8a8")
    assert any("Eco-Tech/Qwen3.8-27B-w8a8" in line for line in estimate.assumed)
    assert estimate.low is not None and estimate.estimate is not None and estimate.low < estimate.estimate


def test_mixtures_of_eight_experts_have_files_by_two_rules(connection: sqlite3.Connection) -> None:
    """The loader of early 2024 prints 24.62 GiB for Mixtral's Q4_K_M (llama.cpp issue 5206); today's rules give more.

    No publisher is named, so both are meant.
    """
    estimate = told(connection, "mistralai/Mixtral-8x7B-Instruct-v0.1", "GGUF Q4_K_M", "file_gib")
    assert estimate.low is not None and estimate.high is not None and estimate.estimate is not None
    assert estimate.low <= 24.62 < estimate.estimate <= estimate.high
