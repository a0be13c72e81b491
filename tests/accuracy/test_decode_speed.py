"""Single-stream decoding: every published speed is estimated from its configuration, most within a fifth."""

from __future__ import annotations

import sqlite3
from statistics import median
from typing import Any

import pytest

from rackfit.accuracy.cases import parse_case, stored_cases
from rackfit.accuracy.score import Estimate, estimate_case
from rackfit.catalog.context import read_context


@pytest.fixture(scope="module")
def decoding(connection: sqlite3.Connection) -> list[Estimate]:
    """The estimates of all stored cases of decoding."""
    context = read_context(connection)
    return [estimate_case(connection, context, case) for case in stored_cases(connection) if case.kind == "K7"]


def estimated(connection: sqlite3.Connection, **said: Any) -> Estimate:
    """Return the estimate of a case of one's own."""
    row = {
        "case_id": "own", "kind": "K7", "quantity": "tokens_per_s", "value": "1", "unit": "tokens/s",
        "confidence": "high", "model_id": "meta-llama/Meta-Llama-3-8B", "precision_or_quant": "GGUF Q4_K_M",
        "gpu": "RTX 3090", "gpu_count": "1", "context_tokens": "1024", "batch": "1",
        "other_config": "test=tg1024", "engine_and_version": "llama.cpp (May 2024)",
    }  # fmt: skip
    return estimate_case(connection, read_context(connection), parse_case({**row, **said}))


def test_every_case_is_estimated(decoding: list[Estimate]) -> None:
    """No case is left out to carry the average."""
    assert len(decoding) >= 100
    assert [one.case.case_id for one in decoding if one.status != "resolved"] == []


def test_errors_are_small(decoding: list[Estimate]) -> None:
    """Median within 6 %, nine in ten within 20 %, as the project asks of the shared cases."""
    errors = [abs(one.relative_error or 0.0) for one in decoding]

    assert median(errors) <= 0.06
    assert sum(error <= 0.20 for error in errors) >= 0.9 * len(errors)


def test_measured_values_lie_in_the_range(decoding: list[Estimate]) -> None:
    """Nine in ten measured values are inside the stated range."""
    inside = [one.inside for one in decoding]

    assert sum(bool(one) for one in inside) >= 0.9 * len(inside)


def test_each_estimate_says_what_it_rests_on(decoding: list[Estimate]) -> None:
    """Every figure names its efficiency record and how many cases are behind it."""
    assert all(any(note.startswith("estimate by ") for note in one.assumed) for one in decoding)


def test_a_layer_split_is_no_faster_than_one_card(connection: sqlite3.Connection) -> None:
    """Four cards that hold a quarter of the layers each work one after the other: 111.74 and 104.94 measured."""
    one = estimated(connection)
    four = estimated(connection, gpu_count="4", pp="4")

    assert one.estimate is not None
    assert four.estimate is not None
    assert four.estimate < one.estimate
    assert four.estimate == pytest.approx(104.94, rel=0.2)


def test_an_unmeasured_device_gets_a_wider_range(connection: sqlite3.Connection) -> None:
    """A card without a case says so, and its range is wider than that of a card with one."""
    known, unknown = estimated(connection), estimated(connection, gpu="RTX 5090")

    assert known.low is not None and known.estimate is not None
    assert unknown.low is not None and unknown.estimate is not None
    assert unknown.low / unknown.estimate < known.low / known.estimate
    assert any("not among the measured devices" in note for note in unknown.assumed)


def test_eager_pytorch_is_bound_by_its_host(connection: sqlite3.Connection) -> None:
    """Eager stacks wait for the host: the range is wide, and the answer says why."""
    eager = estimated(
        connection, model_id="Qwen/Qwen3-8B", precision_or_quant="BF16", gpu="A100-SXM4-80GB",
        engine_and_version="transformers 4.51.3, torch 2.6.0",
    )  # fmt: skip

    assert any("bound by the host" in note for note in eager.assumed)
    assert eager.low is not None and eager.high is not None
    assert eager.high / eager.low > 2


def test_a_case_without_a_device_is_refused(connection: sqlite3.Connection) -> None:
    """No device, no speed: refused with the reason."""
    found = estimated(connection, gpu="")

    assert (found.status, found.reason) == ("refused", "the case names no device")
