"""Names: one rule, near names for unknown ones, and no class taken for one of its members."""

from __future__ import annotations

import sqlite3
import time

import pytest

from rackfit.catalog.resolve import resolve, resolve_first
from rackfit.errors import AmbiguousNameError, UnknownNameError


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("accelerator", "nvidia-h100-sxm5-80gb", "nvidia-h100-sxm5-80gb"),
        ("accelerator", "h100-sxm5-80gb", "nvidia-h100-sxm5-80gb"),
        ("accelerator", "H100 SXM5 80GB", "nvidia-h100-sxm5-80gb"),
        ("accelerator", "rtx_4090", "nvidia-rtx-4090"),
        ("accelerator", "NVIDIA GeForce RTX 4090", "nvidia-rtx-4090"),
        ("accelerator", "mi300x", "amd-mi300x"),
        ("system", "dgx-h100", "nvidia-dgx-h100"),
        ("model", "qwen/qwen3-8b", "qwen/qwen3-8b"),
        ("model", "Qwen/Qwen3-8B", "qwen/qwen3-8b"),
        ("model", "qwen3-8b", "qwen/qwen3-8b"),
        ("model", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/llama-3.1-8b"),
        ("precision", "bf16", "bf16"),
        ("precision", "Q4_K_M", "ggufmix_q4_k_m"),
        ("precision", "GGUF Q4_K_M", "ggufmix_q4_k_m"),
    ],
)
def test_names(connection: sqlite3.Connection, kind: str, name: str, expected: str) -> None:
    """Slugs, printed names and names without vendor or organisation lead to one record."""
    found = resolve(connection, kind, name)
    assert found.ids == (expected,)
    assert not found.is_class


@pytest.mark.parametrize(
    ("name", "model", "precision"),
    [
        ("Qwen/Qwen3-8B-AWQ", "qwen/qwen3-8b", "awq_int4_g128"),
        ("qwen3-8b-awq", "qwen/qwen3-8b", "awq_int4_g128"),
        ("unsloth/Qwen3-8B-GGUF-Q4_K_M", "qwen/qwen3-8b", "ggufmix_q4_k_m"),
        ("openai/gpt-oss-120b", "openai/gpt-oss-120b", "mxfp4_experts_bf16"),
    ],
)
def test_checkpoints_and_formats(connection: sqlite3.Connection, name: str, model: str, precision: str) -> None:
    """A checkpoint is its architecture plus a precision: its own, or the format at the end of its name."""
    found = resolve(connection, "model", name)
    assert found.id == model
    assert found.precision_id == precision


def test_a_class_is_never_one_of_its_members(connection: sqlite3.Connection) -> None:
    """`A100` names several records: refused where one is needed, all of them where a class may be."""
    with pytest.raises(AmbiguousNameError) as raised:
        resolve(connection, "accelerator", "A100")
    assert "nvidia-a100-sxm4-80gb" in raised.value.candidates
    found = resolve(connection, "accelerator", "A100", allow_class=True)
    assert found.is_class
    assert set(found.ids) >= {"nvidia-a100-sxm4-80gb", "nvidia-a100-sxm4-40gb", "nvidia-a100-pcie-80gb"}
    assert found.id == "nvidia-a100-sxm4-80gb"


@pytest.mark.parametrize(
    ("kind", "name", "near"),
    [
        ("accelerator", "h100-sxm5-80bg", "h100"),
        ("accelerator", "rtx 4091", "4090"),
        ("model", "qwen/qwen3-9b", "qwen3"),
        ("system", "dgx-h1000", "h100"),
    ],
)
def test_near_names(connection: sqlite3.Connection, kind: str, name: str, near: str) -> None:
    """An unknown name is answered with up to five near ones."""
    with pytest.raises(UnknownNameError) as raised:
        resolve(connection, kind, name)
    assert 1 <= len(raised.value.near) <= 5
    assert near in " ".join(raised.value.near).lower()


@pytest.mark.parametrize("name", ["", " ", "'; drop table aliases; --", "%", "_" * 500, "\x00", "名前", "(" * 50])
def test_strange_names(connection: sqlite3.Connection, name: str) -> None:
    """Nothing that is typed for a name does harm."""
    for kind in ("accelerator", "system", "model", "precision"):
        with pytest.raises(UnknownNameError):
            resolve(connection, kind, name)


def test_several_kinds(connection: sqlite3.Connection) -> None:
    """A complete name of a later kind comes before a shortened one of an earlier kind."""
    assert resolve_first(connection, ("system", "accelerator"), "nvidia-rtx-4090").kind == "accelerator"
    assert resolve_first(connection, ("accelerator", "system"), "dgx-h100").kind == "system"
    with pytest.raises(UnknownNameError, match="unknown accelerator or system"):
        resolve_first(connection, ("accelerator", "system"), "no such thing anywhere")


def test_every_slug_resolves_to_itself(connection: sqlite3.Connection) -> None:
    """Each record is found by its own key."""
    for kind, table, key in (
        ("accelerator", "accelerators", "accelerator_id"),
        ("system", "systems", "system_id"),
        ("model", "models", "model_id"),
        ("precision", "precisions", "precision_id"),
    ):
        for (slug,) in connection.execute(f"select {key} from {table}").fetchall():
            assert resolve(connection, kind, slug).ids == (slug,), slug


def test_every_checkpoint_resolves_to_its_architecture(connection: sqlite3.Connection) -> None:
    """Each hub id leads to the architecture and the precision that its row states."""
    rows = connection.execute("select hf_id, model_id, native_precision_id, checkpoint_id from checkpoints").fetchall()
    wrong = []
    for hf_id, model, precision, checkpoint in rows:
        found = resolve(connection, "model", hf_id)
        if (found.id, found.precision_id, found.checkpoint_id) != (model, precision, checkpoint):
            wrong.append((hf_id, found))
    assert wrong == []


def test_it_is_fast(connection: sqlite3.Connection) -> None:
    """A name takes less than 5 ms, the longest way included."""
    names = ["qwen3-8b", "Qwen/Qwen3-8B-AWQ", "unsloth/Qwen3-8B-GGUF-Q4_K_M", "meta-llama/Llama-3.1-8B-Instruct"]
    best = []
    for name in names:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            resolve(connection, "model", name)
            times.append(time.perf_counter() - start)
        best.append(min(times))
    assert max(best) < 0.005
