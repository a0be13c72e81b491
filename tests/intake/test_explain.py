"""Printed beside predicted: every trial with its right answer, logs of known figures, and what is not known."""

from __future__ import annotations

import csv
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rackfit.accuracy.cases import read_cases
from rackfit.accuracy.score import score
from rackfit.cli.explaining import explain_log
from rackfit.errors import UnknownNameError, UsageError
from rackfit.intake.explain import HYBRID, explain
from rackfit.intake.log_configuration import Overrides, configuration_of, device_name, gguf_type, model_names
from rackfit.intake.log_measurements import COLUMNS, append, as_measurement
from rackfit.intake.logs.parsed import Log
from rackfit.intake.logs.reading import read_log, read_text
from rackfit.records.measurements import Measurement

TRIALS = Path(__file__).parents[1] / "reference" / "trials"
GIB, MIB = 2**30, 2**20

V1 = """\
(EngineCore_DP0 pid=1) INFO core.py] Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen3-32B', \
dtype=torch.bfloat16, max_seq_len=16000, tensor_parallel_size=2, pipeline_parallel_size=1, quantization=None, \
enforce_eager=False, kv_cache_dtype=auto
(Worker_TP0 pid=5) INFO gpu_model_runner.py] Model loading took 30.59 GiB and 9.1 seconds
(Worker_TP0 pid=5) INFO gpu_worker.py] Memory profiling takes 9.10 seconds. Total non KV cache memory: 36.77GiB; \
torch peak memory increase: 5.64GiB; non-torch forward increase memory: 0.54GiB; weights memory: 30.59GiB.
(Worker_TP0 pid=5) INFO gpu_worker.py] Available KV cache memory: 34.49 GiB
"""
"""Qwen3-32B on two H100: K1-0062 to K1-0064, K2-0140 (llm-d-planner, docs/empirical-vllm-memory-results.md)."""
H100 = "nvidia-h100-sxm5-80gb (79.18 GiB usable)"


def trial(name: str) -> Log:
    """Read the log of a trial."""
    return read_log(read_text(str(TRIALS / f"{name}.log")))


def component(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one component of an answer."""
    return next(one for one in answer["components"] if one["component"] == name)


def test_r086_pool_over_tokens_is_no_rate(connection: sqlite3.Connection) -> None:
    """R086: 10,240 B/token by architecture (10 layers x 2 x 2 x 256 at 8 bits); 11,324 is derived from concurrency."""
    derived = explain(connection, trial("R086"), Overrides(on="rtx-5090"))["derived"]
    assert derived["architecture_bytes_per_token"] == 10_240
    assert derived["pool_bytes_over_tokens"] == 11_324
    assert derived["bytes_over_tokens_is_rate"] is False
    assert derived["bytes_per_token"] is None
    assert derived["tokens_from_concurrency"] == pytest.approx(4.35 * 131_072, abs=1)
    assert derived["tokens_follow_concurrency"] is True
    assert derived["note"] == HYBRID


def test_r088_unknown_stays_unknown(connection: sqlite3.Connection) -> None:
    """R088: figures without model or device: nothing predicted, each reason said; 26.29 x 8,192 = 215,368."""
    answer = explain(connection, trial("R088"))
    pool = component(answer, "kv_pool")
    assert pool["printed_bytes"] == round(5.35 * GIB)
    assert pool["predicted_bytes"] is None and pool["difference_bytes"] is None
    assert "--model" in pool["reason"]
    assert answer["derived"]["pool_tokens"] == 215_401
    assert answer["derived"]["tokens_from_concurrency"] == 215_368
    assert answer["derived"]["tokens_follow_concurrency"] is True
    assert answer["derived"]["bytes_per_token"] is None
    assert len(answer["missing"]) == 3


def test_r088_a_worker_name_alone_gives_no_degree(connection: sqlite3.Connection) -> None:
    """R088: `TP0` says that there are more ranks, not how many: no figure per rank until --tp says it (4 there)."""
    given = Overrides(model="Qwen3-32B", on="v100-sxm2-16gb", precision="awq")
    assert "--tp" in component(explain(connection, trial("R088"), given), "kv_pool")["reason"]
    answer = explain(connection, trial("R088"), replace(given, tp=4))
    assert component(answer, "kv_pool")["reason"] is None


def test_r090_each_rank_and_the_graph_estimate(connection: sqlite3.Connection) -> None:
    """R090: one rank, figures of its own line; the graph estimate is 5.8 times what was used."""
    answer = explain(connection, trial("R090"), Overrides(on="rtx-3090"))
    assert component(answer, "kv_pool")["rank"] == "PP1_TP3"
    assert component(answer, "graphs_estimated")["status"] == "estimate"
    assert any("5.8 times" in line for line in answer["warnings"])
    assert component(answer, "device_total")["inside_range"] is True
    # 0.935 x 23.56 = 22.03 GiB, as the line itself says
    assert component(answer, "budget")["difference_bytes"] == pytest.approx(0, abs=0.01 * GIB)
    assert {"tp", "pp"} <= set(answer["configuration"])


def test_r092_state_by_arithmetic(connection: sqlite3.Connection) -> None:
    """R092: 448.88 MiB for 3 sequences within 0.1 %: 48 layers x 48 x 128 x 128 x 4 B, and the convolution's inputs."""
    answer = explain(connection, trial("R092"), Overrides(model="Qwen3.6-27B"))
    state = component(answer, "state")
    assert state["predicted_bytes"] == pytest.approx(448.88 * MIB, rel=1e-3)
    assert state["inside_range"] is True
    assert answer["derived"]["state_bytes_per_sequence"] == pytest.approx(149.63 * MIB, rel=1e-4)
    assert any("no card" in line for line in answer["warnings"])
    assert any("448.88" in line and "149.62" in line for line in answer["warnings"])


def test_r094_plan_is_marked(connection: sqlite3.Connection) -> None:
    """R094: an estimate, not an allocation; the encoder's workspace is the largest term after the weights."""
    given = Overrides(model="mistralai/Mistral-Small-3.1-24B-Instruct-2503", context=4096, precision="q4_k_m")
    answer = explain(connection, trial("R094"), given)
    assert {one["status"] for one in answer["components"]} == {"estimate"}
    assert "estimate" in answer["warnings"][0]
    assert any("8.8 GiB" in line and "largest term after the weights" in line for line in answer["warnings"])
    # 40 layers x 2 x 8 heads x 128 x 2 bytes x 4096 tokens = 640 MiB (config.json)
    assert component(answer, "kv")["difference_bytes"] == 0
    assert (answer["derived"]["layers_placed"], answer["derived"]["layers_total"]) == (37, 41)
    assert as_measurement(trial("R094"), configuration_of(connection, trial("R094"), given)) == []


def test_r094_without_a_file_type_no_weights_are_predicted(connection: sqlite3.Connection) -> None:
    """A GGUF of unknown type is never taken for the checkpoint's own precision."""
    answer = explain(connection, trial("R094"), Overrides(model="mistralai/Mistral-Small-3.1-24B-Instruct-2503"))
    assert "--precision" in component(answer, "weights")["reason"]
    assert "--context" in component(answer, "kv")["reason"]


def test_r095_the_pool_misses_the_workspace(connection: sqlite3.Connection) -> None:
    """R095: weights and rate hold at 2^30; the pool is short by the workspace buffer, 51.75 GiB."""
    answer = explain(connection, trial("R095"), Overrides(model="Qwen3-30B-A3B", on="mi355x"))
    assert component(answer, "weights")["inside_range"] is True
    assert answer["derived"]["bytes_over_tokens_is_rate"] is True
    # 48 layers x 2 x 4 KV heads x 128 x 2 bytes
    assert answer["derived"]["architecture_bytes_per_token"] == 98_304
    assert answer["derived"]["bytes_per_token"] == pytest.approx(98_304, rel=1e-4)
    pool = component(answer, "kv_pool")
    assert pool["difference_bytes"] == pytest.approx(-51.75 * GIB, rel=0.03)
    assert "workspace buffer" in pool["cause"]


def test_r106_free_memory_above_the_card(connection: sqlite3.Connection) -> None:
    """R106: 19,491 MiB on a 12 GB card is flagged and its own 12 GB count; the other device's figure stands."""
    answer = explain(connection, trial("R106"))
    arc, nvidia = answer["devices"]
    assert arc["used_bytes"] == 23_607 * MIB
    assert nvidia["used_bytes"] <= 12 * GIB < nvidia["free_bytes"]
    flagged = [line for line in answer["warnings"] if "more than the card's" in line]
    assert len(flagged) == 1 and "Vulkan1" in flagged[0]


def test_known_figures_lie_in_their_ranges(connection: sqlite3.Connection) -> None:
    """Qwen3-32B on two H100: weights, activation, non-torch and pool as printed lie in the ranges predicted."""
    answer = explain(connection, read_log(V1), Overrides(on=H100, utilization=0.9))
    for name in ("weights", "activation", "non_torch", "kv_pool"):
        one = component(answer, name)
        assert one["inside_range"] is True, one
        assert one["difference_bytes"] == one["printed_bytes"] - one["predicted_bytes"]
        assert one["low_bytes"] <= one["predicted_bytes"] <= one["high_bytes"]
    assert answer["runtime_budget"] == "vllm-v1-0.11"


def test_a_large_difference_has_a_name(connection: sqlite3.Connection) -> None:
    """Ten GiB more weights than the precision has: outside the range, named, and the pool says that it follows."""
    heavy = read_log(V1.replace("30.59", "40.59").replace("34.49", "24.49"))
    answer = explain(connection, heavy, Overrides(on=H100, utilization=0.9))
    assert "loaded" in component(answer, "weights")["cause"]
    assert "weights" in component(answer, "kv_pool")["cause"]
    assert component(answer, "non_torch")["cause"] is None


def test_unknown_names_in_the_log_are_no_error_and_in_an_option_are(connection: sqlite3.Connection) -> None:
    """A log may name anything; what the user names must exist."""
    log = read_log(V1.replace("Qwen/Qwen3-32B", "our-own/secret-13b"))
    assert "our-own/secret-13b" in explain(connection, log)["missing"][0]
    with pytest.raises(UnknownNameError):
        explain(connection, log, Overrides(model="our-own/secret-13b"))
    with pytest.raises(UnknownNameError):
        explain(connection, log, Overrides(model="Qwen3-32B", on="card-of-nobody"))


def test_names_are_found_in_paths() -> None:
    """Hub caches, split files and general.name name the model."""
    cached = Log("vLLM", {"model": "hub/models--Qwen--Qwen3-8B/snapshots/0123"}, {})
    assert "Qwen/Qwen3-8B" in model_names(cached)
    split = Log("llama.cpp", {"model": "x/Qwen3-8B-Q4_K_M-00001-of-00002.gguf", "name": "Qwen3 8B"}, {})
    assert model_names(split)[1:] == ["Qwen3-8B-Q4_K_M", "Qwen3 8B"]
    assert device_name("Intel(R) Arc(TM) Pro B60 Graphics") == "Intel Arc Pro B60"
    assert [gguf_type(text) for text in ("Q4_K - Medium", "mostly Q8_0", "all F32")] == ["Q4_K_M", "Q8_0", "F32"]


def test_partly_offloaded_weights_are_not_compared(connection: sqlite3.Connection) -> None:
    """Which tensors lie where is not printed: no figure, the reason."""
    log = read_log(
        "print_info: file type = Q4_K - Medium\nload_tensors: offloaded 20/37 layers to GPU\n"
        "load_tensors: CUDA0 model buffer size = 2000.00 MiB"
    )
    answer = explain(connection, log, Overrides(model="Qwen3-8B"))
    assert "20 of 37 layers" in component(answer, "weights")["reason"]


def test_measurements_are_cases(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """Rows have the columns of data/measurements, are valid records, and the scoreboard resolves every one."""
    log = read_log(V1)
    configuration = configuration_of(connection, log, Overrides(on=H100, utilization=0.9))
    rows = as_measurement(log, configuration, "https://example.org/log")
    assert {row["quantity"] for row in rows} == {
        "weights_gib_per_gpu", "activation_peak_gib_per_gpu", "non_torch_gib_per_gpu", "kv_gib_per_gpu",
    }  # fmt: skip
    for row in rows:
        assert tuple(row) == COLUMNS
        cells = {name: str(value) for name, value in row.items() if value is not None}
        Measurement(**cells, file="local.csv", origin="local")
    target = tmp_path / "cases.csv"
    assert append(target, rows) == len(rows)
    report = score(connection, target)
    assert [one.status for one in report.estimates] == ["resolved"] * len(rows)


def test_append_adds_each_row_once_and_keeps_what_is_there(tmp_path: Path, connection: sqlite3.Connection) -> None:
    """A second run adds nothing; rows and columns of others stay as they are, byte by byte."""
    target = tmp_path / "cases.csv"
    before = "case_id,kind,quantity,value,mine\nA-1,K1,weights_gib_per_gpu,1,x\n"
    target.write_text(before, encoding="utf-8")
    log = read_log(V1)
    rows = as_measurement(log, configuration_of(connection, log, Overrides()))
    assert append(target, rows) == len(rows)
    assert append(target, rows) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith(before)
    assert len(list(csv.DictReader(text.splitlines()))) == len(rows) + 1
    assert [path.name for path in tmp_path.iterdir()] == ["cases.csv"]


def test_append_to_a_file_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    """Semicolons and decimal commas stay as they are (trial R125): one file has one way of writing numbers."""
    target = tmp_path / "cases.csv"
    target.write_text("case_id;kind;quantity;value\na;K1;weights_gib_total;15,25\n", encoding="utf-8-sig")
    row = {"case_id": "b", "kind": "K1", "quantity": "weights_gib_total", "value": "3.5"}
    assert append(target, [row]) == 1 and append(target, [row]) == 0
    assert [(case.case_id, case.value) for case in read_cases(target)] == [("a", "15.25"), ("b", "3.5")]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bin", b"a,b,c\n1,2,3\n"])
def test_append_refuses_other_files(tmp_path: Path, content: bytes) -> None:
    """A file that is no file of cases is refused and left alone."""
    target = tmp_path / "other.csv"
    target.write_bytes(content)
    with pytest.raises(UsageError):
        append(target, [{"case_id": "x"}])
    assert target.read_bytes() == content


def test_names_from_a_log_start_no_formula(connection: sqlite3.Connection) -> None:
    """A model named like a formula is written as text."""
    log = read_log(V1)
    configuration = replace(configuration_of(connection, log, Overrides()), model="=cmd|' /C calc'!A0")
    assert all(not str(row["model_id"]).startswith("=") for row in as_measurement(log, configuration))


def command(catalog: Path, *arguments: str, text: str | None = None) -> Any:
    """Run the command."""
    return CliRunner().invoke(explain_log, [*arguments, "--catalog", str(catalog)], input=text)


def test_command_in_json_and_as_a_table(catalog: Path, tmp_path: Path) -> None:
    """From a file or standard input, as one JSON document or a table, with the figures stored."""
    target = tmp_path / "cases.csv"
    done = command(catalog, "-", "--on", H100, "--json", "--measurement", str(target), text=V1)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["engine"] == "vLLM"
    assert answer["measurement"] == {"file": str(target), "rows": 4, "added": 4}
    shown = command(catalog, str(TRIALS / "R095.log"), "--model", "Qwen3-30B-A3B", "--on", "mi355x")
    assert shown.exit_code == 0, shown.output
    assert "56.98 GiB" in shown.output and "workspace buffer" in shown.output


@pytest.mark.parametrize("path", sorted(TRIALS.glob("*")), ids=lambda path: path.name)
def test_no_trial_file_is_a_failure_of_ours(catalog: Path, path: Path) -> None:
    """Whatever file of the trials is given, the command answers or refuses in one line."""
    done = command(catalog, str(path))
    assert done.exception is None or isinstance(done.exception, (SystemExit, UsageError)), done.exception
