"""gpuhunt's published catalogues: a small one made by hand in the columns that its `storage` module documents."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pytest
from click.testing import CliRunner

from rackfit.assemble import build
from rackfit.catalog.connect import open_catalog
from rackfit.cli.app import cli
from rackfit.cli.failures import run
from rackfit.errors import MissingExtraError, UnknownNameError, UnreachableError, UsageError
from rackfit.intake import published_prices
from rackfit.intake.published_prices import chosen, collect, fetch, offers_of, read_folder

FOLDER = Path(__file__).parent / "catalogues"


def _offers(connection: sqlite3.Connection) -> Any:
    (catalogue,) = read_folder(FOLDER, ["aws"], "2026-11-01")
    return offers_of(connection, catalogue, "local-gpuhunt-aws")


def test_rows_become_dated_offers(connection: sqlite3.Connection) -> None:
    """Price of the whole instance, spot apart, region, date; products on record say which device they have."""
    found = {(one.product, one.term): one for one in _offers(connection).offers}
    node = found["p5.48xlarge", "on-demand"]
    assert (node.accelerator_id, node.system_id, node.device_count) == ("nvidia-h100-sxm5-80gb", "aws-p5-48xlarge", 8)
    assert (node.price, node.currency, node.region, node.valid_from) == (
        Decimal("55.04"), "USD", "us-east-1", "2026-11-01",
    )  # fmt: skip
    assert found["p5.48xlarge", "spot"].price == Decimal("20.5")
    assert found["p4d.24xlarge", "on-demand"].accelerator_id == "nvidia-a100-sxm4-40gb"
    assert found["x9.8xlarge", "on-demand"].accelerator_id == "nvidia-l4"


def test_what_is_not_certain_is_left_out_and_counted(connection: sqlite3.Connection) -> None:
    """An A100 of unknown form, a device that is not on record, two prices of one thing; machines without devices."""
    published = _offers(connection)
    assert {one.product for one in published.offers} == {"p5.48xlarge", "p4d.24xlarge", "x9.8xlarge"}
    assert published.left_out == {
        "A100 with 80 GB: several devices of that name": 1,
        "Z900: not on record": 1,
        "two prices of one instance, region and term": 1,
    }


class _Hunted:
    """A stand-in for gpuhunt's Catalog: one row of one provider."""

    def __init__(self, **_: Any) -> None:
        self.catalog = {"aws": SimpleNamespace(version="20260818-42")}

    def load(self) -> None:
        """Load nothing."""

    def query(self, provider: str, min_gpu_count: int) -> list[Any]:
        """Return a row of AWS."""
        row = SimpleNamespace(instance_name="g6.xlarge", location="us-east-1", price=0.8048, gpu_count=1, gpu_name="L4",
                              gpu_memory=24.0, spot=False)  # fmt: skip
        return [row] if provider == "aws" and min_gpu_count == 1 else []


def test_the_version_of_a_catalogue_is_its_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """20260818-42 is of 2026-08-18; a provider without rows is none."""
    monkeypatch.setattr(published_prices, "load", lambda *_: SimpleNamespace(Catalog=_Hunted))
    (found,) = fetch(["aws", "gcp"], "2026-11-30")
    assert (found.provider, found.version, found.date) == ("aws", "20260818-42", "2026-08-18")
    assert found.items[0].price == 0.8048


def test_without_a_network_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails below the library, the reason is said, and what can be done."""

    class Lost(_Hunted):
        def load(self) -> None:
            raise RuntimeError("all providers") from URLError("no route to host")

    monkeypatch.setattr(published_prices, "load", lambda *_: SimpleNamespace(Catalog=Lost))
    with pytest.raises(UnreachableError, match=r"no route to host.*--from FOLDER"):
        fetch(["aws"], "2026-11-30")


def test_without_the_extra_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the command that installs it."""
    import sys

    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rackfit\[prices\]'"):
        fetch(["aws"], "2026-11-30")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("instance_name,price\n", "no column location"),
        ("instance_name,location,price,gpu_count,gpu_name,gpu_memory,spot\nx,y,free,1,L4,24,False\n", "aws.csv:2"),
    ],
)
def test_a_file_that_is_no_catalogue(tmp_path: Path, rows: str, said: str) -> None:
    """File, line and what was expected."""
    (tmp_path / "aws.csv").write_text(rows)
    with pytest.raises(UsageError, match=said):
        read_folder(tmp_path, ["aws"], "2026-11-01")


def test_names_of_providers() -> None:
    """As gpuhunt or as offers write them; others have near names."""
    assert chosen(["AWS", "runpod", "lambda"]) == ["aws", "runpod", "lambdalabs"]
    assert "aws" in chosen([])
    with pytest.raises(UnknownNameError):
        chosen(["amazon-web"])
    with pytest.raises(UsageError, match="expected a day"):
        collect(["aws"], FOLDER, "soon")
    with pytest.raises(UsageError, match="expected files such as"):
        collect(["gcp"], FOLDER, None)


@pytest.fixture
def own(small_data: Path, tmp_path: Path) -> Path:
    """A small catalog to write to."""
    target = tmp_path / "catalog.db"
    build(target, [small_data], must_exist=False)
    return target


def test_a_refresh_replaces_the_one_before(own: Path, tmp_path: Path, capsys: Any) -> None:
    """The prices of an earlier refresh go, others of one's own stay; a dry run changes nothing."""
    folder = tmp_path / "catalogues"
    folder.mkdir()
    recorded = (FOLDER / "aws.csv").read_text().replace("H100,80.0", "RTX4090,24.0")  # what small data has
    (folder / "aws.csv").write_text(recorded)
    words = ["prices", "refresh", "--from", str(folder), "--catalog", str(own)]
    dry = json.loads(CliRunner().invoke(cli, [*words, "--dry-run", "--json"]).output)
    assert dry["providers"][0]["imported"] == 2
    for date, price in (("2026-10-01", "55.04"), ("2026-11-01", "50.00")):
        (folder / "aws.csv").write_text(recorded.replace("55.04", price))
        assert run(cli, [*words, "--date", date]) == 0
    assert "aws of 2026-11-01: 2 prices taken over" in capsys.readouterr().out
    with closing(open_catalog(own)) as connection:
        rows = connection.execute(
            "select price, valid_from, source_id from offers where origin = 'local' and term = 'on-demand'"
        ).fetchall()
        assert [tuple(row) for row in rows] == [(50.0, "2026-11-01", "local-gpuhunt-aws")]
        title = connection.execute("select title from sources where source_id = 'local-gpuhunt-aws'").fetchone()[0]
        assert title == "gpuhunt catalogue of aws, 2026-11-01"
