"""Serving: ports, missing files, one line each."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from rackfit.errors import CatalogError, UsageError
from rackfit.publish.counts import inspect
from rackfit.publish.serve import bind, make_datasette, serve


def test_a_busy_port_is_one_clear_line():
    """The address in use is named, with what to do."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} on 127.0.0.1 is in use"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70000), ("127.0.0.1", -1), ("no.such.host.invalid", 0)])
def test_an_impossible_address_is_one_clear_line(host, port):
    """Ports out of range and hosts that do not exist are refused."""
    with pytest.raises(UsageError):
        bind(host, port)


def test_a_missing_catalog_is_refused_before_the_server_starts(tmp_path):
    """The line says how to make one."""
    with pytest.raises(CatalogError, match="rackfit build"):
        serve(tmp_path / "missing.db", port=0)


def test_a_file_that_is_no_catalog_is_refused(tmp_path):
    """A text file is not served."""
    path = tmp_path / "catalog.db"
    path.write_text("not a database")
    with pytest.raises(CatalogError):
        make_datasette(path)


def test_counts_are_known_before_the_first_page(catalog):
    """Tables and the large views carry their counts."""
    tables = inspect(catalog)["catalog"]["tables"]
    assert tables["inference_fits"]["count"] == tables["inference_cells"]["count"] > 0
    assert tables["system_fits"]["count"] > 0


def test_the_server_answers_and_says_where(catalog):
    """The whole server in a process of its own: it prints its address once and answers there."""
    code = "import sys, pathlib, rackfit.publish.serve as it; it.serve(pathlib.Path(sys.argv[1]), port=0)"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, str(catalog)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("Rackfit is at http://127.0.0.1:"), process.stderr.read()
        address = line.split()[3]
        for _ in range(50):
            try:
                with urllib.request.urlopen(f"{address}-/rackfit", timeout=10) as answer:
                    assert answer.status == 200
                    break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("no answer")
    finally:
        process.terminate()
        process.wait(10)
