"""Figures as people write them: what can be read, and what is refused instead of guessed."""

from __future__ import annotations

import pytest

from rackfit.ask import figures


@pytest.mark.parametrize(
    ("figure", "text", "value"),
    [
        (figures.TOKENS, "8192", 8192),
        (figures.TOKENS, "8,192", 8192),
        (figures.TOKENS, "32k", 32 * 1024),
        (figures.TOKENS, "1 M", 1024 * 1024),
        (figures.WHOLE, " 1_024 ", 1024),
        (figures.DECIMAL, "1.5e12", 1.5e12),
        (figures.LAYERS, "24, 12", (24, 12)),
        (figures.FLAG, "Yes", True),
        (figures.FLAG, "0", False),
        (figures.amount("auto", "all"), "ALL", "all"),
        (figures.amount("auto"), "0", 0),
    ],
)
def test_read(figure, text, value):
    """The usual ways to write a figure."""
    assert figure.read(text) == value


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        *((figures.TOKENS, text) for text in ("", "0", "-5", "32 kB", "1.5k", "9" * 20)),
        *((figures.WHOLE, text) for text in ("0", "-1", "2.5", "one", "9" * 20)),
        *((figures.DECIMAL, text) for text in ("", "inf", "nan", "much")),
        *((figures.LAYERS, text) for text in ("", "0,4", "24;12", "24,")),
        (figures.FLAG, "perhaps"),
        *((figures.amount("auto"), text) for text in ("all", "-1", "1.5")),
    ],
)
def test_refused(figure, text):
    """What is no such figure gives nothing, and the figure says what is expected."""
    assert figure.read(text) is None
    assert figure.expected
