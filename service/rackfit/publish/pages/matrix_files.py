"""/matrix: the matrix of the front page as a picture, as CSV and as JSON, for the figures that are asked."""

from __future__ import annotations

from typing import Any

from datasette.utils.asgi import Response

from rackfit.export.page_tables import MATRIX
from rackfit.publish import render
from rackfit.publish.drawings import matrix as drawing
from rackfit.publish.pages import matrix
from rackfit.publish.pages.common import attempt, ending_of, json_response, open_database
from rackfit.publish.pages.download import refusal, rows_file
from rackfit.publish.pages.status import summary


async def page(request: Any, datasette: Any) -> Any:
    """Answer /matrix.svg, .csv, .xlsx and .json; /matrix is the front page's own."""
    ending = ending_of(request)
    asked, urls = matrix.read_asked(request.args), datasette.urls
    if not ending:
        return Response.redirect(render.asking(urls.path("/"), asked.form.asked).rstrip("?") + "#glance")
    database = open_database(datasette)
    cells, problem = await attempt(matrix.cells(database, asked))
    if problem is not None:
        return json_response({}, problem) if ending == "json" else refusal(problem)
    found = matrix.table(cells or {}, asked, database, urls)
    if ending == "svg":
        release = (await summary(database))["release"]
        return Response(picture(found, asked, release), content_type="image/svg+xml; charset=utf-8")
    rows = list(flat(found, asked))
    if ending == "json":
        return json_response({"query": asked.form.asked, "results": rows})
    return await rows_file(database, ending, MATRIX, rows, asked.form.asked)


def flat(found: dict[str, Any], asked: matrix.Asked) -> list[dict[str, Any]]:
    """Return one row per cell that has an answer."""
    return [
        {
            "model": row["model"], "hardware": shown["configuration"], "verdict": shown["cell"].verdict,
            "precision": shown["cell"].precision, "effective_bits": shown["cell"].bits,
            "context": asked.context or "8192", "sequences": asked.sequences or "1", "why": shown["href"],
        }
        for row in found["rows"]
        for shown in row["cells"]
        if shown["cell"] is not None
    ]  # fmt: skip


def picture(found: dict[str, Any], asked: matrix.Asked, release: dict[str, Any]) -> str:
    """Return the matrix as an SVG file."""
    rows = [
        {
            "name": row["name"],
            "href": row["href"],
            "cells": [
                None
                if shown["cell"] is None
                else {
                    "verdict": shown["cell"].verdict,
                    "text": matrix.words(shown["cell"], asked),
                    "note": shown["cell"].note,
                    "href": shown["href"],
                }
                for shown in row["cells"]
            ],
        }
        for row in found["rows"]
    ]
    source = f"Rackfit catalog {release['version']} of {release['date']}, CC BY 4.0. Memory is compared per device."
    names = [column["name"] for column in found["columns"]]
    return str(drawing.picture(names, rows, f"Does it fit? {matrix.said(asked)}", source))
