"""`rackfit serve` as processes: a busy port is one line, Ctrl+C is no failure, a worker that dies is replaced."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from rackfit.publish.workers import SHORTEST_LIFE_S


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
@pytest.mark.parametrize("workers", ["1", "2"])
def test_says_where_and_stops_quietly(catalog: Path, shell: list[str], workers: str) -> None:
    """The address is printed at once, also into a pipe; an interrupt ends the server, whatever its parent ignored."""
    words, environment = command(catalog, "--port", "0", "--workers", workers)
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


def workers_of(server: int) -> list[int]:
    """Return the processes that a server started to answer, by what Linux knows of them."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return [int(one) for one in children if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are listed as Linux does")
def test_a_worker_that_dies_is_replaced(catalog: Path) -> None:
    """The others go on answering, and none is left behind when the server is told to end."""
    words, environment = command(catalog, "--port", "0", "--workers", "2")
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[3]
        time.sleep(SHORTEST_LIFE_S + 0.5)
        before = workers_of(server.pid)
        os.kill(before[0], signal.SIGKILL)
        deadline = time.monotonic() + 30
        while len(now := workers_of(server.pid)) < 2 or before[0] in now:
            assert time.monotonic() < deadline, "the worker was not replaced"
            time.sleep(0.1)
        with urllib.request.urlopen(f"{address}-/rackfit", timeout=30) as answer:
            assert answer.status == 200
        server.terminate()
        assert server.wait(30) == 0
    assert not [one for one in now if Path(f"/proc/{one}").exists()]
