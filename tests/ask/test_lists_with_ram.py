"""What runs on a machine when part of a model may lie in RAM, or when RAM is all there is."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.lists import what_runs
from rackfit.ask.question import FitQuestion
from rackfit.errors import UnknownNameError


def test_offloaded_answers_never_on_top(connection: sqlite3.Connection) -> None:
    """Models that need RAM come after every model that needs none, and are marked."""
    found = what_runs(
        connection,
        FitQuestion(on="rtx-3060-12gb", precision="q4_k_m", cpu_experts="auto", host_ram_gib=64.0, limit=1000),
    )
    marks = [bool(one.get("offloaded")) for one in found]

    assert True in marks
    assert False in marks
    assert marks == sorted(marks)
    assert len({one["model"] for one in found}) == len(found)


def test_host_alone(connection: sqlite3.Connection) -> None:
    """A machine with 16 GiB of RAM and no accelerator runs 8B models as files of llama.cpp, and no 70B."""
    found = what_runs(connection, FitQuestion(on="cpu", precision="q4_k_m", host_ram_gib=16.0, limit=1000))
    names = {one["model"] for one in found}

    assert "qwen/qwen3-8b" in names
    assert "meta-llama/llama-3.1-70b" not in names
    assert {one["runtime"] for one in found} == {"llama.cpp"}


def test_unknown_draft(connection: sqlite3.Connection) -> None:
    """A draft model that is not known is refused, not answered with an empty list."""
    with pytest.raises(UnknownNameError):
        what_runs(connection, FitQuestion(on="rtx-4090", draft="no-such-model"))
