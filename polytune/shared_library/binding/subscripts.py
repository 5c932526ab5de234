"""The test of numbers in index arrays, before a kernel uses them as subscripts."""

from __future__ import annotations

import numpy as np

from polytune.errors import SourceLocation, SubscriptError
from polytune.runtime.calls.index_blocks import is_outside_by_blocks

__all__ = ["require_range"]


def require_range(
    indexes: np.ndarray, extent: int, report: tuple[SourceLocation, tuple[str, ...], tuple[str, ...]]
) -> None:
    """See to it that numbers are subscripts of an axis, from either end.

    Args:
        indexes: the numbers, integers of any type.
        extent: how many elements the axis has.
        report: where they are used, the arrays of which they are subscripts, and the references there.

    Raises:
        SubscriptError: one is below ``-extent``, or not below ``extent``.
    """
    if is_outside_by_blocks(indexes, extent):
        raise SubscriptError(*report)
