"""Every quantity of the case format is answered in its own unit, with figures of the documents that define them."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context

LLAMA = {"model_id": "meta-llama/Llama-3.1-8B-Instruct", "precision_or_quant": "bf16"}


def told(connection: sqlite3.Connection, quantity: str, **columns: str) -> Estimate:
    """Return the estimate of one row."""
    row = {"case_id": "X", "kind": "K1", "quantity": quantity, "value": "1", "unit": "", **columns}
    return estimate_case(connection, read_context(connection), parse_case(row))


def figure(connection: sqlite3.Connection, quantity: str, **columns: str) -> float:
    """Return the estimate as a number, which lies in its own range."""
    estimate = told(connection, quantity, **columns)
    assert estimate.status == "resolved", estimate.reason
    assert estimate.estimate is not None and estimate.low is not None and estimate.high is not None
    assert estimate.low <= estimate.estimate <= estimate.high
    return estimate.estimate


def test_weights_in_every_unit(connection: sqlite3.Connection) -> None:
    """meta-llama/Llama-3.1-8B: 16,060,522,496 bytes of 16-bit weights (safetensors index), 14.9575 GiB, 16.0605 GB.

    What vLLM loads holds its rotary table too, 131,072 positions x 128 values x 2 B: its log prints 14.9888.
    """
    asked = {**LLAMA, "gpu": "H100 SXM5 80GB", "engine_and_version": "vLLM 0.11.0"}
    size = 16_060_522_496
    for quantity, unit in (
        ("weights_gib_total", 2**30),
        ("weights_gb_total", 10**9),
        ("weights_gb_file", 10**9),
        ("file_gb", 10**9),
        ("file_gib", 2**30),
        ("file_bytes", 1),
    ):
        assert figure(connection, quantity, **asked) == pytest.approx(size / unit, rel=1e-6), quantity
    assert figure(connection, "weights_gib_per_gpu", **asked) == pytest.approx(14.9888, abs=5e-5)


def test_engine_shards_on_disk(connection: sqlite3.Connection) -> None:
    """Four shards of Llama-2-70B: the weights once and the token embedding (32000 x 8192 in 16 bits) three times more.

    TensorRT-LLM's convert_checkpoint.py: "By default embedding parallelism is disabled".
    """
    llama2 = {"model_id": "meta-llama/Llama-2-70b-hf", "precision_or_quant": "fp16"}
    asked = {**llama2, "gpu": "A100 80GB", "engine_and_version": "TensorRT-LLM 0.9"}
    table, weights = 32000 * 8192 * 2, 137_953_296_384  # weights: index total_size of the model
    assert figure(connection, "engine_disk_gb", tp="1", **asked) == pytest.approx(weights / 1e9, rel=0.001)
    assert figure(connection, "engine_disk_gb", tp="4", **asked) == pytest.approx(
        (weights + 3 * table) / 1e9, rel=0.001
    )


def test_the_driver_shows_the_whole_share(connection: sqlite3.Connection) -> None:
    """vLLM fills its share: 0.9 of the 79.1 GiB that torch sees of an H100, with context and graphs on top."""
    shown = figure(
        connection, "nvidia_smi_used_mib_per_gpu", **LLAMA, gpu="H100 SXM5 80GB", engine_and_version="vLLM 0.11.0",
        tp="1", other_config="gpu_memory_utilization=0.9",
    )  # fmt: skip
    assert 0.9 * 79.1 * 1024 < shown < 0.9 * 79.1 * 1024 + 2 * 1024


@pytest.mark.parametrize(
    ("gpu", "quantity", "printed"),
    [
        # llama.cpp logs: "recommendedMaxWorkingSetSize = 28991.03 MB" of an M4 Max with 36 GB on macOS 15.7.7, 22906.50
        # MB with 32 GB and 11453.25 MB with 16 GB (M1 Pro), 10922.67 MiB as old builds print the same
        ("Apple M4 Max 36GB", "metal_recommended_max_mb", 28991.03),
        ("Apple M1 Pro 32GB", "metal_recommended_max_mb", 22906.50),
        ("Apple M1 16GB", "metal_recommended_max_mb", 11453.25),
        ("Apple M1 16GB", "metal_recommended_max_mib", 10922.67),
    ],
)
def test_limits_of_metal(connection: sqlite3.Connection, gpu: str, quantity: str, printed: float) -> None:
    """What Metal recommends, in decimal or binary megabytes as named."""
    assert figure(connection, quantity, gpu=gpu) == pytest.approx(printed, rel=0.001)


@pytest.mark.parametrize(
    ("quantity", "columns", "expected"),
    [
        # ZeRO paper (arXiv 1910.02054), figure 1: 7.5B on 64 devices, 31.4, 16.6 and 1.9 GB
        ("model_state_gb_per_gpu", {"params_total": "7.5B", "dp_or_zero": "ZeRO-1, dp=64"}, 31.4),
        ("model_state_gb_per_gpu", {"params_total": "7.5B", "dp_or_zero": "ZeRO-2, dp=64"}, 16.6),
        ("model_state_gb_per_gpu", {"params_total": "7.5B", "dp_or_zero": "ZeRO-3, dp=64"}, 1.9),
        # the same, section 3.2: 1.5B GPT-2 (48 layers of 1600), 1K tokens, batch 32, about 60 GB of activations
        ("activation_gb_total", {"model_id": "gpt2-xl", "context_tokens": "1024", "batch": "32"}, 60.0),
        # DeepSpeed estimate_zero2_model_states_mem_needs: 2851M on 8 devices, optimizer in RAM
        ("model_state_gib_cpu", {"params_total": "2851M", "dp_or_zero": "ZeRO-2", "other_config":
                                 "offload_optimizer=cpu", "engine_and_version": "DeepSpeed estimator"}, 127.48),
        # Korthikanti et al. (arXiv 2205.05198), section 5: GPT-3 has 5as/h = 80
        ("ratio_5as_over_h", {"other_config": "a=96;s=2048;h=12288"}, 80.0),
    ],
)  # fmt: skip
def test_training_documents(
    connection: sqlite3.Connection, quantity: str, columns: dict[str, str], expected: float
) -> None:
    """Quantities of training by the accounting of the document that the row names."""
    columns = {
        "precision_or_quant": "fp16",
        "gpu_count": "64" if "64" in columns.get("dp_or_zero", "") else "8",
    } | columns
    assert figure(connection, quantity, **{"kind": "K3", **columns}) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    "quantity", ["weights_gib_total", "kv_gib_needed_total", "cuda_context_gib", "kv_gb_per_1m_tokens"]
)
def test_an_unknown_device_matters_only_where_one_is_needed(connection: sqlite3.Connection, quantity: str) -> None:
    """Weights and cache of a request are the same on every device; what is left on an unknown one is refused."""
    asked = {**LLAMA, "gpu": "Some card of 2031", "context_tokens": "8192"}
    assert told(connection, quantity, **asked).status == "resolved"
    refused = told(connection, "kv_gib_per_gpu", **asked)
    assert refused.status == "refused" and "Some card of 2031" in (refused.reason or "")


def test_a_word_outside_the_vocabulary_is_refused_by_name(connection: sqlite3.Connection) -> None:
    """No figure for a quantity that the format does not have."""
    refused = told(connection, "gpu_mood", **LLAMA)
    assert refused.status == "refused" and "gpu_mood" in (refused.reason or "")


def test_an_unknown_key_is_ignored_and_named(connection: sqlite3.Connection) -> None:
    """A setting that the format does not have changes nothing, and the answer says so."""
    asked = {**LLAMA, "gpu": "H100 SXM5 80GB", "engine_and_version": "vLLM 0.11.0", "tp": "1"}
    plain = told(connection, "kv_gib_per_gpu", **asked)
    odd = told(connection, "kv_gib_per_gpu", **asked, other_config="favourite_colour=blue")
    assert odd.estimate == plain.estimate
    assert any("favourite_colour" in line for line in odd.assumed)


@pytest.mark.parametrize(
    ("said", "model", "factor"),
    [
        # SGLang and vLLM documentation of decode context parallelism: each rank stores 1/c of a latent cache
        ("dcp=8", "deepseek-ai/DeepSeek-V3", 1 / 8),
        # vLLM to 0.6.6 and with latent caching off: 128 heads of 256 for K and for V, over 8 ranks, for 576 values
        ("mla=off", "deepseek-ai/DeepSeek-V3", 2 * 128 * 256 / 8 / 576),
        # Gemma-3-27B without a pool per kind of layer: 62 layers for 7 groups of 10, whose blocks 0.11 prints
        ("hybrid=off", "google/gemma-3-27b-it", 62 / 70),
    ],
)
def test_switches_of_the_cache(connection: sqlite3.Connection, said: str, model: str, factor: float) -> None:
    """What a pool of tokens costs by what a case switches."""
    asked = {"model_id": model, "gpu": "H200", "engine_and_version": "vLLM 0.11.0", "tp": "8",
             "gpu_count": "8", "context_tokens": "131072"}  # fmt: skip
    plain = told(connection, "kv_tokens_total", **asked, other_config="kv_gib=10")
    switched = told(connection, "kv_tokens_total", **asked, other_config=f"kv_gib=10;{said}")
    assert plain.estimate is not None and switched.estimate is not None, (plain.reason, switched.reason)
    assert plain.estimate / switched.estimate == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize(
    ("context", "peak", "fits"),
    [
        # vLLM issue 10517 on an RTX 3090 at 0.90, weights 14.99 GiB: peak_torch_memory 17.06, 17.98 and 15.05 GiB;
        # below 32K tokens a whole sequence is profiled, above it chunked prefill is on, so the longest one runs again
        ("20000", 17.06 - 14.99, "true"),
        ("29000", 17.98 - 14.99, "false"),
        ("35000", 15.05 - 14.99, "true"),
    ],
)
def test_longer_fits_where_shorter_does_not(
    connection: sqlite3.Connection, context: str, peak: float, fits: str
) -> None:
    """Three lengths of Llama-3.1-8B in one report: 20k runs, 29k does not, 35k does."""
    asked = {
        **LLAMA, "gpu": "RTX 3090", "engine_and_version": "vLLM 0.6.4", "tp": "1", "context_tokens": context,
        "other_config": "gpu_memory_utilization=0.90",
    }  # fmt: skip
    assert told(connection, "fits", **asked).estimate == (1.0 if fits == "true" else 0.0)
    assert figure(connection, "activation_peak_gib_per_gpu", **asked) == pytest.approx(peak, rel=0.03, abs=0.16)


def test_pool_of_a_model_of_windows_alone(connection: sqlite3.Connection) -> None:
    """Mistral-7B keeps 4096 tokens of a request in every layer; the pool is printed in blocks of 16 all the same.

    vLLM PR 4454, at 0.4.1 on an RTX A6000: 12,735 blocks of 2 MiB.
    """
    tokens = figure(
        connection, "kv_tokens_total", model_id="mistralai/Mistral-7B-v0.1", precision_or_quant="bf16", tp="1",
        gpu="RTX A6000", engine_and_version="vLLM 0.4.1", context_tokens="32768",
    )  # fmt: skip
    assert tokens == pytest.approx(12_735 * 16, rel=0.05)
