"""What runs where: conditions of the support table, and the levels that follow from them."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.context import Context, read_context
from rackfit.catalog.read import device_of, read_device, rows_of
from rackfit.memory.domain import Device
from rackfit.memory.support import LEVELS, SupportRule, covers, support_level
from rackfit.memory.versions import version_key
from reference.architectures import device


@pytest.fixture(scope="module")
def context(connection: sqlite3.Connection) -> Context:
    """What the catalog says about formats and engines."""
    return read_context(connection)


P100, V100, T4 = (device(name, 16384, capability=cc) for name, cc in (("P100", "6.0"), ("V100", "7.0"), ("T4", "7.5")))
A100, RTX_3090, L4 = (
    device(name, 24576, capability=cc) for name, cc in (("A100", "8.0"), ("3090", "8.6"), ("L4", "8.9"))
)
H100, B200, RTX_5090 = (
    device(name, 81559, capability=cc) for name, cc in (("H100", "9.0"), ("B200", "10.0"), ("5090", "12.0"))
)
MI250, MI300, MI355, XTX = (
    device(name, 196592, "AMD", target)
    for name, target in (("MI250", "gfx90a"), ("MI300X", "gfx942"), ("MI355X", "gfx950"), ("7900 XTX", "gfx1100"))
)
APPLE = device("apple-m4-max", 98304, "Apple", None)
GAUDI3 = device("intel-gaudi3", 131072, "Intel", None)
B580 = device("intel-arc-b580", 12288, "Intel", None)
TPU = device("google-tpu-v5e", 16384, "Google", None)
EVERY = (
    P100, V100, T4, A100, RTX_3090, L4, H100, B200, RTX_5090, MI250, MI300, MI355, XTX, APPLE, GAUDI3, B580, TPU,
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "covered"),
    [
        ("any", set(EVERY)),
        ("cc>=8.0", {A100, RTX_3090, L4, H100, B200, RTX_5090}),
        ("cc>=8.0 (older parts run slowly)", {A100, RTX_3090, L4, H100, B200, RTX_5090}),
        ("cc<8.0", {P100, V100, T4}),
        ("7.5<=cc<10.0", {T4, A100, RTX_3090, L4, H100}),
        ("8.0<=cc<=9.0", {A100, RTX_3090, L4, H100}),
        ("8.0<=cc<9.0,cc12.x", {A100, RTX_3090, L4, RTX_5090}),
        ("cc9.0", {H100}),
        ("cc10.x", {B200}),
        ("cc9.0,cc10.x,cc12.x", {H100, B200, RTX_5090}),
        ("cc>=10.0", {B200, RTX_5090}),
        ("gfx90a,gfx942", {MI250, MI300}),
        ("gfx11xx", {XTX}),
        ("gfx110x", {XTX}),
        ("gfx942,gfx950,gfx12xx", {MI300, MI355}),
        ("ROCm builds of bitsandbytes", {MI250, MI300, MI355, XTX}),
        ("apple", {APPLE}),
        ("tpu", {TPU}),
        ("gaudi2,gaudi3", {GAUDI3}),
        ("XPU", {B580}),
        ("AVX2", set()),
    ],
)
def test_conditions(condition: str, covered: set[Device]) -> None:
    """A condition covers the devices it names, by compute capability, by target or by name."""
    assert {one.name for one in EVERY if covers(condition, one)} == {one.name for one in covered}


CPU_ONLY = {"AVX2", "AVX512 or AMX", "x86 AVX512"}
"""Conditions about processors: no accelerator of the catalog meets them."""
CAPABILITY_UNSAID = {"flash attention supported"}
"""Conditions about a kernel rather than a device."""


def test_every_condition_of_the_catalog_means_something(connection: sqlite3.Connection) -> None:
    """Each condition in use covers some devices of its vendor and never those of another one."""
    devices = [device_of(row) for row in rows_of(connection, "select * from accelerators where fit_memory_bytes > 0")]
    empty = set()
    for condition, vendor in connection.execute("select distinct architecture, vendor from precision_support"):
        met = [one for one in devices if covers(condition, one)]
        if not met:
            empty.add(condition)
        if condition not in ("any", "vulkan"):
            assert {one.vendor.casefold() for one in met} <= {vendor}, condition
    assert empty <= CPU_ONLY | CAPABILITY_UNSAID


def level(connection: sqlite3.Connection, context: Context, runtime: str, precision: str, accelerator: str) -> str:
    """Return the level of a format under an engine on an accelerator of the catalog."""
    return context.chooser.level(runtime, precision, read_device(connection, accelerator))


@pytest.mark.parametrize(
    ("runtime", "precision", "accelerator", "expected"),
    [
        # vLLM documentation, supported hardware for quantisation kernels: FP8 W8A8 from Ada on, Marlin before
        ("vllm", "fp8_e4m3_per_channel", "nvidia-a100-sxm4-80gb", "weight_only"),
        ("vllm", "fp8_e4m3_per_channel", "nvidia-h100-sxm5-80gb", "native"),
        # NVFP4 matrix units came with Blackwell; Hopper widens the weights
        ("vllm", "nvfp4", "nvidia-b200-sxm-180gb", "native"),
        ("vllm", "nvfp4", "nvidia-h100-sxm5-80gb", "weight_only"),
        # bfloat16 arithmetic came with Ampere (CUDA programming guide, compute capability 8.0)
        ("vllm", "bf16", "nvidia-t4", "none"),
        ("vllm", "bf16", "nvidia-v100-sxm2-32gb", "none"),
        ("vllm", "bf16", "nvidia-a100-sxm4-80gb", "native"),
        # ggml-metal widens K-quants in its matrix kernels
        ("llama.cpp", "ggufmix_q4_k_m", "apple-m3-max-40c", "weight_only"),
    ],
)
def test_levels(
    connection: sqlite3.Connection, context: Context, runtime: str, precision: str, accelerator: str, expected: str
) -> None:
    """It loads, so it computes in that format, is a false belief: the level says which of the two."""
    found = connection.execute(
        "select accelerator_id from accelerators where accelerator_id = ?", (accelerator,)
    ).fetchone()
    assert found, f"no record {accelerator}"

    assert level(connection, context, runtime, precision, accelerator) == expected


@pytest.mark.parametrize("vendor", ["Groq", "Cerebras", "Tenstorrent"])
def test_silence_stays_unknown(connection: sqlite3.Connection, context: Context, vendor: str) -> None:
    """Of hardware that no engine's table speaks of, nothing is claimed: neither that it runs nor that it does not."""
    found = connection.execute("select accelerator_id from accelerators where vendor = ?", (vendor,)).fetchall()

    assert found
    for (accelerator,) in found:
        one = read_device(connection, accelerator)
        for precision in ("awq_int4_g128", "fp8_e4m3_block128x128"):
            assert context.chooser.level("vllm", precision, one) == "unknown"


def test_tpu_is_unknown_where_nothing_is_said(connection: sqlite3.Connection, context: Context) -> None:
    """A TPU runs what rules for TPUs state; about GGUF files in vLLM they say nothing."""
    tpu = connection.execute("select accelerator_id from accelerators where segment = 'tpu_asic' limit 1").fetchone()

    assert level(connection, context, "vllm", "exl2", tpu[0]) == "unknown"


def test_own_vendor_beats_any_and_newer_beats_older() -> None:
    """A rule of the device's vendor outranks one for all vendors; among those the newest version counts."""
    rules = (
        SupportRule("vllm", "fp8", "any", "any", "none", 9),
        SupportRule("vllm", "fp8", "nvidia", "cc>=8.0", "weight_only", 1),
        SupportRule("vllm", "fp8", "nvidia", "cc>=8.9", "native", 2),
    )

    assert support_level(rules, "vllm", "fp8", H100) == "native"
    assert support_level(rules, "vllm", "fp8", A100) == "weight_only"
    assert support_level(rules, "vllm", "fp8", MI300) == "none"
    assert support_level(rules, "sglang", "fp8", H100) == "unknown"


def test_levels_from_best_to_worst() -> None:
    """Unknown is not none: it stands behind it in the order and is never taken for it."""
    assert LEVELS == ("native", "weight_only", "emulated", "none", "unknown")


@pytest.mark.parametrize("text", ["cc>=8", "cc=8.0", "8.0<cc", "cc>=", "ccx", "<=cc<", "cc9.0.1"])
def test_odd_conditions_do_not_crash(text: str) -> None:
    """A condition that cannot be read covers nothing rather than everything."""
    assert isinstance(covers(text, H100), bool)
    assert not covers(text, MI300)


def test_kernel_and_what_is_known_of_it(connection: sqlite3.Connection, context: Context) -> None:
    """GB10 runs MXFP4 through Marlin in the wheels of vLLM, outside its account (vLLM issue 43969); an A100 plainly."""
    spark = context.chooser.rule("vllm", "mxfp4_experts_bf16", read_device(connection, "nvidia-gb10"))
    ampere = context.chooser.rule("vllm", "mxfp4_experts_bf16", A100)

    assert spark is not None and spark.note is not None and "118 GB" in spark.note
    assert ampere is not None and ampere.note is None and "Marlin" in str(ampere.kernel)
    assert context.chooser.rule("vllm", "exl2", read_device(connection, "nvidia-gb10")) is None


@pytest.mark.parametrize(
    ("version", "precision", "accelerator", "expected"),
    [
        # vLLM 0.31 and later need compute capability 7.5; before, 7.0 (precision_support, fp16)
        ("0.11.0", "fp16", "nvidia-v100-sxm2-32gb", "native"),
        ("0.31.0", "fp16", "nvidia-v100-sxm2-32gb", "none"),
        # GGUF files left vLLM with 0.24
        ("0.8.5", "ggufmix_q4_k_m", "nvidia-h100-sxm5-80gb", "weight_only"),
        ("0.24.0", "ggufmix_q4_k_m", "nvidia-h100-sxm5-80gb", "none"),
        # older than all that was read, and newer
        ("0.5.0", "fp16", "nvidia-v100-sxm2-32gb", "native"),
        ("9.9.9", "fp16", "nvidia-v100-sxm2-32gb", "none"),
        # MXFP4 came with gpt-oss, in 0.10.1: before, no row speaks of it
        ("0.8.5", "mxfp4", "nvidia-h100-sxm5-80gb", "unknown"),
    ],
)
def test_levels_of_a_version(
    connection: sqlite3.Connection, context: Context, version: str, precision: str, accelerator: str, expected: str
) -> None:
    """What a version runs is what that version runs: a format that came or went later says nothing of it."""
    older = context.of_version("vllm", version_key(version))

    assert level(connection, older, "vllm", precision, accelerator) == expected


@pytest.mark.parametrize(
    ("runtime", "accelerator", "expected"),
    [
        ("vllm", "nvidia-gtx-1080-ti", "none"),
        ("vllm", "nvidia-t4", "native"),
        ("vllm", "amd-mi300x", "native"),
        ("vllm", "amd-mi50-32gb", "none"),  # gfx906 is no target of its builds
        ("llama.cpp", "nvidia-gtx-1080-ti", "native"),
    ],
)
def test_wide_floats_run_where_the_engine_runs(
    connection: sqlite3.Connection, context: Context, runtime: str, accelerator: str, expected: str
) -> None:
    """No table lists 32-bit floats: an engine that refuses a device in 16 bits does not run there in 32."""
    assert level(connection, context, runtime, "fp32", accelerator) == expected


@pytest.mark.parametrize(
    ("runtime", "version", "on", "starts"),
    # vLLM's and SGLang's installation pages: least compute capability and built targets by version
    [
        ("vllm", None, T4, True),
        ("vllm", None, V100, False),
        ("vllm", (0, 8, 5), V100, True),
        ("vllm", (0, 8, 5), P100, False),
        ("vllm", (0, 30, 0), V100, True),
        ("vllm", (0, 31, 0), V100, False),
        ("vllm", None, XTX, True),
        ("vllm", (0, 8, 5), MI355, False),
        ("vllm", (0, 11, 0), MI355, True),
        ("sglang", None, V100, False),
        ("sglang", None, T4, True),
        ("llama.cpp", None, P100, True),
    ],
)
def test_what_an_engine_starts_on(
    context: Context, runtime: str, version: tuple[int, ...] | None, on: Device, starts: bool
) -> None:
    """Below its floor an engine runs no format at all, whatever a kernel of one format would ask for."""
    chooser = context.chooser if version is None else context.of_version(runtime, version).chooser

    assert (chooser.missing(runtime, on) is None) is starts
    if not starts:
        assert {chooser.level(runtime, name, on) for name in context.precisions} == {"none"}


def test_no_stored_fit_lies_below_the_floor_of_its_engine(connection: sqlite3.Connection, context: Context) -> None:
    """Every engine of the stored matrix starts on the device that it stands beside (GPTQ kernels go down to 6.0)."""
    pairs = rows_of(
        connection,
        "select distinct accelerator_id, runtime_id from configurations join inference_cells using (configuration_key) "
        "join fit_budgets using (budget_key) join runtime_budgets using (budget_id)",
    )
    wrong = [
        (pair["runtime_id"], pair["accelerator_id"])
        for pair in pairs
        if context.chooser.missing(pair["runtime_id"], read_device(connection, pair["accelerator_id"])) is not None
    ]
    assert wrong == []


def test_a_version_is_read_once(context: Context) -> None:
    """Lists ask the same version for every model: its rules are picked out once, and other engines keep the newest."""
    older = context.of_version("vllm", (0, 8, 5))

    assert older is context.of_version("vllm", (0, 8, 5)) is older.of_version("vllm", (0, 8, 5))
    assert {one for one in older.chooser.floors if one.runtime_id != "vllm"} <= set(context.chooser.floors)
