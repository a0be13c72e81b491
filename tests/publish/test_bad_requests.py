"""A bad page parameter answers 400 in a page or in JSON, never 500: the fault is the request's."""

from __future__ import annotations

import pytest

TABLES = ("models", "accelerators", "inference_fits", "measurements")
BAD = (
    "_sort=nope",
    "_sort_desc=nope",
    "_sort=%27%3B--",
    "_sort=name&_sort_desc=name",
    "_next=abc",
    "_next=%27",
    "_next=1,2,3,4,5",
    "_facet=nope",
    "_col=nope",
    "_nocol=nope",
    "_size=-1",
    "_size=abc",
    "_size=99999999",
    "_where=nope",
    "nope__exact=1",
    "_through=nope",
    "_through={}",
    "_through=[1]",
)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("parameter", BAD)
def test_bad_table_parameters(get, table: str, parameter: str) -> None:
    """Whatever a parameter of a table's page holds, the server does not fail."""
    for suffix in ("", ".json"):
        found = get(f"/catalog/{table}{suffix}?{parameter}")
        assert found.status_code < 500, (found.status_code, found.text[:300])
        assert "Traceback" not in found.text


@pytest.mark.parametrize("parameter", ["_sort=nope", "_next=abc"])
def test_the_reason_is_said(get, parameter: str) -> None:
    """A 400 names the parameter or the column, for people and for programs."""
    page, document = (get(f"/catalog/inference_fits{suffix}?{parameter}") for suffix in ("", ".json"))
    assert page.status_code == document.status_code == 400
    word = parameter.partition("=")[2] if parameter.startswith("_sort") else "_next"
    assert word in page.text and word in document.json()["error"]
