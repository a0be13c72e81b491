"""Figures as people write them on a command line or in an address: `32k` tokens, `24,12` layers, `auto`, `yes`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_TOKENS = re.compile(r"^(\d[\d_,]{0,15})\s*([km]?)$", re.IGNORECASE)
_FACTOR = {"": 1, "k": 1024, "m": 1024 * 1024}
_FLAGS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
MOST = 2**40
"""Tokens, sequences or devices above this are a slip."""


@dataclass(frozen=True)
class Figure:
    """One way to write a figure. `read` gives None for what cannot be read; `expected` says what can, in words."""

    read: Callable[[str], Any]
    expected: str


def tokens(text: str) -> int | None:
    """Return a number of tokens; k stands for 1024 and M for 1024 x 1024 of them.

    >>> tokens("8192"), tokens("32k"), tokens("1M"), tokens("0"), tokens("many")
    (8192, 32768, 1048576, None, None)
    """
    matched = _TOKENS.match(text.strip())
    count = int(matched[1].replace("_", "").replace(",", "")) * _FACTOR[matched[2].lower()] if matched else 0
    return count if 1 <= count <= MOST else None


def whole(text: str) -> int | None:
    """Return a count from 1; thousands may be set apart.

    >>> whole("1,024"), whole("0"), whole("2.5")
    (1024, None, None)
    """
    plain = text.strip().replace(",", "").replace("_", "")
    return int(plain) if re.fullmatch(r"\d{1,13}", plain) and 1 <= int(plain) <= MOST else None


def decimal(text: str) -> float | None:
    """Return a finite number.

    >>> decimal("0.9"), decimal("1e12"), decimal("inf"), decimal("much")
    (0.9, 1000000000000.0, None, None)
    """
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def layers(text: str) -> tuple[int, ...] | None:
    """Return the layers of each device.

    >>> layers("24,12"), layers("24;12")
    ((24, 12), None)
    """
    plain = text.replace(" ", "")
    return tuple(map(int, plain.split(","))) if re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", plain) else None


def flag(text: str) -> bool | None:
    """Return a yes or no.

    >>> flag("yes"), flag("0"), flag("perhaps")
    (True, False, None)
    """
    return _FLAGS.get(text.strip().casefold())


def amount(*words: str) -> Figure:
    """Return how a whole number from 0, or one of a few words, is read.

    >>> amount("auto").read("auto"), amount("auto").read("12"), amount("auto").read("-1")
    ('auto', 12, None)
    """

    def read(text: str) -> int | str | None:
        plain = text.strip().casefold()
        if plain in words:
            return plain
        return int(plain) if re.fullmatch(r"\d{1,6}", plain) else None

    return Figure(read, " or ".join(("a whole number from 0", *words)))


TOKENS = Figure(tokens, "a number of tokens such as 8192 or 32k")
WHOLE = Figure(whole, "a whole number from 1")
DECIMAL = Figure(decimal, "a number")
LAYERS = Figure(layers, "a list of layers such as 24,12")
FLAG = Figure(flag, "yes or no")
