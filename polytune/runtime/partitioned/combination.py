"""Reductions across a split: one side works on copies that begin with the neutral element, and the two are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from polytune.runtime.devices.device import Box

__all__ = ["combine", "neutral_copy"]

_COMBINED: dict[str, Callable[..., Any]] = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}


def neutral_copy(array: np.ndarray, operator: str) -> np.ndarray:
    """An array like another, each of its elements the neutral element of ``+ * min max``."""
    return np.full_like(array, _neutral(operator, array.dtype))


def combine(array: np.ndarray, partial: np.ndarray, operator: str, boxes: Iterable[Box]) -> None:
    """Update boxes of an array, which may overlap, by the partial results in a copy, each element once."""
    neutral = _neutral(operator, array.dtype)
    for box in boxes:
        where = tuple(slice(*axis) for axis in box)
        _COMBINED[operator](array[where], partial[where], out=array[where])
        partial[where] = neutral


def _neutral(operator: str, dtype: np.dtype) -> Any:
    if operator in ("+", "*"):
        return dtype.type(operator == "*")
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return limits.max if operator == "min" else limits.min
    return dtype.type(np.inf if operator == "min" else -np.inf)
