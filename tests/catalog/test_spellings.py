"""Names as other people write them: re-uploads, tags of a registry, machines around a chip, counts behind a name."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.machines import find_machines
from rackfit.ask.question import find_model
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UsageError


@pytest.mark.parametrize(
    ("name", "model", "precision"),
    [
        ("unsloth/Llama-3.3-70B-Instruct", "meta-llama/llama-3.3-70b-instruct", "bf16"),
        ("meta-llama/Meta-Llama-3.1-8B", "meta-llama/llama-3.1-8b", "bf16"),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "meta-llama/llama-3.1-70b", "awq_int4_g128"),
        ("RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w4a16", "meta-llama/llama-3.1-70b", "w4a16_ct_g128"),
        ("ISTA-DASLab/gemma-3-27b-it-GPTQ-4b-128g", "google/gemma-3-27b-pt", "gptq_int4_g128"),
        ("mlx-community/Qwen2.5-32B-Instruct-4bit", "qwen/qwen2.5-32b", "mlx_4bit_g64"),
        ("mlx-community/Qwen3-30B-A3B-4bit-DWQ", "qwen/qwen3-30b-a3b", "mlx_4bit_g64"),
        ("nvidia/Llama-3.3-70B-Instruct-FP4", "meta-llama/llama-3.3-70b-instruct", "nvfp4"),
        ("bartowski/Qwen_Qwen3-32B-GGUF", "qwen/qwen3-32b", "bf16"),
        ("CohereForAI/c4ai-command-r-plus", "coherelabs/c4ai-command-r-plus", "fp16"),
        ("nvidia/Llama-3.1-Nemotron-Ultra-253B-v1", "nvidia/llama-3_1-nemotron-ultra-253b-v1", "bf16"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "meta-llama/llama-3.1-8b", "ggufmix_q4_k_m"),
        ("gpt-oss:20b", "openai/gpt-oss-20b", "mxfp4_experts_bf16"),
        ("llama3.1:70b-instruct-q4_K_M", "meta-llama/llama-3.1-70b", "ggufmix_q4_k_m"),
        ("Qwen 3 32B", "qwen/qwen3-32b", "bf16"),
        ("unsloth/Qwen3-30B-A3B-128K-GGUF", "qwen/qwen3-30b-a3b", "bf16"),
        ("amd/Llama-3.1-70B-Instruct-FP8-KV", "meta-llama/llama-3.1-70b", "fp8_e4m3_per_channel"),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "deepseek-ai/deepseek-v3", "nvfp4"),
        ("amd/gpt-oss-120b-w-mxfp4-a-fp8", "openai/gpt-oss-120b", "mxfp4"),
        ("Qwen/Qwen3-14B-INT4", "qwen/qwen3-14b", "awq_int4_g128"),
        ("someone/Qwen3-14B-4bit-mlx", "qwen/qwen3-14b", "mlx_4bit_g64"),
        ("Intel/Qwen3-14B-int4-AutoRound", "qwen/qwen3-14b", "gptq_int4_g128"),
        ("unsloth/Qwen3-14B-UD-Q4_K_XL-GGUF", "qwen/qwen3-14b", "ggufmix_q4_k_m"),
        ("nvidia/Kimi-K2-Thinking-NVFP4", "moonshotai/kimi-k2-thinking", "nvfp4"),
        ("casperhansen/vicuna-7b-v1.5-awq", "meta-llama/llama-2-7b-hf", "awq_int4_g128"),
        ("Llama-3.1-8B (torchtitan config)", "meta-llama/llama-3.1-8b", "bf16"),
        ("IBM Granite 3.3 8B", "ibm-granite/granite-3.3-8b-instruct", "bf16"),
    ],
)
def test_models_as_others_write_them(connection: sqlite3.Connection, name: str, model: str, precision: str) -> None:
    """Ids of hubs and registries lead to the architecture, and to the format that stands in them."""
    found = resolve(connection, "model", name)
    assert (found.id, found.precision_id) == (model, precision)


@pytest.mark.parametrize(
    ("text", "device", "count"),
    [
        ("RTX4090", "nvidia-rtx-4090", 1),
        ("4x RTX3090", "nvidia-rtx-3090", 4),
        ("2 x RTX 3090 NVLink", "nvidia-rtx-3090", 2),
        ("A100 80GB PCIe x 4", "nvidia-a100-pcie-80gb", 4),
        ("8 x A100 (40GB)", "nvidia-a100-sxm4-40gb", 8),
        ("80GB A100", "nvidia-a100-sxm4-80gb", 1),
        ("8x H100s SXM5 80GB", "nvidia-h100-sxm5-80gb", 8),
        ("H100 SXM5 HBM3", "nvidia-h100-sxm5-80gb", 1),
        ("A100x8", "nvidia-a100-sxm4-80gb", 8),
        ("4090x2", "nvidia-rtx-4090", 2),
        ("2 4090s", "nvidia-rtx-4090", 2),
        ("two RTX 3090s", "nvidia-rtx-3090", 2),
        ("2 nodes (8x H100 SXM5 80GB each)", "nvidia-h100-sxm5-80gb", 16),
        ("V100-32G", "nvidia-v100-sxm2-32gb", 1),
        ("V100S", "nvidia-v100s-pcie-32gb", 1),
        ("M2 Max 30-Core GPU 64GB", "apple-m2-max", 1),
        ("M3 Max 30-Core GPU 36GB", "apple-m3-max-30c", 1),
        ("AGX Orin 64GB", "nvidia-jetson-agx-orin-64gb", 1),
        ("GeForce RTX 3060 (12GB)", "nvidia-rtx-3060-12gb", 1),
        ("laptop RTX 4090 16GB", "nvidia-rtx-4090-laptop", 1),
        ("MacBook Pro M3 Max 64GB", "apple-m3-max-40c", 1),
        ("AMD Ryzen AI Max+ 395 (128GB)", "amd-ryzen-ai-max-395", 1),
        ("Gaudi2 96GB", "intel-gaudi2", 1),
        ("RTX 6000 Pro Blackwell", "nvidia-rtx-pro-6000-blackwell-ws", 1),
        ("A100-SXM4-80GB MIG 3g.40gb", "nvidia-a100-sxm4-80gb", 1),
        ("M1 7\u2011Core GPU 8GB", "apple-m1", 1),
        ("M4 Mac mini 16GB", "apple-m4", 1),
        ("Intel\u00ae Arc\u2122 A770", "intel-arc-a770-16gb", 1),
        ("NVIDIA A6000", "nvidia-rtx-a6000", 1),
        ("MI300X OAM", "amd-mi300x", 1),
        ("Tenstorrent Wormhole n300", "tenstorrent-n300", 1),
        ("Free Colab T4 15GB", "nvidia-t4", 1),
        ("Kaggle T4 x2", "nvidia-t4", 2),
        ("ml.g5.12xlarge", "nvidia-a10g", 4),
        ("80 GB GPU", "nvidia-h100-sxm5-80gb", 1),
        ("dual 3090", "nvidia-rtx-3090", 2),
        ("8 H100 SXM5 80GB", "nvidia-h100-sxm5-80gb", 8),
        ("2x8 H100 SXM5 80GB", "nvidia-h100-sxm5-80gb", 16),
        ("2 nodes x 8 H100 SXM5 80GB", "nvidia-h100-sxm5-80gb", 16),
        ("RTX PRO 6000 Blackwell Server Edition 2x", "nvidia-rtx-pro-6000-blackwell-server", 2),
    ],
)
def test_hardware_as_others_write_it(connection: sqlite3.Connection, text: str, device: str, count: int) -> None:
    """The chip is found inside its machine, beside its link, with its count or its size behind it."""
    machine = find_machines(connection, text)[0]
    assert (machine.device.accelerator_id, machine.count) == (device, count)


def test_a_size_in_brackets_is_part_of_the_name(connection: sqlite3.Connection) -> None:
    """`H100 (94GB)` is never answered with a card of 80 GB."""
    devices = {machine.device.accelerator_id for machine in find_machines(connection, "NVIDIA H100 (94GB)")}
    assert devices == {"nvidia-h100-nvl-94gb", "nvidia-h100-sxm5-94gb"}
    with pytest.raises((UnknownNameError, UsageError)):
        find_machines(connection, "RTX 3090 (12GB)")


@pytest.mark.parametrize(
    "text", ["RTX 3090 48GB", "Quadro A4000 Max", "T4 24GB", "8 GPUs", "dual", "Radeon M40", "RTX 4080s"]
)
def test_words_that_tell_parts_apart_stay(connection: sqlite3.Connection, text: str) -> None:
    """A size that a part does not have and a line that it is not of are never left out of its name."""
    with pytest.raises((UnknownNameError, UsageError)):
        find_machines(connection, text)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen/Qwen3.5-122B-A10B-Base", "qwen/qwen3.5-122b-a10b"),
        ("ibm-granite/granite-4.1-30b-base", "ibm-granite/granite-4.1-30b"),
        ("HuggingFaceTB/SmolLM3-3B-SFT", "huggingfacetb/smollm3-3b"),
    ],
)
def test_another_stage_of_a_release(connection: sqlite3.Connection, name: str, model: str) -> None:
    """A release has one shape at every stage of training; the answer says what the name was read as."""
    assert find_model(connection, name).taken_for == f"model: {name!r} is not on record, read as {model}"


@pytest.mark.parametrize("name", ["Qwen/Qwen3-9B-Base", "someone/Qwen3.5-9B-Novel", "google/gemma-9b-it", "x/base"])
def test_no_stage_of_another_size_or_maker(connection: sqlite3.Connection, name: str) -> None:
    """A size, a version or a word of its own is no stage."""
    with pytest.raises(UnknownNameError):
        resolve(connection, "model", name)


def test_a_profile_rules_out_what_has_none(connection: sqlite3.Connection) -> None:
    """Of a class of devices only those answer that the MIG profile exists on."""
    shown = [machine.shown for machine in find_machines(connection, "H100/1g.10gb")]
    assert shown and all(text.endswith("/1g.10gb") for text in shown)
    assert not any("nvl" in text for text in shown)


def test_what_was_read_is_said(connection: sqlite3.Connection) -> None:
    """A name that is not on record as written is answered with what it was taken for; one on record is not."""
    assert "read as google/gemma-3-27b-pt" in (find_model(connection, "gemma3:27b").taken_for or "")
    assert find_model(connection, "google/gemma-3-27b-it").taken_for is None


@pytest.mark.parametrize("name", ["no-such/model-12b", "unsloth/", "/", "a:b", "::::", "Q4_K_M", "x" * 300, "8b"])
def test_nothing_is_made_up(connection: sqlite3.Connection, name: str) -> None:
    """What fits no record, or several, stays unknown."""
    with pytest.raises(UnknownNameError):
        resolve(connection, "model", name)
