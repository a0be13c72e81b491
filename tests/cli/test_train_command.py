"""`rackfit train` as people and programs read it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from rackfit.cli.training import train


def run(catalog: Path, *arguments: str) -> str:
    """Return what the command prints; it must end well."""
    done = CliRunner().invoke(train, [*arguments, "--catalog", str(catalog)], catch_exceptions=False)

    assert done.exit_code == 0
    return done.output


def test_people_read_the_verdict_first(catalog: Path) -> None:
    """The first line is the verdict with its reason; strategy, bytes and other recipes follow."""
    lines = run(catalog, "Qwen3-8B", "--on", "8x h100-sxm5-80gb").splitlines()

    assert lines[0].startswith("FITS: ")
    for part in ("strategy", "GiB per device", "other strategies", "other recipes", "assumed"):
        assert any(line.startswith(part) for line in lines)


def test_three_figures_are_shown(catalog: Path) -> None:
    """Allocated, reserved and driver-seen memory each have a line."""
    text = run(
        catalog, "Qwen3-8B", "--on", "h100-sxm5-80gb", "--recipe", "qlora", "--rank", "32", "--targets", "attn+mlp"
    )

    for name in ("allocated", "reserved", "driver", "usable"):
        assert f"  {name} " in text


def test_programs_read_one_document(catalog: Path) -> None:
    """--json has every byte, the table of stages and the alternatives."""
    answer = json.loads(run(catalog, "Qwen3-8B", "--on", "8x h100-sxm5-80gb", "--zero", "3", "--shards", "4", "--json"))

    assert answer["strategy"]["shards"] == 4
    assert [row["stage"] for row in answer["stages"]] == [0, 1, 2, 3]
    assert answer["per_device"]["driver_bytes"] > answer["per_device"]["allocated_bytes"]
    assert answer["alternatives"] is not None


@pytest.mark.parametrize("length", ["8k", "8192"])
def test_lengths_as_people_write_them(catalog: Path, length: str) -> None:
    """8k is 8192 tokens."""
    answer = json.loads(
        run(catalog, "Qwen3-8B", "--on", "8x h100-sxm5-80gb", "--sequence-length", length, "--recipe", "lora", "--json")
    )

    assert answer["sequence_length"] == 8192


def test_recipes_without_kernels_are_refused(catalog: Path, connection: sqlite3.Connection) -> None:
    """bitsandbytes has no kernels for Apple chips: the answer says so instead of a figure."""
    found = connection.execute(
        "select accelerator_id from accelerators where vendor = 'Apple' and fit_memory_bytes is not null limit 1"
    ).fetchone()
    text = run(catalog, "Qwen3-8B", "--on", str(found[0]), "--recipe", "qlora")

    assert text.startswith("CANNOT RUN: ")
    assert "bitsandbytes" in text
