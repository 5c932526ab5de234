"""The operations of :mod:`polytune.runtime.vectors`, :mod:`polytune.runtime.lanes_across` and
:mod:`polytune.runtime.lanes_apart` on the interpreter's arrays: a vector is an array of its lanes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np


def _places(view: Any, index: tuple[int, ...], lanes: int) -> Iterator[tuple[int, ...]]:
    axis = 0 if view.layout == "F" else len(index) - 1
    assert view.layout != "A", "a vector of elements that are not next to one another"
    for lane in range(lanes):
        yield tuple(subscript + lane * (position == axis) for position, subscript in enumerate(index))


def load(view: Any, lanes: int, index: tuple[int, ...]) -> np.ndarray:
    return np.array([view[place] for place in _places(view, index, lanes)], view.array.dtype)


def load_some(view: Any, lanes: int, index: tuple[int, ...], mask: np.ndarray) -> np.ndarray:
    zero = view.array.dtype.type(0)
    places = zip(_places(view, index, lanes), mask, strict=True)
    return np.array([view[place] if there else zero for place, there in places], view.array.dtype)


def store(view: Any, index: tuple[int, ...], value: np.ndarray) -> None:
    store_some(view, index, value, np.ones(len(value), bool))


def store_some(view: Any, index: tuple[int, ...], value: np.ndarray, mask: np.ndarray) -> None:
    assert value.dtype == view.array.dtype
    for place, lane, there in zip(_places(view, index, len(value)), value, mask, strict=True):
        if there:
            view[place] = lane


def _apart(view: Any, index: tuple[int, ...], step: int, lanes: int) -> Iterator[tuple[int, ...]]:
    axis = 0 if view.layout == "F" else len(index) - 1
    assert view.layout != "A", "a vector of elements that are not a step apart"
    for lane in range(lanes):
        yield tuple(subscript + step * lane * (position == axis) for position, subscript in enumerate(index))


def load_apart(view: Any, lanes: int, index: tuple[int, ...], step: int) -> np.ndarray:
    return load_some_apart(view, lanes, index, step, np.ones(lanes, bool))


def load_some_apart(view: Any, lanes: int, index: tuple[int, ...], step: int, mask: np.ndarray) -> np.ndarray:
    zero = view.array.dtype.type(0)
    places = zip(_apart(view, index, step, lanes), mask, strict=True)
    return np.array([view[place] if there else zero for place, there in places], view.array.dtype)


def store_apart(view: Any, index: tuple[int, ...], step: int, value: np.ndarray) -> None:
    store_some_apart(view, index, step, value, np.ones(len(value), bool))


def store_some_apart(view: Any, index: tuple[int, ...], step: int, value: np.ndarray, mask: np.ndarray) -> None:
    assert value.dtype == view.array.dtype
    for place, lane, there in zip(_apart(view, index, step, len(value)), value, mask, strict=True):
        if there:
            view[place] = lane


def _across(view: Any, index: tuple[int, ...], axis: int, lanes: int) -> Iterator[tuple[int, ...]]:
    for lane in range(lanes):
        yield tuple(subscript + lane * (position == axis) for position, subscript in enumerate(index))


def load_across(view: Any, lanes: int, index: tuple[int, ...], axis: int) -> np.ndarray:
    return load_some_across(view, lanes, index, axis, np.ones(lanes, bool))


def load_some_across(view: Any, lanes: int, index: tuple[int, ...], axis: int, mask: np.ndarray) -> np.ndarray:
    zero = view.array.dtype.type(0)
    places = zip(_across(view, index, axis, lanes), mask, strict=True)
    return np.array([view[place] if there else zero for place, there in places], view.array.dtype)


def store_across(view: Any, index: tuple[int, ...], axis: int, value: np.ndarray) -> None:
    store_some_across(view, index, axis, value, np.ones(len(value), bool))


def store_some_across(view: Any, index: tuple[int, ...], axis: int, value: np.ndarray, mask: np.ndarray) -> None:
    assert value.dtype == view.array.dtype
    for place, lane, there in zip(_across(view, index, axis, len(value)), value, mask, strict=True):
        if there:
            view[place] = lane


def spread(value: Any, lanes: int) -> np.ndarray:
    return np.full(lanes, value)


def between(first: int, last: int, lanes: int) -> np.ndarray:
    numbers = np.arange(lanes)
    return (first <= numbers) & (numbers < last)


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


VECTORS = SimpleNamespace(
    between=between,
    chosen=np.where,
    lane_sum=lane_sum,
    load=load,
    load_across=load_across,
    load_apart=load_apart,
    load_some=load_some,
    load_some_across=load_some_across,
    load_some_apart=load_some_apart,
    shifted=shifted,
    spread=spread,
    store=store,
    store_across=store_across,
    store_apart=store_apart,
    store_some=store_some,
    store_some_across=store_some_across,
    store_some_apart=store_some_apart,
)
