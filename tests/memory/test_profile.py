"""What vLLM's profile finds at its peak, against what engines print."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from rackfit.catalog.context import read_context
from rackfit.catalog.read import read_model
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import GIB, Knobs, engine_terms, held_bytes
from rackfit.memory.domain import Budget, Device, Layout
from rackfit.memory.profile import (
    encoder_bytes,
    encoders,
    expert_workspace_bytes,
    kept_image_bytes,
    largest_item,
    profile_bytes,
    profiled_items,
)
from reference.architectures import H100, RTX_3090

H100_SEEN = 79.19 * GIB
"""What vLLM 0.19.0 saw of an H100 80GB (llm-d planner, accuracy/accuracy_report.md)."""
CONTEXT = 8192


def rules(connection: sqlite3.Connection, budget_id: str) -> Budget:
    """Return an engine's rules by the id of their record."""
    return next(one for one in read_context(connection).budgets if one.budget_id == budget_id)


def anatomy(connection: sqlite3.Connection, model_id: str) -> Anatomy:
    """Return a model of the catalog."""
    return Anatomy(read_model(connection, model_id))


def peak_gib(connection: sqlite3.Connection, model_id: str, budget_id: str, tp: int = 1) -> float:
    """Return the profiled peak of a model on H100s, GiB per device."""
    found = engine_terms(
        anatomy(connection, model_id), rules(connection, budget_id), Layout(tp=tp), H100, H100_SEEN, CONTEXT, Knobs()
    )
    return float(found.workspace) / GIB


@pytest.mark.parametrize(
    ("model", "tp", "printed"),
    # llm-d planner sweep, vLLM 0.19.0 on H100: activation peak as printed, GiB per device
    [
        ("meta-llama/llama-3.1-8b", 1, 1.89),
        ("meta-llama/llama-3.1-8b", 2, 1.89),
        ("meta-llama/llama-3.1-8b", 4, 1.89),
        ("qwen/qwen3-14b", 1, 2.23),
        ("codellama/codellama-7b-hf", 1, 0.77),
        ("ibm-granite/granite-3.1-8b-instruct", 1, 0.85),
        ("qwen/qwen3-30b-a3b", 1, 2.68),
        ("deepseek-ai/deepseek-v2-lite", 1, 1.93),
        ("mistralai/mixtral-8x7b-v0.1", 2, 1.21),
        ("openai/gpt-oss-20b", 2, 2.87),
        ("google/gemma-3-12b-pt", 1, 3.94),
        ("google/gemma-3-27b-pt", 1, 3.99),
    ],
)
def test_printed_peaks(connection: sqlite3.Connection, model: str, tp: int, printed: float) -> None:
    """The sampler hides most models; experts add their buffers, images their pixels and features."""
    assert peak_gib(connection, model, "vllm-v1-0.18", tp) == pytest.approx(printed, rel=0.03)


@pytest.mark.parametrize(("budget_id", "printed"), [("vllm-v1-0.13", 5.64), ("vllm-v1-0.17", 2.23)])
def test_samplers_by_version(connection: sqlite3.Connection, budget_id: str, printed: float) -> None:
    """Qwen3-14B on H100 under 0.16.0 and 0.17.0 (llm-d planner sweep): sampling in place takes less than half."""
    assert peak_gib(connection, "qwen/qwen3-14b", budget_id) == pytest.approx(printed, rel=0.02)


@pytest.mark.parametrize(
    ("layout", "printed"),
    # llm-d planner sweep, vLLM 0.19.0 on H100: non-torch memory, GiB per device
    [(Layout(), 0.25), (Layout(tp=2), 2.07), (Layout(tp=4), 2.13)],
)
def test_printed_libraries(connection: sqlite3.Connection, layout: Layout, printed: float) -> None:
    """The fused all-reduce holds 1.5 GiB on Hopper as soon as tensors are split."""
    held = held_bytes(rules(connection, "vllm-v1-0.18"), layout, H100) / GIB

    assert held == pytest.approx(printed, rel=0.04)


@pytest.mark.parametrize("layout", [Layout(pp=2), Layout(tp=2, pp=2), Layout(tp=2, dp=2)])
def test_no_fused_allreduce(connection: sqlite3.Connection, layout: Layout) -> None:
    """It needs tensor parallelism alone (config/vllm.py, enable_allreduce_rms_fusion) and compute capability 9.0."""
    budget = rules(connection, "vllm-v1-0.18")

    assert held_bytes(budget, layout, H100) == held_bytes(budget, Layout(tp=2), RTX_3090)


def test_v0_samples_on_the_first_rank(connection: sqlite3.Connection) -> None:
    """Llama-3-8B at TP 1 and 2 prints 1.26 GiB on V0 (vllm#10511): 256 rows of the vocabulary, whatever the TP."""
    for tp in (1, 2):
        assert peak_gib(connection, "meta-llama/llama-3.1-8b", "vllm-v0-0.7", tp) == pytest.approx(1.26, rel=0.10)


@pytest.mark.parametrize(
    ("model", "layout", "patches", "printed"),
    # vllm#52872: 2.21 GiB at images of 65,536 patches; talos-argocd-proxmox#1995: a pool of 4.99 GiB on each of two
    # devices leaves 1.7 GiB for it, within the doubt of the other terms
    [("qwen/qwen3.8-27b", Layout(), 65536, 2.21), ("qwen/qwen3.8-27b", Layout(tp=2), 65536, 1.7)],
)
def test_encoders(connection: sqlite3.Connection, model: str, layout: Layout, patches: int, printed: float) -> None:
    """One image of the largest size is encoded at once; TP splits heads and the feed-forward part."""
    tower = encoders(anatomy(connection, model))[0]
    assert (tower.max_tokens_per_image or 0) * tower.patches_per_token == patches
    assert float(encoder_bytes(tower, layout, 1)) / GIB == pytest.approx(printed, rel=0.08)


def test_images_that_are_encoded_at_once(connection: sqlite3.Connection) -> None:
    """As many as the batch holds, at least one, and no more than the sequences bring (encoder_budget.py)."""
    tower = replace(encoders(anatomy(connection, "google/gemma-3-27b-pt"))[0], max_tokens_per_image=256)

    assert profiled_items(tower, 8192, 1024, CONTEXT) == 32
    assert profiled_items(tower, 128, 1024, CONTEXT) == 1
    assert profiled_items(tower, 8192, 1, 512) == 2


def test_features_fill_the_budget_of_old_versions(connection: sqlite3.Connection) -> None:
    """0.11 stretched each image's features to the encoder's whole budget (0.11.0, gpu_model_runner.py)."""
    model = anatomy(connection, "google/gemma-3-27b-pt")
    tower = encoders(model)[0]
    old, new = (
        float(kept_image_bytes(model, rules(connection, f"vllm-v1-0.{minor}"), tower, 8192, 32)) for minor in (11, 12)
    )
    each = tower.max_tokens_per_image or 0

    assert old - new == 32 * (8192 - each) * model.model.d_model * 2


def test_images_switched_off(connection: sqlite3.Connection) -> None:
    """Without images the profile is that of the language model; a text model has no encoder to profile."""
    model, budget = anatomy(connection, "google/gemma-3-27b-pt"), rules(connection, "vllm-v1-0.18")
    logits = 1024 * model.model.vocab_size
    on, off = (
        float(profile_bytes(model, budget, Layout(), 8192, 1024, logits, CONTEXT, images)) for images in (True, False)
    )

    assert on > off > 0
    assert encoders(anatomy(connection, "qwen/qwen3-32b")) == []


@pytest.mark.parametrize(("layout", "inner"), [(Layout(), 768), (Layout(tp=2), 384), (Layout(tp=2, ep=2), 768)])
def test_buffers_of_experts(connection: sqlite3.Connection, layout: Layout, inner: int) -> None:
    """TritonExperts.workspace_shapes: tokens x top-k x (max(N/2, K) + max(N, K)) values; Qwen3-30B-A3B, 8 of 128."""
    found = expert_workspace_bytes(anatomy(connection, "qwen/qwen3-30b-a3b"), layout, 8192)

    assert found == 8192 * 8 * (max(inner, 2048) + max(2 * inner, 2048)) * 2


def test_mxfp4_experts_have_none(connection: sqlite3.Connection) -> None:
    """Their kernels keep no such buffers: gpt-oss-20b prints what its vocabulary alone gives (llm-d planner sweep)."""
    assert expert_workspace_bytes(anatomy(connection, "openai/gpt-oss-20b"), Layout(), 8192) == 0


def test_runner_of_dense_models(connection: sqlite3.Connection) -> None:
    """0.26 to 0.28 run dense models on runner V2, others on V1 (0.26.0, config/vllm.py): two samplers."""
    dense, experts = (
        engine_terms(
            anatomy(connection, name), rules(connection, "vllm-v1-0.26"), Layout(), device, H100_SEEN, CONTEXT, Knobs()
        )
        for name, device in (("qwen/qwen3-32b", H100), ("qwen/qwen3-30b-a3b", H100))
    )

    assert float(dense.workspace) < float(experts.workspace)
    assert float(dense.outside) == float(dense.graphs) and float(experts.outside) == 0


def held_on(connection: sqlite3.Connection, device: Device) -> int:
    """Return what lies beside torch at TP 2 on a device."""
    return held_bytes(rules(connection, "vllm-v1-0.18"), Layout(tp=2), device)


@pytest.mark.parametrize(
    ("capability", "more"),
    [("9.0", True), ("10.0", True), ("10.3", True), ("12.0", False), ("8.9", False), (None, False)],
)
def test_devices_of_the_fused_allreduce(connection: sqlite3.Connection, capability: str | None, more: bool) -> None:
    """On by itself on compute capability 9.0 and 10.x; where a device states none it is not assumed."""
    found = held_on(connection, replace(H100, compute_capability=capability))

    assert (found > held_on(connection, RTX_3090)) is more


@pytest.mark.parametrize(
    ("budget_id", "context", "tokens"),
    [
        # qwen2_vl.py, get_num_frames_with_most_features: 14 frames of 16,384 tokens a pair; 0.9 takes 16 frames and
        # leaves room for an image: 111,616 tokens hold 6 pairs
        ("vllm-v1-0.11", 128_000, 114_688),
        ("vllm-v1-0.9", 128_000, 98_304),
        ("vllm-v1-0.11", 32_768, 32_768),
        ("vllm-v1-0.11", 8192, 16_384),
        ("vllm-v0-0.7", 128_000, 16_384),
    ],
)
def test_clips(connection: sqlite3.Connection, budget_id: str, context: int, tokens: int) -> None:
    """As many pairs of full-size frames as the context and the limit of frames hold, at least one image."""
    tower = encoders(anatomy(connection, "qwen/qwen2.5-vl-7b-instruct"))[0]

    assert largest_item(tower, rules(connection, budget_id), context).max_tokens_per_image == tokens


def test_capped_clips_are_not_larger_than_images(connection: sqlite3.Connection) -> None:
    """Qwen3-VL caps the pixels of a clip: its largest item is an image."""
    tower = encoders(anatomy(connection, "qwen/qwen3-vl-8b-instruct"))[0]

    assert largest_item(tower, rules(connection, "vllm-v1-0.18"), 128_000) == tower
