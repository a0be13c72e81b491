"""The stored matrix and a live answer are one arithmetic: verdict, layout, bytes, extents and support are the same."""

from __future__ import annotations

import sqlite3

import pytest

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion

BYTES = ("weights", "kv", "workspace", "runtime", "total", "low", "high", "usable", "margin")
EXTENTS = (("8192", "8k"), ("32768", "32k"), ("131072", "128k"))
ODD_COUNTS = "device_count & (device_count - 1)"


@pytest.mark.parametrize(
    ("where", "every"),
    [
        ("support = 'native'", 9973),
        ("support = 'weight_only'", 11003),
        ("support = 'emulated'", 7),
        ("support = 'unknown'", 811),
        (f"configuration_key in (select configuration_key from configurations where {ODD_COUNTS})", 173),
    ],
)
def test_stored_and_live(connection: sqlite3.Connection, where: str, every: int) -> None:
    """Every so many cells of a kind, asked again: what no record says is as uncertain in the matrix as on the page."""
    cells = connection.execute(
        "select model_id, configuration_id, precision_id, cells.* from inference_cells as cells "
        "join fit_models using (model_key) join configurations using (configuration_key) "
        f"join fit_precisions using (precision_key) where {where}"
    ).fetchall()[::every]

    assert cells
    for cell in cells:
        asked = (cell["model_id"], cell["configuration_id"], cell["precision_id"])
        question = FitQuestion(model=asked[0], on=asked[1], precision=asked[2])
        answer = fit_one(connection, question, suggest=False)
        assert answer["verdict"] == cell["verdict"], asked
        assert answer["precision_support"] == cell["support"], asked
        assert [answer["layout"][name] for name in ("tp", "pp", "ep", "dp")] == [
            cell[name] for name in ("tp", "pp", "ep", "dp")
        ], asked
        for name in BYTES:
            assert answer["per_device"][f"{name}_bytes"] == pytest.approx(cell[f"{name}_bytes"], abs=2), (asked, name)
        for length, short in EXTENTS:
            assert answer["max_sequences"][length] == cell[f"max_sequences_{short}"], (asked, length)
