"""Scoring against measured cases: every row answered, no estimate that looks at the answer, refusals with reasons."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rackfit.accuracy.cases import CONFIGURATION, REQUIRED, parse_case, read_cases, stored_cases
from rackfit.accuracy.engines import find_engine
from rackfit.accuracy.quantities import QUANTITIES, SPEED, TRAINING
from rackfit.accuracy.score import CSV_COLUMNS, Estimate, Report, estimate_case, measured_value, score
from rackfit.accuracy.setting import setting_of
from rackfit.catalog.context import Context, read_context
from rackfit.errors import RackfitError, UsageError
from rackfit.paths import packaged

ASKED = (
    "case_id", "quantity", "value", "estimate", "low", "high", "relative_error", "status", "reason",
)  # fmt: skip
"""Columns that every file of estimates has."""

KNOWN_QUANTITIES = set(
    """
    weights_gib_per_gpu weights_gib_total weights_gb_per_gpu weights_gb_total weights_gb_file
    weights_plus_nontorch_gib_per_gpu file_bytes file_gb file_gib engine_disk_gb activation_peak_gib_per_gpu
    non_torch_gib_per_gpu cuda_graph_gib_per_gpu cuda_graph_mib_per_gpu cuda_context_gib avail_after_load_gib
    initial_used_mib free_before_load_gib nvidia_smi_used_mib_per_gpu peak_gb_per_gpu peak_gb_total peak_mb_total
    peak_mib_total kv_gib_per_gpu kv_tokens_total kv_gib_needed_per_gpu kv_gib_needed_total kv_mib_total
    kv_gb_per_1m_tokens max_model_len_estimated kv_capacity_tokens min_mem_fraction_static peak_gib_per_gpu
    peak_active_gib_per_gpu peak_reserved_gib_per_gpu model_state_gb_per_gpu model_state_gib_per_gpu
    model_state_gib_cpu activation_gb_per_gpu activation_gb_total activation_bytes_per_layer ratio_5as_over_h
    max_trainable_params_measured total_mib total_bytes usable_total_gib metal_recommended_max_mib
    metal_recommended_max_mb tokens_per_s train_tflops_per_gpu fits
    """.split()  # noqa: SIM905
)
"""The vocabulary of the case format (its README, section "Vocabulary of the case format")."""

CASE = {
    # public case K1-0058: vLLM 0.11 on an H100 printed 61.03 GiB of weights
    "case_id": "K1-0058", "kind": "K1", "model_id": "Qwen/Qwen3-32B", "precision_or_quant": "bf16",
    "gpu": "NVIDIA H100 80GB (79.18 GiB usable)", "gpu_count": "1", "tp": "1", "context_tokens": "16000",
    "other_config": "gpu_memory_utilization=0.9;block_size=128", "quantity": "weights_gib_per_gpu", "value": "61.03",
    "unit": "GiB", "engine_and_version": "vLLM 0.11.0 V1", "confidence": "high",
}  # fmt: skip


@pytest.fixture(scope="module")
def report(connection: sqlite3.Connection) -> Report:
    """The estimates of all measurements of the catalog."""
    return score(connection)


@pytest.fixture(scope="module")
def context(connection: sqlite3.Connection) -> Context:
    """What every estimate shares."""
    return read_context(connection)


@pytest.fixture
def estimate(connection: sqlite3.Connection, context: Context) -> Callable[..., Estimate]:
    """A function that estimates one case, with changes."""
    return lambda **changes: estimate_case(connection, context, parse_case({**CASE, **changes}))


def test_every_case_has_a_row(report: Report) -> None:
    """All cases of the released file are answered once, in order, resolved or refused with a reason."""
    with (packaged("data") / "measurements/public-cases.csv").open(encoding="utf-8", newline="") as handle:
        ids = sorted(row["case_id"] for row in csv.DictReader(handle))

    assert [one.case.case_id for one in report.estimates] == ids
    for one in report.estimates:
        assert one.status in ("resolved", "refused")
        assert (one.reason is not None) == (one.status == "refused")
        assert (one.estimate is None) == (one.status == "refused")
        if one.reason:
            assert "\n" not in one.reason


def test_most_inference_cases_are_resolved(report: Report) -> None:
    """Of weights, cache, files, devices and fits without a training method, at least 85 in 100 get an estimate."""
    asked = [
        one
        for one in report.estimates
        if one.case.kind in ("K1", "K2", "K4", "K5") or (one.case.kind == "K6" and "method" not in one.case.settings)
    ]
    resolved = [one for one in asked if one.status == "resolved"]

    assert len(asked) > 300
    assert len(resolved) >= 0.85 * len(asked)


@pytest.mark.parametrize("kind", ["K1", "K2", "K4", "K5"])
def test_each_kind_is_resolved(report: Report, kind: str) -> None:
    """No kind of inference case is left out to carry the average."""
    counts = report.groups("kind")[kind]

    assert counts["resolved"] >= 0.85 * counts["cases"]


def test_training_speed_lies_in_the_range(report: Report) -> None:
    """Each case of training speed is inside its stated range, which names the published runs that it rests on."""
    found = [one for one in report.estimates if one.case.kind == "K8"]

    assert found
    assert all(one.inside for one in found)
    assert all("published runs" in " ".join(one.assumed) for one in found)


def test_training_runs_among_fits_fall_under_no_engine_budget(report: Report) -> None:
    """A fit with a training method is a training run: it is answered by a framework's rules, not an engine's budget."""
    found = [one for one in report.estimates if one.case.kind == "K6" and "method" in one.case.settings]

    assert found
    assert {one.budget_id for one in found} == {None}


def test_estimates_are_near(report: Report) -> None:
    """On cases of high confidence half of all errors are below 5 % for K1, 1 % for files, 0.1 % for devices."""
    for kind, bound in (("K1", 0.05), ("K4", 0.01), ("K5", 0.001)):
        errors = sorted(
            abs(one.relative_error)
            for one in report.estimates
            if one.case.kind == kind and one.case.confidence == "high" and one.relative_error is not None
        )
        assert errors[len(errors) // 2] <= bound, kind


def test_verdicts_are_mostly_right(report: Report) -> None:
    """Stated and measured fits and failures are told apart: at most one in ten wrong on either side."""
    fits = report.fits()

    assert fits["true_fit"] >= 0.9 * (fits["true_fit"] + fits["false_no"])
    assert fits["true_no"] >= 0.8 * (fits["true_no"] + fits["false_fit"])


def _answers(report: Report) -> list[tuple[Any, ...]]:
    return [(one.case.case_id, one.estimate, one.low, one.high, one.status, one.reason) for one in report.estimates]


@pytest.fixture(scope="module")
def released_rows() -> list[dict[str, str]]:
    """The released cases as text."""
    with (packaged("data") / "measurements/public-cases.csv").open(encoding="utf-8", newline="") as handle:
        return [dict(row) for row in csv.DictReader(handle)]


def _write(rows: list[dict[str, str]], path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("change", ["shuffled", "constant", "verdicts turned", "no note"])
def test_the_answer_is_never_looked_at(
    connection: sqlite3.Connection, released_rows: list[dict[str, str]], tmp_path: Path, change: str
) -> None:
    """With values moved between rows, all alike or turned round, and without notes, every estimate stays the same."""
    rows = [dict(row) for row in released_rows]
    values = [row["value"] for row in rows]
    for number, row in enumerate(rows):
        if change == "shuffled":
            row["value"] = values[(number * 7 + 3) % len(values)]
        elif change == "constant":
            row["value"] = "1"
        elif change == "verdicts turned" and row["value"] in ("true", "false"):
            row["value"] = "true" if row["value"] == "false" else "false"
        else:
            row["source_note"] = row["source_url"] = ""
    plain = score(connection, _write(released_rows, tmp_path / "plain.csv"))
    other = score(connection, _write(rows, tmp_path / "other.csv"))

    assert _answers(other) == _answers(plain)


def test_results_among_settings_are_known_inputs() -> None:
    """Value, unit, source and note are not among the columns that an estimate may look at."""
    assert not {"value", "unit", "source_note", "source_url", "confidence"} & set(CONFIGURATION)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30))
def test_any_value_gives_the_same_estimate(estimate: Callable[..., Estimate], value: str) -> None:
    """One case with any text as its value is estimated as before, or refused for having none."""
    found = estimate(value=value)

    assert found.estimate == estimate().estimate or not value.strip()


def test_json_shape(report: Report) -> None:
    """The summary has kinds and quantities with counts and errors, the table of fits, and the coverage."""
    shown = json.loads(json.dumps(report.as_json(), allow_nan=False))

    assert shown.keys() >= {"kinds", "quantities", "fits", "coverage"}
    assert shown["kinds"].keys() == {f"K{number}" for number in range(1, 9)}
    for group in (*shown["kinds"].values(), *shown["quantities"].values()):
        assert group.keys() == {"cases", "resolved", "refused", "median", "p90", "max"}
        assert group["resolved"] + group["refused"] == group["cases"]
        if group["median"] is not None:
            assert group["median"] <= group["p90"] <= group["max"]
    assert shown["fits"].keys() == {"true_fit", "false_fit", "true_no", "false_no"}
    assert 0 <= shown["coverage"] <= 1
    assert sum(group["cases"] for group in shown["kinds"].values()) == len(report.estimates)


def test_csv_shape(report: Report, tmp_path: Path) -> None:
    """One row per case with the columns of the format; verdicts are words, refusals have a reason and no figure."""
    report.write_csv(tmp_path / "estimates.csv")
    with (tmp_path / "estimates.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))

    assert tuple(rows[0])[: len(ASKED)] == ASKED == CSV_COLUMNS[: len(ASKED)]
    assert len(rows) == len(report.estimates)
    for row in rows:
        if row["status"] == "refused":
            assert row["reason"]
            assert not row["estimate"]
        elif row["quantity"] == "fits":
            assert row["estimate"] in ("true", "false")
        else:
            assert float(row["low"]) <= float(row["estimate"]) + 1e-6
            assert float(row["estimate"]) <= float(row["high"]) + 1e-6
    assert [path.name for path in tmp_path.iterdir()] == ["estimates.csv"]


def test_csv_that_cannot_be_written(report: Report, tmp_path: Path) -> None:
    """A folder that does not exist is one clear line, and nothing is left behind."""
    with pytest.raises(RackfitError, match="cannot be written") as raised:
        report.write_csv(tmp_path / "missing" / "estimates.csv")

    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("quantity", sorted(KNOWN_QUANTITIES))
def test_the_vocabulary_is_known(quantity: str) -> None:
    """Each quantity of the case format is estimated, or known to be training or speed."""
    assert quantity in QUANTITIES or quantity in TRAINING or quantity in SPEED


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"quantity": "smell_of_gpu"}, "smell_of_gpu"),
        ({"quantity": ""}, "quantity"),
        ({"gpu_count": "many"}, "gpu_count = 'many'"),
        ({"tp": "-2"}, "tp = '-2'"),
        ({"tp": "1.5"}, "tp = '1.5'"),
        ({"context_tokens": "8K"}, "context_tokens = '8K'"),
        ({"batch": "1e400"}, "batch"),
        ({"pp": "9" * 400}, "pp"),
        ({"model_id": "nobody/nothing-7b"}, "nobody/nothing-7b"),
        ({"gpu": "Quantum Abacus 9000", "quantity": "kv_gib_per_gpu"}, "Quantum Abacus 9000"),
        ({"gpu": "0x H100"}, "0 devices"),
        ({"precision_or_quant": "int3.7"}, "int3.7"),
        ({"kv_dtype": "fp7"}, "fp7"),
        ({"model_id": ""}, "model"),
        ({"quantity": "total_mib", "gpu": ""}, "device"),
        ({"quantity": "metal_recommended_max_mib"}, "Metal"),
        ({"tp": "3", "gpu_count": "3"}, "TP 3"),
    ],
)
def test_refusals(estimate: Callable[..., Estimate], changes: dict[str, str], said: str) -> None:
    """What cannot be read or found is refused for that row alone, in one line that names it."""
    found = estimate(**changes)

    assert found.status == "refused"
    assert found.reason is not None
    assert said in found.reason
    assert "\n" not in found.reason


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*CONFIGURATION, "quantity", "kind"]), st.text(max_size=25), max_size=4))
def test_any_row_gets_an_answer(estimate: Callable[..., Estimate], changes: dict[str, str]) -> None:
    """Hostile text in any column gives an estimate or a reason, never a crash."""
    found = estimate(**changes)

    assert found.status in ("resolved", "refused")
    assert bool(found.reason) == (found.status == "refused")


def test_resolved_case(estimate: Callable[..., Estimate]) -> None:
    """The weights of Qwen3-32B as vLLM 0.11 printed them: 61.03 GiB, within one percent and inside the range."""
    found = estimate()

    assert found.estimate == pytest.approx(61.03, rel=0.01)
    assert found.inside
    assert (found.model_id, found.accelerator_id, found.precision_id) == (
        "qwen/qwen3-32b", "nvidia-h100-sxm5-80gb", "bf16",
    )  # fmt: skip


def test_class_of_models(estimate: Callable[..., Estimate], connection: sqlite3.Connection, context: Context) -> None:
    """A name of several models is answered with the usual one, and the answer says which it took."""
    found = setting_of(connection, context, parse_case({**CASE, "model_id": "Mistral 7B"}))

    assert found.subject is not None and found.subject.shown == "mistralai/mistral-7b-v0.1"
    assert any("taken for the class 'Mistral 7B'" in said for said in found.assumed)
    assert estimate(model_id="Mistral 7B").status == "resolved"


@pytest.mark.parametrize(
    ("value", "quantity", "number"),
    [
        ("6.2B", "max_trainable_params_measured", 6.2e9),
        ("true", "fits", 1.0),
        ("FALSE", "fits", 0.0),
        ("-0.88", "cuda_graph_gib_per_gpu", -0.88),
        ("34*s*b*h", "activation_bytes_per_layer", None),
        ("1.2.3", "weights_gib_per_gpu", None),
        ("", "fits", None),
        ("1e3", "kv_tokens_total", 1000.0),
    ],
)
def test_measured_values(value: str, quantity: str, number: float | None) -> None:
    """Values are numbers, sizes, words or formulas; a formula is no number and gets no error."""
    assert measured_value(parse_case({**CASE, "value": value, "quantity": quantity})) == number


def test_files_that_are_no_cases(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """A missing file, one without the columns, and one that is no text are refused as a whole, in one line."""
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,2\n")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01" * 50)
    for path, said in ((tmp_path / "none.csv", "cannot be read"), (wrong, "no column"), (binary, "UTF-8")):
        with pytest.raises(UsageError, match=said) as raised:
            score(connection, path)
        assert "\n" not in str(raised.value)


def test_file_of_a_spreadsheet(tmp_path: Path) -> None:
    """A byte order mark, Windows line ends, extra columns and missing optional ones do not matter."""
    path = tmp_path / "cases.csv"
    path.write_bytes("﻿case_id,kind,quantity,value,colour\r\nX1,K1,fits,true,green\r\n".encode())

    found = read_cases(path)

    assert [(case.case_id, case.quantity, case.tp, case.problem) for case in found] == [("X1", "fits", None, None)]


def test_empty_file_of_cases(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """A file with a header and no case gives an empty report, not a failure."""
    path = tmp_path / "empty.csv"
    path.write_text(",".join(REQUIRED) + "\n")
    shown = score(connection, path).as_json()

    assert shown["kinds"] == {}
    assert shown["coverage"] is None


def test_stored_and_file_are_alike(
    connection: sqlite3.Connection, released_rows: list[dict[str, str]], tmp_path: Path
) -> None:
    """The catalog's measurements and the file they came from are the same cases."""
    path = _write(released_rows, tmp_path / "cases.csv")
    stored = {case.case_id: case for case in stored_cases(connection)}
    read = {case.case_id: case for case in read_cases(path)}

    assert stored.keys() == read.keys()
    assert {key for key in read if dict(stored[key].settings) != dict(read[key].settings)} == set()


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("vLLM 0.11.0 V1", "vllm-v1-0.11"),
        ("vLLM 0.9.2", "vllm-v1-0.9.2"),
        ("vLLM 0.33.1", "vllm-v1-0.33"),
        ("vLLM 0.20.1 V1", "vllm-v1-0.20"),
        ("SGLang 0.4.6", "sglang-0.4"),
        ("SGLang 0.5.6", "sglang-0.5.4"),
        ("SGLang 0.4.9.post2", "sglang-0.4.8"),
        ("SGLang (2026-06-30)", "sglang-0.5.14"),
        ("SGLang 0.5.23", "sglang-0.5.21"),
        ("transformers 4.51.3, torch 2.6.0", "transformers-4.51"),
        ("transformers 4.46.0, torch 2.3.1", "transformers-4.45"),
        ("HF Transformers 4.38.2", "transformers-4.36"),
        ("transformers, torch 2.0.1 CUDA 11.8", "transformers-legacy"),
        ("HF transformers", "transformers-5"),
        ("mlx-lm 0.28.2", "mlx-lm-0.20"),
        ("MLX", "mlx-lm-0.31"),
        ("llama.cpp (May 2024)", "llama.cpp-library"),
        ("llama.cpp 2026-08", "llama.cpp-server"),
    ],
)
def test_engines_by_version(context: Context, text: str, budget: str) -> None:
    """An engine as a source prints it falls under the rules of its own version, not of the newest."""
    found = find_engine(text, context.budgets, gguf=False, vendor="NVIDIA")

    assert found.budget.budget_id == budget


def test_v0_by_version(context: Context) -> None:
    """vLLM before 0.8, or called V0, profiles the context."""
    for text in ("vLLM 0.6.4 V0", "vLLM 0.6.6.post1", "vLLM 0.8.5 V0"):
        assert find_engine(text, context.budgets, gguf=False, vendor="NVIDIA").budget.engine == "V0"


def test_assumed_engine_is_said(context: Context) -> None:
    """Where no engine is stated one is assumed, and the estimate says so."""
    file_engine = find_engine("", context.budgets, gguf=True, vendor="NVIDIA")
    server = find_engine("", context.budgets, gguf=False, vendor="NVIDIA")

    assert file_engine.budget.runtime_id == "llama.cpp"
    assert server.budget.runtime_id == "vllm"
    assert all(any("assumed" in line for line in one.assumed) for one in (file_engine, server))
