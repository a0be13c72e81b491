"""`rackfit export`, `export quote` and `tender` as people run them."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
from programs import rackfit

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx", "a.parquet", "a.json", "a.jsonl"])
def test_the_ending_chooses_the_format(catalog: Path, tmp_path: Path, name: str) -> None:
    """Every format has its rows and checksum in the side-car, and nothing else is left in the folder."""
    done = rackfit("export", "interconnects", "-o", str(tmp_path / name), catalog=catalog)
    assert done.returncode == 0, done.stderr
    (item,) = json.loads((tmp_path / "datapackage.json").read_text())["resources"]
    assert item["path"] == name and item["rows"] > 5 and f"{item['rows']:,} rows" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "datapackage.json"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "sources", "-o", "a.txt"), "--format"),
        (("export", "sources", "--format", "excel"), "xlsx"),
        (("export", "sources", "--format", "xlsx"), "needs a file"),
        (("export", "sources", "-o", "a.xlsx", "--decimal-comma"), "for CSV"),
        (("export", "sources", "--locale", "comma", "--excel"), "leave the other options out"),
        (("export", "quote"), "--models"),
        (("export", "quote", "--models", "Qwen3-8B", "--on", "rtx-4091"), "rtx 4090"),
        (("power", "dgx-h100", "-o", "a.doc"), ".xlsx"),
        (("tender", "none.toml"), "cannot be read"),
        (("tender", "none.txt"), ".toml or .csv"),
    ],
)
def test_wrong_usage_is_one_line(catalog: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """Exit 2, one line that says what is wrong, and no file."""
    done = subprocess.run(
        [sys.executable, "-m", "rackfit", *arguments], cwd=tmp_path, text=True, capture_output=True, timeout=300,
        env={**os.environ, "RACKFIT_CATALOG": str(catalog)},
    )  # fmt: skip
    assert done.returncode == 2 and said.casefold() in done.stderr.casefold() and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "qwen3-8b", "--on", "rtx-4090"), {"part": "per_device", "item": "total"}),
        (("train", "llama-3.1-8b", "--on", "8x h100-sxm5-80gb"), {"part": "strategy", "item": "zero"}),
        (("speed", "qwen3-8b", "--on", "rtx-4090"), {"part": "decode 1", "item": "bound_by"}),
        (("scaling", "qwen3-8b", "--on", "4x h100-sxm5-80gb"), {"strategy": "TP", "degree": 4}),
        (("attention", "qwen3-8b", "--on", "h100-sxm5-80gb"), {"part": "layers 1", "item": "materialised"}),
        (("compare", "rtx-3090", "rtx-4090", "--models", "qwen3-8b"), {"name": "qwen/qwen3-8b: verdict"}),
        (("power", "dgx-h100"), {"part": "answer", "item": "machine_w", "value": 10200}),
        (("cost", "qwen3-8b", "--on", "rtx-4090", "--price", "1"), {"way": "rented", "price_per_hour": 1.0}),
        (("plan", "qwen3-8b", "--precision", "bf16", "--limit", "2"), {"precision": "bf16"}),
    ],
)  # fmt: skip
def test_an_answer_is_written_whole(
    catalog: Path, tmp_path: Path, arguments: tuple[str, ...], said: dict[str, object]
) -> None:
    """A command about one question writes its lines, and beside them what was asked.

    The DGX H100 draws 10.2 kW at most: DGX H100/H200 user guide, introduction.
    """
    done = rackfit(*arguments, "-o", str(tmp_path / "answer.json"), catalog=catalog)

    assert done.returncode == 0 and f"to {tmp_path / 'answer.json'}" in done.stderr, done.stderr
    assert (done.stdout == "") == (arguments[0] != "plan")
    rows = json.loads((tmp_path / "answer.json").read_text())["results"]
    assert any(said.items() <= row.items() for row in rows)
    (item,) = json.loads((tmp_path / "datapackage.json").read_text())["resources"]
    assert item["rows"] == len(rows) and item["asked"]


def test_compared_machines_are_the_same_in_a_file_and_on_the_page(catalog: Path, tmp_path: Path) -> None:
    """`rackfit compare -o` has the lines of /compare.csv, and the sources of the devices."""
    from rackfit.publish.serve import make_datasette

    asked = ("compare", "2x rtx-3090", "rtx-4090", "--models", "qwen3-8b")
    rackfit(*asked, "-o", str(tmp_path / "compare.csv"), catalog=catalog)
    served = make_datasette(catalog)
    page = asyncio.run(served.client.get("/compare.csv?items=2x+rtx-3090,rtx-4090&models=qwen3-8b"))

    assert list(csv.reader((tmp_path / "compare.csv").open(newline=""))) == list(csv.reader(io.StringIO(page.text)))
    (item,) = json.loads((tmp_path / "datapackage.json").read_text())["resources"]
    assert any("RTX 3090" in source["title"] for source in item["sources"])


def test_a_missing_extra_is_one_line_with_the_command(catalog: Path, tmp_path: Path) -> None:
    """Without XlsxWriter the message has the command that installs it, and no file is written."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "xlsxwriter.py").write_text("raise ImportError('not here')\n")
    hidden = {"PYTHONPATH": str(tmp_path / "hidden")}
    done = rackfit("export", "sources", "-o", str(tmp_path / "a.xlsx"), catalog=catalog, environment=hidden)
    assert done.returncode == 1 and "pip install 'rackfit[xlsx]'" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "a.xlsx").exists()


def test_a_locale_for_decimal_commas(catalog: Path) -> None:
    """Trial R111: semicolon, decimal comma and mark, on standard output too."""
    sql = "select 'a' as name, 22.5 as gib"
    assert rackfit("export", sql, "--locale", "comma", catalog=catalog).stdout == "\ufeffname;gib\na;22,5\n"


def test_a_purchase_list_for_people_and_programs(catalog: Path, tmp_path: Path) -> None:
    """A table, one JSON document, and files; an empty list says so."""
    asked = ("export", "quote", "--models", "Qwen3-8B,gpt-oss-20b", "--on", "nvidia-dgx-h100", "--on", "2x rtx-4090")
    shown = rackfit(*asked, catalog=catalog)
    assert shown.returncode == 0 and "DGX H100" in shown.stdout and "GiB left per model" in shown.stdout
    items = json.loads(rackfit(*asked, "--json", catalog=catalog).stdout)["results"]
    assert [item["quantity"] for item in items] == [1, 2]
    assert rackfit(*asked, "-o", str(tmp_path / "q.xlsx"), catalog=catalog).returncode == 0
    assert openpyxl.load_workbook(tmp_path / "q.xlsx")["data"].max_row == 3
    none = rackfit("export", "quote", "--models", "Qwen3-8B", "--max-price", "0.000001", catalog=catalog)
    assert none.returncode == 0 and "no configuration on record" in none.stdout


def test_the_documented_tender(catalog: Path, tmp_path: Path) -> None:
    """The example of docs/tender.md: offer A is compliant, B has no weight on record, C lacks memory."""
    asked = ("tender", str(DOCS / "examples" / "tender.toml"), "--offers", str(DOCS / "examples" / "offers.csv"))
    found = json.loads(rackfit(*asked, "--json", catalog=catalog).stdout)
    systems = {row["system"]: row for row in found["systems"]}
    assert systems["Offer C"]["verdict"] == "not compliant" and systems["Offer C"]["fails"] == ["1.1"]
    assert systems["Offer B"]["verdict"] == "unknown" and systems["Offer B"]["open"] == ["3.3"]
    assert systems["Offer A"]["verdict"] == "compliant"
    shown = rackfit(*asked, catalog=catalog)
    assert shown.returncode == 0 and "Offer B" in shown.stdout and "offers.csv:3" in shown.stdout
    assert rackfit(*asked, "-o", str(tmp_path / "t.csv"), catalog=catalog).returncode == 0
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as handle:
        assert len(list(csv.DictReader(handle))) == len(found["results"]) == 21
    summary = rackfit(*asked[:2], "--provider", "NVIDIA", "--limit", "2", catalog=catalog)
    assert summary.returncode == 0 and "the first 2 of" in summary.stderr
