"""`rackfit serve` as a process: a busy port is one line, Ctrl+C is no failure."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest


def command(catalog: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment of a server."""
    return [sys.executable, "-m", "rackfit", "serve", *arguments], {**os.environ, "RACKFIT_CATALOG": str(catalog)}


def test_busy_port_is_one_line(catalog: Path) -> None:
    """A port in use is named in one line, exit status 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words, environment = command(catalog, "--port", str(port))
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(port) in done.stderr


@pytest.mark.parametrize(
    "shell", [[], ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]], ids=["plain", "interrupts ignored"]
)
def test_says_where_and_stops_quietly(catalog: Path, shell: list[str]) -> None:
    """The address is printed at once, also into a pipe; an interrupt ends the server, whatever its parent ignored."""
    words, environment = command(catalog, "--port", "0")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*shell, *words], env=environment, text=True, **pipes) as server:
        try:
            assert server.stdout is not None
            assert "http://127.0.0.1:" in server.stdout.readline()
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
        finally:
            server.kill()
    assert (server.returncode, errors) == (0, "")
