"""SGLang's static share by version: by hand from the rule that each release states, and against printed start-ups."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.question import find_model
from rackfit.fit.cell import Question, evaluate
from rackfit.memory.budget import Knobs, engine_terms
from rackfit.memory.budget_parts import Reserve, Tier
from rackfit.memory.domain import Budget, Layout, Tower
from rackfit.memory.static_share import driver_bytes, encoder_share, prefill_graphs, static_share
from reference.architectures import (
    ANATOMIES,
    BF16,
    DEEPSEEK_V3,
    GIB,
    H100,
    LLAMA_8B,
    LLAMA_70B,
    MIB,
    SGLANG,
    device,
)

# server_args.py of 0.5.3 and 0.5.8: 512 MiB, 1.5 per token (2048 at least), 2 per sequence, 128 per rank, 10 GiB floor
PLAIN = Reserve(
    steps=((0, 512, 128),), mib_per_token=1.5, least_tokens=2048, mib_per_sequence=2.0, floor_mib=10240,
    floor_above_mib=61440,
)  # fmt: skip
# 0.5.10 on: 8 MiB per prefill graph, 1536 MiB with a latent cache
WITH_GRAPHS = Reserve(
    steps=((0, 512, 128),), mib_per_token=1.5, least_tokens=2048, mib_per_sequence=2.0, floor_mib=10240,
    floor_above_mib=61440, mib_per_prefill_graph=8, latent_prefill_mib=1536, draft_mib=4096,
)  # fmt: skip
# 0.4.10: 2.8 GiB + 0.1 per rank below 35 GiB, 9.5 + 0.5 below 90, 12 + 0.5 below 160, else 32
STEPS = Reserve(steps=((0, 2867.2, 102.4), (35, 9728, 512), (90, 12288, 512), (160, 32768, 0)), draft_mib=2048)
# 0.4.6: 0.88 alone, 0.87, 0.85, 0.81 and 0.79 from 2, 4, 8 and 16 ranks on, on cards up to 80 GiB
FIXED = Reserve(shares=((1, 0.88), (2, 0.87), (4, 0.85), (8, 0.81), (16, 0.79)), shares_up_to_mib=81920)
TIERS = (
    Tier(0, 2048, 8), Tier(20, 2048, 24, 80), Tier(35, 4096, 32, 160), Tier(60, 8192, 256, 512), Tier(160, 16384, 512),
)  # fmt: skip


@pytest.mark.parametrize(
    ("reserve", "memory", "tp", "tokens", "sequences", "share"),
    [
        # (M - reserve) / M, three digits, M as nvidia-smi prints it
        (PLAIN, 81559, 1, 8192, 256, 0.835),
        (PLAIN, 81559, 8, 8192, 512, 0.818),
        (PLAIN, 24564, 1, 2048, 24, 0.847),
        (PLAIN, 81559, 1, 2048, 8, 0.874),
        (WITH_GRAPHS, 81559, 1, 8192, 256, 0.830),
        (STEPS, 24564, 1, 2048, 8, 0.879),
        (STEPS, 81559, 1, 8192, 160, 0.874),
        (STEPS, 97871, 4, 8192, 160, 0.854),
        (STEPS, 183359, 8, 16384, 160, 0.821),
        (FIXED, 81559, 1, 8192, 160, 0.88),
        (FIXED, 24564, 4, 2048, 80, 0.85),
        (FIXED, 95830, 8, 8192, 160, 0.88),
        (FIXED, 143771, 8, 8192, 160, min(0.88 + 49152 * 0.12 / 143771, (143771 - 18432) / 143771)),
    ],
)
def test_the_share_by_version(
    reserve: Reserve, memory: int, tp: int, tokens: int, sequences: int, share: float
) -> None:
    """Each release has a rule of its own: fixed by ranks, by memory, by chunk and graphs."""
    found = static_share(ANATOMIES[LLAMA_70B.name], reserve, Layout(tp=tp), memory, tokens, sequences)

    assert found == pytest.approx(share, abs=1e-9)


def test_an_h100_prints_it() -> None:
    """Qwen3-30B-A3B-FP8 on an H100, 0.5.18, nothing set: 29.15 GiB of weights and 35.98 of cache are 0.830 of 78.48.

    The log of that start lists its 58 prefill graphs, from 8192 tokens down to 4.
    """
    assert pytest.approx(0.830, abs=0.0005) == (29.15 + 35.98) / 78.48
    assert prefill_graphs(8192) == 58


def test_a_latent_cache_counts_its_graphs_at_once() -> None:
    """With latent attention the prefill graphs count 1.5 GiB whatever their number, over a pipeline nothing."""
    anatomy, layout = ANATOMIES[DEEPSEEK_V3.name], Layout(tp=8)
    one = static_share(anatomy, WITH_GRAPHS, layout, 143771, 8192, 512)
    staged = static_share(anatomy, WITH_GRAPHS, Layout(tp=4, pp=2), 143771, 8192, 512)

    assert (staged - one) * 143771 == pytest.approx(1536, abs=0.0011 * 143771)


def test_a_draft_lowers_the_share() -> None:
    """Until 0.5.13 a draft model is reserved for: 4 GiB in 0.5.10, 2 GiB before."""
    anatomy = ANATOMIES[LLAMA_8B.name]
    plain, drafting = (
        static_share(anatomy, WITH_GRAPHS, Layout(), 81559, 8192, 256, draft=draft) for draft in (False, True)
    )

    assert (plain - drafting) * 81559 == pytest.approx(4096, abs=0.0011 * 81559)


@pytest.mark.parametrize(
    ("tower", "factor"),
    [
        # 0.95 x (1 - 0.1 x (c - 1)), c = layers x width^2 / (24 x 1024^2)
        (Tower("SigLIP ViT", 4 * 10**8, 256, 1152, 4304, 16, 27), 0.95 * (1 - 0.1 * (27 * 1152**2 / 25165824 - 1))),
        # Qwen's configuration calls its layers `depth`: the rule counts 24
        (Tower("ViT", 4 * 10**8, 256, 1152, 4304, 4, 27), 0.95 * (1 - 0.1 * (24 * 1152**2 / 25165824 - 1))),
        # clamped at 0.8 for encoders of billions
        (Tower("InternViT", 55 * 10**8, 256, 3200, 12800, 4, 45), 0.95 * 0.8),
    ],
)
def test_an_encoder_lowers_the_share(tower: Tower, factor: float) -> None:
    """adjust_mem_fraction_for_vlm: larger encoders leave less, within 0.8 and 1.05 of 0.95."""
    assert encoder_share((tower,)) == pytest.approx(factor)
    assert encoder_share(()) == 1.0


def test_what_the_driver_reports_is_told_from_what_an_engine_sees() -> None:
    """nvidia-smi prints 81559 MiB for an H100 of which torch sees 79.1 GiB (MEMORY_MODEL section 0)."""
    assert driver_bytes(0.998 * 81559 * MIB - 0.38 * GIB, "NVIDIA", False) == pytest.approx(81559 * MIB)
    assert driver_bytes(128 * GIB, "NVIDIA", True) == 128 * GIB


def _fields(reserve: Reserve) -> dict[str, object]:
    return {name: getattr(reserve, name) for name in reserve.__dataclass_fields__}


def _budget(**facts: object) -> Budget:
    blank = {"reserve": PLAIN, "context_bytes": 500 * MIB, "tiers": TIERS, "small_tier_names": ()}
    return type(SGLANG)(**{name: getattr(SGLANG, name) for name in SGLANG.__dataclass_fields__} | blank | facts)


def test_the_share_is_of_what_was_free() -> None:
    """Weights and cache get share x (memory seen - context); a share that the user sets takes the rule's place."""
    anatomy, seen = ANATOMIES[LLAMA_8B.name], 79.1 * GIB
    by_rule = engine_terms(anatomy, _budget(), Layout(), H100, seen, 8192, Knobs())
    stated = engine_terms(anatomy, _budget(), Layout(), H100, seen, 8192, Knobs(utilization=0.9))

    assert by_rule.limit == pytest.approx(0.835 * (seen - 500 * MIB))
    assert stated.limit == pytest.approx(0.9 * (seen - 500 * MIB))
    assert by_rule.workspace == stated.workspace == 0


@pytest.mark.parametrize(
    ("fabric", "unified", "held_mib"), [(False, False, 500), (True, False, 1600), (False, True, 500 + 7900)]
)
def test_what_is_not_free_before_loading(fabric: bool, unified: bool, held_mib: int) -> None:
    """Collectives hold buffers where devices have links of their own, the system part of a shared memory."""
    rules = Reserve(**_fields(PLAIN) | {"shared_memory_mib": 7900})
    card = device("card", 100 * 1024, fabric=fabric, unified=unified)
    found = engine_terms(
        ANATOMIES[LLAMA_8B.name], _budget(reserve=rules, non_torch_bytes_parallel=1100 * MIB), Layout(tp=2), card,
        100 * GIB, 8192, Knobs(utilization=1.0),
    )  # fmt: skip

    assert found.limit == pytest.approx(100 * GIB - held_mib * MIB)


@pytest.mark.parametrize(
    ("name", "tp", "vendor", "segment", "factor"),
    [
        # model_runner.py of 0.4.8 and server_args.py of 0.5.18: x 0.85 with AITER attention and a context above 8192
        (LLAMA_8B.name, 1, "AMD", "datacenter", 0.85),
        (LLAMA_8B.name, 1, "AMD", "consumer", 1.0),
        (LLAMA_8B.name, 1, "NVIDIA", "datacenter", 1.0),
        # latent caches only with 16 or 128 heads per rank: DeepSeek-V3 has 128
        (DEEPSEEK_V3.name, 8, "AMD", "datacenter", 0.85),
        (DEEPSEEK_V3.name, 4, "AMD", "datacenter", 1.0),
    ],
)
def test_attention_kernels_of_amd_take_a_workspace(
    name: str, tp: int, vendor: str, segment: str, factor: float
) -> None:
    """The share is lowered whether it is set or not; one that a log prints is lowered already."""
    rules = Reserve(**_fields(PLAIN) | {"workspace_share": 0.85, "workspace_context": 8192})
    card, limits = device("card", 288 * 1024, vendor=vendor, segment=segment), []
    for final in (False, True):
        knobs = Knobs(utilization=0.6, final_share=final)
        found = engine_terms(
            ANATOMIES[name], _budget(reserve=rules), Layout(tp=tp), card, 288 * GIB, 8192, knobs
        )  # fmt: skip
        limits.append(found.limit)

    assert limits[0] == pytest.approx(factor * limits[1])


def test_a_pool_on_amd_as_printed(connection: sqlite3.Connection) -> None:
    """Qwen3-0.6B on an MI355X, 0.5.18, share 0.6: 287.26 GiB free, 1.21 of weights, 145.3 of cache."""
    rules = Reserve(**_fields(PLAIN) | {"workspace_share": 0.85, "workspace_context": 8192})
    card = device("card", 288 * 1024, vendor="AMD")
    small = find_model(connection, "Qwen/Qwen3-0.6B").anatomy
    found = engine_terms(
        small, _budget(reserve=rules), Layout(), card, 287.26 * GIB + 500 * MIB, 8192, Knobs(utilization=0.6)
    )

    assert found.limit / GIB == pytest.approx(1.21 + 145.3, rel=0.001)


def test_wider_tensor_parallelism_captures_larger_graphs() -> None:
    """From TP 4 on the decode graphs of a 24 GB card go to 80 sequences, not 24: 2 MiB each."""
    anatomy, card = ANATOMIES[LLAMA_8B.name], device("card", 24564)
    two, four = (
        engine_terms(anatomy, _budget(), Layout(tp=tp), card, 23.6 * GIB, 8192, Knobs()).limit for tp in (2, 4)
    )

    assert (two - four) / MIB == pytest.approx(2 * (80 - 24) + 128 * 2, abs=0.0011 * 24564)


def test_a_pool_as_printed() -> None:
    """Llama-3.1-8B on an H100, 0.4.4, nothing set: 442,750 tokens, K and V 27.02 GiB each (sglang#4760)."""
    cell = evaluate(
        ANATOMIES[LLAMA_8B.name], BF16, _budget(reserve=FIXED), Layout(), H100, Question(8192, 1, 16.0), 79.1 * GIB
    )

    assert cell.kv_pool / GIB == pytest.approx(2 * 27.02, rel=0.01)
    assert cell.kv_pool / 131072 == pytest.approx(442_750, rel=0.01)
