"""Tender check: three verdicts, evidence for each, and unknown is never taken for met."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rackfit.ask.tender.judge import COMPLIANT, NOT_COMPLIANT, UNKNOWN, check_tender
from rackfit.ask.tender.offered import named_systems, of_catalog, parse_offers
from rackfit.ask.tender.requirements import parse_requirements, read_requirements
from rackfit.ask.tender.wish import parse_devices
from rackfit.errors import BadFileError, UnknownNameError, UsageError

CLASS = "2 x >= 140 GB or 4 x >= 94 GB"
"""A public tender had to take either (question Q221 of the project's list)."""


def requirement(**fields: Any) -> str:
    """Return one requirement as TOML; JSON's texts, numbers, lists and truths are TOML's too."""
    return "[[requirement]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


def verdicts(connection: sqlite3.Connection, text: str, *systems: str) -> list[tuple[str, str]]:
    """Return (verdict, reason) of each requirement on each system, in the order of the answer."""
    found = check_tender(connection, parse_requirements(text, "t.toml"), named_systems(connection, systems))
    return [(row["verdict"], row["reason"]) for row in found["results"]]


@pytest.mark.parametrize(
    ("system", "verdict"),
    [
        ("nvidia-dgx-h200", COMPLIANT), ("2x h200-sxm-141gb", COMPLIANT), ("4x h100-nvl-94gb", COMPLIANT),
        ("1x h200-sxm-141gb", NOT_COMPLIANT), ("2x h100-nvl-94gb", NOT_COMPLIANT), ("nvidia-dgx-h100", NOT_COMPLIANT),
        ("8x mi300x", COMPLIANT),
    ],
)  # fmt: skip
def test_either_class_of_devices(connection: sqlite3.Connection, system: str, verdict: str) -> None:
    """H200: 141 GB, H100 NVL: 94 GB, H100 SXM: 80 GB, MI300X: 192 GB (the makers' data sheets)."""
    assert verdicts(connection, requirement(devices=CLASS), system)[0][0] == verdict


def test_exactly_is_exactly() -> None:
    """More devices than asked for are fine, unless the count is exact; memory that is not known leaves it open."""
    (least,), (exact,) = parse_devices("2 x 80 GB"), parse_devices("exactly 2 x >= 80 GB")
    assert least.met_by(8, 80) is True and exact.met_by(8, 80) is False and exact.met_by(2, 80) is True
    assert least.met_by(2, None) is None and least.met_by(1, None) is False and least.met_by(4, 79.9) is False


@pytest.mark.parametrize(
    "text", ["", "2 x 80", "two x 80 GB", "0 x 80 GB", "2 x 0 GB", "2 x 80 GB or", "2 x 80 GB and 1"]
)
def test_devices_that_cannot_be_read(text: str) -> None:
    """The part that cannot be read is named with an example."""
    with pytest.raises(UsageError, match="2 x >= 140 GB or 4 x >= 94 GB"):
        parse_devices(text)


@pytest.mark.parametrize(
    ("fields", "system", "verdict"),
    [
        ({"field": "max_power_w", "at_most": 10200}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "max_power_w", "at_most": 10199}, "nvidia-dgx-h100", NOT_COMPLIANT),
        ({"field": "rack_units", "at_least": 4, "at_most": 8}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "cooling", "one_of": ["liquid", "hybrid"]}, "nvidia-dgx-h100", NOT_COMPLIANT),
        ({"field": "cooling", "equals": "Air"}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "memory_bandwidth_gb_s", "at_least": 3350}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "memory_gb_total", "at_least": 640}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "intra_node_link", "contains": "nvlink"}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "supports_fp8", "equals": True}, "nvidia-dgx-h100", COMPLIANT),
        ({"field": "supports_fp8", "equals": True}, "4x a100-sxm4-80gb", NOT_COMPLIANT),
        ({"field": "max_power_w", "at_most": 1e9}, "8x h100-sxm5-80gb", UNKNOWN),
        ({"field": "purchase_price", "at_most": 1e9}, "aws-p5-48xlarge", UNKNOWN),
    ],
)
def test_plain_minimums(connection: sqlite3.Connection, fields: dict[str, Any], system: str, verdict: str) -> None:
    """DGX H100: 10.2 kW, 8U, air (user guide); H100: 3.35 TB/s, 80 GB, FP8 (data sheet); A100 has no FP8."""
    assert verdicts(connection, requirement(**fields), system)[0][0] == verdict


def test_unknown_is_never_compliant(connection: sqlite3.Connection) -> None:
    """Whatever the bound, a field without a value is unknown; no system with an open requirement is compliant."""
    text = "".join(
        requirement(id=f"R{number}", field=name, at_most=1e12)
        for number, name in enumerate(("weight_kg", "max_power_w", "rack_units", "psu_count"))
    )
    found = check_tender(connection, parse_requirements(text, "t.toml"), of_catalog(connection, None, None))
    columns = {"R0": "weight_kg", "R1": "max_power_w", "R2": "rack_units", "R3": "psu_count"}
    for row in found["results"]:
        value = connection.execute(
            f"select {columns[row['requirement']]} from systems where system_id = ?", (row["system"],)
        ).fetchone()[0]
        assert (row["verdict"] == UNKNOWN) == (value is None), row
    for system in found["systems"]:
        assert (system["verdict"] == COMPLIANT) == (system["unknown"] == system["not_compliant"] == 0)


def test_every_value_has_a_record_and_a_source(connection: sqlite3.Connection) -> None:
    """Evidence: value with unit, table/key.field, and sources that the catalog lists."""
    text = requirement(field="max_power_w", at_most=11000) + requirement(models=["Qwen3-32B"])
    found = check_tender(connection, parse_requirements(text, "t.toml"), named_systems(connection, ["nvidia-dgx-h200"]))
    power, model = found["results"]
    assert (power["value"], power["record"]) == ("10,200 W", "systems/nvidia-dgx-h200.max_power_w")
    known = {row[0] for row in connection.execute("select source_id from sources")}
    assert power["sources"] and set(power["sources"]) <= known
    assert model["sources"] and set(model["sources"]) <= known and "fit of qwen/qwen3-32b" in model["record"]


def test_an_unresolved_dispute_leaves_the_verdict_open(connection: sqlite3.Connection) -> None:
    """MI308X: lists print 192 and 128 GB, nobody could tell which is right; between the two it is unknown."""
    asked = requirement(id="a", field="memory_gb", at_least=150) + requirement(id="b", field="memory_gb", at_least=100)
    asked += requirement(id="c", devices="1 x >= 150 GB") + requirement(id="d", devices="1 x >= 100 GB")
    found = verdicts(connection, asked, "amd-mi308x")
    assert [verdict for verdict, _ in found] == [UNKNOWN, COMPLIANT, UNKNOWN, COMPLIANT]
    assert "Unresolved" in found[0][1]


def test_a_resolved_dispute_is_named(connection: sqlite3.Connection) -> None:
    """MI300X: AMD prints 5300 GB/s; a list that has 10300 is named with the reason, and turns nothing."""
    verdict, reason = verdicts(connection, requirement(field="memory_bandwidth_gb_s", at_least=6000), "amd-mi300x")[0]
    assert verdict == NOT_COMPLIANT and "10300" in reason and "AMD prints 5300" in reason


def test_models_by_their_range(connection: sqlite3.Connection) -> None:
    """Fits is compliant, no is not, tight is unknown; a speed only where the whole range says so."""
    asked = requirement(id="a", models=["Qwen3-32B"]) + requirement(id="b", models=["Qwen3-0.6B"], min_tokens_s=1)
    asked += requirement(id="c", models=["Qwen3-0.6B"], min_tokens_s=1000000)
    asked += requirement(id="d", models=["Qwen3-0.6B", "Qwen3-32B"])
    found = [verdict for verdict, _ in verdicts(connection, asked, "rtx-4090")]
    assert found == [NOT_COMPLIANT, COMPLIANT, NOT_COMPLIANT, NOT_COMPLIANT]


def test_tight_is_unknown(connection: sqlite3.Connection) -> None:
    """Where only the likely estimate is within the limit, the tender's answer is unknown."""
    from rackfit.ask.fit import fit_one
    from rackfit.ask.question import FitQuestion

    longest = fit_one(connection, FitQuestion(model="Qwen3-8B", on="rtx-4090"))["max_context_memory"]
    near = longest - 256
    assert fit_one(connection, FitQuestion(model="Qwen3-8B", on="rtx-4090", context=near))["verdict"] == "tight"
    assert verdicts(connection, requirement(models=["Qwen3-8B"], context=near), "rtx-4090")[0][0] == UNKNOWN


def test_an_offer_states_what_counts(connection: sqlite3.Connection) -> None:
    """What a vendor states comes before the record, which is shown beside; decimal commas and marks are read."""
    offers = "\ufeffname;hardware;max_power_w;weight_kg;cooling\nA;nvidia-dgx-h100;11000;;\nB;;9500,5;640,2;liquid\n"
    asked = requirement(id="p", field="max_power_w", at_most=10500) + requirement(
        id="w", field="weight_kg", at_most=630
    )
    asked += requirement(id="m", models=["Qwen3-8B"]) + requirement(id="d", devices="8 x >= 80 GB")
    found = check_tender(
        connection, parse_requirements(asked, "t.toml"), parse_offers(connection, offers, "offers.csv")
    )
    rows = {(row["system"], row["requirement"]): row for row in found["results"]}
    stated = rows["A", "p"]
    assert stated["verdict"] == NOT_COMPLIANT and stated["record"] == "offers.csv:2"
    assert "record says 10200" in stated["reason"] and stated["sources"] == ["stated by the offer"]
    assert rows["A", "w"]["verdict"] == COMPLIANT
    assert rows["B", "p"]["value"] == "9,500.5 W" and rows["B", "w"]["verdict"] == NOT_COMPLIANT
    assert rows["B", "m"]["verdict"] == UNKNOWN and rows["B", "d"]["verdict"] == UNKNOWN
    assert [(row["system"], row["fails"], row["open"]) for row in found["systems"]] == [
        ("A", ["p"], []), ("B", ["w"], ["m", "d"]),
    ]  # fmt: skip


def test_everything_wrong_with_a_file_at_once(connection: sqlite3.Connection) -> None:
    """Line and field of each fault, with what was expected and fields that are spelled like it."""
    text = (
        'title = 3\n[[requirement]]\nid = "a"\ndevices = "2 x 80"\n[[requirement]]\nfield = "cooling"\n'
        '[[requirement]]\ncontxt = 3\nmodels = ["x"]\ncontext = "many"\n[[requirement]]\nmodels = ["x"]\nat_most = 3\n'
        '[[requirement]]\nmodels = ["x"]\nusers = 8\n[[requirement]]\nfield = "x"\ndevices = "2 x 80 GB"\nat_most = 1\n'
    )
    with pytest.raises(BadFileError) as raised:
        parse_requirements(text, "bad.toml")
    said = str(raised.value)
    for part in (
        "title = 3", "bad.toml:2: '2 x 80'", "a bound for cooling",
        "bad.toml:8: contxt = 3: expected a field such as context",
        "bad.toml:10: context = 'many': expected tokens", "at_most is not part of it", "bad.toml:16: users = 8",
        "not devices and field",
    ):  # fmt: skip
        assert part in said, part


def test_names_in_a_file_that_are_not_on_record(connection: sqlite3.Connection) -> None:
    """Fields, models and bounds that do not go together are reported together, with near names."""
    text = requirement(id="a", field="cooling", at_least=3) + requirement(id="b", field="rackunits", at_most=3)
    text += requirement(id="c", models=["Qwen3-9B"]) + requirement(id="d", field="tdp_w", contains="7")
    with pytest.raises(BadFileError) as raised:
        check_tender(connection, parse_requirements(text, "t.toml"), named_systems(connection, ["rtx-4090"]))
    said = str(raised.value)
    for part in ("cooling is text", "rack_units", "Qwen3-8B", "tdp_w is a number"):
        assert part in said, part


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name\nA\nA,B\n", "cells in the row"),
        ("hardware\nrtx-4090\n", "a column `name`"),
        ("name,max_powr_w\nA,1\n", "max_power_w"),
        ("name,max_power_w\nA,much\n", "a number from 0"),
        ("name,hardware\nA,rtx-4091\n", "rtx 4090"),
        ("name,supports_fp8\nA,maybe\n", "yes or no"),
        ("name\n", "at least one system"),
    ],
)
def test_offers_that_cannot_be_read(connection: sqlite3.Connection, text: str, said: str) -> None:
    """One error for the whole file, with line, column and what was expected."""
    with pytest.raises(BadFileError) as raised:
        parse_offers(connection, text, "o.csv")
    assert said.casefold() in str(raised.value).casefold()


def test_csv_says_the_same_as_toml(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The two forms of a file give the same requirements."""
    toml = requirement(id="a", devices=CLASS) + requirement(id="b", models=["Qwen3-8B", "Qwen3-4B"], context="32k")
    toml += requirement(id="c", field="rack_units", at_most=8.5) + requirement(id="d", field="cooling", one_of=["air"])
    sheet = (
        "id;models;context;devices;field;at_most;one_of\na;;;" + CLASS + ";;;\nb;Qwen3-8B|Qwen3-4B;32k;;;;\n"
        "c;;;;rack_units;8,5;\nd;;;;cooling;;air\n"
    )
    (tmp_path / "r.csv").write_text(sheet, encoding="utf-8-sig")
    assert read_requirements(tmp_path / "r.csv").lines == parse_requirements(toml, "r.toml").lines


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("r.txt", "", ".toml or .csv"), ("r.toml", "a = [", "expected TOML"), ("r.toml", "", "at least one")],
)
def test_files_that_are_no_tender(tmp_path: Path, name: str, text: str, said: str) -> None:
    """An ending, TOML that is none, and a file without requirements."""
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=said):
        read_requirements(tmp_path / name)


def test_the_catalog_is_asked_by_maker_and_kind(connection: sqlite3.Connection) -> None:
    """Without offers every system that is bought is checked; an unknown maker has near names; nothing is an error."""
    assert {one.machine.system_id for one in of_catalog(connection, "nvidia", "server")} >= {"nvidia-dgx-h100"}
    with pytest.raises(UnknownNameError, match="NVIDIA"):
        of_catalog(connection, "Nvidea", None)
    with pytest.raises(UsageError, match="no system"):
        check_tender(connection, parse_requirements(requirement(devices=CLASS), "t.toml"), [])


def test_figures_of_a_whole_device_are_not_those_of_a_slice(connection: sqlite3.Connection) -> None:
    """What part of bandwidth and power a MIG slice has is on no record: unknown, never the whole device's."""
    text = requirement(field="memory_bandwidth_gb_s", at_least=1500) + requirement(field="tdp_w", at_most=500)
    text += requirement(devices="1 x >= 80 GB")
    assert [verdict for verdict, _ in verdicts(connection, text, "a100-sxm4-80gb")] == [COMPLIANT] * 3
    assert [verdict for verdict, _ in verdicts(connection, text, "a100-sxm4-80gb/3g.40gb")] == [UNKNOWN] * 3


def test_the_speed_of_unlike_cards_is_that_of_all(connection: sqlite3.Connection) -> None:
    """A model that one card cannot hold has a speed on two unlike ones: the machine is asked whole."""
    text = requirement(models=["Qwen3-14B"], precision="bf16", context=4096, min_tokens_s=0.1)
    ((verdict, reason),) = verdicts(connection, text, "1x rtx-4090 + 1x rtx-3090")
    assert verdict == COMPLIANT and "the whole range is within" in reason


def test_each_system_has_one_name(connection: sqlite3.Connection) -> None:
    """A system that is named twice is checked once; two lines of an offer with one name are refused, with the line."""
    assert len(named_systems(connection, ["dgx-h100", "nvidia-dgx-h100"])) == 1
    with pytest.raises(BadFileError, match=r"o\.csv:3.*name"):
        parse_offers(connection, "name,hardware\nnode,dgx-h100\nnode,dgx-h200\n", "o.csv")


def test_the_second_of_two_ids_is_named(tmp_path: Path) -> None:
    """Its line is given, whatever else is wrong with the file."""
    text = requirement(id="a") + requirement(id="b", devices=CLASS) + requirement(id="b", devices=CLASS)
    with pytest.raises(BadFileError) as raised:
        parse_requirements(text, "t.toml")
    assert "t.toml:7" in str(raised.value)
