"""A build while the catalog is served: every answer is whole, of the old release or of the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest

from rackfit.assemble import build

REQUESTS = 1000
DEADLINE_S = 60
PAGES = ("-/rackfit", "catalog/models.json?_shape=array&_col=model_id", "catalog/provenance.json?_shape=array", "")


@contextmanager
def server(catalog: Path, workers: int) -> Iterator[str]:
    """Serve a catalog in processes of its own; gives its address."""
    words = [sys.executable, "-m", "rackfit", "serve", "--port", "0", "--workers", str(workers)]
    environment = {**os.environ, "RACKFIT_CATALOG": str(catalog)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        try:
            yield run.stdout.readline().split()[3]
        finally:
            run.terminate()


def fetch(address: str) -> tuple[int, bytes]:
    """Return status and body."""
    with urllib.request.urlopen(address, timeout=DEADLINE_S) as answer:
        return answer.status, answer.read()


def state(address: str) -> tuple[str, int]:
    """Return hash and number of models that the status page names."""
    body = json.loads(fetch(address + "-/rackfit")[1])
    return body["release"]["logical_hash"], body["counts"]["models"]


def ask_until(address: str, ready: threading.Event, found: list[tuple[str, int]]) -> int:
    """Ask for pages in turn until it is enough, keep what status pages say, and return how many answered."""
    asked = 0
    while not ready.is_set() or asked < REQUESTS / 4:
        page = PAGES[asked % len(PAGES)]
        status, body = fetch(address + page)
        assert status == 200
        if page == "-/rackfit":
            told = json.loads(body)
            found.append((told["release"]["logical_hash"], told["counts"]["models"]))
        elif page.endswith("model_id"):
            assert len(json.loads(body)) in (1, 2)
        asked += 1
    return asked


@pytest.mark.parametrize("workers", [1, 2])
def test_a_build_while_serving(small_data: Path, tmp_path: Path, workers: int) -> None:
    """Trial R123: 1,000 requests across the swap. None fails, figures of a release stay together, the new one shows."""
    catalog = tmp_path / "catalog.db"
    build(catalog, [small_data], must_exist=False)
    removed = next((small_data / "models").rglob("mistral-7b-v0.1.toml"))
    with server(catalog, workers) as address, ThreadPoolExecutor(4) as clients:
        old = state(address)
        ready, found = threading.Event(), []
        asking = [clients.submit(ask_until, address, ready, found) for _ in range(4)]
        removed.unlink()
        build(catalog, [small_data], must_exist=False)
        deadline = time.monotonic() + DEADLINE_S
        while (new := state(address)) == old:
            assert time.monotonic() < deadline, "the new release is not shown"
            time.sleep(0.1)
        ready.set()
        assert sum(one.result() for one in asking) >= REQUESTS
    assert new[0] != old[0] and new[1] == old[1] - 1
    assert set(found) <= {old, new}


def test_a_file_that_is_no_catalog_is_not_served(small_data: Path, tmp_path: Path) -> None:
    """Whoever asks is told in one line that there is none, without its place; the next catalog is picked up."""
    catalog = tmp_path / "catalog.db"
    build(catalog, [small_data], must_exist=False)
    kept = tmp_path / "kept.db"
    with server(catalog, 1) as address:
        old = state(address)
        catalog.replace(kept)
        for content in (None, b"not a database"):
            if content is not None:
                catalog.write_bytes(content)
            for page in ("", "catalog/models.json", "-/rackfit"):
                with pytest.raises(HTTPError) as refused:
                    fetch(address + page)
                text = refused.value.read().decode()
                assert refused.value.code == 503
                assert "catalog" in text and str(tmp_path) not in text and "Traceback" not in text
        kept.replace(catalog)
        assert state(address) == old
