"""MIG slices never join on one model; a class is answered by its worst candidate; engines read only their own files."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.machines import find_machines
from rackfit.ask.question import FitQuestion
from rackfit.catalog.context import read_context
from rackfit.errors import UnknownNameError
from rackfit.fit.classes import FILE_FAMILIES, FILE_TYPES
from reference.asking import ask

SLICES = "4x a100-sxm4-80gb/2g.20gb"
PROFILES = "select accelerator_id || '/' || profile, fit_memory_bytes from mig_profiles order by 1"


def test_every_profile_has_its_own_memory_alone_and_beside_others(connection: sqlite3.Connection) -> None:
    """A slice keeps its memory wherever it stands in an expression, never that of the whole device."""
    for name, memory in connection.execute(PROFILES).fetchall():
        alone = find_machines(connection, name)[0]
        beside = find_machines(connection, f"1x rtx-3090 + 2x {name}")[0].others[0]
        assert (alone.device.memory_bytes, beside[0].memory_bytes, beside[1]) == (memory, memory, 2)
        assert alone.sliced and find_machines(connection, f"1x rtx-3090 + 2x {name}")[0].sliced


def test_slices_are_replicas(connection: sqlite3.Connection) -> None:
    """Peer-to-peer is off between MIG instances (MIG user guide): four slices hold the model four times."""
    one, four = ask(connection, "qwen3-4b", SLICES[3:]), ask(connection, "qwen3-4b", SLICES)
    assert four["layout"] == {"tp": 1, "pp": 1, "ep": 1, "dp": 4}
    assert four["per_device"]["weights_bytes"] == one["per_device"]["weights_bytes"]
    assert ask(connection, "llama-3.1-70b", SLICES, precision="int4")["verdict"] == "no"


@pytest.mark.parametrize(
    ("on", "said"),
    [
        (SLICES, {"tp": 4}),
        (SLICES, {"pp": 2}),
        (SLICES, {"tp": 1, "pp": 4}),
        (SLICES, {"gpu_layers": "auto", "precision": "q4_k_m", "host_ram_gib": 64.0}),
        ("4x h100-sxm5-80gb/1g.10gb + 1x h100-sxm5-80gb/3g.40gb", {}),
    ],
)
def test_no_layout_spans_slices(connection: sqlite3.Connection, on: str, said: dict[str, object]) -> None:
    """Whatever would put one model on several slices is refused with that reason."""
    answer = ask(connection, "qwen3-8b", on, **said)
    assert answer["verdict"] == "cannot_run"
    assert "MIG slices" in answer["reason"]
    assert answer["limit"] == "layout"


@pytest.mark.parametrize("name", ["A100", "RTX 6000", "80GB GPU", "2x A100"])
def test_a_class_is_its_worst_candidate(connection: sqlite3.Connection, name: str) -> None:
    """Among candidates of one verdict the one with the least room is shown, and each candidate's room is listed."""
    answer = fit_one(connection, FitQuestion(model="qwen3-8b", on=name), suggest=False)
    margins = [one["margin_bytes"] for one in answer["candidates"] if one["verdict"] == answer["verdict"]]
    assert len(answer["candidates"]) > 1
    assert answer["per_device"]["margin_bytes"] == min(margins)


def test_formats_that_no_gguf_file_holds(connection: sqlite3.Connection) -> None:
    """llama.cpp reads GGUF: what its tensor types cannot hold is refused on every device, never merely doubted."""
    context = read_context(connection)
    devices = [find_machines(connection, name)[0].device for name in ("m4-max-128gb", "p40", "rtx-4090", "mi300x")]
    for precision_id, precision in context.precisions.items():
        if precision.family in FILE_FAMILIES or precision_id in FILE_TYPES:
            continue
        for device in devices:
            assert context.chooser.level("llama.cpp", precision_id, device) == "none", (precision_id, device.name)


def test_gpt_oss_runs_as_it_is_on_a_mac(connection: sqlite3.Connection) -> None:
    """A GGUF file keeps MXFP4 as it is (ggml type MXFP4), so the published format is native to llama.cpp."""
    assert ask(connection, "gpt-oss-20b", "m4-max-128gb")["verdict"] == "fits"


@pytest.mark.parametrize("name", ["h20-sxm-96gb", "-1x h100-sxm5-80gb", "1e9x h100-sxm5-80gb", "a100-sxm4-80gb/"])
def test_unknown_hardware_is_named_as_written(connection: sqlite3.Connection, name: str) -> None:
    """The line that refuses a name repeats what the user wrote, whatever was tried to understand it."""
    with pytest.raises(UnknownNameError) as raised:
        find_machines(connection, name)
    assert repr(name) in str(raised.value)


def test_no_second_mac_is_suggested(connection: sqlite3.Connection) -> None:
    """Devices that nobody puts several of in one host are not multiplied; those on a fast link are."""
    found = {
        on: fit_one(connection, FitQuestion(model="llama-3.1-70b", on=on, precision="q4_k_m"))["suggestions"]
        for on in ("m2-max-32gb", "rtx-4090")
    }
    assert not [one for one in found["m2-max-32gb"] if "more device" in one["change"] or "times" in one["change"]]
    assert [one for one in found["rtx-4090"] if "on" in one]
