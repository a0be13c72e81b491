"""Other engines than vLLM, SGLang and llama.cpp: what they printed at start against what their own rules give."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.engines import find_engine
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import Context, read_context
from rackfit.errors import UnsupportedError

LLAMA_2 = ("meta-llama/Llama-2-7b-hf", "fp8", "fp8", "H100 80GB")
LLAMA_3 = ("meta-llama/Llama-3.1-8B", "bf16", "bf16", "Gaudi 2")
QWEN_06B = ("Qwen/Qwen3-0.6B", "bf16", "bf16", "H100 80GB")
QWEN_7B = ("Qwen/Qwen1.5-7B", "fp16", "fp16", "A100 40GB")
CARD = 0.04
"""What a remainder may be off, as a share of the card."""


@pytest.fixture(scope="module")
def context(connection: sqlite3.Connection) -> Context:
    """What every estimate reads once."""
    return read_context(connection)


def told(connection: sqlite3.Connection, quantity: str, **columns: str) -> Estimate:
    """Return the estimate of one row."""
    row = {"case_id": "X", "kind": "K1", "quantity": quantity, "value": "1", "unit": "", **columns}
    return estimate_case(connection, read_context(connection), parse_case(row))


@pytest.mark.parametrize(
    ("run", "engine", "settings", "quantity", "printed", "card"),
    [
        # TensorRT-LLM, docs/source/reference/memory.md: log of an H100, "total: 79.10 GiB, available: 70.48 GiB",
        # "Allocated 63.44 GiB for max tokens in paged KV cache (259840)"
        (LLAMA_2, "TensorRT-LLM 0.17.0", "", "avail_after_load_gib", 70.48, 79.1),
        (LLAMA_2, "TensorRT-LLM 0.17.0", "", "kv_gib_per_gpu", 63.44, 79.1),
        # NVIDIA/TensorRT-LLM issue 2268: "total: 39.39 GiB, available: 21.89 GiB", 0.13.0
        (QWEN_7B, "TensorRT-LLM 0.13.0", "", "avail_after_load_gib", 21.89, 39.39),
        # NVIDIA/TensorRT-LLM issue 1400: 69524783104 bytes on an A100, 8-bit weights, 0.8
        (("meta-llama/Llama-2-7b-hf", "int8", "fp16", "A100 80GB"), "TensorRT-LLM 0.8.0",
         "max_num_seqs=1;max_num_batched_tokens=4096", "kv_gib_per_gpu", 69524783104 / 2**30, 79.1),
        # log of the PyTorch backend on an H100: "Allocated 68.69 GiB for max tokens in paged KV cache (643136)"
        (QWEN_06B, "TensorRT-LLM 1.1.0", "", "kv_gib_per_gpu", 68.69, 79.1),
        # vLLM for Gaudi, README of 0.9.0.1: "Free device memory: 79.22 GiB ... 64.17 GiB reserved for KV cache"
        (LLAMA_3, "vLLM Gaudi 0.9.0.1", "", "avail_after_load_gib", 79.22, 94.62),
        (LLAMA_3, "vLLM Gaudi 0.9.0.1", "", "kv_gib_per_gpu", 64.17, 94.62),
        # oobabooga/textgen pull request 5645: llama-2-7b in 16 bits under ExLlamaV2, cache in 16 and in 4 bits
        (("meta-llama/Llama-2-7b-hf", "fp16", "fp16", "RTX 3090"), "exllamav2", "", "nvidia_smi_used_mib_per_gpu",
         15162, 24576),
        (("meta-llama/Llama-2-7b-hf", "fp16", "q4", "RTX 3090"), "exllamav2", "", "nvidia_smi_used_mib_per_gpu",
         13882, 24576),
        # oobabooga/textgen pull request 6903: a Qwen2.5-32B at 4.0 bits under ExLlamaV3, 8192 tokens
        (("Qwen/Qwen2.5-32B-Instruct", "EXL3 4.0bpw", "fp16", "RTX 3090"), "exllamav3", "",
         "nvidia_smi_used_mib_per_gpu", 18665, 24576),
    ],
)  # fmt: skip
def test_pools_and_what_is_free(
    connection: sqlite3.Connection, run: tuple[str, str, str, str], engine: str, settings: str, quantity: str,
    printed: float, card: float,
) -> None:  # fmt: skip
    """What the engine printed, to 4 % of the card."""
    model, precision, cache, gpu = run
    context = "8192" if "EXL3" in precision else "4096"
    found = told(
        connection, quantity, model_id=model, precision_or_quant=precision, kv_dtype=cache, gpu=gpu, gpu_count="1",
        tp="1", context_tokens=context, batch="1", other_config=settings, engine_and_version=engine,
    )  # fmt: skip

    assert found.estimate is not None, found.reason
    assert abs(found.estimate - printed) < CARD * card


def test_tgi_makes_the_logits_of_the_whole_prompt(connection: sqlite3.Connection) -> None:
    """TGI 2.2.0 on an A10G: 19056 tokens are left beside Llama-3.1-8B (Infinite-Limit-Data-Science/chat-app)."""
    found = told(
        connection, "kv_tokens_total", model_id="meta-llama/Llama-3.1-8B-Instruct", precision_or_quant="bf16",
        gpu="A10G 24GB", gpu_count="1", tp="1", engine_and_version="TGI 2.2.0",
    )  # fmt: skip
    assert found.estimate is not None
    assert abs(found.estimate - 19056) * 131072 < CARD * 22.2 * 2**30


@pytest.mark.parametrize(
    ("model", "precision", "tp", "printed"),
    [
        # NVIDIA NIM for LLMs, support matrices 1.0.0, 1.2.0 and of Llama 3.1: disk space of optimised profiles, "GB"
        ("meta-llama/Llama-2-7b-chat-hf", "fp16", "1", 12.62),
        ("meta-llama/Llama-2-7b-chat-hf", "fp16", "2", 12.93),
        ("meta-llama/Llama-2-7b-chat-hf", "fp8", "1", 6.57),
        ("meta-llama/Llama-3.1-8B", "fp16", "1", 15.04),
        ("meta-llama/Llama-3.1-8B", "fp16", "2", 16.12),
        ("meta-llama/Llama-3.1-8B", "fp16", "4", 18.41),
        ("codellama/CodeLlama-13b-Instruct-hf", "fp16", "2", 24.63),
        ("codellama/CodeLlama-13b-Instruct-hf", "fp16", "4", 25.32),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "fp8", "1", 8.5),
    ],
)
def test_engines_on_disk(connection: sqlite3.Connection, model: str, precision: str, tp: str, printed: float) -> None:
    """NIM's tables print GB and mean 2^30; each further shard holds the token embedding once more."""
    found = told(
        connection, "engine_disk_gb", model_id=model, precision_or_quant=precision, gpu="H100 80GB", tp=tp,
        gpu_count=tp, unit="GB_as_published", engine_and_version="NIM 1.0.0 TRT-LLM",
    )  # fmt: skip
    assert found.estimate == pytest.approx(printed, rel=0.03)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("TensorRT-LLM 0.12.0", "tensorrt-llm-engine"),
        ("TRT-LLM 1.2.1", "tensorrt-llm-1.0"),
        ("tensorrt-llm", "tensorrt-llm-1.0"),
        ("NIM 24.05 TRT-LLM", "tensorrt-llm-engine"),
        ("NIM vLLM backend", "vllm-v1-0.33"),
        ("TGI 1.4.0", "tgi-1.1"),
        ("text-generation-inference v2.2.0", "tgi-2.0"),
        ("TGI 3.3.7", "tgi-3.3"),
        ("LMDeploy 0.9.2", "lmdeploy-turbomind"),
        ("LMDeploy 0.9.2 PyTorch engine", "lmdeploy-pytorch"),
        ("TurboMind", "lmdeploy-turbomind"),
        ("vLLM Gaudi 0.9.0.1", "vllm-gaudi-0.9"),
        ("vLLM Ascend 0.25.1rc1", "vllm-ascend-0.25"),
        ("ExLlamaV2 0.3.2", "exllamav2-0.3"),
        ("Ollama 0.31.0", "ollama-0.30"),
        ("ollama 0.5.13", "ollama-0.3"),
        ("llama.cpp (ollama 0.30)", "llama.cpp-server"),
        ("LM Studio 0.3.23", "lm-studio-0.3"),
        ("mlx-lm", "mlx-lm-0.31"),
    ],
)
def test_every_engine_has_its_own_rules(context: Context, text: str, budget: str) -> None:
    """An engine as a source prints it, with its version and its variant, falls under its own rules."""
    assert find_engine(text, context.budgets, gguf=False, vendor="NVIDIA").budget.budget_id == budget


def test_an_engine_without_rules_is_refused(connection: sqlite3.Connection, context: Context) -> None:
    """KTransformers keeps experts in RAM and its budget is on no record: no other engine's rules stand in."""
    with pytest.raises(UnsupportedError, match="ktransformers"):
        find_engine("KTransformers 0.7.0", context.budgets, gguf=False, vendor="NVIDIA")
    refused = told(
        connection, "kv_gib_per_gpu", model_id="Qwen/Qwen3-8B", gpu="H100 80GB", engine_and_version="KTransformers 0.7"
    )
    assert refused.status == "refused" and "ktransformers" in (refused.reason or "")


def test_an_unknown_engine_is_named(context: Context) -> None:
    """The rules of another engine are said to be assumed, with the name that nothing is known of."""
    found = find_engine("MLC-LLM 0.19", context.budgets, gguf=False, vendor="NVIDIA")
    assert any("vllm assumed" in line and "MLC-LLM" in line for line in found.assumed)


def test_no_activation_peak_where_none_is_profiled(connection: sqlite3.Connection) -> None:
    """SGLang profiles nothing, so no figure stands for it."""
    refused = told(
        connection, "activation_peak_gib_per_gpu", model_id="Qwen/Qwen3-8B", gpu="H100 80GB", tp="1",
        engine_and_version="SGLang 0.5.6",
    )  # fmt: skip
    assert refused.status == "refused" and "sglang" in (refused.reason or "")
