"""Figures of papers and documents that follow from their own formula, as the documents print them.

Sources: Rajbhandari et al., ZeRO (arXiv 1910.02054), tables 1 and 2; Ren et al., ZeRO-Offload (arXiv 2101.06840),
figure 7 and section 6; Rajbhandari et al., ZeRO-Infinity (arXiv 2104.07857), figure 2a; DeepSpeed documentation, memory
requirements, and Transformers documentation, DeepSpeed (T0_3B); DeepSpeed pull request 5099 (newer estimate);
Korthikanti et al. (arXiv 2205.05198), tables 2 and 3, equations 2 to 6.
"""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.accuracy.cases import parse_case
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context

COLUMNS = {
    "case_id": "formula", "kind": "K3", "precision_or_quant": "fp16 mixed", "value": "1", "confidence": "high",
}  # fmt: skip


def told(connection: sqlite3.Connection, quantity: str, **said: str) -> Estimate:
    """Return the estimate of a document's figure."""
    return estimate_case(connection, read_context(connection), parse_case({**COLUMNS, "quantity": quantity, **said}))


def inside(found: Estimate, printed: float) -> bool:
    """Return whether what is printed lies in the range."""
    return found.low is not None and found.high is not None and found.low <= printed <= found.high


@pytest.mark.parametrize(
    ("params", "devices", "printed"),
    [
        ("7.5B", 4, (52.5, 41.3, 30)), ("7.5B", 64, (31.4, 16.6, 1.88)), ("7.5B", 1024, (30.1, 15.1, 0.12)),
        ("128B", 16, (608, 368, 128)), ("128B", 1024, (513, 257, 2)), ("1T", 64, (4187, 2218, 250)),
        ("1T", 1024, (4011, 2013, 15.6)),
    ],
)  # fmt: skip
def test_table_1_of_the_zero_paper(
    connection: sqlite3.Connection, params: str, devices: int, printed: tuple[float, float, float]
) -> None:
    """Model states per device by stage, in decimal gigabytes."""
    for stage, value in enumerate(printed, start=1):
        found = told(
            connection, "model_state_gb_per_gpu", params_total=params, gpu_count=str(devices),
            dp_or_zero=f"ZeRO-{stage}, dp={devices}", engine_and_version="ZeRO paper",
        )  # fmt: skip
        assert inside(found, value), (stage, found.estimate)


@pytest.mark.parametrize(
    ("tp", "stage", "theoretical", "measured"),
    [(1, 0, 2.0, 1.3), (1, 1, 7.6, 6.2), (1, 2, 14.4, None), (1, 3, 128, None), (4, 1, 30.4, 25), (16, 0, 32, 20)],
)
def test_table_2_of_the_zero_paper(
    connection: sqlite3.Connection, tp: int, stage: int, theoretical: float, measured: float | None
) -> None:
    """The largest model over 64 ranks by states alone, and as measured: about four fifths of it."""
    columns = {
        "gpu": "V100 32GB", "gpu_count": str(64 * tp), "tp": str(tp),
        "dp_or_zero": f"ZeRO-{stage}, dp=64" if stage else "DDP, dp=64",
    }  # fmt: skip
    alone = told(connection, "max_trainable_params_measured", other_config="theoretical=true", **columns)
    assert alone.estimate == pytest.approx(theoretical * 1e9, rel=0.01)
    if measured is not None:
        assert told(connection, "max_trainable_params_measured", **columns).estimate == pytest.approx(
            measured * 1e9, rel=0.07
        )


@pytest.mark.parametrize(
    ("devices", "tp", "sharding", "settings", "printed"),
    [
        (1, 1, "DDP", "", 1.4e9), (16, 1, "ZeRO-2", "", 9e9), (1, 1, "ZeRO-2", "offload_optimizer=cpu", 13e9),
        (16, 16, "", "", 15e9), (16, 8, "ZeRO-2, dp=2", "offload_optimizer=cpu", 70e9),
    ],
)  # fmt: skip
def test_largest_models_of_the_offload_paper(
    connection: sqlite3.Connection, devices: int, tp: int, sharding: str, settings: str, printed: float
) -> None:
    """What one DGX-2 was seen to train lies in the range."""
    found = told(
        connection, "max_trainable_params_measured", gpu="V100 32GB", gpu_count=str(devices), tp=str(tp),
        dp_or_zero=sharding, other_config=settings,
    )  # fmt: skip
    assert inside(found, printed), found.estimate


@pytest.mark.parametrize(("params", "tib"), [("0.10T", 1.83), ("1.01T", 18.31), ("101.47T", 1845.70)])
def test_states_of_the_infinity_paper(connection: sqlite3.Connection, params: str, tib: float) -> None:
    """Its authors keep gradients in both widths: 20 bytes per parameter."""
    found = told(connection, "model_state_gib_per_gpu", params_total=params, engine_and_version="ZeRO-Infinity paper")
    assert inside(found, tib * 1024), found.estimate


@pytest.mark.parametrize(
    ("stage", "params", "devices", "settings", "host", "device"),
    [
        (2, "2851M", 8, "offload_optimizer=cpu", 127.48, 5.31),
        (2, "2851M", 8, "offload_optimizer=none", 127.48, 15.93),
        (2, "11003M", 4, "offload_optimizer=none", 245.95, 66.61),
        (3, "2851M", 8, "largest_layer=32M;offload_param=cpu;offload_optimizer=cpu;zero_init=1", 71.71, 0.12),
        (3, "2851M", 8, "largest_layer=32M;offload_param=none;offload_optimizer=cpu;zero_init=0", 127.48, 0.79),
        (3, "2783M", 1, "largest_layer=65M;offload_param=cpu;offload_optimizer=cpu;zero_init=1", 70.00, 0.25),
        (3, "2783M", 2, "largest_layer=65M;offload_param=none;offload_optimizer=none;zero_init=0", 31.11, 23.58),
    ],
)
def test_what_the_estimator_of_deepspeed_prints(
    connection: sqlite3.Connection, stage: int, params: str, devices: int, settings: str, host: float, device: float
) -> None:
    """Both columns of the printed table, in the units of 2^30 that it calls GB."""
    for quantity, printed in (("model_state_gib_cpu", host), ("model_state_gib_per_gpu", device)):
        found = told(
            connection, quantity, params_total=params, gpu="any", gpu_count=str(devices), dp_or_zero=f"ZeRO-{stage}",
            other_config=settings, engine_and_version="DeepSpeed estimator",
        )  # fmt: skip
        assert inside(found, printed), (quantity, found.estimate)


SIZES = {"22B": (64, 6144, 4), "175B": (96, 12288, 1), "530B": (128, 20480, 1), "1T": (160, 25600, 1)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", ["a={a};s=2048;h={h}", "a s h={a},2048,{h}", "heads={a};hidden={h};seq_len=2048"])
def test_activations_of_one_block(connection: sqlite3.Connection, size: str, form: str) -> None:
    """sbh(10 + 24/t + 5as/ht) with tensor parallelism of 8; the shape may be written in three ways."""
    heads, width, batch = SIZES[size]
    said = {"tp": "8", "batch": str(batch), "other_config": form.format(a=heads, h=width)}
    found = told(connection, "activation_bytes_per_layer", engine_and_version="Megatron-LM", **said)
    scores = told(connection, "ratio_5as_over_h", **said)

    factor = 5 * heads * 2048 / width
    assert scores.estimate == pytest.approx(factor)
    assert found.estimate == pytest.approx(2048 * batch * width * (10 + 24 / 8 + factor / 8))
    assert not found.assumed


def test_activations_of_a_model(connection: sqlite3.Connection) -> None:
    """GPT-3 175B at 2048 tokens: 96 layers of sbh x (34 + 80), the same on the first of several stages."""
    said = {"context_tokens": "2048", "batch": "1", "engine_and_version": "Megatron-LM"}
    found = told(connection, "activation_gb_per_gpu", other_config="a=96;s=2048;h=12288;layers=96", pp="8", **said)

    assert found.estimate == pytest.approx(96 * 2048 * 12288 * 114 / 1e9)


def test_a_shape_that_is_missing_is_named(connection: sqlite3.Connection) -> None:
    """The refusal says which letters of the formula are not stated."""
    found = told(connection, "ratio_5as_over_h", context_tokens="2048")

    assert found.status == "refused"
    assert "a, h" in (found.reason or "")
