"""Element-wise minimum, maximum, choice and floor for plain numbers and NumPy arrays alike.

The arithmetic of `memory/` is written once. One cell is computed with plain numbers and never imports NumPy;
the matrix passes arrays through the same functions.
"""

from __future__ import annotations

import math
from typing import Any

Number = Any
"""An int, a float, or a NumPy array of them."""


_PLAIN = frozenset({int, float, bool})
"""Types that take the fast path, without a look at NumPy."""


def maximum(first: Number, second: Number) -> Number:
    """Return the larger of two values, element by element."""
    if type(first) in _PLAIN and type(second) in _PLAIN:
        return first if first >= second else second
    import numpy

    return numpy.maximum(first, second)


def minimum(first: Number, second: Number) -> Number:
    """Return the smaller of two values, element by element."""
    if type(first) in _PLAIN and type(second) in _PLAIN:
        return first if first <= second else second
    import numpy

    return numpy.minimum(first, second)


def choose(condition: Any, then: Number, otherwise: Number) -> Number:
    """Return `then` where the condition holds, else `otherwise`."""
    if type(condition) in _PLAIN:
        return then if condition else otherwise
    import numpy

    return numpy.where(condition, then, otherwise)


def floor(value: Number) -> Number:
    """Return the largest whole number that is not above the value; infinity stays what it is."""
    if type(value) in _PLAIN:
        return math.floor(value) if math.isfinite(value) else value
    import numpy

    return numpy.floor(value)


def ceil_div(value: int, divisor: int) -> int:
    """Return value / divisor rounded up, for whole numbers.

    >>> ceil_div(7, 2)
    4
    """
    return -(-value // divisor)
