"""The test of numbers in index arrays, before a kernel uses them as subscripts."""

from __future__ import annotations

import numpy as np

from polytune.errors import SubscriptError

__all__ = ["require_range"]

_BLOCK = 1 << 16
"""How many numbers are looked at at once: they are in a cache when the greatest is looked for after the least."""


def require_range(indexes: np.ndarray, extent: int, message: str) -> None:
    """See to it that numbers are subscripts of an axis, from either end.

    Args:
        indexes: the numbers, integers of any type.
        extent: how many elements the axis has.
        message: what is said otherwise.

    Raises:
        SubscriptError: one is below ``-extent``, or not below ``extent``.
    """
    if indexes.ndim == 1:
        blocks = [indexes[start : start + _BLOCK] for start in range(0, len(indexes), _BLOCK)]
    else:
        rows = max(1, _BLOCK // max(1, indexes.size // max(1, len(indexes))))
        blocks = [indexes[start : start + rows] for start in range(0, len(indexes), rows)]
    for block in blocks:
        if block.size and (block.min() < -extent or block.max() >= extent):
            raise SubscriptError(message)
