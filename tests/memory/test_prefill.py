"""Prefill sized by the card: TGI's launcher divides the card's rate by the operations of one token."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.budget import Knobs, engine_terms, tier_sizes
from rackfit.memory.budget_parts import PrefillRate, Tier
from rackfit.memory.domain import Layout
from rackfit.memory.prefill import flops_per_token, sized_prefill
from reference.architectures import ANATOMIES, GIB, H100, LLAMA_8B, LLAMA_70B, VLLM, device

RATES = (PrefillRate(" l4", 121), PrefillRate(" l40", 181), PrefillRate("a100", 312), PrefillRate("h100", 900))
TGI = replace(VLLM, prefill_rates=RATES, tiers=(Tier(0, 4096, 128),), sampler_bytes_per_logit=0.0)
EIGHT, SEVENTY = ANATOMIES[LLAMA_8B.name], ANATOMIES[LLAMA_70B.name]


def test_operations_as_the_launcher_counts_them() -> None:
    """Llama-3.1-8B: 32 layers of 2 x 4096 x (128 x (3 x 32 + 2 x 8) + 3 x 14336), no head (Config::flop)."""
    assert flops_per_token(EIGHT) == 32 * 2 * 4096 * (128 * (3 * 32 + 2 * 8) + 3 * 14336)


@pytest.mark.parametrize(
    ("anatomy", "layout", "name", "tokens"),
    [
        # rates of launcher/src/main.rs (ComputeType::f16_flop) over 15.03 and 139.6 GFLOP per token
        (EIGHT, Layout(), "NVIDIA A100 SXM4 80GB", 312e12 / 15_032_385_536),
        (EIGHT, Layout(), "NVIDIA L40", 181e12 / 15_032_385_536),
        (SEVENTY, Layout(tp=4), "NVIDIA H100 SXM5 80GB", 4 * 900e12 / flops_per_token(SEVENTY)),
        (EIGHT, Layout(), "NVIDIA GeForce RTX 3090", 4096),
    ],
)
def test_tokens_by_card(anatomy: Anatomy, layout: Layout, name: str, tokens: float) -> None:
    """The most particular name of a card counts, cards add up, and a card that the table lacks gets the default."""
    assert sized_prefill(anatomy, TGI, layout, name, 4096) == int(tokens)


def test_never_longer_than_the_model() -> None:
    """The default is cut to max_position_embeddings."""
    short = Anatomy(replace(LLAMA_8B, max_context=8192))
    assert sized_prefill(short, TGI, Layout(), "NVIDIA H100 SXM5 80GB", 4096) == 8192


def test_images_are_not_counted() -> None:
    """A model with an image encoder gets the default: "VLM are much harder to predict"."""
    seeing = Anatomy(replace(LLAMA_8B, params_total=LLAMA_8B.params_text + 400_000_000))
    assert sized_prefill(seeing, TGI, Layout(), H100.name, 4096) == 4096


def test_the_users_own_length_wins() -> None:
    """--max-batch-prefill-tokens is taken as it is."""
    found = engine_terms(EIGHT, TGI, Layout(), H100, 79.1 * GIB, 8192, Knobs(batched_tokens=4096))
    assert found.batched_tokens == 4096


@pytest.mark.parametrize(
    ("name", "sequences"),
    # lmdeploy/utils.py, get_max_batch_size: a100 384, h100 1024, other CUDA devices 128
    [("NVIDIA A100 SXM4 80GB", 384), ("NVIDIA H100 SXM5 80GB", 1024), ("NVIDIA B200", 128)],
)
def test_sizes_by_the_devices_name(name: str, sequences: int) -> None:
    """Some engines know devices by name, whatever their memory."""
    tiers = (
        Tier(0, 8192, 128),
        Tier(0, 8192, 384, names=("a100", "a800")),
        Tier(0, 8192, 1024, names=("h100", "h200")),
    )
    budget = replace(VLLM, tiers=tiers, small_tier_names=())

    assert tier_sizes(budget, 80 * GIB, device(name, 81559).name, Knobs()) == (8192, sequences)
