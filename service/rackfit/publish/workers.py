"""Several processes that answer on one socket, and a parent that starts, replaces and ends them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from rackfit.errors import CatalogError

MOST_BY_DEFAULT = 4
SHORTEST_LIFE_S = 3.0
"""A worker that ends sooner could not start, and another would not either."""
ENDING = (signal.SIGINT, signal.SIGTERM)
PATIENCE_S = 10.0
"""How long a worker may go on with what it has begun when it is asked to end."""


def sensible_count() -> int:
    """Return as many workers as there are cores for this process, at most four."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_BY_DEFAULT)


def _work(target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Run in a worker: end with the parent, however that one ends."""
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        target(*arguments)
    except CatalogError as error:
        print(f"rackfit: {error}", file=sys.stderr)
        raise SystemExit(1) from None


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let interrupts wait until a process is started; one that is started meanwhile never gets one from a terminal.

    The process inherits what is blocked. That alone does not hold the server's own back: another of its threads may
    take them.

    Raises:
        KeyboardInterrupt: one came.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    came: list[int] = []
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in ENDING}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for one, handler in before.items():
            signal.signal(one, handler)
    if came:
        raise KeyboardInterrupt


def _start(target: Callable[..., None], arguments: tuple[Any, ...]) -> tuple[BaseProcess, float]:
    """Start a worker. Ctrl+C in a terminal reaches it too: it is left to the server, which ends in order."""
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(target, arguments), daemon=True)
    with _interrupts_wait():
        process.start()
    return process, time.monotonic()


def run(count: int, target: Callable[..., None], *arguments: Any) -> None:
    """Run a target in so many processes until interrupted; one that dies is replaced.

    Raises:
        CatalogError: a worker ended right after its start. KeyboardInterrupt: by Ctrl+C or a plain kill, all ended.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    running: list[tuple[BaseProcess, float]] = []
    try:
        for _ in range(count):
            running.append(_start(target, arguments))
        while True:
            wait([process.sentinel for process, _ in running])
            for place, (process, since) in enumerate(running):
                if process.is_alive():
                    continue
                if time.monotonic() - since < SHORTEST_LIFE_S:
                    raise CatalogError(f"a worker could not start (exit status {process.exitcode})")
                running[place] = _start(target, arguments)
    finally:
        for process, _ in running:
            process.terminate()
        for process, _ in running:
            process.join(PATIENCE_S)
            if process.is_alive():
                process.kill()
