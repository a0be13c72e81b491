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
        ("Qwen/Qwen3.8-2.4T-A95B", "MXFP4 (AMD)", "mxfp4"),
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
