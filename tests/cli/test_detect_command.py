"""`rackfit detect` on this machine: tools that list, fail, hang and are not there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.test_commands import one_line, rackfit
from rackfit.errors import UnreachableError
from rackfit.intake.driver import local

LISTED = (
    "index, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]\n0, NVIDIA L4, 23034 MiB, 0 MiB, 23034 MiB"
)
SLICED = """\
|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:0F:00.0 Off |                   On |
| N/A   31C    P0              60W / 400W |  24205MiB / 40960MiB |     N/A      Default |
|  0    3   0   0  |  14366MiB / 19968MiB | 42      0 |  3   0    2    0    0 |
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, **tools: str) -> None:
    """Put scripts of these names on a path of their own."""
    for name, script in tools.items():
        file = folder / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")


def test_cards_of_this_machine(catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's tool is asked, and the answer is one document."""
    install(tmp_path, monkeypatch, nvidia_smi=f"cat <<'END'\n{LISTED}\nEND")
    result = rackfit("detect", "--json", catalog=catalog)

    assert result.returncode == 0
    assert json.loads(result.stdout)["hardware"] == "1x nvidia-l4"


def test_slices_come_from_the_table(catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query does not list slices, so a card that is cut is read from the table: 3g.20gb, not the card."""
    install(
        tmp_path, monkeypatch,
        nvidia_smi=f"if [ $# -gt 0 ]; then cat <<'END'\n{LISTED}\nEND\nelse cat <<'END'\n{SLICED}END\nfi",
    )  # fmt: skip
    result = rackfit("detect", catalog=catalog)

    assert "hardware: 1x nvidia-a100-sxm4-40gb/3g.20gb" in result.stdout


def test_no_tool(catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any tool one line says which were looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    result = rackfit("detect", catalog=catalog)

    assert result.returncode == 1
    assert one_line(result.stderr) and "none of nvidia-smi, rocm-smi, system_profiler is installed" in result.stderr


def test_a_tool_that_fails(catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own last line is passed on."""
    install(
        tmp_path, monkeypatch, nvidia_smi="echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18"
    )
    result = rackfit("detect", catalog=catalog)

    assert result.returncode == 1
    assert one_line(result.stderr) and "version mismatch" in result.stderr


def test_a_tool_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that does not answer is said after a while."""
    monkeypatch.setattr(local, "PATIENCE_S", 0.2)
    install(tmp_path, monkeypatch, rocm_smi="sleep 30")

    with pytest.raises(UnreachableError, match="rocm-smi did not answer"):
        local.outputs_here()
