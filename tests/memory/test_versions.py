"""Which rules hold in a version of an engine."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.catalog.context import read_context
from rackfit.memory.versions import budget_at, version_key


@pytest.mark.parametrize(
    ("version", "v0", "expected"),
    [
        ("0.0.1", True, "vllm-v0-0.1"),  # before all on record: the oldest, not the newest
        ("0.2.4", True, "vllm-v0-0.1"),
        ("0.2.5", True, "vllm-v0-0.2.5"),
        ("0.2.7", True, "vllm-v0-0.2.6"),
        ("0.4.1", True, "vllm-v0-0.3"),
        ("0.6.4", True, "vllm-v0-0.5.3"),
        ("0.6.6", True, "vllm-v0-0.6.5"),
        ("0.8.2", False, "vllm-v1-0.8"),
        ("0.8.5", False, "vllm-v1-0.8.5"),
        ("0.9.0.1", False, "vllm-v1-0.9"),
        ("0.8.5", True, "vllm-v0-0.8"),
        ("99.0", False, "vllm-v1-0.33"),
    ],
)
def test_nearest_rules(connection: sqlite3.Connection, version: str, v0: bool, expected: str) -> None:
    """The range that holds a version, else the nearest one."""
    own = [budget for budget in read_context(connection).budgets if budget.runtime_id == "vllm"]
    assert budget_at(own, version_key(version), "V0" if v0 else None).budget_id == expected
