"""Price records: what is refused and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from rackfit.errors import BadRecordsError
from rackfit.records.load import read_library

HEADER = (
    "kind,provider,product,accelerator_id,system_id,device_count,price,currency,region,term,tier,price_kind,valid_from,"
    "valid_until,source,confidence\n"
)
GOOD = (
    "hourly,GCP,a2-highgpu-1g,nvidia-h100-sxm5-80gb,,1,4.05,USD,us-central1,on-demand,standard,list,2023-06-05,,"
    "{},high\n"
)


def _write(small_data: Path, *rows: str) -> None:
    source = read_library([small_data]).rows["offers"][0].source
    text = HEADER + "".join(row.format(source) for row in rows)
    (small_data / "prices/extra.csv").write_text(text)


def _problems(small_data: Path) -> str:
    with pytest.raises(BadRecordsError) as raised:
        read_library([small_data])
    return str(raised.value)


def test_a_good_row_is_read(small_data: Path) -> None:
    """A complete row is one more offer, its price exact."""
    _write(small_data, GOOD)
    offer = next(offer for offer in read_library([small_data]).rows["offers"] if offer.file == "extra")
    assert offer.price_micros == 4_050_000
    assert offer.region == "us-central1"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",4.05,", ",free,", "price = 'free'"),
        (",4.05,", ",-4.05,", "price = '-4.05'"),
        (",4.05,", ",4.0500001,", "price = '4.0500001'"),
        (",USD,", ",usd,", "currency = 'usd'"),
        (",USD,", ",XXX,", "currency = 'XXX'"),
        (",2023-06-05,", ",05.06.2023,", "valid_from = '05.06.2023'"),
        (",2023-06-05,", ",2023-13-05,", "valid_from = '2023-13-05'"),
        (",1,4.05", ",0,4.05", "device_count = '0'"),
        (",1,4.05", ",one,4.05", "device_count = 'one'"),
        ("nvidia-h100-sxm5-80gb", "nvidia-h1000", "'nvidia-h1000': expected a slug of data/accelerators"),
        ("5-80gb,,", "5-80gb,no-such-system,", "'no-such-system': expected a slug of data/systems"),
        (",{},high", ",no-such-source,high", "'no-such-source': expected a key of data/sources"),
        (",high", ",certain", "confidence = 'certain'"),
        (",list,", ",guess,", "price_kind = 'guess'"),
        ("hourly,GCP,", "hourly,,", "provider, product and term"),
        ("2023-06-05,,", "2023-06-05,2022-01-01,", "valid_until on or after valid_from"),
        ("hourly,GCP,", "hourly,=GCP(),", "provider = '=GCP()'"),
    ],
)
def test_a_bad_cell_is_named(small_data: Path, old: str, new: str, said: str) -> None:
    """Each bad cell is reported with file, line or offer, field, value and what was expected."""
    _write(small_data, GOOD.replace(old, new, 1))
    found = _problems(small_data)
    assert "prices/extra.csv" in found
    assert said in found


def test_the_same_offer_twice_is_refused(small_data: Path) -> None:
    """Two prices of one offer stop the build, both named.

    A duplicated row once doubled a node's price, https://github.com/skypilot-org/skypilot/issues/1367 (trial R063).
    """
    _write(small_data, GOOD, GOOD.replace("4.05", "0.94"))
    found = _problems(small_data)
    assert "0.94 USD" in found
    assert "4.05 USD" in found


def test_regions_differing_in_case_are_one_offer(small_data: Path) -> None:
    """`us-central1` and `US-Central1` are the same region (trial R061)."""
    _write(small_data, GOOD, GOOD.replace("us-central1", "US-Central1"))
    assert "one row per offer" in _problems(small_data)


def test_a_missing_column_is_named(small_data: Path) -> None:
    """A file without a needed column is refused as a whole."""
    (small_data / "prices/extra.csv").write_text("kind,provider\nhourly,GCP\n")
    assert "price" in _problems(small_data)


def test_a_byte_order_mark_is_no_part_of_a_name(small_data: Path) -> None:
    """A file saved by a spreadsheet with a byte order mark reads the same (trial R125)."""
    _write(small_data, GOOD)
    path = small_data / "prices/extra.csv"
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert any(offer.file == "extra" for offer in read_library([small_data]).rows["offers"])


def test_a_file_saved_by_a_spreadsheet_with_decimal_commas(small_data: Path) -> None:
    """Mark, semicolons and decimal commas read as the same offer (trial R125); mixed with points they are refused."""
    _write(small_data, GOOD)
    path = small_data / "prices/extra.csv"
    points = path.read_text()
    assert "4.05" in points
    path.write_text(points.replace(",", ";").replace("4.05", "4,05"), encoding="utf-8-sig")
    offers = [offer for offer in read_library([small_data]).rows["offers"] if offer.file == "extra"]
    assert [str(offer.price) for offer in offers] == ["4.05"]
    path.write_text(path.read_text(encoding="utf-8-sig") + points.splitlines()[1].replace(",", ";") + "\n")
    assert "decimal comma in line 2, decimal point in line 3" in _problems(small_data)


def test_a_case_id_taken_twice_is_refused(small_data: Path) -> None:
    """A case id belongs to one measurement."""
    cases = (small_data / "measurements/public-cases.csv").read_text()
    (small_data / "measurements/again.csv").write_text(cases)
    assert "a case id that measurements/again.csv does not use already" in _problems(small_data)
