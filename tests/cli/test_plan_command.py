"""`rackfit plan` as a process: the table, the files, what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cli.test_commands import one_line, rackfit

ASKED = ("plan", "llama-3.1-70b", "--users", "50", "--context", "8k", "--tokens-per-second", "15", "--limit", "5")


def test_the_table_shows_both_limits_and_what_is_ruled_out(catalog: Path) -> None:
    """Best by each measure, the list, what has no price, what was assumed."""
    shown = rackfit(*ASKED, catalog=catalog).stdout

    for words in ("smallest", "cheapest", "per watt", "per money", "by memory", "by latency", "ruled out", "USD"):
        assert words in shown
    assert "have no price on record" in shown
    assert "concurrency: 1, every user has a request running" in shown
    assert "* wide range:" in shown


def test_an_empty_answer_says_what_would_admit_one(catalog: Path) -> None:
    """Exit 0: nothing meets it is an answer."""
    done = rackfit(*ASKED, "--budget", "0.5", catalog=catalog)

    assert done.returncode == 0
    assert "what would admit one" in done.stdout
    assert "budget" in done.stdout


def test_rows_go_to_a_file_with_their_units(catalog: Path, tmp_path: Path) -> None:
    """The file has the rows of --json in its order; a sheet of notes says what was asked."""
    target = tmp_path / "plan.csv"
    answer = json.loads(rackfit(*ASKED, "--csv", str(target), "--json", catalog=catalog).stdout)

    with target.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["configuration"] for row in rows] == [row["configuration"] for row in answer["results"]]
    assert rows[0]["figure"] == "estimate"
    assert float(rows[0]["tokens_per_s_each_low"]) == answer["results"][0]["tokens_per_s_each_low"]
    assert rows[0]["range_reasons"]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "llama-3.1-700b"], "Llama-3.1-70B"),
        (["plan", "llama-3.1-70b", "--users", "0"], "--users"),
        (["plan", "llama-3.1-70b", "--concurrency", "2"], "--concurrency"),
        (["plan", "llama-3.1-70b", "--ttft", "nan"], "--ttft"),
        (["plan", "llama-3.1-70b", "--by", "size"], "--by"),
        (["plan", "llama-3.1-70b", "--accelerator", "h1000"], "h100"),
        (["plan", "llama-3.1-70b", "--vendor", "Nvidea"], "NVIDIA"),
        (["plan", "llama-3.1-70b", "--workload", "serve"], "serve-8k-16"),
        (["plan", "llama-3.1-70b", "--csv", "rows.doc"], ".csv"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[-2],
)
def test_wrong_usage_exits_2_with_one_line(words: list[str], said: str, catalog: Path, tmp_path: Path) -> None:
    """Naming what was wrong, and leaving no file."""
    done = rackfit(*words, catalog=catalog, cwd=tmp_path)

    assert done.returncode == 2
    assert one_line(done.stderr), done.stderr
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
