"""The operations of :mod:`polytune.runtime.intrinsics.vectors`, and of ``vectors_apart``, on the interpreter's arrays:
a vector is an array of its lanes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from polytune.codegen.module_header import APART_OPERATIONS, VECTOR_OPERATIONS


def _contiguous_axis(view: Any, index: tuple[int, ...]) -> int:
    assert view.layout != "A", "a vector of elements that are not next to one another"
    return 0 if view.layout == "F" else len(index) - 1


def load(view: Any, lanes: int, index: tuple[int, ...]) -> np.ndarray:
    return load_masked(view, lanes, index, np.ones(lanes, bool))


def load_masked(view: Any, lanes: int, index: tuple[int, ...], mask: np.ndarray) -> np.ndarray:
    return load_apart_masked(view, lanes, index, _contiguous_axis(view, index), 1, mask)


def store(view: Any, index: tuple[int, ...], value: np.ndarray) -> None:
    store_masked(view, index, value, np.ones(len(value), bool))


def store_masked(view: Any, index: tuple[int, ...], value: np.ndarray, mask: np.ndarray) -> None:
    store_apart_masked(view, index, _contiguous_axis(view, index), 1, value, mask)


def _places(index: tuple[int, ...], lanes: int, axis: int, step: int) -> Iterator[tuple[int, ...]]:
    for lane in range(lanes):
        yield tuple(subscript + step * lane * (position == axis) for position, subscript in enumerate(index))


def load_apart(view: Any, lanes: int, index: tuple[int, ...], axis: int, step: int) -> np.ndarray:
    return load_apart_masked(view, lanes, index, axis, step, np.ones(lanes, bool))


def load_apart_masked(
    view: Any, lanes: int, index: tuple[int, ...], axis: int, step: int, mask: np.ndarray
) -> np.ndarray:
    zero = view.array.dtype.type(0)
    places = zip(_places(index, lanes, axis, step), mask, strict=True)
    return np.array([view[place] if there else zero for place, there in places], view.array.dtype)


def store_apart(view: Any, index: tuple[int, ...], axis: int, step: int, value: np.ndarray) -> None:
    store_apart_masked(view, index, axis, step, value, np.ones(len(value), bool))


def store_apart_masked(
    view: Any, index: tuple[int, ...], axis: int, step: int, value: np.ndarray, mask: np.ndarray
) -> None:
    assert value.dtype == view.array.dtype
    for place, lane, there in zip(_places(index, len(value), axis, step), value, mask, strict=True):
        if there:
            view[place] = lane


def prefetch(view: Any, index: tuple[int, ...]) -> None:
    assert len(index) == view.array.ndim


def misalignment(view: Any, lanes: int, index: tuple[int, ...]) -> int:
    """Where elements lie in memory is anyone's guess; another one for every row."""
    return sum(index) % lanes


def splat(value: Any, lanes: int) -> np.ndarray:
    return np.full(lanes, value)


def between(first: int, last: int, lanes: int) -> np.ndarray:
    numbers = np.arange(lanes)
    return (first <= numbers) & (numbers < last)


def select(mask: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.where(mask, first, second)


def lane_sum(value: np.ndarray) -> Any:
    return value.sum()


def shifted(before: np.ndarray, value: np.ndarray, distance: int) -> np.ndarray:
    lanes = len(value)
    return np.concatenate([before, value])[lanes - distance : 2 * lanes - distance]


def least(first: Any, second: Any) -> Any:
    if isinstance(first, np.ndarray):
        return np.where(second < first, second, first)
    return min(first, second)


def greatest(first: Any, second: Any) -> Any:
    if isinstance(first, np.ndarray):
        return np.where(second > first, second, first)
    return max(first, second)


def power(base: Any, exponent: int) -> Any:
    if isinstance(base, np.ndarray):
        return np.array([lane**exponent for lane in base], base.dtype)  # as a scalar, whose bits NumPy's loops lack
    if isinstance(base, float):
        return np.float64(base) ** exponent  # infinite for zero to a negative power, as compiled code is
    return base**exponent


VECTORS = SimpleNamespace(**{name: globals()[name] for name in VECTOR_OPERATIONS})
VECTORS_APART = SimpleNamespace(**{name: globals()[name] for name in APART_OPERATIONS})
