"""`rackfit prices`: list, template, import, remove."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rackfit.cli.app import cli
from rackfit.cli.failures import run

QUOTES = (
    "accelerator;count;price_usd;provider;term;valid_from\n"
    "h100-sxm5-80gb;8;7,50;Example Cloud;on-demand;01.11.2026\n"
)  # fmt: skip


def _run(catalog: Path, *words: str) -> Any:
    return CliRunner().invoke(cli, ["prices", *words, "--catalog", str(catalog)])


def _quotes(tmp_path: Path, text: str = QUOTES) -> str:
    path = tmp_path / "quotes.csv"
    path.write_text(text, encoding="utf-8-sig")
    return str(path)


def test_import_list_and_remove(own_catalog: Path, tmp_path: Path) -> None:
    """From a file to the answers and back."""
    file = _quotes(tmp_path)
    dry = _run(own_catalog, "import", file, "--kind", "hourly", "--dry-run")
    assert "1 prices would be imported, nothing was written" in dry.output
    assert "nothing" not in _run(own_catalog, "import", file, "--kind", "hourly", "--source", "Quote 4711").output
    listed = json.loads(_run(own_catalog, "list", "--own", "--json").output)["results"]
    assert [(row["price"], row["source_id"], row["origin"]) for row in listed] == [(7.5, "local-quote-4711", "local")]
    assert "Example Cloud" in _run(own_catalog, "list", "--on", "8x h100-sxm5-80gb").output
    assert "1 prices removed" in _run(own_catalog, "remove", str(listed[0]["offer_id"])).output
    assert json.loads(_run(own_catalog, "list", "--own", "--json").output)["results"] == []


def test_all_bad_cells_are_named_and_nothing_is_written(own_catalog: Path, tmp_path: Path, capsys: Any) -> None:
    """Exit status 2, every place, no row."""
    text = QUOTES + "h1000;8;x;Example Cloud;on-demand;soon\n"
    words = ["import", _quotes(tmp_path, text), "--kind", "hourly", "--catalog", str(own_catalog)]
    assert run(cli, ["prices", *words]) == 2
    said = capsys.readouterr().err
    for place in ("quotes.csv:3: accelerator = 'h1000'", "price_usd = 'x'", "valid_from = 'soon'"):
        assert place in said
    assert json.loads(_run(own_catalog, "list", "--own", "--json").output)["results"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "no-such-file.csv"), "cannot be read"), (("remove",), "name offers, or --all"),
        (("remove", "12", "--all"), "name offers, or --all"), (("remove", "12"), "unknown imported offer '12'"),
        (("list", "--on", "h1000"), "unknown accelerator or system"), (("list", "--term", "spott"), "did you mean"),
    ],
)  # fmt: skip
def test_slips_are_wrong_usage(own_catalog: Path, words: tuple[str, ...], said: str, capsys: Any) -> None:
    """Exit status 2 and one line."""
    assert run(cli, ["prices", *words, "--catalog", str(own_catalog)]) == 2
    assert said in capsys.readouterr().err


def test_the_template_is_a_file_to_import(own_catalog: Path, tmp_path: Path) -> None:
    """Every column, with a row of each kind; devices of the small catalog."""
    text = CliRunner().invoke(cli, ["prices", "template"]).output.replace("rtx-pro-6000-blackwell-server", "rtx-4090")
    assert "2 prices imported" in _run(own_catalog, "import", _quotes(tmp_path, text)).output


def test_help_of_the_group(capsys: Any) -> None:
    """Without a command the group explains itself."""
    assert run(cli, ["prices"]) == 0
    said = capsys.readouterr().out
    for word in ("import", "list", "remove", "template"):
        assert word in said
