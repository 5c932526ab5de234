"""The test of numbers in index arrays by NumPy alone."""

from __future__ import annotations

import numpy as np

__all__ = ["BLOCK", "is_outside_by_blocks"]

BLOCK = 1 << 16
"""The number of numbers that are looked at at once: they are in a cache when NumPy looks for the greatest after the
least."""


def is_outside_by_blocks(indexes: np.ndarray, extent: int) -> bool:
    """Return whether a number is out of range, found by NumPy.

    Args:
        indexes: integers of any type and shape, one dimension at least.
        extent: how many elements the axis has that they are subscripts of.
    """
    if indexes.ndim == 1:
        blocks = [indexes[start : start + BLOCK] for start in range(0, len(indexes), BLOCK)]
    else:
        rows = max(1, BLOCK // max(1, indexes.size // max(1, len(indexes))))
        blocks = [indexes[start : start + rows] for start in range(0, len(indexes), rows)]
    return any(block.size and (block.min() < -extent or block.max() >= extent) for block in blocks)
