"""Ask the catalog as readers do, by command or by page, and read the answer: in this process, so that it is quick."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any


class NoAnswer(Exception):
    """A command or page that a document shows does not answer."""


class Asked:
    """The commands and pages of one catalog. Answers are kept: several documents may show the same one."""

    def __init__(self, catalog: Path) -> None:
        self.catalog = catalog
        self._kept: dict[str, Any] = {}
        self._served: Any = None

    def data(self, how: str) -> Any:
        """Return what a command (`rackfit ...`) or a page (`/...`) answers to programs.

        Raises:
            NoAnswer: it fails, or answers no JSON.
        """
        if how not in self._kept:
            text = self._page(how) if how.startswith("/") else self.text(f"{how} --json")
            try:
                self._kept[how] = json.loads(text)
            except ValueError as error:
                raise NoAnswer(f"{how}: no JSON: {text[:200]}") from error
        return self._kept[how]

    def text(self, command: str, folder: Path | None = None) -> str:
        """Return what a command prints for people, or says on stderr where it prints nothing.

        Files that it writes go to the folder.

        Raises:
            NoAnswer: its exit status is not 0.
        """
        from click.testing import CliRunner

        from rackfit.cli.app import cli
        from rackfit.cli.failures import run

        words = shlex.split(command, comments=True)
        if words[:1] != ["rackfit"]:
            raise NoAnswer(f"{command}: not a command of Rackfit")
        runner = CliRunner(env={"RACKFIT_CATALOG": str(self.catalog), "COLUMNS": "100"})
        with runner.isolation(env=runner.env) as (out, err, _), _inside(folder):
            status = run(cli, words[1:])
            printed, complaint = out.getvalue().decode(), err.getvalue().decode()
        if status != 0:
            raise NoAnswer(f"{command}: exit status {status}: {complaint or printed}")
        return (printed or complaint).replace("\r\n", "\n")

    def _page(self, address: str) -> str:
        from rackfit.publish.serve import make_datasette

        if self._served is None:
            self._served = make_datasette(self.catalog)
            asyncio.run(self._served.invoke_startup())
        path, _, query = address.partition("?")
        shape = ["_shape=objects"] if path.startswith("/catalog/") else []
        asked = f"{path}.json?{'&'.join([part for part in (query, *shape) if part])}"
        answer = asyncio.run(self._served.client.get(asked, follow_redirects=True))
        if answer.status_code != 200:
            raise NoAnswer(f"{address}: status {answer.status_code}: {answer.text[:200]}")
        return str(answer.text)


def _inside(folder: Path | None) -> Any:
    from contextlib import chdir, nullcontext

    return nullcontext() if folder is None else chdir(folder)
