"""One model of every class of attention in the catalog: its cache by the fields that its maker published.

Tools that price every model alike answered 0, 2.1, 62 or nothing for Gemma-3-27B at 128K, where 10.4 GiB are right.
Each figure here is written out from the `config.json` named beside it, never from the catalog: cached values of 2
bytes, states of recurrent layers in 4 bytes, the last inputs of their convolutions (kernel - 1) in 2.
"""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.read import read_model
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.kv_cache import kv_bytes

TOKENS = 131072
VALUE, STATE = 2, 4
"""Bytes of a cached value and of a state's value."""


def heads(layers: int, kv_heads: int, width: int, tokens: int = TOKENS) -> int:
    """Return the bytes of keys and values."""
    return 2 * layers * kv_heads * width * VALUE * tokens


def states(layers: int, state: int, inputs: int) -> int:
    """Return the bytes of recurrent layers: a state and the last inputs of a convolution, per sequence."""
    return layers * (state * STATE + inputs * VALUE)


CLASSES = {
    # meta-llama/Llama-3.1-8B: num_hidden_layers 32, num_key_value_heads 8, head size 4096 / 32
    "gqa": ("meta-llama/llama-3.1-8b", heads(32, 8, 128)),
    # meta-llama/Llama-2-7b: 32 layers, 32 heads of 128, every one with keys and values of its own
    "mha": ("meta-llama/llama-2-7b-hf", heads(32, 32, 128)),
    # bigcode/starcoder: n_layer 40, n_embd 6144, n_head 48, multi_query true
    "mqa": ("bigcode/starcoder", heads(40, 1, 128)),
    # answerdotai/ModernBERT-base: an encoder reads its text once and keeps nothing
    "mha (bidirectional encoder)": ("answerdotai/modernbert-base", 0),
    # openai/whisper-large-v3: decoder_layers 32, decoder_attention_heads 20, d_model 1280; the decoder's own tokens
    "mha (encoder-decoder)": ("openai/whisper-large-v3", heads(32, 20, 64)),
    # deepseek-ai/DeepSeek-V2: 60 layers, kv_lora_rank 512, qk_rope_head_dim 64; one latent for all heads
    "mla": ("deepseek-ai/deepseek-v2", 60 * (512 + 64) * VALUE * TOKENS),
    # deepseek-ai/DeepSeek-V3.2: 61 layers of the same, and index keys: 128 bytes and a scale of 4 a token and layer
    "mla + dsa indexer": ("deepseek-ai/deepseek-v3.2", 61 * ((512 + 64) * VALUE + 132) * TOKENS),
    # deepseek-ai/DeepSeek-V4-Flash: 43 layers with a window of 128 and one shared head of 512; 21 of them keep every
    # fourth token of it and of an index of 128, 20 every 128th
    "compressed (csa/hca, shared-kv mqa + sliding window)": (
        "deepseek-ai/deepseek-v4-flash",
        VALUE * (43 * 512 * 128 + 21 * (512 + 128) // 4 * TOKENS + 20 * 512 // 128 * TOKENS),
    ),
    # Qwen/Qwen3-Next-80B-A3B: every fourth of 48 layers full (2 heads of 256), the rest gated delta nets: 32 value and
    # 16 key heads of 128, linear_conv_kernel_dim 4
    "hybrid(gqa+gdn)": (
        "qwen/qwen3-next-80b-a3b-instruct",
        heads(12, 2, 256) + states(36, 32 * 128 * 128, 3 * (2 * 16 * 128 + 32 * 128)),
    ),
    # nvidia/NVIDIA-Nemotron-Nano-9B-v2: hybrid_override_pattern with 4 attention layers (8 heads of 128), 27 Mamba-2:
    # mamba_num_heads 128 of 80, ssm_state_size 128, n_groups 8, conv_kernel 4
    "hybrid(gqa+mamba2)": (
        "nvidia/nvidia-nemotron-nano-9b-v2",
        heads(4, 8, 128) + states(27, 128 * 80 * 128, 3 * (128 * 80 + 2 * 8 * 128)),
    ),
    # ai21labs/AI21-Jamba-Large-1.5: one of eight of 72 layers attends (8 heads of 128), mamba_expand 2 of 8192,
    # mamba_d_state 16, mamba_d_conv 4
    "hybrid(gqa+mamba1)": (
        "ai21labs/ai21-jamba-large-1.5",
        heads(9, 8, 128) + states(63, 2 * 8192 * 16, 3 * 2 * 8192),
    ),
    # ai21labs/AI21-Jamba2-3B: 2 of 28 layers attend with one head of 128, mamba_expand 2 of 2560
    "hybrid(mqa+mamba1)": (
        "ai21labs/ai21-jamba2-3b",
        heads(2, 1, 128) + states(26, 2 * 2560 * 16, 3 * 2 * 2560),
    ),
    # LiquidAI/LFM2-1.2B: 6 of 16 layers attend (8 heads of 64), 10 are convolutions of 3 over 2048
    "hybrid(gqa+shortconv)": ("liquidai/lfm2-1.2b", heads(6, 8, 64) + states(10, 0, 2 * 2048)),
    # MiniMaxAI/MiniMax-M1: 10 of 80 layers attend (8 heads of 128), 70 keep 64 heads of 128 x 128
    "hybrid(gqa+lightning)": ("minimaxai/minimax-m1-80k", heads(10, 8, 128) + states(70, 64 * 128 * 128, 0)),
    # moonshotai/Kimi-Linear-48B-A3B: 7 of 27 layers latent (512 + 64), 20 keep 32 heads of 128 x 128 and three
    # convolutions of 4 over 4096
    "hybrid(mla+kda)": (
        "moonshotai/kimi-linear-48b-a3b-instruct",
        7 * (512 + 64) * VALUE * TOKENS + states(20, 32 * 128 * 128, 3 * 3 * 4096),
    ),
    # google/recurrentgemma-2b: 8 of 26 layers attend within 2048 tokens (one head of 256), 18 keep lru_width 2560 and
    # the inputs of a convolution of 4
    "hybrid(mqa+rglru)": ("google/recurrentgemma-2b", heads(8, 1, 256, 2048) + states(18, 2560, 3 * 2560)),
    # Zyphra/Zamba-7B-v1: 76 Mamba layers of 2 x 3712, state 16; a shared block attends 13 times, 2 x 3712 in 16 heads
    "hybrid(mha+mamba1)": (
        "zyphra/zamba-7b-v1",
        heads(13, 16, 2 * 3712 // 16) + states(76, 2 * 3712 * 16, 3 * 2 * 3712),
    ),
    # Zyphra/Zamba2-2.7B: 54 Mamba-2 layers of 2 x 2560 in heads of 64, state 64; shared blocks attend 9 times over
    # 2 x 2560 in 32 heads
    "hybrid(mha+mamba2)": (
        "zyphra/zamba2-2.7b",
        heads(9, 32, 2 * 2560 // 32) + states(54, 2 * 2560 * 64, 3 * (2 * 2560 + 2 * 64)),
    ),
    # state-spaces/mamba-1.4b: 48 layers of 2 x 2048, state 16, convolution of 4
    "mamba1": ("state-spaces/mamba-1.4b-hf", states(48, 2 * 2048 * 16, 3 * 2 * 2048)),
    # mistralai/Mamba-Codestral-7B: 64 layers, num_heads 128 of 64, state_size 128, n_groups 8
    "mamba2": ("mistralai/mamba-codestral-7b-v0.1", states(64, 128 * 64 * 128, 3 * (128 * 64 + 2 * 8 * 128))),
    # RWKV7-Goose-World3-2.9B: 32 layers of 2560 in heads of 64: a matrix per head, and the last token of two mixers
    "rwkv7": ("rwkv/rwkv7-goose-world3-2.9b-hf", states(32, 40 * 64 * 64, 2 * 2560)),
}  # fmt: skip
"""Class -> (a model of it, bytes of one sequence of 131072 tokens)."""

LAYERS = {
    # google/gemma-3-27b: 52 of 62 layers see 1024 tokens (16 heads of 128)
    "sliding": ("google/gemma-3-27b-pt", heads(10, 16, 128) + heads(52, 16, 128, 1024)),
    # meta-llama/Llama-4-Scout: 36 of 48 layers see a chunk of 8192 (8 heads of 128)
    "chunked": ("meta-llama/llama-4-scout-17b-16e", heads(12, 8, 128) + heads(36, 8, 128, 8192)),
    # meta-llama/Llama-3.2-11B-Vision: 32 layers over the text (8 heads of 128); 8 more read the image and cache no text
    "cross": ("meta-llama/llama-3.2-11b-vision", heads(32, 8, 128)),
}
"""Kind of layer that no class is named after -> the same."""


@pytest.mark.parametrize(("name", "expected"), [*CLASSES.values(), *LAYERS.values()])
def test_cache_by_published_fields(connection: sqlite3.Connection, name: str, expected: int) -> None:
    """The catalog's record needs the bytes that the published fields give, to the byte."""
    assert kv_bytes(Anatomy(read_model(connection, name)), 16, TOKENS) == expected


@pytest.mark.parametrize("name", sorted({name for name, _ in (*CLASSES.values(), *LAYERS.values())}))
def test_no_class_weighs_nothing(connection: sqlite3.Connection, name: str) -> None:
    """Weights of every class are at least the parameters in 16 bits that the layers hold."""
    anatomy = Anatomy(read_model(connection, name))
    assert sum(sum(roles.values()) for roles in anatomy.group_roles) > 0
    assert anatomy.model.params_text >= sum(group.count * group.params for group in anatomy.model.groups)


def test_every_class_of_the_catalog_is_among_them(connection: sqlite3.Connection) -> None:
    """A class, or a kind of layer, that comes into the catalog comes into this file."""
    kinds = {row[0] for row in connection.execute("select distinct attention_kind from models")}
    layers = {row[0] for row in connection.execute("select distinct attention from layer_groups")}
    tested = {name for name, _ in (*CLASSES.values(), *LAYERS.values())}
    marks = ", ".join("?" * len(tested))
    seen = connection.execute(
        f"select distinct attention from layer_groups where model_id in ({marks})", sorted(tested)
    )
    assert kinds == set(CLASSES)
    assert layers <= {row[0] for row in seen}
