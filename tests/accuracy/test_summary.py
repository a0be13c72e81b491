"""Sums over estimates: errors, absolute errors, verdicts, and what a run prints beside a case."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rackfit.accuracy import summary
from rackfit.accuracy.cases import Case, parse_case, stored_cases
from rackfit.accuracy.components import card_share, components, printed_beside
from rackfit.accuracy.score import estimate_case
from rackfit.accuracy.setting import setting_of
from rackfit.catalog.context import read_context

ROW = {
    "case_id": "X1", "kind": "K1", "model_id": "Qwen/Qwen3-8B", "precision_or_quant": "bf16", "kv_dtype": "bf16",
    "gpu": "NVIDIA RTX 4090 24GB", "gpu_count": "1", "tp": "1", "context_tokens": "8192",
    "quantity": "weights_gib_per_gpu", "value": "15.3", "unit": "GiB", "engine_and_version": "vLLM 0.11.0 V1",
    "confidence": "high",
}  # fmt: skip


def case(**changes: str) -> Case:
    """Return a case with some columns changed."""
    return parse_case({**ROW, **changes})


def row(connection: sqlite3.Connection, given: Case) -> summary.Row:
    """Return the row of a case that is estimated now."""
    context = read_context(connection)
    return summary.estimated_row(connection, context, estimate_case(connection, context, given))


def test_errors_of_ten_cases():
    """Of 1 to 10 % either way: median 5.5 %, nine of ten stay at or below the tenth, the largest is 10 %."""
    found = summary.spread([0.01 * number * (-1) ** number for number in range(1, 11)])
    assert found["median"] == pytest.approx(0.055)
    assert found["p90"] == found["max"] == pytest.approx(0.10)


def test_nothing_measured_is_no_error():
    """Without figures there is no median rather than zero."""
    assert summary.spread([None, None]) == {"median": None, "p90": None, "max": None}


@pytest.mark.parametrize(
    ("quantity", "unit", "binary", "size"),
    [
        ("kv_gib_per_gpu", "GiB", False, 2**30),
        ("peak_mib_total", "MB_as_published", False, 2**20),
        ("peak_gb_total", "GB_as_published", False, 10**9),
        ("peak_gb_total", "GB_as_published", True, 2**30),
        ("file_bytes", "bytes", False, 1),
        ("kv_tokens_total", "tokens", False, None),
        ("fits", "bool", False, None),
        ("kv_gb_per_1m_tokens", "GB", False, 10**9),
    ],
)
def test_bytes_of_a_unit(quantity, unit, binary, size):
    """The unit is in the quantity's name; a published GB is what the engine's tables mean by it."""
    assert summary.unit_bytes(quantity, unit, binary) == size


def test_a_pool_is_scored_against_the_card(connection):
    """A pool 1 GiB off on a card of 24564 MiB (driver print of the RTX 4090) is 4.17 % of the card."""
    context = read_context(connection)
    setting = setting_of(connection, context, case(quantity="kv_gib_per_gpu", value="4"))
    assert card_share(setting, 5.0, 4.0) == pytest.approx(1024 / 24564, rel=0.002)


def test_a_pool_in_tokens_counts_as_its_bytes(connection):
    """Tokens off by half the estimate are half of the estimated pool, as a share of the card."""
    context = read_context(connection)
    pool = row(connection, case(quantity="kv_gib_per_gpu", value="4"))
    setting = setting_of(connection, context, case(quantity="kv_tokens_total", value="1000"))
    share = card_share(setting, 2000.0, 1000.0)
    assert share == pytest.approx(0.5 * (pool.estimate or 0) * 1024 / 24564, rel=0.01)


def test_a_run_is_the_same_configuration():
    """Only cases with the same configuration print beside each other; the value plays no part."""
    own = case()
    others = [
        own,
        case(case_id="X2", quantity="non_torch_gib_per_gpu", value="0.3"),
        case(case_id="X3", quantity="activation_peak_gib_per_gpu", value="1.0", context_tokens="4096"),
        case(case_id="X4", quantity="cuda_graph_gib_per_gpu", value="unknown"),
        case(case_id="X5", quantity="fits", value="true"),
    ]
    assert printed_beside(own, others) == {"weights_gib_per_gpu": (15.3, "X1"), "non_torch_gib_per_gpu": (0.3, "X2")}


def test_what_a_case_states_is_printed(connection):
    """A pool given in the case's own settings stands beside the estimate without another case."""
    setting = setting_of(connection, read_context(connection), case(other_config="kv_gib=5.5"))
    pool = next(one for one in components(setting) if one.name == "kv pool")
    assert pool.printed == 5.5 and pool.printed_by is None


def test_components_do_not_depend_on_the_value(connection):
    """The measured value is never looked at."""
    context = read_context(connection)
    first, second = (components(setting_of(connection, context, case(value=value))) for value in ("1", "99"))
    assert first == second and {one.name for one in first} >= {"weights", "kv", "workspace", "usable"}


def test_a_case_without_a_device_has_the_components_that_follow(connection):
    """Nothing fails where the device is missing; what needs it is left out."""
    found = components(setting_of(connection, read_context(connection), case(gpu="")))
    assert "usable" not in {one.name for one in found}


def test_verdicts_are_counted_apart(connection):
    """A 235B model at 16 bits cannot lie on 24 GB and an 8B one at 4 bits can: both ways of being right and wrong."""
    large = {"model_id": "Qwen/Qwen3-235B-A22B", "quantity": "fits", "engine_and_version": "llama.cpp"}
    small = {"precision_or_quant": "Q4_K_M", "quantity": "fits", "engine_and_version": "llama.cpp"}
    rows = [
        row(connection, case(**small, value="true")),
        row(connection, case(**large, value="false")),
        row(connection, case(**large, value="true")),
    ]
    found = summary.confusion(rows)
    assert (found["true_fit"], found["true_no"], found["false_no"], found["false_fit"]) == (1, 1, 1, 0)
    assert found["fits_right"] == 0.5 and found["no_right"] == 1.0
    assert [one.verdict for one in summary.wrong_verdicts(rows)] == ["false_no"]


def test_the_worst_begin_outside_their_range(connection):
    """A small miss outside the range stands before a large error that the range covers."""
    base = row(connection, case())
    wide = replace(base, case_id="wide", relative_error=3.0, inside_range=1)
    off = replace(base, case_id="off", relative_error=-0.06, inside_range=0)
    fine = replace(base, case_id="fine", relative_error=0.05, inside_range=1)
    assert [one.case_id for one in summary.worst([wide, fine, off])] == ["off", "wide"]


def test_refusals_name_their_cases(connection):
    """Reasons with the most cases first, each with examples."""
    unknown = [
        row(connection, case(case_id=f"X{number}", gpu="No such card 9000", quantity="kv_gib_per_gpu"))
        for number in range(3)
    ]
    found = summary.refusals([*unknown, row(connection, case(case_id="Y", quantity="nonsense"))])
    assert [entry["cases"] for entry in found] == [3, 1] and found[0]["case_ids"] == ["X0", "X1", "X2"]


def test_the_command_lists_the_worst_with_their_components(catalog: Path, tmp_path: Path, connection):
    """`rackfit accuracy` shows groups, verdicts, and components with what the run prints behind a slash."""
    assert any(one.case_id == "K1-0067" for one in stored_cases(connection))
    command = [sys.executable, "-m", "rackfit", "accuracy", "--catalog", str(catalog)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("by engine rules", "by precision family", "statements of fit", "share of the card", "furthest off"):
        assert text in done.stdout
    last = done.stdout.split("furthest off")[-1]
    assert "kv pool" in last and " / " in last
