"""Live questions of speed: seed figures, layouts, links, ranges, refusals."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from rackfit.ask.attention import attention, hierarchy
from rackfit.ask.question import FitQuestion, find_model
from rackfit.ask.scaling import scaling
from rackfit.ask.speed import speed_one
from rackfit.ask.training_time import training_time
from rackfit.errors import RackfitError, UnknownNameError, UnsupportedError, UsageError

ROW = {"strategy", "degree", "compute_s", "communication_s", "efficiency", "link", "bound_by", "assumptions"}


def speed(connection: sqlite3.Connection, model: str, on: str, **said: Any) -> dict[str, Any]:
    """Return the answer; whatever was asked, it is JSON, and each estimate lies in its range under its bound."""
    answer = speed_one(connection, FitQuestion(model=model, on=on, **said))
    json.dumps(answer, allow_nan=False)
    for row in answer["decode"]:
        assert 0 < row["low"] <= row["tokens_per_s"] <= row["high"] <= row["bound"] * 1.001
        assert row["figure"] == "estimate"
    return answer


def rows(connection: sqlite3.Connection, model: str, on: str, *degrees: int, tokens: int = 48) -> list[dict[str, Any]]:
    """Return the rows of a scaling question."""
    return scaling(connection, FitQuestion(model=model, on=on), degrees or (1, 2, 4, 8), tokens)


def tensor(connection: sqlite3.Connection, model: str, on: str, degree: int = 8) -> dict[str, Any]:
    """Return the row of tensor parallelism at a degree."""
    return next(row for row in rows(connection, model, on, degree) if row["strategy"] == "TP")


@pytest.mark.parametrize("model", ["Llama-2-7b-hf", "Llama-3.1-8B", "Llama-2-13b-hf", "Qwen3-32B", "Llama-3.1-70B"])
def test_the_seed_pair(connection: sqlite3.Connection, model: str) -> None:
    """A100 SXM4 about 95 %, A100 PCIe about 50 % at 8 devices: seed chapter, PCIe vs NVLink."""
    near = tensor(connection, model, "8x a100-sxm4-80gb")
    far = tensor(connection, model, "8x a100-pcie-80gb")

    assert 0.90 <= near["efficiency"] <= 0.98
    assert 0.40 <= far["efficiency"] <= 0.60
    assert far["link_gb_s"] == pytest.approx(15.75)
    assert "2 all-reduces" in far["assumptions"]
    assert "two devices on one uplink" in far["assumptions"]


def test_rows_have_the_columns_that_were_asked_for(connection: sqlite3.Connection) -> None:
    """One row per strategy and degree; experts only where the model has some."""
    found = rows(connection, "Llama-3.1-8B", "8x h100-sxm5-80gb")

    assert all(row.keys() >= ROW for row in found)
    assert [(row["strategy"], row["degree"]) for row in found] == [
        (strategy, degree) for strategy in ("TP", "PP", "DP") for degree in (1, 2, 4, 8)
    ]
    experts = rows(connection, "Mixtral-8x7B-v0.1", "8x h100-sxm5-80gb", 8)
    assert [row["strategy"] for row in experts] == ["TP", "PP", "EP", "DP"]


def test_efficiency_is_what_it_says(connection: sqlite3.Connection) -> None:
    """compute / (compute + communication), and 1 on one device."""
    for row in rows(connection, "Llama-3.1-70B", "8x a100-pcie-80gb"):
        assert row["efficiency"] == pytest.approx(row["compute_s"] / (row["compute_s"] + row["communication_s"]))
        assert row["degree"] > 1 or row["efficiency"] == 1


def test_bytes_per_token_on_the_link(connection: sqlite3.Connection) -> None:
    """70B over 8: 80 layers x 2 all-reduces x 2 x 7/8 x 8192 x 2 bytes = 4.6 MB; a boundary of a pipeline 16 KB."""
    found = {row["strategy"]: row["bytes_per_token"] for row in rows(connection, "Llama-3.1-70B", "8x h100-sxm5", 8)}

    assert found["TP"] == 80 * 2 * 2 * 7 / 8 * 8192 * 2
    assert (found["PP"], found["DP"]) == (16384, 0)


def test_a_pipeline_is_viable_over_pcie(connection: sqlite3.Connection) -> None:
    """The seed: pipeline parallelism passes activations at boundaries only."""
    found = rows(connection, "Llama-3.1-70B", "8x a100-pcie-80gb", 8)

    assert next(row for row in found if row["strategy"] == "PP")["efficiency"] > 0.98


def test_a_system_joins_as_its_record_says(connection: sqlite3.Connection) -> None:
    """NVSwitch in a DGX, PCIe in a host of L40S, the network between two nodes."""
    assert tensor(connection, "Llama-3.1-70B", "dgx-a100-640gb")["link_gb_s"] == 300
    assert "PCIe" in tensor(connection, "Llama-3.1-70B", "supermicro-4125gs-l40s-8")["link"]
    across = tensor(connection, "Llama-3.1-70B", "2 nodes x dgx-a100-640gb", 16)
    assert across["link"] is None or "network" in across["link"]


def test_a_degree_that_cannot_run_says_why(connection: sqlite3.Connection) -> None:
    """A number of devices that does not divide the heads is no degree of tensor parallelism."""
    row = tensor(connection, "Llama-3.1-8B", "8x a100-sxm4-80gb", 3)

    assert (row["bound_by"], row["efficiency"]) == ("cannot run", None)
    assert "heads" in row["assumptions"]


@pytest.mark.parametrize(("degrees", "tokens"), [((0,), 48), ((), 48), ((2,), 0), ((100_000,), 48)])
def test_figures_that_mean_nothing_are_refused(
    connection: sqlite3.Connection, degrees: tuple[int, ...], tokens: int
) -> None:
    """Degrees and tokens start at 1."""
    with pytest.raises(UsageError):
        scaling(connection, FitQuestion(model="Llama-3.1-8B", on="8x a100-sxm4-80gb"), degrees, tokens)


def test_decode_and_prompt(connection: sqlite3.Connection) -> None:
    """Decode reads memory, a prompt computes: 8B in bf16 on an H100 of 3.35 TB/s cannot pass 223 tokens/s."""
    answer = speed(connection, "Llama-3.1-8B", "1x h100-sxm5-80gb", context=1024)
    one, full = answer["decode"][0], answer["decode"][-1]

    assert one["bound"] < 3350 / 15.0
    assert answer["ridge"]["side"] == "memory-bound"
    assert full["sequences"] > 1
    assert full["tokens_per_s"] > one["tokens_per_s"] > full["per_sequence"]
    prefill = answer["prefill"]
    assert prefill["low"] <= prefill["tokens_per_s"] <= prefill["high"] <= prefill["bound"]
    assert prefill["time_to_first_token_low_s"] < prefill["time_to_first_token_s"]
    assert prefill["time_to_first_token_s"] < prefill["time_to_first_token_high_s"]


def test_more_devices_are_faster_and_cost_all_reduces(connection: sqlite3.Connection) -> None:
    """Eight devices beat two, but not four times; the split is a term of its own."""
    two = speed(connection, "Llama-3.1-70B", "2x h100-sxm5-80gb", precision="fp8", context=1024)["decode"][0]
    eight = speed(connection, "Llama-3.1-70B", "8x h100-sxm5-80gb", precision="fp8", context=1024)["decode"][0]

    assert two["tokens_per_s"] < eight["tokens_per_s"] < 4 * two["tokens_per_s"]
    assert eight["split_ms"] > 0


def test_a_longer_context_is_slower(connection: sqlite3.Connection) -> None:
    """The cache is read at every step."""
    short, long_ = (
        speed(connection, "Llama-3.1-8B", "1x h100-sxm5-80gb", context=context)["decode"][0]["tokens_per_s"]
        for context in (1024, 65536)
    )

    assert long_ < short


def test_unlike_cards_and_slices(connection: sqlite3.Connection) -> None:
    """Stages of unlike cards work one after the other; a MIG slice has part of the bandwidth."""
    pair = speed(connection, "Llama-3.1-8B", "1x rtx-3090 + 1x rtx-3070", precision="q4_k_m", context=1024)
    alone = speed(connection, "Llama-3.1-8B", "1x rtx-3090", precision="q4_k_m", context=1024)
    slice_ = speed(connection, "Llama-3.1-8B", "a100-sxm4-80gb/3g.40gb", context=1024)
    whole = speed(connection, "Llama-3.1-8B", "1x a100-sxm4-80gb", context=1024)

    assert pair["decode"][0]["tokens_per_s"] < alone["decode"][0]["tokens_per_s"]
    assert slice_["decode"][0]["bound"] < 0.6 * whole["decode"][0]["bound"]
    assert any("MIG slice" in note for note in slice_["assumptions"])


def test_ram_without_a_bandwidth_has_no_speed(connection: sqlite3.Connection) -> None:
    """Nothing is guessed of the host."""
    answer = speed(connection, "Qwen3-30B-A3B", "rtx-3090", precision="q8_0", cpu_experts=20, host_ram_gib=64.0)

    assert answer["decode"] == []
    assert any("RAM is not on record" in note for note in answer["assumptions"])
    with pytest.raises(UnsupportedError, match="RAM is not on record"):
        speed_one(connection, FitQuestion(model="Qwen3-8B", on="cpu", host_ram_gib=64.0))


def test_hierarchy_of_the_seed(connection: sqlite3.Connection) -> None:
    """A100: 256 KB registers, 192 KB, ~19 TB/s against ~2; H100: 228 KB, 3.35 TB/s (seed chapter)."""
    a100, h100 = hierarchy(connection, "a100-sxm4-80gb"), hierarchy(connection, "h100-sxm5-80gb")
    near = {one["level"]: one for one in a100["levels"]}
    far = {one["level"]: one for one in h100["levels"]}

    assert near["register"]["capacity_bytes"] == 256 * 1024
    assert near["l1_shared"]["capacity_bytes"] == 192 * 1024
    assert near["l1_shared"]["bandwidth_gb_s"] == pytest.approx(19500, rel=0.01)
    assert near["l1_shared"]["basis"].startswith("derived")
    assert near["hbm"]["bandwidth_gb_s"] == pytest.approx(2000, rel=0.03)
    assert a100["sram_to_memory_bandwidth"] == pytest.approx(9.6, abs=0.2)
    assert far["shared_max"]["capacity_bytes"] == 228 * 1024
    assert far["hbm"]["bandwidth_gb_s"] == 3350
    assert [one["level"] for one in a100["levels"]] == ["register", "l1_shared", "shared_max", "l2", "hbm"]


def test_attention_of_the_seed(connection: sqlite3.Connection) -> None:
    """One head of 128K tokens has a matrix of 34.4 GB; a layer's fill an A100 far before that."""
    answer = attention(connection, "Llama-3.1-8B", "a100-sxm4-80gb")
    layer = answer["layers"][0]

    assert layer["score_bytes_per_head"] == pytest.approx(34.4e9, rel=0.002)
    assert not layer["score_matrix_fits"]
    assert layer["longest_context_all_heads"] < 131072 < layer["longest_context_one_head"]
    assert (layer["materialised_side"], layer["tiled_side"]) == ("memory-bound", "compute-bound")
    batch = attention(connection, "Llama-3.1-8B", "a100-sxm4-80gb", 131072, 4)["layers"][0]
    assert batch["materialised_bytes"] == 4 * layer["materialised_bytes"]


def test_links_of_the_chapter(connection: sqlite3.Connection) -> None:
    """NVLink 600, 900, 1800 GB/s in total; PCIe 4 and 5 x16 about 32 and 64 per direction (seed chapter)."""
    found = {
        key: (total, one)
        for key, total, one in connection.execute(
            "select interconnect_id, total_gb_s, per_direction_gb_s from interconnects"
        )
    }

    assert [found[f"nvlink-{number}"][0] for number in (3, 4, 5)] == [600, 900, 1800]
    assert found["pcie-gen4-x16"][1] == pytest.approx(32, rel=0.02)
    assert found["pcie-gen5-x16"][1] == pytest.approx(64, rel=0.02)


@pytest.mark.parametrize(
    ("model", "on", "error"),
    [
        ("no-such-model", "rtx-4090", UnknownNameError),
        ("Qwen3-8B", "no-such-card", UnknownNameError),
        ("Qwen3-8B", "", UsageError),
    ],
)
def test_names_that_are_not_known(
    connection: sqlite3.Connection, model: str, on: str, error: type[RackfitError]
) -> None:
    """Unknown names and empty hardware are refused as in every other question."""
    question = FitQuestion(model=model, on=on)
    with pytest.raises(error):
        speed_one(connection, question)
    with pytest.raises(error):
        scaling(connection, question)
    with pytest.raises(error):
        attention(connection, model, on)


def test_a_mesh_gives_a_small_group_few_of_its_links(connection: sqlite3.Connection) -> None:
    """MI300X: 7 links of 64 GB/s per direction; two devices share one of them, eight all."""
    two, eight = (tensor(connection, "Llama-3.1-8B", "8x mi300x", degree) for degree in (2, 8))

    assert two["link_gb_s"] == pytest.approx(64)
    assert eight["link_gb_s"] == pytest.approx(448)


def test_training_time(connection: sqlite3.Connection) -> None:
    """A run's speed and days come with their range, convention and evidence; what means nothing is refused."""
    anatomy = find_model(connection, "Llama-3.1-8B").anatomy
    found = training_time(connection, anatomy, "nvidia-h100-sxm5-80gb", 512, 8192, "selective", 1e12)

    assert found["low"] < found["tokens_per_s"] < found["high"]
    assert found["days_low"] < found["days"] < found["days_high"]
    assert "published runs on H100" in found["basis"]
    with pytest.raises(UsageError):
        training_time(connection, anatomy, "nvidia-h100-sxm5-80gb", 0, 8192)
    with pytest.raises(UsageError):
        training_time(connection, anatomy, "nvidia-h100-sxm5-80gb", 1, 8192, "some")


def test_an_export_variant_has_its_own_link(connection: sqlite3.Connection) -> None:
    """H800: 200 GB/s one way by name, about 160 measured, not the figures of NVLink 4.

    https://github.com/deepseek-ai/DeepEP/issues/16
    """
    row = tensor(connection, "Llama-3.1-70B", "8x h800-sxm5-80gb", 8)

    assert row["link_gb_s"] == 200
    assert "measured: 160 GB/s" in row["assumptions"]
