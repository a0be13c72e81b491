"""Parameters by tensor role: the formulas against published shapes, and every layer of the catalog."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rackfit.catalog.migrate import migrate
from rackfit.catalog.read import read_model
from rackfit.catalog.rows.models import rows
from rackfit.memory.domain import Model
from rackfit.memory.roles import OUTER_ROLES, ROLES, layer_roles, non_layer_roles
from rackfit.paths import packaged
from rackfit.records.load import read_library

TINY = 0.01
"""Largest part of a layer that formulas may leave to norms and biases (14 M parameter models come closest)."""


@pytest.fixture(scope="module")
def models() -> Iterator[dict[str, Model]]:
    """Every architecture, read back from catalog rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = None
    migrate(connection)
    connection.execute("pragma foreign_keys = off")
    for table, row in rows(read_library([packaged("data")], check=False)):
        if table in ("models", "layer_groups", "towers"):
            marks = ", ".join("?" * len(row))
            connection.execute(f'insert into "{table}" ({", ".join(row)}) values ({marks})', list(row.values()))
    ids = [row[0] for row in connection.execute("select model_id from models")]
    yield {model_id: read_model(connection, model_id) for model_id in ids}
    connection.close()


def test_roles_of_every_layer_add_up(models: dict[str, Model]) -> None:
    """In every layer of every architecture the roles sum to the layer's own count, and none is negative."""
    for model in models.values():
        for group in model.groups:
            roles = layer_roles(model, group)
            assert sum(roles.values()) == group.params
            assert set(roles) <= set(ROLES) and min(roles.values(), default=0) >= 0


def test_formulas_explain_every_layer(models: dict[str, Model]) -> None:
    """What the formulas leave to norms and biases is below one percent of any layer."""
    rests = {
        (model.model_id, number): layer_roles(model, group).get("norms", 0) / group.params
        for model in models.values()
        for number, group in enumerate(model.groups)
        if group.params
    }
    assert {place: rest for place, rest in rests.items() if rest > TINY} == {}


def test_roles_outside_the_layers_add_up(models: dict[str, Model]) -> None:
    """Embedding, head, norms and the rest sum to what lies outside the layers."""
    for model in models.values():
        roles = non_layer_roles(model)
        assert sum(roles.values()) == model.non_layer_params
        assert set(roles) <= set(OUTER_ROLES) and min(roles.values()) > 0


def test_llama_layer(models: dict[str, Model]) -> None:
    """Llama-3.1-8B (config.json): q and o 4096 x 4096, k and v 4096 x 1024, three matrices of 4096 x 14336."""
    model = models["meta-llama/llama-3.1-8b"]
    assert layer_roles(model, model.groups[0]) == {
        "attention_qo": 2 * 4096 * 4096,
        "attention_kv": 2 * 4096 * 1024,
        "ffn": 3 * 4096 * 14336,
        "norms": 2 * 4096,
    }
    table = 128256 * 4096
    assert non_layer_roles(model) == {"embedding": table, "head": table, "norms": 4096}


def test_mla_layer(models: dict[str, Model]) -> None:
    """DeepSeek-V3 (config.json): latents 1536 and 512 + 64, 128 heads of 128 + 64 and 128, 256 experts of 2048."""
    model = models["deepseek-ai/deepseek-v3"]
    group = next(group for group in model.groups if group.ffn == "moe")
    roles = layer_roles(model, group)
    assert roles["attention_mla_down"] == 7168 * 1536 + 1536 + 7168 * 576 + 512
    assert roles["attention_mla_up"] == 1536 * 128 * 192 + 512 * 128 * 256
    assert roles["attention_qo"] == 128 * 128 * 7168
    assert roles["experts"] == 256 * 3 * 7168 * 2048
    assert roles["shared_experts"] == 3 * 7168 * 2048
    assert roles["router"] == 7168 * 256


def test_tied_head_is_zero(models: dict[str, Model]) -> None:
    """Qwen3-0.6B ties its head (config.json): the embedding alone lies outside the layers, 151936 x 1024."""
    roles = non_layer_roles(models["qwen/qwen3-0.6b"])
    assert roles == {"embedding": 151936 * 1024, "norms": 1024}


def test_per_layer_embeddings_are_apart(models: dict[str, Model]) -> None:
    """Gemma 3n E2B (transformers, models/gemma3n): a table of 262144 rows of 256 for each of 30 layers."""
    roles = non_layer_roles(models["google/gemma-3n-e2b"])
    assert roles["per_layer_embedding"] == 262144 * 256 * 30


def test_gated_attention_doubles_the_query(models: dict[str, Model]) -> None:
    """Qwen3-Next (transformers, models/qwen3_next): the q projection of 16 heads of 256 holds a gate as large."""
    model = models["qwen/qwen3-next-80b-a3b-instruct"]
    group = next(group for group in model.groups if group.attention == "gqa")
    assert layer_roles(model, group)["attention_qo"] == 3 * 2048 * 16 * 256


def test_shared_key_value_projection(models: dict[str, Model]) -> None:
    """Gemma 4 31B global layers (transformers, models/gemma4): one projection of 4 heads of 512 for K and V."""
    model = models["google/gemma-4-31b"]
    group = next(group for group in model.groups if group.shared_kv_projection)
    assert layer_roles(model, group)["attention_kv"] == 5376 * 4 * 512


def test_index_of_sparse_attention(models: dict[str, Model]) -> None:
    """DeepSeek-V3.2 (release's inference code): 64 index heads of 128 from the query latent, a key, head weights."""
    model = models["deepseek-ai/deepseek-v3.2"]
    roles = layer_roles(model, model.groups[0])
    assert roles["indexer"] == 1536 * 64 * 128 + 7168 * 128 + 7168 * 64 + 2 * 128


def test_state_space_layers_are_mixers(models: dict[str, Model]) -> None:
    """A Mamba layer has no attention: all but its norm mixes tokens."""
    model = models["state-spaces/mamba-2.8b-hf"]
    roles = layer_roles(model, model.groups[0])
    assert set(roles) == {"mixer", "norms"} and roles["norms"] == 2560


def test_a_shape_that_needs_more_than_the_layer_has_is_refused(models: dict[str, Model]) -> None:
    """A wrong dimension is an error with the model's name, never a negative role."""
    model = models["meta-llama/llama-3.1-8b"]
    wrong = replace(model.groups[0], d_ff=28672)
    with pytest.raises(ValueError, match=r"llama-3\.1-8b"):
        layer_roles(model, wrong)
    with pytest.raises(ValueError, match=r"llama-3\.1-8b"):
        non_layer_roles(replace(model, vocab_size=10**9))
