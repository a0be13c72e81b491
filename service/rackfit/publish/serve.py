"""Serve a catalog: Datasette on an immutable file, with generated metadata and the settings of a public host."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
from pathlib import Path
from typing import Any

from rackfit.catalog.connect import open_catalog
from rackfit.errors import CatalogError, UsageError
from rackfit.publish.counts import inspect
from rackfit.publish.following import Following
from rackfit.publish.metadata import build_metadata
from rackfit.publish.settings import DATABASE, SETTINGS
from rackfit.publish.workers import run

HIGHEST_PORT = 65_535
WAITING = 128
"""Connections that may wait to be accepted."""


def make_datasette(path: Path, settings: dict[str, Any] | None = None, cors: bool = False) -> Any:
    """Return a Datasette that shows one catalog under the name `catalog`.

    Raises:
        CatalogError: the file is missing, damaged or no catalog.
    """
    from datasette.app import Datasette

    from rackfit.publish.database import CatalogDatabase

    connection = open_catalog(path)
    try:
        metadata = build_metadata(connection)
    finally:
        connection.close()
    served = Datasette(
        [], metadata=metadata, settings={**SETTINGS, **(settings or {})}, inspect_data=inspect(path), cors=cors
    )
    if "_memory" in served.databases:
        served.remove_database("_memory")
    served.add_database(CatalogDatabase(served, path=str(path.resolve()), is_mutable=False), name=DATABASE)
    return served


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any that is free.

    Raises:
        UsageError: the port is no port, in use or not allowed, or the host is not an address of this machine.
    """
    if not 0 <= port <= HIGHEST_PORT:
        raise UsageError(f"port {port}: expected 0 to {HIGHEST_PORT}")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio turns Nagle's algorithm off for sockets that say they are TCP: without, an answer in two parts waits
        # 40 ms for the other side's delayed acknowledgement.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise UsageError(f"host {host!r} is no address ({error})") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} on {host} is in use: choose another with --port") from error
        raise UsageError(f"cannot listen on {host} port {port} ({error.strerror or error})") from error
    return listener


def _answer(listener: socket.socket, catalog: Path, settings: dict[str, Any] | None, cors: bool) -> None:
    """Answer on a socket in this process until interrupted.

    Raises:
        CatalogError: the file cannot be opened or served.
    """
    import uvicorn

    class Server(uvicorn.Server):
        """A server that accepts one connection at a time, so that a busy worker leaves those that wait to idle ones."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Start, and give the queue its length back: asyncio cuts it to what is accepted at once."""
            await super().startup(sockets=sockets)
            listener.listen(WAITING)

    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    try:
        application = Following(catalog, lambda path: make_datasette(path, settings, cors))
        asyncio.run(application.first.invoke_startup())
        config = uvicorn.Config(application, log_level="warning", lifespan="on", workers=1, backlog=1)
        Server(config).run(sockets=[listener])
    except (OSError, RuntimeError) as error:
        raise CatalogError(f"{catalog} cannot be served ({error})") from error


def serve(
    catalog: Path,
    host: str = "127.0.0.1",
    port: int = 8001,
    settings: dict[str, Any] | None = None,
    cors: bool = False,
    announce: Any = print,
    workers: int = 1,
) -> None:
    """Serve a catalog until interrupted; `announce` is called once with the address, when the port is open.

    Raises:
        CatalogError: the file cannot be opened. UsageError: the port cannot be.
    """
    if threading.current_thread() is threading.main_thread():
        # A shell that starts the server in the background has interrupts ignored; one that comes before the server
        # handles them itself would be lost.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    open_catalog(catalog).close()
    listener = bind(host, port)
    try:
        shown = f"[{host}]" if ":" in host else host
        announce(f"Rackfit is at http://{shown}:{listener.getsockname()[1]}/ (stop with Ctrl+C)")
        if workers == 1:
            _answer(listener, catalog, settings, cors)
        else:
            run(workers, _answer, listener, catalog, settings, cors)
    finally:
        listener.close()
