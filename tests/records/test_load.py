"""Reading a data folder: overlays, and everything wrong said at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rackfit.errors import BadRecordsError
from rackfit.paths import packaged
from rackfit.records.load import iter_records, read_library


def test_real_data_is_clean() -> None:
    """Every file of the release can be read and no rule is broken."""
    library = read_library([packaged("data")])
    assert len(library.kind("accelerators")) >= 220
    assert len(library.kind("interconnects")) >= 60
    assert len(library.kind("systems")) >= 220
    assert len(library.kind("precisions")) >= 100
    assert len(library.kind("models")) >= 410
    assert sum(len(model.checkpoints) for model in library.kind("models").values()) >= 630


def test_records_come_in_a_stable_order(small_data: Path) -> None:
    """Two readings give the same records in the same order."""
    first, second = ([(kind, slug) for kind, slug, _ in iter_records(read_library([small_data]))] for _ in range(2))
    assert first == second


def test_every_stated_fact_has_a_source(small_data: Path) -> None:
    """A record without a source for a fact is refused with the field's name."""
    path = small_data / "accelerators/nvidia/nvidia-rtx-4090.toml"
    text = path.read_text()
    head, _, _ = text.partition("[provenance]")
    path.write_text(f"{head}[provenance]\n")
    with pytest.raises(BadRecordsError, match=r"nvidia-rtx-4090\.toml.*provenance lacks a source for"):
        read_library([small_data])


def test_an_overlay_adds_local_records(small_data: Path, tmp_path: Path) -> None:
    """A second folder's prices are local, the first one's are of the release."""
    overlay = tmp_path / "overlay"
    (overlay / "prices").mkdir(parents=True)
    lines = (small_data / "prices/cloud.csv").read_text().splitlines(keepends=True)
    (overlay / "prices/mine.csv").write_text(lines[0] + lines[1].replace("2026", "2027"))
    offers = read_library([small_data, overlay]).rows["offers"]
    assert {offer.origin for offer in offers if offer.file == "mine"} == {"local"}
    assert {offer.origin for offer in offers if offer.file != "mine"} == {"release"}


def test_an_overlay_never_overwrites(small_data: Path, tmp_path: Path) -> None:
    """A record of a name that the release has is reported, not replaced."""
    overlay = tmp_path / "overlay"
    shutil.copytree(small_data / "accelerators/nvidia", overlay / "accelerators/nvidia")
    with pytest.raises(BadRecordsError, match="a slug unique among accelerators"):
        read_library([small_data, overlay])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A missing data folder is named."""
    with pytest.raises(BadRecordsError, match="a data folder"):
        read_library([tmp_path / "none"])


def test_a_slug_inside_a_file_is_refused(small_data: Path) -> None:
    """The file's name is the slug."""
    path = small_data / "accelerators/nvidia/nvidia-rtx-4090.toml"
    path.write_text(f'slug = "nvidia-rtx-4090"\n{path.read_text()}')
    with pytest.raises(BadRecordsError, match="the file's name is the slug"):
        read_library([small_data])


def test_a_source_key_of_two_files_is_refused(small_data: Path) -> None:
    """A source key is defined once."""
    first = sorted((small_data / "sources").glob("*.toml"))[0]
    shutil.copy(first, small_data / "sources/again.toml")
    with pytest.raises(BadRecordsError, match="a source key that no other file uses"):
        read_library([small_data])


def test_not_utf8(small_data: Path) -> None:
    """A file in another encoding is named."""
    path = small_data / "accelerators/nvidia/nvidia-rtx-4090.toml"
    path.write_bytes(path.read_bytes() + b"# \xff\xfe\n")
    with pytest.raises(BadRecordsError, match="valid TOML in UTF-8"):
        read_library([small_data])
