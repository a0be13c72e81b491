"""Measure the pages of tests/site.toml: one client in turns, the size of the front page, and eight clients at once.

    python tests/benchmarks/pages.py [--workers N] [--seconds S]

Serves the catalog of RACKFIT_CATALOG, or the usual one; exits 1 where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import statistics
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SITE = tomllib.loads((Path(__file__).parents[1] / "site.toml").read_text(encoding="utf-8"))
FIT_TABLES = SITE["fit_tables"]
VERSIONS = "/-/versions.json"

RUNS = 15
MOST_MS = 100.0
"""Median of a page, one client."""
MOST_FILTERED_MS, MOST_RATIO = 50.0, 15.0
"""Median of a filtered and sorted table of fits: in milliseconds, or times that of /-/versions.json."""
MOST_FRONT_BYTES = 50_000
"""Compressed size of the front page."""
CLIENTS, LEAST_PER_SECOND = 8, 30.0
"""Clients at once over a mixed list, one request of three a table of fits, and the requests a second they must get."""
PATIENCE_S = 60


class Client:
    """One connection that is kept open, as a browser keeps it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S)

    def get(self, path: str) -> tuple[float, bytes]:
        """Return the milliseconds that a page takes, and its body as it came over the wire.

        Raises:
            RuntimeError: the answer is not 200.
        """
        began = time.perf_counter()
        self.connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {path}")
        return (time.perf_counter() - began) * 1000, body


@contextmanager
def site(workers: int) -> Iterator[str]:
    """Serve the catalog in processes of its own; gives the address."""
    words = [sys.executable, "-m", "rackfit", "serve", "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[3]
        finally:
            server.terminate()


def one_client(address: str) -> dict[str, float]:
    """Return the median milliseconds of every page, asked in turns so that a slow moment falls on all alike."""
    client, times = Client(address), {path: [] for path in [*SITE["pages"], *SITE["tables"], *FIT_TABLES, VERSIONS]}
    for path in times:
        client.get(path)
    for _ in range(RUNS):
        for path, taken in times.items():
            taken.append(client.get(path)[0])
    return {path: statistics.median(taken) for path, taken in times.items()}


def mixed(start: int) -> Iterator[str]:
    """Yield pages without end, every third a table of fits; each client starts elsewhere."""
    pages, tables = SITE["pages"], FIT_TABLES
    for turn in itertools.count(start * 7):
        yield tables[turn // 3 % len(tables)] if turn % 3 == 0 else pages[turn % len(pages)]


def many_clients(address: str, seconds: float) -> dict[str, float]:
    """Return requests per second and milliseconds of eight clients that ask without a pause."""
    until, times, lock = time.monotonic() + seconds, [], threading.Lock()

    def ask(number: int) -> None:
        client, own = Client(address), []
        for path in mixed(number):
            if time.monotonic() >= until:
                break
            own.append(client.get(path)[0])
        with lock:
            times.extend(own)

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    began = time.monotonic()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    ordered = sorted(times)
    return {
        "per_second": len(times) / (time.monotonic() - began),
        "median_ms": statistics.median(ordered),
        "p95_ms": ordered[int(len(ordered) * 0.95)],
    }


def beyond(medians: dict[str, float], front: int, load: dict[str, float]) -> list[str]:
    """Return the limits that are exceeded, in words."""
    wrong = [f"{path} {taken:.0f} ms" for path, taken in medians.items() if taken >= MOST_MS]
    filtered, versions = medians[FIT_TABLES[0]], medians[VERSIONS]
    if filtered >= MOST_FILTERED_MS and filtered >= MOST_RATIO * versions:
        wrong.append(f"{FIT_TABLES[0]} {filtered:.0f} ms, {filtered / versions:.0f} times {VERSIONS}")
    if front >= MOST_FRONT_BYTES:
        wrong.append(f"front page {front:,} bytes")
    if load["per_second"] < LEAST_PER_SECOND:
        wrong.append(f"{load['per_second']:.1f} requests a second")
    return wrong


def main() -> int:
    """Serve, ask, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the eight clients ask")
    chosen = parser.parse_args()
    with site(chosen.workers) as address:
        medians = one_client(address)
        front = len(Client(address).get("/")[1])
        load = many_clients(address, chosen.seconds)
    for path, taken in sorted(medians.items(), key=lambda item: -item[1]):
        print(f"{taken:7.1f} ms  {path}")
    shown = {name: round(value, 1) for name, value in load.items()}
    print(json.dumps({"workers": chosen.workers, "front_page_bytes": front, **shown}))
    wrong = beyond(medians, front, load)
    if wrong:
        print("beyond the limit: " + "; ".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
