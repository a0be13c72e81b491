"""The tools of this machine's drivers, asked for what they list."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

from rackfit.errors import RackfitError, UnreachableError
from rackfit.intake.driver import nvidia_table
from rackfit.intake.driver.found import MIG_SLICE, DriverOutput
from rackfit.intake.driver.reading import read_devices

PATIENCE_S = 30
"""Seconds that a tool gets: a driver that hangs is said, not waited for."""
NVIDIA_TABLE = ("nvidia-smi",)
NVIDIA_QUERY = (
    "nvidia-smi", "--query-gpu=index,name,memory.total,memory.used,memory.free", "--format=csv",
)  # fmt: skip
ROCM = ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "gtt", "--json")
APPLE = ("system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json")


def outputs_here() -> list[DriverOutput]:
    """Return what the tools of this machine list, one output per tool that is installed and lists a device.

    Raises:
        UnreachableError: no tool lists a device, with what each of them said.
    """
    found: list[DriverOutput] = []
    said: list[str] = []
    for name, listed in TOOLS.items():
        if not shutil.which(name):
            continue
        try:
            found.append(listed())
        except RackfitError as error:
            said.append(str(error))
    if not found:
        why = "; ".join(said) or f"none of {', '.join(TOOLS)} is installed"
        raise UnreachableError(f"no accelerator is listed here: {why}")
    return found


def system_bytes_here() -> int | None:
    """Return this machine's RAM in bytes, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _nvidia() -> DriverOutput:
    """Return NVIDIA's devices: from the table where it lists slices, which a query does not, else from a query."""
    try:
        table = nvidia_table.read(_run(NVIDIA_TABLE))
    except UnreachableError:
        table = None
    if table is not None and any(device.kind == MIG_SLICE for device in table.devices):
        return table
    return read_devices(_run(NVIDIA_QUERY), NVIDIA_QUERY[0])


TOOLS: dict[str, Callable[[], DriverOutput]] = {
    NVIDIA_TABLE[0]: _nvidia,
    ROCM[0]: lambda: read_devices(_run(ROCM), ROCM[0]),
    APPLE[0]: lambda: read_devices(_run(APPLE), APPLE[0]),
}
"""Tool -> what it lists."""


def _run(command: tuple[str, ...]) -> str:
    """Return what a tool writes.

    Raises:
        UnreachableError: it cannot be run, hangs, or fails, with its own last line.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, errors="replace", check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(f"{command[0]} did not answer within {PATIENCE_S} s") from error
    except OSError as error:
        raise UnreachableError(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UnreachableError(f"{command[0]} failed: {lines[-1] if lines else f'exit status {done.returncode}'}")
    return done.stdout
