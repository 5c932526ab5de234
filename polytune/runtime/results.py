"""Functions of numbers that Python computes for a result, when a kernel has run, as compiled code computes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["computed"]

_NUMPY_NAMES = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "pow": "power",
}


def computed(function: Callable[..., float], *arguments: Any) -> float:
    """Return a function of the module ``math``, with NaN and infinities where Python raises an error.

    Args:
        function: the function.
        arguments: what it is computed of.
    """
    try:
        return function(*arguments)
    except (ValueError, OverflowError):
        # The digits are Python's otherwise, which are those of C's library, as in compiled code.
        name = function.__name__
        if name == "lgamma":
            return math.inf
        if name == "gamma":
            return math.nan if arguments[0] < 0 else math.copysign(math.inf, arguments[0])
        with np.errstate(all="ignore"):
            return float(getattr(np, _NUMPY_NAMES.get(name, name))(*map(np.float64, arguments)))
