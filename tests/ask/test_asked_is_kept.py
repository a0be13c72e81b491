"""What a question says is kept or refused with a reason, never left out; what it leaves open is said in the answer."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.lists import what_runs
from rackfit.ask.machines import find_machines
from rackfit.ask.question import FitQuestion
from rackfit.errors import UsageError
from reference.asking import ask

GIB = 2**30
PAIR = "1x rtx-3090 + 1x rtx-3070"
H100 = "1x h100-sxm5-80gb"


@pytest.mark.parametrize(
    ("on", "said", "named"),
    [
        (PAIR, {"dp": 2}, "DP 2"),
        (PAIR, {"dcp": 2}, "DCP 2"),
        (PAIR, {"ep": 2}, "EP 2"),
        (PAIR, {"tp": 2, "pp": 2}, "TP 2 x PP 2"),
        (PAIR, {"pp": 3}, "PP 3"),
        (PAIR, {"tp": 2, "split": (20, 8)}, "TP 2"),
        ("2x rtx-3090", {"gpu_layers": 10, "tp": 2}, "TP 2"),
        ("2x rtx-3090", {"gpu_layers": 10, "dp": 2}, "DP 2"),
        ("2x rtx-3090", {"gpu_layers": 10, "split": (20, 8)}, "split"),
        ("8x h100-sxm5-80gb", {"tp": 3}, "TP 3 does not divide 16"),
        ("8x h100-sxm5-80gb", {"tp": 16, "pp": 1}, "needs 16 devices, there are 8"),
    ],
)
def test_degrees_that_cannot_be_had(connection: sqlite3.Connection, on: str, said: dict[str, Any], named: str) -> None:
    """A degree given for unlike devices, or beside layers in RAM, was once left out without a word."""
    answer = ask(connection, "qwen3-1.7b", on, **said)

    assert answer["verdict"] == "cannot_run"
    assert named in answer["reason"]


@pytest.mark.parametrize(
    ("on", "said", "layout"),
    [
        (PAIR, {"tp": 1}, (1, 2, 1)),
        (PAIR, {"pp": 1}, (2, 1, 1)),
        ("8x h100-sxm5-80gb", {"pp": 3}, (2, 3, 1)),
        ("8x h100-sxm5-80gb", {"dp": 3}, (2, 1, 3)),
        ("2 nodes x 1x rtx-3090 + 1x rtx-3070", {}, (1, 4, 1)),
    ],
)
def test_degrees_that_are_kept(
    connection: sqlite3.Connection, on: str, said: dict[str, Any], layout: tuple[int, int, int]
) -> None:
    """A degree that does not divide the devices leaves some idle; unlike devices of several nodes pass whole layers."""
    answer = ask(connection, "qwen3-1.7b", on, **said)

    assert tuple(answer["layout"][name] for name in ("tp", "pp", "dp")) == layout


def test_the_order_of_parts_does_not_matter(connection: sqlite3.Connection) -> None:
    """A system may stand behind the plus sign as in front of it."""
    first, behind = (find_machines(connection, on)[0] for on in ("dgx-h100 + 1x rtx-3090", "1x rtx-3090 + dgx-h100"))

    assert sorted((device.accelerator_id, count) for device, count in first.kinds) == sorted(
        (device.accelerator_id, count) for device, count in behind.kinds
    )


def test_every_kind_of_device_must_run_the_format(connection: sqlite3.Connection) -> None:
    """bfloat16 needs compute capability 8.0 (CUDA programming guide): a T4 beside an RTX 3090 does not compute it."""
    asked = ask(connection, "qwen3-1.7b", "1x rtx-3090 + 1x t4", precision="bf16", runtime="vllm")
    left = ask(connection, "qwen3-1.7b", "1x rtx-3090 + 1x t4", runtime="vllm")

    assert (asked["verdict"], "on T4" in asked["reason"]) == ("cannot_run", True)
    assert (left["verdict"], left["precision"]) == ("fits", "fp16")


def test_all_devices_count_for_what_runs(connection: sqlite3.Connection) -> None:
    """Eight H100 behind a small card in the expression: a model of 70B is on the list as without the small card."""
    question = FitQuestion(on="1x rtx-3060-12gb + 8x h100-sxm5-80gb", limit=500)

    assert "meta-llama/llama-3.1-70b" in {row["model"] for row in what_runs(connection, question)}


def test_slices_of_several_cards_are_said(connection: sqlite3.Connection) -> None:
    """An A100 80GB has at most three slices of 2g.20gb (NVIDIA MIG user guide, profiles of the A100)."""
    three, four = (ask(connection, "qwen3-1.7b", f"{count}x a100-sxm4-80gb/2g.20gb") for count in (3, 4))
    one = ask(connection, "qwen3-1.7b", "a100-sxm4-80gb/2g.20gb")

    assert not [line for line in three["assumptions"] if "cards" in line]
    assert "4 slices of 2g.20gb lie on 2 cards: one has room for 3" in four["assumptions"]
    assert four["per_device"]["runtime_bytes"] == one["per_device"]["runtime_bytes"], "slices share no buffers"


def test_defaults_are_said(connection: sqlite3.Connection) -> None:
    """Every figure that the arithmetic took without being told: format, layout, share, batch, sequence limit."""
    answer = ask(connection, "qwen3-8b", "2x h100-sxm5-80gb")
    said = ask(
        connection, "qwen3-8b", "2x h100-sxm5-80gb", precision="bf16", kv_precision="bf16", context=4096, sequences=1,
        runtime="vllm", tp=2, pp=1, utilization=0.9, max_batched_tokens=2048, max_sequences=64,
    )  # fmt: skip

    starts = {line.partition(":")[0] for line in answer["assumptions"]}
    assert starts == {
        "context", "KV cache", "sequences", "runtime", "precision", "layout", "utilization", "tokens of one pass",
        "sequence limit",
    }  # fmt: skip
    assert said["assumptions"] == []


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"runtime": "llama.cpp", "utilization": 0.9}, "utilization: not used"),
        ({"runtime": "transformers", "max_batched_tokens": 512}, "tokens of one pass: not used"),
        ({"runtime": "transformers", "max_sequences": 4}, "sequence limit: not used"),
        ({"lora_rank": 64}, "a rank without slots"),
    ],
)
def test_settings_in_vain_are_said(connection: sqlite3.Connection, said: dict[str, Any], line: str) -> None:
    """A setting that the engine has no use for changes nothing, and the answer says that it does not."""
    answer = ask(connection, "qwen3-8b", H100, **said)

    assert any(line in one for one in answer["assumptions"])


def test_more_sequences_than_the_engine_runs(connection: sqlite3.Connection) -> None:
    """A sequence limit of 16 with 64 sequences: the memory is told for 64, and that 48 of them wait."""
    answer = ask(connection, "qwen3-1.7b", H100, context=1024, sequences=64, max_sequences=16)

    assert any("16 sequences at a time" in line and "48 wait" in line for line in answer["warnings"])


def test_more_memory_than_there_is(connection: sqlite3.Connection) -> None:
    """500 GiB stated as usable of an 80 GB card are a slip: never `fits`, and the reason names both figures."""
    slip = ask(connection, "llama-3.1-70b", H100, usable_gib=500.0)
    honest = ask(connection, "qwen3-8b", H100, usable_gib=79.0)

    assert slip["verdict"] == "tight" and "500 GiB" in slip["reason"] and "79.65" in slip["reason"]
    assert honest["verdict"] == "fits"


def test_images_switched_off_and_asked_for(connection: sqlite3.Connection) -> None:
    """The two exclude each other."""
    with pytest.raises(UsageError, match="images"):
        ask(connection, "gemma-3-27b-it", H100, images=2, text_only=True)


def test_one_rule_for_ram(connection: sqlite3.Connection) -> None:
    """RAM as all there is, and RAM beside a card: what leaves less than a tenth free is tight in both."""
    alone = ask(connection, "qwen3-8b", "cpu", host_ram_gib=17.5, precision="bf16")
    beside = ask(connection, "qwen3-8b", "rtx-3090", host_ram_gib=17.5, precision="bf16", gpu_layers=0)

    assert alone["per_device"]["total_bytes"] > 0.9 * 17.5 * GIB
    assert alone["verdict"] == beside["verdict"] == "tight"


def test_nothing_is_usable_rather_than_less_than_nothing(connection: sqlite3.Connection) -> None:
    """More kept free than there is leaves 0 bytes."""
    answer = fit_one(connection, FitQuestion(model="qwen3-8b", on=H100, reserve_gib=500.0), suggest=False)

    assert (answer["verdict"], answer["per_device"]["usable_bytes"]) == ("no", 0)
