"""Measure a filtered and sorted page of fits against Datasette's /-/versions.json: medians, one client, in turns."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

RUNS = 31
MOST_MS = 50.0
MOST_RATIO = 15.0
PATIENCE_S = 60

PAGE = "/catalog/inference_fits?model_id=qwen%2Fqwen3-32b&verdict=fits&_sort=margin_bytes"
VERSIONS = "/-/versions.json"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def milliseconds(url: str) -> float:
    """Return how long a page takes."""
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
        response.read()
    return (time.perf_counter() - began) * 1000


def wait(url: str) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            milliseconds(url)
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def main() -> int:
    """Serve, ask in turns, compare."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "rackfit", "serve", "--port", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        wait(base + VERSIONS)
        for _ in range(3):
            milliseconds(base + PAGE)
        pairs = [(milliseconds(base + PAGE), milliseconds(base + VERSIONS)) for _ in range(RUNS)]
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_S)
    page, versions = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = page / versions
    print(json.dumps({"page_ms": round(page, 1), "versions_ms": round(versions, 1), "ratio": round(ratio, 1)}))
    return 0 if page < MOST_MS or ratio < MOST_RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
