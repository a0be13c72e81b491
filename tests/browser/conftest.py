"""The site as `rackfit serve` shows it, in headless Chromium. Without one the tests say that they did not run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""Commands that start a Chromium, in the order of trying."""

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
"""A root user of a machine without a network: no sandbox, and nothing that calls home."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running browser, for one file of tests: while it is there, its event loop keeps others from running.

    Skips the tests where there is none: the browsers that Playwright brings are not downloaded.
    """
    command = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if command is None:
        pytest.skip(f"browser tests did not run: no Chromium here, looked for {', '.join(CHROMIUM)}")
    library = pytest.importorskip("playwright.sync_api", reason="browser tests did not run: no Playwright here")
    with library.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=command, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(chromium: Any, catalog: Path) -> Iterator[str]:
    """Address of a server that shows the catalog, without the last slash."""
    words = [sys.executable, "-m", "rackfit", "serve", "--port", "0"]
    environment = {**os.environ, "RACKFIT_CATALOG": str(catalog)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        try:
            assert "http://" in line, "the server did not say where it is"
            yield line.split()[3].rstrip("/")
        finally:
            server.terminate()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A page of its own in a fresh profile, with what it reports kept in `tab.complaints`."""
    profile = chromium.new_context()
    page = profile.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    profile.close()
