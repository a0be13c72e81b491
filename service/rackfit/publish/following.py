"""An application that follows its catalog: a build puts a new file in place, and the next requests see it.

A build makes a new file and renames it, so that whoever has the old one open goes on reading the old one, whole. What
must not happen is a mixture, some threads on the old file and some on the new one, with counts and texts of the old. So
nothing of a running Datasette is changed: a second one is made for the new file, and requests wait until it is there.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datasette.utils.asgi import Response

from rackfit.errors import RackfitError
from rackfit.publish.security import App

Identity = tuple[int, int, int] | None

UNSERVABLE = "The catalog of this server was taken away or replaced by a file that cannot be served: see its log."


def identity(path: Path) -> Identity:
    """Return what tells a file from the one that takes its place (device, number, time), None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


async def unservable(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer every request with status 503, until there is a catalog again."""
    await Response.text(UNSERVABLE, status=503, headers={"retry-after": "10"}).asgi_send(send)


class Following:
    """The ASGI application of the newest catalog at a path."""

    def __init__(self, path: Path, make: Callable[[Path], Any]) -> None:
        """Make the first Datasette.

        Raises:
            CatalogError: the file cannot be opened.
        """
        self.path, self.make = path, make
        self.seen = identity(path)
        self.first = make(path)
        self.app: App = self.first.app()
        self.changing: asyncio.Lock | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer a request from the file that is at the path now."""
        if scope["type"] == "http" and identity(self.path) != self.seen:
            self.changing = self.changing or asyncio.Lock()
            async with self.changing:
                await self._follow()
        await self.app(scope, receive, send)

    async def _follow(self) -> None:
        """Make the application of the file that is there now, unless a request before this one has."""
        found = identity(self.path)
        if found == self.seen:
            return
        try:
            datasette = await asyncio.to_thread(self.make, self.path)
            await datasette.invoke_startup()
            self.app = datasette.app()
        except RackfitError as error:
            print(f"rackfit: {error}; waiting for a catalog", file=sys.stderr)
            self.app = unservable
        self.seen = found
