"""config.json files as models: cache and parameters by hand or as published, and what is refused instead of guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plans import cached

from rackfit.errors import UnsupportedError, UsageError
from rackfit.modelfiles.config import read_config
from rackfit.modelfiles.plan import model_of
from rackfit.modelfiles.quantization import bits_of, packed, stated_precision
from rackfit.modelfiles.reading import read_model_file, read_text

TRIALS = Path(__file__).parents[1] / "reference" / "trials"

LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
"""The fields of Llama-3.1-8B's config.json."""

QWEN3_30B = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
    "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936,
    "tie_word_embeddings": False, "sliding_window": None, "use_sliding_window": False, "torch_dtype": "bfloat16",
}  # fmt: skip
"""The fields of Qwen3-30B-A3B's config.json."""

DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "vocab_size": 129280, "tie_word_embeddings": False, "num_nextn_predict_layers": 1,
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
}  # fmt: skip
"""The fields of DeepSeek-V3's config.json."""


def trial(name):
    """Return the config of a trial."""
    return json.loads((TRIALS / f"{name}.json").read_text())


def plan(config):
    """Return the plan of a config."""
    return read_config(config, "config.json")[0]


@pytest.mark.parametrize(
    ("config", "elements", "params"),
    [
        (LLAMA_8B, 131072 // 2, 8_030_261_248),
        (QWEN3_30B, 48 * 2 * 4 * 128, 30_532_122_624),
        (DEEPSEEK_V3, 61 * 576, 671_026_419_200),
    ],
)
def test_models_that_are_published(config, elements, params):
    """Cache per token by MEMORY_MODEL section 4, parameters as the safetensors of the repositories count them."""
    assert cached(plan(config)) == (elements, 0)
    assert model_of(plan(config)).params_total == pytest.approx(params, rel=1e-6)


def test_active_parameters_leave_idle_experts_out():
    """Qwen3-30B-A3B visits 8 of 128 experts: 3.3 billion active (its model card)."""
    assert model_of(plan(QWEN3_30B)).params_active == pytest.approx(3.3e9, rel=0.02)


def test_text_two_levels_down():
    """28 x 2 x 4 x 128: 57,344 bytes per token; window off; other towers named (trial R066)."""
    found, notes = read_config(trial("R066"), "omni")

    assert cached(found) == (57344 // 2, 0)
    said = " ".join(notes)
    assert "talker_config (24 layers)" in said and "audio_config (32 layers)" in said and "vision_config" in said


def test_the_head_size_of_the_file_wins():
    """40 x 2 x 8 x 128 x 2 bytes, not 160 = 5120 / 32 per head (trial R068)."""
    assert cached(plan(trial("R068"))) == (163840 // 2, 0)


def test_lists_per_layer():
    """169 KV heads over 28 layers: 43,264 bytes per token; 1,079,891,456 parameters with the head once (trial R070)."""
    found = plan(trial("R070"))

    assert cached(found) == (43264 // 2, 0)
    assert model_of(found).params_total == pytest.approx(1_079_891_456, rel=0.001)


def test_two_widths_in_one_file():
    """Embeddings in 2 bits: 16 to a container; linear layers in 4: 8; the head is left as it is (trial R072)."""
    section = trial("R072")["quantization_config"]

    assert packed(bits_of(section, "model.embed_tokens.weight", "Embedding")) == 16
    assert packed(bits_of(section, "model.layers.0.mlp.up_proj.weight_packed")) == 8
    assert bits_of(section, "lm_head.weight") is None
    assert stated_precision(trial("R072"), {})[0] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"kv_lora_rank": None, "q_lora_rank": 1024, "o_lora_rank": 1024, "compress_ratios": [4, 128]},
            "compress_ratios",
        ),
        ({"ssm_state_size": 128}, "ssm_state_size"),
        ({"layer_types": ["full_attention", "warp_attention"] * 16}, "warp_attention"),
        ({"layer_types": ["full_attention"] * 3}, "3 entries"),
        ({"num_attention_heads": None}, "num_attention_heads is missing"),
        ({"num_attention_heads": "many"}, "num_attention_heads = 'many'"),
        ({"num_key_value_heads": [8] * 31}, "31 entries"),
        ({"vocab_size": -5}, "vocab_size"),
        ({"num_hidden_layers": 10**6}, "1 to 1024"),
        ({"num_experts": 8}, "num_experts_per_tok"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "no rule here"),
        ({"intermediate_size": None}, "intermediate_size is missing"),
    ],
)
def test_refused_with_the_name(changes, words):
    """An unknown kind of attention is never plain attention in silence (trial R076), and a missing figure is named."""
    with pytest.raises(UnsupportedError, match=words):
        read_config({**LLAMA_8B, **changes}, "config.json")


@pytest.mark.parametrize(
    ("changes", "windowed"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, 32),
        ({"model_type": "gemma3_text", "sliding_window": 1024}, 27),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, 0),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 20}, 12),
        ({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 16}, 16),
        ({"attention_chunk_size": 8192}, 24),
        ({"sliding_window": 4096}, 0),
    ],
)
def test_which_layers_have_a_window(changes, windowed):
    """By list, by step, from a layer on, all, or none: an unknown pattern counts every token and says so."""
    found, notes = read_config({**LLAMA_8B, **changes}, "config.json")

    assert sum(layer.window is not None for layer in found.layers) == windowed
    assert ("upper bound" in " ".join(notes)) == (changes == {"sliding_window": 4096})


@pytest.mark.parametrize(
    ("section", "precision"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_e4m3_block128x128"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq_int4_g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "gptq_int4_g32"),
        ({"quant_method": "gptq", "bits": 2, "group_size": 64}, None),
        (
            {
                "quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": True,
            },
            "bnb_nf4_double",
        ),
        ({"quant_method": "mxfp4"}, "mxfp4_experts_bf16"),
        ({"bits": 4, "group_size": 64}, "mlx_4bit_g64"),
        ({"quant_method": "strange"}, None),
    ],
)  # fmt: skip
def test_precision_of_a_quantised_file(section, precision, connection):
    """The layouts that files name are layouts on record; what is none is said, not taken for 16 bits in silence."""
    found, why = stated_precision({**LLAMA_8B, "quantization_config": section}, LLAMA_8B)

    assert found == precision and (why is None) == (precision is not None)
    if found:
        assert connection.execute("select 1 from precisions where precision_id = ?", (found,)).fetchone()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("{", UsageError, "no JSON"),
        ("[1, 2]", UnsupportedError, "JSON object"),
        ("{}", UnsupportedError, "no part has a number of layers"),
        ("[" * 100_000, UsageError, "no JSON"),
        ("x" * 3_000_000, UsageError, "at most"),
    ],
)
def test_text_that_is_no_config(text, error, words):
    """One clear line, whatever was pasted."""
    with pytest.raises(error, match=words):
        read_text(text, "config.json")


def test_a_missing_file_and_an_empty_folder(tmp_path):
    """Both are named."""
    with pytest.raises(UsageError, match="no file"):
        read_model_file(tmp_path / "config.json")
    with pytest.raises(UnsupportedError, match=r"neither a config\.json nor a \.gguf"):
        read_model_file(tmp_path)
