"""From a tool's output to devices, whichever tool wrote it."""

from __future__ import annotations

from rackfit.errors import UsageError
from rackfit.intake.driver import apple, llama_devices, nvidia_query, nvidia_table, rocm
from rackfit.intake.driver.found import DriverOutput

READERS = (apple, rocm, nvidia_table, llama_devices, nvidia_query)
"""Most telling forms first: lines of commas are the least so."""


def read_devices(text: str, shown: str = "the output") -> DriverOutput:
    """Return the devices that a tool's output lists.

    Raises:
        UsageError: no tool's form is recognised.
    """
    for reader in READERS:
        found = reader.read(text)
        if found is not None:
            return found
    tools = ", ".join(reader.TOOL for reader in READERS)
    raise UsageError(f"{shown}: no device is listed in a form known here; understood are {tools}")
