"""Pages of devices and systems, and the search box that leads to them."""

from __future__ import annotations

import pytest

from rackfit.ask.lists import what_runs
from rackfit.ask.question import FitQuestion
from rackfit.publish.drawings import hierarchy


def test_a_device_shows_its_figures_with_their_sources(get):
    """H100 SXM: 80 GB, 3.35 TB/s, 700 W, 1,979 sparse and 989.4 dense BF16 TFLOPS (NVIDIA data sheet)."""
    page = get("/hardware/nvidia-h100-sxm5-80gb")
    body = get("/hardware/nvidia-h100-sxm5-80gb.json").json()
    assert page.status_code == 200 and body["ok"]
    assert "3.35 TB/s" in page.text and "700 W" in page.text and "989.4" in page.text
    rates = {row["precision_name"]: row for row in body["parts"]["accelerator_rates"]}
    assert rates["bf16"]["sparse_tflops"] == pytest.approx(2 * rates["bf16"]["dense_tflops"], rel=1e-3)
    memory = next(fact for fact in body["facts"] if fact["field"] == "memory_gb")
    assert memory["value"] == 80 and memory["sources"] and memory["unit"]
    for source in memory["sources"]:
        assert source in page.text


def test_a_device_shows_its_levels_and_profiles(get):
    """H100: 132 units x 256 KiB of registers, 50 MB of L2 (Hopper white paper); seven 1g.10gb instances (MIG guide)."""
    body = get("/hardware/nvidia-h100-sxm5-80gb.json").json()
    levels = {row["level"]: row for row in body["parts"]["memory_levels"]}
    assert levels["register"]["total_bytes"] == 132 * 256 * 1024
    assert levels["l2"]["total_bytes"] == 50 * 2**20
    profiles = {row["profile"]: row["max_instances"] for row in body["parts"]["mig_profiles"]}
    assert profiles["1g.10gb"] == 7 and profiles["7g.80gb"] == 1


def test_what_fits_is_ranked_as_the_live_list(get, connection):
    """The stored list puts what runs comfortably first, newest half-year first, then the larger, as `fit --on` does."""
    fits = get("/hardware/nvidia-rtx-4090.json").json()["fits"]
    ranks = [row["comfortable"] for row in fits]
    assert ranks == sorted(ranks, reverse=True)
    live = what_runs(connection, FitQuestion(on="nvidia-rtx-4090", limit=40))
    stored = {row["model_id"] for row in fits if row["comfortable"]}
    named = [row["model"] for row in live if row["margin_bytes"] >= 0.05 * row["usable_bytes"]][:10]
    assert len(stored & set(named)) >= 8


def test_the_nearest_device_is_near(get):
    """H800 SXM has the memory and the bandwidth of H100 SXM; what is offered is released and not the device itself."""
    nearest = get("/hardware/nvidia-h100-sxm5-80gb.json").json()["nearest"]
    assert nearest[0]["accelerator_id"] == "nvidia-h800-sxm5-80gb" or nearest[0]["memory_ratio"] == 1
    assert all(row["accelerator_id"] != "nvidia-h100-sxm5-80gb" for row in nearest)


def test_prices_have_dates(get):
    """A price without a date is not shown as one."""
    for offer in get("/hardware/nvidia-h100-sxm5-80gb.json").json()["offers"]:
        assert offer["valid_from"] and offer["currency"] and offer["price_kind"]


def test_a_system_names_its_devices_and_what_fits(get):
    """DGX H100: eight H100, 640 GB, 10.2 kW (NVIDIA DGX H100 data sheet)."""
    body = get("/system/nvidia-dgx-h100.json").json()
    assert body["known"]["accelerator_count"] == 8 and body["known"]["max_power_w"] == 10200
    assert body["fits"] and body["configuration"]["device_count"] == 8
    page = get("/system/nvidia-dgx-h100")
    assert page.status_code == 200 and "/hardware/nvidia-h100-sxm5-80gb" in page.text
    assert "/why?model=" in page.text and "on=nvidia-dgx-h100" in page.text


@pytest.mark.parametrize("place", ["hardware", "system"])
def test_unknown_names_are_not_found(get, place):
    """404 with a box to try again, in JSON too."""
    page = get(f"/{place}/nvidia-h1000")
    assert page.status_code == 404 and 'value="nvidia-h1000"' in page.text
    assert get(f"/{place}/nvidia-h1000.json").status_code == 404


def test_a_class_of_devices_is_never_one_of_them(get):
    """A100 stands for several cards: all are named, with a link each."""
    page = get("/hardware/a100")
    assert page.status_code == 400 and "/hardware/nvidia-a100-sxm4-80gb" in page.text
    assert len(get("/hardware/a100.json").json()["near"]) > 2


def test_every_device_and_system_has_a_page(get, connection):
    """All of them are read and drawn."""
    for place, sql in (
        ("hardware", "select accelerator_id from accelerators"),
        ("system", "select system_id from systems"),
    ):
        for (key,) in connection.execute(sql).fetchall():
            assert get(f"/{place}/{key}").status_code == 200, key


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("qwen3-32b", "/model/qwen/qwen3-32b"),
        ("RTX 4090", "/hardware/nvidia-rtx-4090"),
        ("NVIDIA A100-SXM4-80GB", "/hardware/nvidia-a100-sxm4-80gb"),
        ("dgx-h100", "/system/nvidia-dgx-h100"),
        ("q4_k_m", "/catalog/precisions/ggufmix_q4_k_m"),
    ],
)
def test_an_exact_name_goes_to_its_page(get, text, place):
    """Models, devices, systems and formats, by slug and by the names that drivers print."""
    answer = get(f"/search?q={text}", follow=False)
    assert answer.status_code == 302 and answer.headers["location"] == place


def test_a_part_of_a_name_lists_what_has_it(get):
    """H100 is a class: cards, systems; each with its address, JSON alike."""
    page = get("/search?q=h100")
    assert page.status_code == 200 and "/hardware/nvidia-h100-sxm5-80gb" in page.text and "/system/" in page.text
    body = get("/search.json?q=h100").json()
    assert body["exact"] is None and {"accelerator", "system"} <= {hit["kind"] for hit in body["hits"]}
    assert all(hit["href"] in page.text for hit in body["hits"][:5])


@pytest.mark.parametrize(("query", "status"), [("q=zzzz", 404), ("q=" + "x" * 300, 400), ("q=qwenn3-32bb", 404)])
def test_a_search_without_a_hit_keeps_what_was_typed(get, query, status):
    """404 or 400, with the box filled."""
    page = get(f"/search?{query}")
    assert page.status_code == status and f'value="{query[2:202]}' in page.text
    assert get(f"/search.json?{query}").status_code == status


def test_the_box_is_on_the_front_page(get):
    """One box, a plain form."""
    page = get("/")
    assert 'action="/search"' in page.text and 'name="q"' in page.text
    assert get("/search").status_code == 200 and get("/search.json").status_code == 400


def test_levels_without_a_second_are_no_picture():
    """A device of which only main memory is known has a table and no drawing."""
    rows = hierarchy.levels([{"level": "hbm", "capacity_bytes": 2**34, "scope": "device"}], None)
    assert hierarchy.picture(rows) == "" and rows[0]["total_bytes"] == 2**34


def test_values_per_money_and_watt(get):
    """80 GB, 3350 GB/s and 989.4 dense bf16 TFLOPS at 700 W (NVIDIA, H100 datasheet), per watt and per price."""
    record = get("/hardware/nvidia-h100-sxm5-80gb.json").json()
    for row in record["device_values"]:
        assert row["gb_per_watt"] == pytest.approx(80 / 700)
        assert row["gb_s_per_watt"] == pytest.approx(3350 / 700)
        assert row["tflops_per_watt"] == pytest.approx(989.4 / 700)
        assert row["gb_per_price"] == pytest.approx(80 / row["price_per_device"])
        assert row["price_valid_from"]
        assert row["source_id"]
    assert {row["term_class"] for row in record["device_values"]} >= {"on-demand", "spot", "purchase"}
    assert "What money and power buy" in get("/hardware/nvidia-h100-sxm5-80gb").text


def test_no_price_no_value(get, connection):
    """A device without a price says so, and has no figure per money."""
    (name,) = connection.execute(
        "select accelerator_id from device_values where price_per_device is null and tdp_w is not null limit 1"
    ).fetchone()
    (row,) = get(f"/hardware/{name}.json").json()["device_values"]
    assert row["gb_per_price"] is None
    assert row["gb_per_watt"] is not None
    assert "No price of it is on record" in get(f"/hardware/{name}").text
