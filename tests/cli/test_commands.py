"""Every command as a process: exit status, one clear line on stderr, and JSON that programs can read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import one_line, rackfit

from rackfit.cli.app import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str) -> None:
    """Every command explains itself and shows an example of its own use."""
    done = rackfit(*command.split(), "--help")
    assert done.returncode == 0
    assert f"\n  rackfit {command}" in done.stdout


QUESTIONS = {
    "fit one": ("fit", "Qwen3-8B", "--on", "rtx-4090"),
    "fit where": ("fit", "Qwen3-8B", "--limit", "5"),
    "fit what": ("fit", "--on", "rtx-4090", "--limit", "5"),
    "estimate": ("estimate", "70", "--precision", "int4"),
    "train": ("train", "Qwen3-8B", "--on", "8x h100-sxm5-80gb"),
    "quote": ("export", "quote", "--models", "Qwen3-8B", "--on", "rtx-4090"),
    "speed": ("speed", "Qwen3-8B", "--on", "rtx-4090", "--precision", "q4_k_m"),
    "plan": ("plan", "Qwen3-8B", "--users", "20", "--tokens-per-second", "20", "--limit", "3"),
    "compare": ("compare", "2x rtx-3090", "rtx-6000-ada", "--models", "llama-3.1-70b"),
    "power": ("power", "dgx-h100", "--machines", "4", "--rack-kw", "45"),
    "scaling": ("scaling", "Qwen3-8B", "--on", "8x h100-sxm5-80gb", "--degrees", "1,8"),
    "attention": ("attention", "Qwen3-8B", "--on", "h100-sxm5-80gb", "--context", "32k"),
    "hardware": ("hardware", "hopper"),
    "models": ("models", "qwen3"),
    "show accelerator": ("show", "h100-sxm5-80gb"),
    "show class": ("show", "A100"),
    "show model": ("show", "Qwen/Qwen3-8B"),
    "show checkpoint": ("show", "Qwen/Qwen3-8B-FP8"),
    "show precision": ("show", "nvfp4"),
    "show runtime": ("show", "vllm"),
    "show interconnect": ("show", "nvlink-4"),
    "show system": ("show", "aws-p4d-24xlarge"),
    "sql": ("sql", "select vendor, count(*) as parts from accelerators group by vendor"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_json_is_one_document(name: str, catalog: Path) -> None:
    """With --json, standard output is one JSON document in ASCII whatever the environment wants."""
    hostile = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "COLUMNS": "20"}
    done = rackfit(*QUESTIONS[name], "--json", catalog=catalog, environment=hostile)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    document = json.loads(done.stdout)
    assert isinstance(document, dict)


@pytest.mark.parametrize("name", QUESTIONS)
def test_table_is_plain_text(name: str, catalog: Path) -> None:
    """Without --json, people get text without colour codes, in any locale."""
    done = rackfit(*QUESTIONS[name], catalog=catalog, environment={"FORCE_COLOR": "1", "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("name", ["fit where", "fit what", "scaling", "hardware", "models", "sql"])
def test_lists_have_query_and_results(name: str, catalog: Path) -> None:
    """A list answers with the question and its results."""
    document = json.loads(rackfit(*QUESTIONS[name], "--json", catalog=catalog).stdout)
    assert set(document) == {"query", "results"}
    assert document["results"]


def test_fit_answers_with_every_field(catalog: Path) -> None:
    """One model on one machine answers with the fields that programs rely on (issue 2, item 7)."""
    answer = json.loads(rackfit(*QUESTIONS["fit one"], "--json", catalog=catalog).stdout)
    assert {
        *("model", "hardware", "precision", "kv_precision", "runtime", "context", "sequences", "layout"),
        *("per_device", "verdict", "limit", "reason", "max_context", "max_context_memory", "max_sequences"),
        "suggestions",
    } <= set(answer)
    assert set(answer["layout"]) == {"tp", "pp", "ep", "dp"}
    assert {
        *("weights_bytes", "kv_bytes", "kv_reserved_bytes", "workspace_bytes", "runtime_bytes", "total_bytes"),
        *("low_bytes", "high_bytes", "usable_bytes"),
    } <= set(answer["per_device"])


@pytest.mark.parametrize(
    ("hardware", "verdict"),
    [("8x h100-sxm5-80gb", "fits"), ("rtx-4060-8gb", "no"), ("3x h100-sxm5-80gb --tp 3", "cannot_run")],
)
def test_any_verdict_exits_0(hardware: str, verdict: str, catalog: Path) -> None:
    """A verdict is an answer: 70B in 16 bits is 141 GB, 64 heads do not divide by 3."""
    on, *rest = hardware.split(" --")
    options = [word for option in rest for word in f"--{option}".split()]
    done = rackfit("fit", "meta-llama/Llama-3.1-70B", "--on", on, *options, "--json", catalog=catalog)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == verdict


WRONG_USAGE = {
    "no command": (["ift"], "did you mean fit"),
    "no option": (["fit", "--ton", "x"], "--ton"),
    "nothing asked": (["fit"], "--on"),
    "bad context": (["fit", "Qwen3-8B", "--context", "-5"], "--context"),
    "bad degree": (["fit", "Qwen3-8B", "--on", "rtx-4090", "--tp", "0"], "--tp"),
    "bad split": (["fit", "Qwen3-8B", "--on", "rtx-4090", "--split", "a,b"], "24,12"),
    "bad layers": (["fit", "Qwen3-8B", "--on", "rtx-4090", "--gpu-layers", "most"], "auto"),
    "bad share": (["fit", "Qwen3-8B", "--on", "rtx-4090", "--utilization", "1.5"], "--utilization"),
    "bad parameter count": (["estimate", "0"], "PARAMS"),
    "unknown model": (["fit", "Qwen3-8BB", "--on", "rtx-4090"], "Qwen3-8B"),
    "unknown hardware": (["fit", "Qwen3-8B", "--on", "rtx-4091"], "4090"),
    "unknown precision": (["fit", "Qwen3-8B", "--on", "rtx-4090", "--precision", "q4_k_n"], "q4_k_m"),
    "unknown name": (["show", "h100-sxm5-80"], "h100"),
    "unknown table": (["export", "acelerators"], "accelerators"),
    "bad SQL": (["sql", "select nothing from accelerators"], "nothing"),
    "not a SELECT": (["sql", "delete from accelerators"], "SELECT"),
    "two statements": (["sql", "select 1; select 2"], "one statement"),
    "a write behind WITH": (["sql", "with a as (select 1) delete from offers"], "read"),
    "bad delimiter": (["export", "sources", "--delimiter", "x"], "delimiter"),
    "comma twice": (["export", "sources", "--delimiter", ",", "--decimal-comma"], "decimal comma"),
    "half a condition": (["export", "sources", "--where", "1) or (1"], "condition"),
    "missing parameter": (["sql", "select :name"], "name"),
    "no case file": (["accuracy", "--cases", "nowhere.csv"], "nowhere.csv"),
}


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage_is_one_line_and_2(name: str, catalog: Path) -> None:
    """Wrong usage and unknown names exit 2 with one line that helps, and nothing on standard output."""
    arguments, hint = WRONG_USAGE[name]
    done = rackfit(*arguments, catalog=catalog)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert one_line(done.stderr), done.stderr
    assert hint.lower() in done.stderr.lower()


def test_no_catalog_is_one_line_and_1(tmp_path: Path) -> None:
    """Without a catalog, the line says how to get one."""
    done = rackfit("hardware", catalog=tmp_path / "none.db")
    assert done.returncode == 1
    assert one_line(done.stderr)
    assert "rackfit build" in done.stderr


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to look at " * 50])
def test_other_files_are_no_catalog(content: bytes, tmp_path: Path) -> None:
    """A file that is not a catalog is refused in one line."""
    path = tmp_path / "catalog.db"
    path.write_bytes(content)
    done = rackfit("show", "h100", catalog=path)
    assert done.returncode == 1
    assert one_line(done.stderr)


def test_option_beats_environment(catalog: Path, tmp_path: Path) -> None:
    """--catalog wins over RACKFIT_CATALOG."""
    done = rackfit("hardware", "hopper", "--catalog", str(catalog), catalog=tmp_path / "none.db")
    assert done.returncode == 0, done.stderr


def test_build_prints_its_path_last(small_data: Path, tmp_path: Path) -> None:
    """The last line of a build on standard output is the path, progress is on stderr."""
    target = tmp_path / "new" / "catalog.db"
    done = rackfit("build", "--data", str(small_data), catalog=target)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{target}\n"
    assert "load facts" in done.stderr


def test_build_of_bad_data_changes_nothing(small_data: Path, tmp_path: Path) -> None:
    """A broken file stops a build with its name, and the old catalog stays."""
    target = tmp_path / "catalog.db"
    assert rackfit("build", "--data", str(small_data), "--quiet", catalog=target).returncode == 0
    before = target.read_bytes()
    (small_data / "accelerators" / "nvidia" / "broken.toml").write_text("name = ", encoding="utf-8")
    done = rackfit("build", "--data", str(small_data), "--quiet", catalog=target)
    assert done.returncode == 1
    assert "accelerators/nvidia/broken.toml" in done.stderr
    assert "Traceback" not in done.stderr
    assert target.read_bytes() == before


def test_reader_that_leaves(catalog: Path) -> None:
    """`rackfit models | head -1` ends without a word on stderr."""
    script = f'"{sys.executable}" -m rackfit models --json | head -c 10'
    variables = {**os.environ, "RACKFIT_CATALOG": str(catalog)}
    done = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_one_line(catalog: Path) -> None:
    """An output that cannot be written is a failure in one line."""
    with open("/dev/full", "w") as full:
        variables = {**os.environ, "RACKFIT_CATALOG": str(catalog)}
        command = [sys.executable, "-m", "rackfit", "models", "--json"]
        done = subprocess.run(command, env=variables, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert one_line(done.stderr), done.stderr


def test_fit_needs_nothing_heavy(catalog: Path) -> None:
    """What makes a start slow is not imported to answer `rackfit fit`."""
    heavy = ("pydantic", "sqlmodel", "sqlalchemy", "numpy", "datasette", "jinja2", "sqlite_utils", "tabulate")
    script = (
        "import sys; from rackfit.cli.failures import run; from rackfit.cli.app import cli\n"
        "status = run(cli, ['fit', 'Qwen3-8B', '--on', 'rtx-4090', '--json'])\n"
        f"print(sorted(set({heavy}) & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    variables = {**os.environ, "RACKFIT_CATALOG": str(catalog)}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_import_is_cheap() -> None:
    """`import rackfit` imports nothing but itself."""
    script = "import sys; import rackfit; print([m for m in sys.modules if m.startswith('rackfit.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"
