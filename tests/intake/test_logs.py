"""Start-up logs: every published trial, every wording, any prefix, and files that are no logs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.errors import UsageError
from rackfit.intake.logs.llama_cpp import metal_bytes
from rackfit.intake.logs.parsed import Log
from rackfit.intake.logs.reading import MOST_BYTES, engines, read_log, read_text

TRIALS = Path(__file__).parents[1] / "reference" / "trials"
GIB, MIB = 2**30, 2**20
NAMES = ("R086", "R088", "R090", "R092", "R094", "R095", "R106")


def trial(name: str) -> Log:
    """Read the log of a trial."""
    return read_log(read_text(str(TRIALS / f"{name}.log")))


def gib(log: Log, component: str) -> float:
    """Return a component of the binding rank, GiB."""
    return (log.bound(component) or 0) / GIB


def mib(log: Log, component: str) -> float:
    """Return a component, MiB."""
    return (log.bound(component) or 0) / MIB


def test_engines_are_found_by_their_files() -> None:
    """Each engine is one module with the same names."""
    assert {module.ENGINE for module in engines()} == {
        "vLLM", "SGLang", "llama.cpp", "Ollama", "TensorRT-LLM", "vLLM Gaudi", "LMDeploy", "TGI",
    }  # fmt: skip
    assert all(callable(module.read) and module.PATTERNS for module in engines())


def test_r086_hybrid_pool() -> None:
    """R086: 6.01 GiB, 569,878 tokens, 4.35 x 131,072; version, model and formats from the configuration line."""
    log = trial("R086")
    assert (log.engine, log.settings["version"], log.settings["generation"]) == ("vLLM", "0.24.0", "V1")
    assert gib(log, "kv_pool") == pytest.approx(6.01)
    assert log.settings["pool_tokens"] == 569_878
    assert (log.settings["concurrency"], log.settings["concurrency_tokens"]) == (4.35, 131_072)
    assert log.settings["model"] == "qwen3.6-35b-a3b-nvfp4"
    assert (log.settings["kv_dtype"], log.settings["quantization"]) == ("fp8", "modelopt")
    assert (log.settings["tp"], log.settings["pp"], log.settings["context"]) == (1, 1, 131_072)


def test_r088_journal_in_another_language() -> None:
    """R088: a Cyrillic journal prefix changes nothing: 5.35 GiB on rank TP0, 215,401 tokens, 26.29 at 8,192."""
    log = trial("R088")
    assert log.amounts["kv_pool"] == {"TP0": round(5.35 * GIB)}
    assert log.settings["pool_tokens"] == 215_401
    assert (log.settings["concurrency"], log.settings["concurrency_tokens"]) == (26.29, 8_192)


def test_r090_consumed_memory_in_one_figure() -> None:
    """R090: consumed 19.47, activation 0.6, graphs 0.1 against 0.58 estimated, 1.95 GiB of cache, 23.56 at 0.935."""
    log = trial("R090")
    expected = {"consumed": 19.47, "activation": 0.6, "graphs": 0.1, "graphs_estimated": 0.58, "kv_pool": 1.95}
    expected |= {"device_total": 23.56, "device_free": 22.93, "budget": 22.03}
    assert {name: gib(log, name) for name in expected} == pytest.approx(expected)
    assert log.settings["utilization"] == 0.935
    assert set(log.amounts["kv_pool"]) == {"PP1_TP3"}
    assert "weights" not in log.amounts


def test_r092_recurrent_state() -> None:
    """R092: 448.88 MiB for 3 sequences, S 432.00, R 16.88; 149.62 MiB in the buffer of Meta()."""
    log = trial("R092")
    assert log.engine == "llama.cpp"
    expected = {"state": 448.88, "state_s": 432.0, "state_r": 16.88, "state_buffer": 149.62}
    assert {name: mib(log, name) for name in expected} == pytest.approx(expected)
    assert log.settings["state_sequences"] == 3
    assert set(log.amounts["state_buffer"]) == {"Meta()"}


def test_r094_plan_of_the_scheduler() -> None:
    """R094: full 24.4, partial 23.0, KV 640 MiB, weights 13.1, projector 0.75 + 8.8 GiB, 37 of 41 layers: a plan."""
    log = trial("R094")
    assert log.engine == "Ollama" and log.estimate
    expected = {"required_full": 24.4, "required_partial": 23.0, "weights": 13.1, "projector_graph": 8.8}
    expected |= {"kv": 640 / 1024, "projector_weights": 769.3 / 1024, "device_free": 23.3, "graph_full": 426.7 / 1024}
    assert {name: gib(log, name) for name in expected} == pytest.approx(expected)
    assert (log.settings["layers_placed"], log.settings["layers_total"]) == (37, 41)


def test_r095_gb_is_gib_and_other_prints_do_not_matter() -> None:
    """R095: weights 56.98, K and V 76.44, 74.01 left, workspace 51.75 (all 2^30), 1,669,816 tokens."""
    log = trial("R095")
    expected = {"weights": 56.98, "kv_k": 76.44, "kv_v": 76.44, "kv_pool": 152.88, "workspace": 51.75}
    expected |= {"free_after_load": 230.20, "free_after_pool": 74.01}
    assert {name: gib(log, name) for name in expected} == pytest.approx(expected)
    assert log.settings["pool_tokens"] == 1_669_816
    assert log.settings["static_fraction"] == 0.911
    # 48 layers x 2 x 4 KV heads x 128 x 2 bytes (config.json of Qwen3-30B-A3B): the unit can only be 2^30
    assert (log.bound("kv_pool") or 0) / 1_669_816 == pytest.approx(98_304, rel=1e-4)


def test_r106_devices_with_brackets_in_their_names() -> None:
    """R106: two devices as listed, with what each reports free."""
    found = [(one.rank, one.name, (one.free_bytes or 0) // MIB) for one in trial("R106").devices]
    assert found == [
        ("Vulkan0", "Intel(R) Arc(TM) Pro B60 Graphics", 23_607),
        ("Vulkan1", "NVIDIA RTX A2000 12GB", 19_491),
    ]


JUNK = (
    "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:03<00:03,  1.9s/it]",
    'INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK',
    "Traceback (most recent call last):",
    "  warnings.warn(",
    "",
    "\x1b[32m=====\x1b[0m",
)
PREFIX = st.text(st.characters(exclude_characters="\r\n\x00", codec="utf-8"), max_size=40)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_prefixes_and_junk_change_nothing(name: str, data: st.DataObject) -> None:
    """Whatever stands before a line or between lines, the same is read."""
    lines = (TRIALS / f"{name}.log").read_text(encoding="utf-8").splitlines()
    noisy = []
    for line in lines:
        noisy += data.draw(st.lists(st.sampled_from(JUNK), max_size=2))
        noisy.append(f"{data.draw(PREFIX)} {line}")
    assert read_log("\n".join(noisy)) == trial(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\n\n"])
def test_line_endings_and_colours(name: str, ending: str) -> None:
    """Windows line ends and coloured prefixes read the same."""
    lines = (TRIALS / f"{name}.log").read_text(encoding="utf-8").splitlines()
    assert read_log(ending.join(f"\x1b[1;36mvllm-1  |\x1b[0m {line}" for line in lines)) == trial(name)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """PowerShell's UTF-16 and a byte order mark read as the plain file."""
    file = tmp_path / "log.txt"
    file.write_text((TRIALS / "R088.log").read_text(encoding="utf-8"), encoding=encoding)
    assert read_log(read_text(str(file))) == trial("R088")


V0 = """\
INFO 11-18 02:25:03 llm_engine.py:249] Initializing an LLM engine (v0.6.4) with config: model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None, dtype=torch.bfloat16, max_seq_len=20000, tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto
INFO 11-18 02:25:30 model_runner.py:1077] Loading model weights took 14.9888 GB
INFO 11-18 02:25:33 worker.py:232] Memory profiling results: total_gpu_memory=23.69GiB initial_memory_usage=15.37GiB peak_torch_memory=17.06GiB memory_usage_post_profile=15.43GiB non_torch_memory=0.35GiB kv_cache_size=3.81GiB gpu_memory_utilization=0.90
INFO 11-18 02:25:33 gpu_executor.py:113] # GPU blocks: 1952, # CPU blocks: 2048
"""  # noqa: E501
"""vLLM 0.6.4 on an RTX 3090: figures of https://github.com/vllm-project/vllm/issues/10517 (K1-0093 to K2-0158)."""


def test_v0_first_wording() -> None:
    """V0: weights 14.9888, activation 17.06 - 14.9888 = 2.07, non-torch 0.35, pool 3.81 GiB, 1952 blocks of 16."""
    log = read_log(V0)
    expected = {"weights": 14.9888, "activation": 2.0712, "non_torch": 0.35, "kv_pool": 3.81, "device_total": 23.69}
    assert {name: gib(log, name) for name in expected} == pytest.approx(expected, abs=1e-6)
    assert log.settings["pool_tokens"] == 31_232
    assert log.settings["utilization"] == 0.9
    assert not {"quantization", "kv_dtype"} & set(log.settings)


SPLIT = """\
INFO 02-11 worker.py:267] the current vLLM instance can use total_gpu_memory (23.64GiB) x gpu_memory_utilization (0.98) = 23.17GiB
INFO 02-11 worker.py:267] model weights take 13.95GiB; non_torch_memory takes 0.25GiB; PyTorch activation peak memory takes 0.19GiB; the rest of the memory reserved for KV Cache is 8.78GiB.
(VllmWorkerProcess pid=71) INFO 02-11 worker.py:267] model weights take 13.95GiB; non_torch_memory takes 0.27GiB; PyTorch activation peak memory takes 0.19GiB; the rest of the memory reserved for KV Cache is 8.70GiB.
"""  # noqa: E501
"""vLLM 0.7 in two processes: weights, non-torch and activation of https://github.com/vllm-project/vllm/issues/13061."""


def test_v0_second_wording_keeps_each_process() -> None:
    """Each process is kept, the smallest pool and the fullest rest bind."""
    log = read_log(SPLIT)
    assert log.amounts["kv_pool"] == {"": round(8.78 * GIB), "pid 71": round(8.70 * GIB)}
    assert gib(log, "kv_pool") == pytest.approx(8.70)
    assert gib(log, "non_torch") == pytest.approx(0.27)
    assert log.settings["utilization"] == 0.98


PROFILE = """\
(EngineCore_DP0 pid=9) DEBUG gpu_worker.py:284] Initial free memory: 23.08 GiB; Requested memory: 0.80 (util), 18.82 GiB
(EngineCore_DP0 pid=9) DEBUG gpu_worker.py:297] Memory profiling takes 14.40 seconds. Total non KV cache memory: 10.22GiB; torch peak memory increase: 1.40GiB; non-torch forward increase memory: 0.02GiB; weights memory: 8.80GiB.
(EngineCore_DP0 pid=9) INFO gpu_worker.py:298] Available KV cache memory: 8.60 GiB
(EngineCore_DP0 pid=9) INFO kv_cache_utils.py:864] GPU KV cache size: 62,608 tokens, Maximum concurrency for 1,024 tokens per request: 61.14x
(EngineCore_DP0 pid=9) INFO model_runner.py:747] Graph capturing finished in 1 secs, took -0.40 GiB
(EngineCore_DP0 pid=9) ERROR core.py:387] ValueError: To serve at least one request with the models's max seq len (40960), (10.00 GiB KV cache is needed, which is larger than the available KV cache memory (1.25 GiB). Based on the available memory, the estimated maximum model length is 2368.
"""  # noqa: E501


def test_v1_profile_and_refusal() -> None:
    """V1: the profile's own line, tokens and concurrency in one line, negative graphs, and a refusal's figures."""
    log = read_log(PROFILE)
    expected = {"weights": 8.8, "activation": 1.4, "non_torch": 0.02, "graphs": -0.4, "kv_needed": 10.0}
    expected |= {"kv_pool": 1.25, "device_free": 23.08, "budget": 18.82}
    assert {name: gib(log, name) for name in expected} == pytest.approx(expected)
    assert (log.settings["concurrency"], log.settings["longest_context"]) == (61.14, 2368)


def test_smallest_of_several_pools() -> None:
    """Ranks that print tokens of their own: the smallest count stands."""
    log = read_log("GPU KV cache size: 2,000 tokens\nGPU KV cache size: 1,000 tokens\nGPU KV cache size: 3,000 tokens")
    assert log.settings["pool_tokens"] == 1000


def test_last_start_counts() -> None:
    """A container that was restarted: the last start is read, and that there were two is kept."""
    start = "vLLM API server version 0.11.0\nAvailable KV cache memory: {} GiB\nGPU KV cache size: {} tokens\n"
    log = read_log(start.format(1.0, 100) + start.format(5.0, 500))
    assert (gib(log, "kv_pool"), log.settings["pool_tokens"], log.loads) == (5.0, 500, 2)


SGLANG = """\
[2025-03-25 16:37:00 TP0] server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', context_length=None, quantization=None, kv_cache_dtype='auto', mem_fraction_static=0.88, tp_size=2, dp_size=1, chunked_prefill_size=8192, max_running_requests=None)
[2025-03-25 16:37:06 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.48 GB, mem usage=15.11 GB.
[2025-03-25 16:37:06 TP0] KV Cache is allocated. #tokens: 442750, K size: 27.02 GB, V size: 27.02 GB
[2025-03-25 16:37:06 TP1] KV Cache is allocated. #tokens: 442750, K size: 27.00 GB, V size: 27.00 GB
[2025-03-25 16:37:28 TP0] Capture cuda graph end. Time elapsed: 7.23 s. avail mem=0.53 GB. mem usage=0.93 GB.
"""  # noqa: E501
"""The lines of SGLang 0.4, a None and an "auto" among the settings."""


def test_sglang_ranks() -> None:
    """SGLang: one pool per rank, the smallest binds; graphs; what is None is not a setting."""
    log = read_log(SGLANG)
    assert gib(log, "kv_pool") == pytest.approx(54.0)
    assert gib(log, "graphs") == pytest.approx(0.93)
    assert (log.settings["tp"], log.settings["static_fraction"]) == (2, 0.88)
    assert not {"context", "quantization", "kv_dtype"} & set(log.settings)


def test_sglang_latent_cache_is_one_figure() -> None:
    """Latent attention prints one size for keys and values."""
    log = read_log("[x TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1000, KV size: 12.50 GB")
    assert gib(log, "kv_pool") == 12.5


SGLANG_DRAFT = """\
[2026-09-11 23:33:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V4-Flash', tp_size=2, mem_fraction_static=0.8, speculative_algorithm='DSPARK')
[2026-09-11 23:34:13 TP0 EP0] Load weight begin. avail mem=111.47 GB
[2026-09-11 23:43:15 TP0 EP0] Load weight end. elapsed=541.76 s, type=DeepseekV4ForCausalLM, quant=fp8, avail mem=17.47 GB, mem usage=94.00 GB.
[2026-09-11 23:44:38 TP0 EP0] Load weight begin. avail mem=17.54 GB
[2026-09-11 23:45:53 TP0 EP0] Load weight end. elapsed=74.58 s, type=DeepseekV4ForCausalLMDSpark, quant=fp8, avail mem=14.74 GB, mem usage=2.80 GB.
[2026-09-11 23:46:10 TP0 EP0] DSV4 memory calculation: unified=False, bytes_per_full_token=1670.75, available_bytes=4.67 GB, c128_state_fixed=0.04 GB, full_token=2999808
[2026-09-11 23:46:10 TP0 EP0] DSV4 pool sizes: full=2999808, swa=2304, c4=749952, c128=23436, c4_state=144, c128_state=640
[2026-09-11 23:46:13 TP0 EP0] Memory pool end. avail mem=9.90 GB
[2026-09-11 23:46:44 TP0 EP0] Capture target verify CUDA graph end. elapsed=13.48 s, mem usage=0.58 GB, avail mem=7.62 GB.
[2026-09-11 23:46:49 TP0 EP0] Capture draft verify CUDA graph end. elapsed=4.26 s, mem usage=-0.01 GB, avail mem=7.68 GB.
[2026-09-11 23:46:49 TP0 EP0] max_total_num_tokens=2999808, chunked_prefill_size=1024, max_running_requests=4, context_len=1048576
"""  # noqa: E501
"""A start of 2026 with a draft: both print the same lines, the draft's second."""


def test_sglang_draft_is_apart() -> None:
    """The draft's weights are not the model's; captures add up; DeepSeek-V4's pool is what its calculation prints."""
    log = read_log(SGLANG_DRAFT)

    assert (gib(log, "weights"), gib(log, "draft_weights")) == pytest.approx((94.0, 2.8))
    assert (gib(log, "device_free"), gib(log, "free_after_load")) == pytest.approx((111.47, 17.47))
    assert gib(log, "graphs") == pytest.approx(0.57)
    assert gib(log, "kv_pool") == pytest.approx(4.67)
    assert log.settings["pool_tokens"] == 2_999_808
    assert (log.settings["speculative"], log.settings["started"]) == ("DSPARK", "2026-09-11")


def test_sglang_draft_cache_is_apart() -> None:
    """Two RTX 5090: 454,112 tokens of 6.92 GiB, and 2.16 GiB of the draft's after the model's pool has ended."""
    lines = (
        "[2026-09-12 00:22:48 TP{0}] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, "
        "K size: {1} GB, V size: {1} GB\n[2026-09-12 00:22:48 TP{0}] Memory pool end. avail mem={2} GB\n"
    )
    printed = ((0, 3.46, 8.40), (0, 1.08, 6.23), (1, 3.46, 7.63), (1, 1.08, 5.46))
    log = read_log("".join(lines.format(*one) for one in printed))

    assert (gib(log, "kv_pool"), gib(log, "draft_pool")) == pytest.approx((6.92, 2.16))


def test_sglang_pools_with_and_without_window() -> None:
    """Gemma 4 E4B: both pools together are 79.94 GiB, tokens are those of the full one; either line alone suffices."""
    both = (
        "[2026-09-10 10:40:02] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 798276, K size: 26.65 GB, "
        "V size: 26.65 GB\n[2026-09-10 10:40:02] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 997846, "
        "K size: 13.32 GB, V size: 13.32 GB\n"
    )
    whole = "[2026-09-10 10:40:02] SWAKVPool mem usage: 79.94 GB, swa size: 798276, full size: 997846\n"
    for text in (both + whole, whole):
        log = read_log(text)
        assert gib(log, "kv_pool") == pytest.approx(79.94)
        assert log.settings["pool_tokens"] == 997_846


LLAMA = """\
build: 9460 (9e3b928fd) with cc for x86_64-linux-gnu
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0) - 23987 MiB free
llama_model_loader: loaded meta data with 38 key-value pairs and 459 tensors from gpt-oss-120b-00001-of-00003.gguf (version GGUF V3 (latest))
llama_model_loader: - kv   2:                               general.name str              = Gpt Oss 120B
print_info: file type   = MXFP4 MoE
print_info: file size   = 59.02 GiB (4.34 BPW)
load_tensors: offloaded 37/37 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   586.82 MiB
load_tensors:        CUDA0 model buffer size = 30000.00 MiB
load_tensors:        CUDA1 model buffer size = 29850.00 MiB
llama_context: n_seq_max     = 2
llama_context: n_ctx         = 262144
llama_context: n_ctx_seq     = 131072
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 1024
llama_context: kv_unified    = false
llama_kv_cache:      CUDA0 KV buffer size =  9216.00 MiB
llama_kv_cache: size = 9216.00 MiB (131072 cells,  18 layers,  2/2 seqs), K (f16): 4608.00 MiB, V (f16): 4608.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =    90.00 MiB
llama_kv_cache: size =   90.00 MiB (  1280 cells,  18 layers,  2/2 seqs), K (f16):   45.00 MiB, V (f16):   45.00 MiB
sched_reserve:      CUDA0 compute buffer size =   900.00 MiB (projected)
sched_reserve:      CUDA0 compute buffer size =   800.00 MiB
sched_reserve:  CUDA_Host compute buffer size =   524.02 MiB
"""  # noqa: E501
"""gpt-oss-120b with two slots: cache figures of https://github.com/ollama/ollama/issues/16480 (K2-0199, K2-0200)."""


def test_llama_cpp_two_caches_and_devices() -> None:
    """llama.cpp: windowed and full caches are summed, host buffers stand apart, trial runs do not count."""
    log = read_log(LLAMA)
    assert log.engine == "llama.cpp"
    assert (log.total("kv") or 0) / MIB == pytest.approx(9306)
    assert (log.total("kv_buffer") or 0) / MIB == pytest.approx(9306)
    assert {rank: size / MIB for rank, size in log.amounts["weights"].items()} == {"CUDA0": 30000, "CUDA1": 29850}
    assert mib(log, "weights_host") == pytest.approx(586.82)
    assert mib(log, "compute") == 800
    assert log.settings["context"] == 262_144
    assert (log.settings["sequences"], log.settings["unified"]) == (2, False)
    assert (log.settings["version"], log.settings["file_type"]) == ("b9460", "MXFP4 MoE")


def test_draft_model_is_another_load() -> None:
    """A draft model's buffers are not added to the main model's."""
    log = read_log("""\
llama_model_loader: loaded meta data with 1 key-value pairs and 2 tensors from main.gguf (version GGUF V3 (latest))
load_tensors: CUDA0 model buffer size = 4000.00 MiB
llama_model_loader: loaded meta data with 1 key-value pairs and 2 tensors from draft.gguf (version GGUF V3 (latest))
load_tensors: CUDA0 model buffer size = 400.00 MiB
""")
    assert (mib(log, "weights"), log.loads) == (4000, 2)


@pytest.mark.parametrize("printed", [10922.67, 11453.25])
def test_metal_limit_in_both_units(printed: float) -> None:
    """16 GB of memory: old builds print 10922.67 (2^20), new ones 11453.25 (10^6) for the same two thirds."""
    assert metal_bytes(printed) == pytest.approx(16 * GIB * 2 / 3, rel=1e-6)


def test_ollama_plan_beside_allocation() -> None:
    """Where the engine under the scheduler says what it allocated, that is the log; the plan's layers stay visible."""
    plan = (TRIALS / "R094.log").read_text(encoding="utf-8")
    log = read_log(
        plan + "load_tensors: offloaded 41/41 layers to GPU\nload_tensors: CUDA0 model buffer size = 13412 MiB\n"
    )
    assert log.engine == "Ollama" and not log.estimate
    assert (log.settings["layers_placed"], log.settings["layers_offloaded"]) == (37, 41)
    assert mib(log, "weights") == 13_412


def test_ollama_device_is_no_processor() -> None:
    """The scheduler lists the processor as if it were a device: it is none."""
    log = read_log(
        'msg="inference compute" id=cpu library=cpu compute="" name=cpu description="cpu" total="15 GiB"\n'
        'msg="inference compute" id=GPU-1a library=CUDA compute=8.6 name=CUDA0 description="NVIDIA GeForce RTX 3090" '
        'driver=13.2 total="23.6 GiB" available="23.3 GiB"\nmsg="model weights" device=CUDA0 size="13.1 GiB"'
    )
    assert [device.name for device in log.devices] == ["NVIDIA GeForce RTX 3090"]
    assert gib(log, "weights") == pytest.approx(13.1)


BAD = {
    "empty": b"",
    "blank": b" \n\t\n",
    "binary": bytes(range(256)) * 40,
    "not a log": b"Dear colleague,\nthe model does not fit.\n",
    "huge": b"x" * (MOST_BYTES + 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_line(tmp_path: Path, name: str) -> None:
    """What is no log is refused in one line that names the file."""
    file = tmp_path / "bad.log"
    file.write_bytes(BAD[name])
    with pytest.raises(UsageError) as raised:
        read_log(read_text(str(file)), str(file))
    assert "bad.log" in str(raised.value)
    assert "\n" not in str(raised.value)


@given(data=st.data())
def test_damaged_numbers_are_never_a_failure_of_ours(data: st.DataObject) -> None:
    """Whatever stands where a number stood, the log is read or refused in one line."""
    text = data.draw(st.sampled_from([V0, SPLIT, PROFILE, SGLANG, LLAMA]))
    odd = st.one_of(
        st.sampled_from(["", "-1", "9" * 400, "1.2.3", "nan", "None", ",", "\u00b2", "1e999"]), st.text(max_size=3)
    )
    replaced = re.sub(r"\d+(?:\.\d+)?", lambda found: data.draw(odd) if data.draw(st.booleans()) else found[0], text)
    try:
        assert read_log(replaced).engine
    except UsageError as error:
        assert "\n" not in str(error)


def test_nothing_known_names_the_engines() -> None:
    """The refusal says which engines are understood."""
    with pytest.raises(UsageError, match=r"llama\.cpp, LMDeploy, Ollama, SGLang, TensorRT-LLM, TGI, vLLM"):
        read_log("nothing here")


@pytest.mark.parametrize("file", ["missing.log", "."])
def test_files_that_cannot_be_read(file: str) -> None:
    """A missing file or a folder is one line."""
    with pytest.raises(UsageError, match="cannot be read"):
        read_text(file)


def test_one_endless_line_is_read_quickly() -> None:
    """A megabyte without a line end costs no more than its length."""
    with pytest.raises(UsageError):
        read_log("A" * 1_000_000 + " model buffer size KV buffer size = Load weight end. using device (")
