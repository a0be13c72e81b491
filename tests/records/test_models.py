"""Records of architectures: what they must say, what they must not, and figures that vendors published."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from rackfit.errors import BadRecordsError, Problem
from rackfit.paths import packaged
from rackfit.records.indices import parse_indices
from rackfit.records.load import Library, read_library
from rackfit.records.models import Architecture, Checkpoint
from rackfit.records.rules import checkpoint_names, layer_sums, model_formats, parameter_counts

LLAMA = "meta-llama/llama-3.1-8b"


@cache
def library() -> Library:
    """All records as they are, without the rules between them."""
    return read_library([packaged("data")], check=False)


def model(slug: str) -> Architecture:
    """One architecture."""
    return library().kind("models")[slug]


def checkpoint(hf_id: str) -> Checkpoint:
    """One release, whatever its architecture."""
    return next(c for m in library().kind("models").values() for c in m.checkpoints if c.hf_id == hf_id)


def test_the_catalog_is_broad() -> None:
    """At least 410 architectures carry at least 630 named checkpoints (the release's own floor)."""
    models = library().kind("models").values()
    assert len(models) >= 410
    assert sum(len(one.checkpoints) for one in models) >= 630


@pytest.mark.parametrize("rule", [layer_sums, parameter_counts, checkpoint_names, model_formats])
def test_every_architecture_keeps_the_rules(rule: object) -> None:
    """Layers add up, counts agree, names are unique and formats are known, in every record."""
    assert [str(problem) for problem in rule.check(library())] == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("hf_id", "published"),
    [
        # Hub weight index, parameters of the safetensors metadata
        ("meta-llama/Llama-3.1-8B", 8_030_261_248),
        ("meta-llama/Llama-3.1-70B", 70_553_706_496),
        ("Qwen/Qwen2.5-7B", 7_615_616_512),
        ("upstage/SOLAR-10.7B-v1.0", 10_731_524_096),
        ("BSC-LT/salamandra-7b", 7_768_117_248),
        ("ibm-granite/granite-8b-code-instruct-4k", 8_054_910_976),
        ("alpindale/goliath-120b", 117_748_948_992),
        ("poolside/Laguna-XS.2", 33_442_617_088),
        ("poolside/Laguna-M.1", 225_795_725_568),
        # the language model of Mistral Large 2, a tower of 40 layers and a projector
        ("mistral-community/Pixtral-Large-Instruct-2411", 124_134_870_400),
        # Vicuna, a CLIP tower and a projector of two matrices
        ("llava-hf/llava-1.5-7b-hf", 7_063_427_072),
        ("llava-hf/llava-1.5-13b-hf", 13_351_494_656),
        # README of llm-foundry's training benchmarks, last column
        ("mosaicml/mpt-125m-llm-foundry", 125_311_488),
        ("mosaicml/mpt-760m-llm-foundry", 760_470_528),
        ("mosaicml/mpt-70b-llm-foundry", 64_862_437_376),
        # The tied head of Qwen3-0.6B is stored a second time
        ("Qwen/Qwen3-0.6B", 751_632_384),
    ],
)
def test_published_counts(hf_id: str, published: int) -> None:
    """Published element counts are what the weight index states, and ours equal them for the same scope."""
    item = checkpoint(hf_id)
    assert item.published_params == published
    assert item.computed_params == pytest.approx(published, rel=1e-9)


def test_chatglm_has_the_bytes_of_its_file() -> None:
    """The 16-bit file of ChatGLM2-6B, of the same shape as ChatGLM3-6B, has 12,487,168,064 bytes, 32 values beside."""
    assert model("thudm/chatglm3-6b").params_total == 12_487_168_064 // 2 - 32


def test_nemotron_4_340b_has_the_counts_of_its_report() -> None:
    """The report of Nemotron-4 340B gives 9.4 B embedding and 331.6 B other parameters."""
    nemotron = model("nvidia/nemotron-4-340b-base")
    embedding = 2 * nemotron.vocab_size * nemotron.d_model
    assert embedding == pytest.approx(9.4e9, rel=0.005)
    assert nemotron.params_total - embedding == pytest.approx(331.6e9, rel=0.0005)


def test_a_fine_tune_is_a_release_of_its_architecture() -> None:
    """OpenHermes 2.5 and Vicuna 13B v1.5 have the shapes of what they were trained from (hub index, FastChat)."""
    assert any(
        item.hf_id == "teknium/OpenHermes-2.5-Mistral-7B" for item in model("mistralai/mistral-7b-v0.1").checkpoints
    )
    assert any(item.hf_id == "lmsys/vicuna-13b-v1.5" for item in model("meta-llama/llama-2-13b-hf").checkpoints)


def test_a_tied_head_is_counted_once() -> None:
    """Qwen3-0.6B holds 596,049,920 parameters, not the 751,632,384 that its index lists (Qwen3 report: 0.6B)."""
    assert model("qwen/qwen3-0.6b").params_total == 596_049_920


def test_deepseek_v3_without_and_with_prediction_layer() -> None:
    """DeepSeek-V3: 671.03 B main model and 11.61 B multi-token prediction (README_WEIGHTS of the release)."""
    v3 = model("deepseek-ai/deepseek-v3")
    assert round(v3.params_total / 1e9, 2) == 671.03
    assert round((v3.mtp_params or 0) / 1e9, 2) == 11.61


@pytest.mark.parametrize(
    ("slug", "facts"),
    [
        # config.json of each release
        (LLAMA, {"n_layers": 32, "d_model": 4096, "n_heads": 32, "n_kv_heads": 8, "d_ff": 14336, "vocab_size": 128256}),
        ("deepseek-ai/deepseek-v3", {"n_layers": 61, "d_model": 7168, "kv_lora_rank": 512, "q_lora_rank": 1536}),
        ("openai/gpt-oss-120b", {"n_layers": 36, "n_experts": 128, "n_experts_active": 4, "sliding_window": 128}),
        ("qwen/qwen3-30b-a3b", {"n_layers": 48, "n_experts": 128, "n_experts_active": 8, "moe_d_ff": 768}),
        ("google/gemma-3-27b-pt", {"n_layers": 62, "sliding_window": 1024, "d_head": 128}),
        ("qwen/qwen3.8-2.4t-a95b", {"n_layers": 92, "n_experts": 512, "n_full_attn_layers": 23}),
        ("meta-models/muse-glimmer-30b", {"n_layers": 52, "d_model": 6656, "sliding_window": 2048}),
    ],
)
def test_shapes_are_those_of_the_configs(slug: str, facts: dict[str, int]) -> None:
    """Dimensions are the ones that the vendor's config.json states."""
    one = model(slug)
    assert {name: getattr(one, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("slug", "total"),
    [
        # MosaicML llm-foundry, scripts/train/benchmarking: parameter column
        ("mosaicml/mpt-1b-llm-foundry", 1_315_950_592),
        ("mosaicml/mpt-3b-llm-foundry", 2_651_837_440),
        ("mosaicml/mpt-7b-llm-foundry", 6_658_859_008),
        ("mosaicml/mpt-13b-llm-foundry", 12_853_954_560),
        # vLLM recipe: safetensors total_size 59,553,253,376 bytes at 2 bytes each
        ("meta-models/muse-glimmer-30b", 29_776_626_688),
    ],
)
def test_totals_of_shapes_without_a_hub_count(slug: str, total: int) -> None:
    """Shapes entered from configurations add up to the totals their authors print."""
    assert model(slug).params_total == total


def test_layer_positions() -> None:
    """Compact lists of positions expand in order; a step applies to its own run."""
    assert parse_indices("0-2 5-9 step 2 12") == (0, 1, 2, 5, 7, 9, 12)
    assert parse_indices("7") == (7,)


def _problems(tmp_path: Path, old: str, new: str, slug: str = LLAMA) -> list[Problem]:
    """Return what is wrong with a small data folder after one edit of one record."""
    real, folder = packaged("data"), tmp_path / "data"
    for part in ("sources", "precisions"):
        shutil.copytree(real / part, folder / part)
    target = folder / "models" / f"{slug}.toml"
    target.parent.mkdir(parents=True)
    text = (real / "models" / f"{slug}.toml").read_text(encoding="utf-8")
    assert old in text
    target.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        read_library([folder])
    except BadRecordsError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    ("old", "new", "field", "expected"),
    [
        ("n_layers = 32", "n_layers = 33", "n_layers", "32, the sum over layer_groups"),
        ("params_text = 8030261248", "params_text = 8030261249", "params_text", "8030261248"),
        ("params_total = 8030261248", "params_total = 8030261249", "params_total", "8030261248"),
        ("kv_elems_per_token_full = 65536", "kv_elems_per_token_full = 1", "kv_elems_per_token_full", "65536"),
        ("recurrent_state_elems = 0", "recurrent_state_elems = 5", "recurrent_state_elems", "0, the sum"),
        ('layer_indices = "0-31"', 'layer_indices = "0-30"', "layer_groups.0", "not count = 32"),
        ('layer_indices = "0-31"', 'layer_indices = "1-32"', "layer_groups.0.layer_indices", "positions below 32"),
        ('layer_indices = "0-31"', 'layer_indices = "0..31"', "layer_groups.0.layer_indices", "pattern"),
        ('attention = "gqa"', 'attention = "sliding"', "layer_groups.0", "window is missing"),
        ('attention = "gqa"', 'attention = "fancy"', "layer_groups.0.attention", "'gqa'"),
        ('ffn = "dense"', 'ffn = "moe"', "layer_groups.0", "n_experts"),
        ('kv_shared_with = "own"', 'kv_shared_with = "shares"', "layer_groups.0", "own no cache values"),
        ("d_model = 4096", 'd_model = "4096"', "d_model", "valid integer"),
        ("d_model = 4096", "d_model = -1", "d_model", "greater than 0"),
        ("d_model = 4096", "d_modle = 4096", "d_modle", "no such field"),
        ("computed_params = 8030261248", "computed_params = 8130261248", "computed_params", "mismatch_reason"),
        ('native_precision = "bf16"', 'native_precision = "bf17"', "native_precision", "slug of a precision"),
        ('published_scope = "unique weights"', "", "checkpoints.0", "states what it counts"),
        ('licence = "llama3.1"', 'licence = "=cmd()"', "licence", "pattern"),
        ('"*" = ["', '"*" = ["no-such-source", "', "provenance", "a key of data/sources"),
        (
            'hf_id = "meta-llama/Llama-3.1-8B-Instruct"',
            'hf_id = "meta-llama/Llama-3.1-8B"',
            "hf_id",
            "does not use already",
        ),
    ],
)
def test_a_bad_record_is_refused(tmp_path: Path, old: str, new: str, field: str, expected: str) -> None:
    """Each kind of fault is reported with the file, the field and what was expected."""
    problems = _problems(tmp_path, old, new)
    assert any(
        problem.file == f"models/{LLAMA}.toml" and field in problem.field and expected in problem.expected
        for problem in problems
    ), [str(problem) for problem in problems]


def test_a_good_record_passes(tmp_path: Path) -> None:
    """The record that the faults above start from has no fault of its own."""
    assert _problems(tmp_path, "n_layers = 32", "n_layers = 32") == []


def test_a_quantized_release_points_to_a_release_beside_it(tmp_path: Path) -> None:
    """A checkpoint cannot be a copy of one that the architecture does not have."""
    old = 'quantized_from = "Qwen/Qwen3-8B"'
    problems = _problems(tmp_path, old, 'quantized_from = "Qwen/Qwen3-9B"', "qwen/qwen3-8b")
    assert any("a checkpoint of the same architecture" in problem.expected for problem in problems)
