"""Measure a complete build of the real data: seconds, peak memory, size of the file."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_SECONDS = 90
MOST_MEMORY_GB = 1.0
MOST_FILE_MB = 400


def main() -> int:
    """Build in a process of its own and compare with the limits."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "catalog.db"
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "rackfit", "build", "--quiet", "--catalog", str(target)], check=True)
        seconds = time.monotonic() - began
        size = target.stat().st_size
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    measured = {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_memory_gb": round(peak / 1e9, 2),
        "file_mb": round(size / 1e6),
    }
    print(json.dumps(measured))
    good = seconds < MOST_SECONDS and peak < MOST_MEMORY_GB * 1e9 and size < MOST_FILE_MB * 1e6
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
