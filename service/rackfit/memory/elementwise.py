"""Element-wise minimum, maximum, choice and floor for plain numbers and NumPy arrays alike.

The arithmetic of `memory/` is written once. One cell is computed with plain numbers and never imports NumPy;
the matrix passes arrays through the same functions.
"""

from __future__ import annotations

import math
from typing import Any

Number = Any
"""An int, a float, or a NumPy array of them."""


def _is_array(*values: Number) -> bool:
    return any(hasattr(value, "__array__") for value in values)


def maximum(first: Number, second: Number) -> Number:
    """Return the larger of two values, element by element."""
    if _is_array(first, second):
        import numpy

        return numpy.maximum(first, second)
    return first if first >= second else second


def minimum(first: Number, second: Number) -> Number:
    """Return the smaller of two values, element by element."""
    if _is_array(first, second):
        import numpy

        return numpy.minimum(first, second)
    return first if first <= second else second


def choose(condition: Any, then: Number, otherwise: Number) -> Number:
    """Return `then` where the condition holds, else `otherwise`."""
    if _is_array(condition):
        import numpy

        return numpy.where(condition, then, otherwise)
    return then if condition else otherwise


def floor(value: Number) -> Number:
    """Return the largest whole number that is not above the value."""
    if _is_array(value):
        import numpy

        return numpy.floor(value)
    return math.floor(value) if math.isfinite(value) else value


def ceil_div(value: int, divisor: int) -> int:
    """Return value / divisor rounded up, for whole numbers.

    >>> ceil_div(7, 2)
    4
    """
    return -(-value // divisor)
