"""Training cases: how near the estimates come, kind by kind, and how words of a case are read."""

from __future__ import annotations

import sqlite3
from statistics import median

import pytest

from rackfit.accuracy.cases import Case, parse_case, stored_cases
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.accuracy.training import is_training
from rackfit.accuracy.training_words import degrees_of, framework_of, method_of, recompute_of
from rackfit.catalog.context import read_context


def case(**columns: str) -> Case:
    """Return a case of the given columns."""
    plain = {"case_id": "X-1", "kind": "K3", "quantity": "peak_gib_per_gpu", "value": "1", "confidence": "high"}
    return parse_case(plain | columns)


@pytest.fixture(scope="module")
def told(connection: sqlite3.Connection) -> list[Estimate]:
    """Return the estimates of the training cases that the catalog holds."""
    context = read_context(connection)
    return [estimate_case(connection, context, one) for one in stored_cases(connection) if is_training(one)]


def errors(told: list[Estimate], prefix: str, words: tuple[str, ...] = ("",)) -> list[float]:
    """Return sorted relative errors of confident cases whose id and engine match."""
    return sorted(
        abs(one.relative_error)
        for one in told
        if one.relative_error is not None
        and one.case.confidence == "high"
        and one.case.case_id.startswith(prefix)
        and any(word in one.case.engine.casefold() for word in words)
    )


def p90(found: list[float]) -> float:
    """Return the error that 90 % of the cases stay within."""
    return found[min(len(found) - 1, int(0.9 * len(found)))]


@pytest.mark.parametrize(
    ("prefix", "words", "middle", "most"),
    [
        ("K3-", ("litgpt", "qwen finetune"), 0.03, 0.09),
        ("K3-", ("torchtune",), 0.07, 0.25),
        ("T", ("",), 0.08, 0.30),
    ],
)
def test_errors_stay_within_their_bounds(
    told: list[Estimate], prefix: str, words: tuple[str, ...], middle: float, most: float
) -> None:
    """Median and 90 % of relative errors, by collection and framework."""
    found = errors(told, prefix, words)

    assert len(found) > 10
    assert median(found) <= middle
    assert p90(found) <= most


def test_nearly_every_case_is_resolved(told: list[Estimate]) -> None:
    """At least 95 % of training cases get a figure."""
    assert sum(one.status == "resolved" for one in told) >= 0.95 * len(told)


@pytest.mark.parametrize("truth", [1.0, 0.0])
def test_verdicts_are_right_both_ways(told: list[Estimate], truth: float) -> None:
    """Runs that worked and runs that ran out of memory are told apart, nine in ten of each (about, for few cases)."""
    asked = [one for one in told if one.case.quantity == "fits" and one.measured == truth]

    assert sum(one.estimate == truth for one in asked) >= 0.89 * len(asked)


def test_estimates_do_not_look_at_values(connection: sqlite3.Connection) -> None:
    """The same configuration with another value gets the same estimate."""
    context = read_context(connection)
    columns = {
        "model_id": "meta-llama/Llama-2-7b-hf",
        "gpu": "NVIDIA A100-SXM4-40GB",
        "gpu_count": "1",
        "precision_or_quant": "bf16",
        "context_tokens": "1304",
        "batch": "1",
        "other_config": "method=finetune_lora;trainable=4194304",
        "engine_and_version": "litgpt",
    }
    first, second = (estimate_case(connection, context, case(**columns, value=value)) for value in ("1", "99"))

    assert first.estimate == second.estimate
    assert first.estimate is not None


@pytest.mark.parametrize(
    ("columns", "quantity", "expected"),
    [
        ({"params_total": "7.5B", "dp_or_zero": "ZeRO-1, dp=64", "engine_and_version": "ZeRO paper"}, "gb", 31.4),
        ({"params_total": "7.5B", "dp_or_zero": "ZeRO-2, dp=64", "engine_and_version": "ZeRO paper"}, "gb", 16.6),
        ({"params_total": "7.5B", "dp_or_zero": "ZeRO-3, dp=64", "engine_and_version": "ZeRO paper"}, "gb", 1.88),
        (
            {
                "params_total": "2851M",
                "dp_or_zero": "ZeRO-2",
                "gpu_count": "8",
                "engine_and_version": "DeepSpeed estimator",
            },
            "gib",
            15.93,
        ),
        (
            {
                "params_total": "2783M",
                "dp_or_zero": "ZeRO-3",
                "gpu_count": "1",
                "engine_and_version": "DeepSpeed estimator",
                "other_config": "offload_optimizer=cpu;offload_param=none;largest_layer=65.8M;zero_init=1",
            },
            "gib",
            5.43,
        ),
    ],
)
def test_model_states_by_their_document(
    connection: sqlite3.Connection, columns: dict[str, str], quantity: str, expected: float
) -> None:
    """States follow the accounting of the document that the case names: ZeRO paper or DeepSpeed's estimator."""
    found = estimate_case(
        connection, read_context(connection), case(quantity=f"model_state_{quantity}_per_gpu", **columns)
    )

    assert found.estimate == pytest.approx(expected, rel=0.01)


def test_formulas_of_the_recompute_paper(connection: sqlite3.Connection) -> None:
    """5as/h of GPT-3 is 80 and its layer keeps sbh(34 + 80) bytes (arXiv 2205.05198)."""
    context = read_context(connection)
    shape = "a=96;s=2048;h=12288"
    ratio = estimate_case(connection, context, case(quantity="ratio_5as_over_h", other_config=shape))
    layer = estimate_case(
        connection, context, case(quantity="activation_bytes_per_layer", other_config=shape, batch="1")
    )

    assert ratio.estimate == 80
    assert layer.estimate == 2048 * 12288 * 114


@pytest.mark.parametrize(
    ("said", "stage", "dp"),
    [
        ("ZeRO-2, dp=4", 2, 4),
        ("ZeRO-3", 3, 8),
        ("FSDP2=8", 3, 8),
        ("FSDP1=4 FULL_SHARD", 3, 4),
        ("DDP", 0, 8),
        ("SHARD_GRAD_OP", 3, 8),
        ("distributed optimizer, dp=2", 1, 2),
        ("", 0, 8),
        ("DDP (FSDP no-shard)", 0, 8),
    ],
)
def test_sharding_in_words(said: str, stage: int, dp: int) -> None:
    """Stage and ranks are read from the ways in which sources write them."""
    degrees = degrees_of(case(dp_or_zero=said, gpu_count="8"))

    assert (degrees.stage, degrees.dp) == (stage, dp)


@pytest.mark.parametrize(
    ("method", "precision", "expected"),
    [
        ("LoRA", "bf16", "lora"),
        ("finetune_lora", "bnb.nf4", "qlora"),
        ("QLoRA-int4", "bf16", "qlora"),
        ("pretrain", "bf16", "full"),
        ("SFT", "FP8", "full"),
        ("finetune_adapter_v2", "bf16", "lora"),
        ("OFT", "bf16", "lora"),
    ],
)
def test_methods_in_words(method: str, precision: str, expected: str) -> None:
    """A quantised base makes LoRA QLoRA; everything without adapters is full training."""
    assert method_of(case(other_config=f"method={method}", precision_or_quant=precision)) == expected


def test_recompute_in_words() -> None:
    """Modes are read from act_ckpt, else from what the framework does by itself."""
    stated = case(other_config="act_ckpt=every_2nd_layer", engine_and_version="torchtitan")
    default = case(engine_and_version="Qwen finetune.py")

    assert recompute_of(stated, framework_of(stated)[0]) == ("full", 2)
    assert recompute_of(default, framework_of(default)[0]) == ("full", 1)


def test_a_length_that_is_not_stated_gets_a_range(connection: sqlite3.Connection) -> None:
    """Without a sequence length the range covers short and long ones, and says so."""
    open_case = case(
        model_id="Qwen/Qwen2.5-7B",
        gpu="H100 80GB",
        gpu_count="1",
        precision_or_quant="bf16",
        other_config="method=LoRA",
    )
    found = estimate_case(connection, read_context(connection), open_case)

    assert found.low is not None and found.high is not None
    assert found.high > 1.5 * found.low
    assert any("length" in note for note in found.assumed)


def test_a_model_that_is_not_known_is_refused(connection: sqlite3.Connection) -> None:
    """A name without a size is refused with its name."""
    found = estimate_case(
        connection, read_context(connection), case(model_id="nobody/knows-this", other_config="method=full")
    )

    assert found.status == "refused"
    assert "knows-this" in (found.reason or "")
