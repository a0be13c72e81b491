"""Times of new processes, taken in turns so that a busy moment hits all of them."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

RUNS = 11
NUMPY = [sys.executable, "-c", "import numpy"]


def seconds(command: Sequence[str]) -> float:
    """Return how long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def beside_numpy(command: Sequence[str]) -> tuple[float, float]:
    """Return the median seconds of a command and of `import numpy`, after a run of each that does not count."""
    seconds(command), seconds(NUMPY)
    pairs = [(seconds(command), seconds(NUMPY)) for _ in range(RUNS)]
    own, numpy = (statistics.median(times) for times in zip(*pairs, strict=True))
    return own, numpy
