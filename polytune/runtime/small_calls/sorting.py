"""Sorting of short rows, and looking for few numbers in sorted ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.small_calls.rows import REPORT, after, element, extent, load, store, word

__all__ = ["FEW", "SMALL_ROW", "interpolating", "ordering", "searching", "sorting"]

SMALL_ROW = 512
"""Elements up to which sorting is faster than NumPy after a call of it."""

FEW = 64
"""Numbers up to which looking for them one by one is faster than a call of NumPy for all of them."""


@njit
def _is_before(first, second):
    """The order in which NumPy sorts: NaN comes last."""
    return first < second or (second != second and first == first)


@njit
def _sort(values, places):
    """Sort numbers, and the places with them; equal ones keep their order."""
    n = len(values)
    other_values, other_places = np.empty_like(values), np.empty_like(places)
    run = 8
    for start in range(0, n, run):
        for place in range(start + 1, min(start + run, n)):
            value, old, at = values[place], places[place], place
            while at > start and _is_before(value, values[at - 1]):
                values[at], places[at] = values[at - 1], places[at - 1]
                at -= 1
            values[at], places[at] = value, old
    while run < n:
        for start in range(0, n, 2 * run):
            middle, end = min(start + run, n), min(start + 2 * run, n)
            left, right = start, middle
            for target in range(start, end):
                if left < middle and (right >= end or not _is_before(values[right], values[left])):
                    other_values[target], other_places[target] = values[left], places[left]
                    left += 1
                else:
                    other_values[target], other_places[target] = values[right], places[right]
                    right += 1
        values, other_values = other_values, values
        places, other_places = other_places, places
        run *= 2
    return values, places


@njit
def _sorted_row(row, at, like, dtype):
    """The elements of an array of one dimension in order, and where they were."""
    n = extent(row, at, 0)
    values, places = np.empty(n, dtype), np.arange(n)
    for place in range(n):
        values[place] = load(element(row, at, place, 0), like)
    return _sort(values, places)


@njit
def _is_short(row, array):
    """Return whether an array has one dimension, and few elements."""
    return word(row, array + 2) == 1 and 0 < extent(row, array, 0) <= SMALL_ROW


def sorting(like: Any, dtype: Any) -> Any:
    """``np.sort`` of one dimension."""

    @njit(cache=keeps_code(__file__))
    def small_sort(row):
        result = REPORT
        array = after(row, result)
        if not _is_short(row, array) or word(row, result + 1) != word(row, array + 1):
            return 0
        values, _ = _sorted_row(row, array, like, dtype)
        for place in range(len(values)):
            store(element(row, result, place, 0), values[place])
        return 1

    return small_sort


def ordering(like: Any, dtype: Any) -> Any:
    """``np.argsort`` of one dimension; of numbers that are equal only NumPy says which one comes first."""

    @njit(cache=keeps_code(__file__))
    def small_argsort(row):
        result = REPORT
        array = after(row, result)
        if not _is_short(row, array):
            return 0
        values, places = _sorted_row(row, array, like, dtype)
        for place in range(1, len(values)):
            if not _is_before(values[place - 1], values[place]):
                return 0
        for place in range(len(places)):
            store(element(row, result, place, 0), np.int64(places[place]))
        return 1

    return small_argsort


def searching(like: Any, dtype: Any, after_equal: bool) -> Any:
    """``np.searchsorted`` for few numbers.

    Args:
        like: the zero of the type of elements.
        dtype: the type.
        after_equal: whether a place is after elements that are equal to the number.
    """

    @njit(cache=keeps_code(__file__))
    def small_search(row):
        result = REPORT
        array = after(row, result)
        wanted = after(row, array)
        if word(row, wanted + 2) > 1 or extent(row, wanted, 0) > FEW:
            return 0
        if word(row, array + 1) != word(row, wanted + 1):
            return 0
        for place in range(extent(row, wanted, 0)):
            value = load(element(row, wanted, place, 0), like)
            low, high = 0, extent(row, array, 0)
            while low < high:
                middle = (low + high) // 2
                other = load(element(row, array, middle, 0), like)
                goes_on = not _is_before(value, other) if after_equal else _is_before(other, value)
                if goes_on:
                    low = middle + 1
                else:
                    high = middle
            store(element(row, result, place, 0), low)
        return 1

    return small_search


def interpolating(like: Any, dtype: Any) -> Any:
    """``np.interp`` for few numbers, with NumPy's own expressions."""

    @njit(cache=keeps_code(__file__))
    def small_interpolation(row):
        result = REPORT
        wanted = after(row, result)
        points = after(row, wanted)
        values = after(row, points)
        n, kind = extent(row, points, 0), word(row, result + 1)
        if word(row, wanted + 2) > 1 or not n > 1 or extent(row, wanted, 0) > min(FEW, n - 1):
            return 0
        if extent(row, values, 0) != n:
            return 0
        if word(row, wanted + 1) != kind or word(row, points + 1) != kind or word(row, values + 1) != kind:
            return 0
        for place in range(extent(row, wanted, 0)):
            x = load(element(row, wanted, place, 0), like)
            low, high = 0, n  # how many points are not after x
            while low < high:
                middle = (low + high) // 2
                if x >= load(element(row, points, middle, 0), like):
                    low = middle + 1
                else:
                    high = middle
            at = max(low - 1, 0)
            x0, y0 = load(element(row, points, at, 0), like), load(element(row, values, at, 0), like)
            found = y0
            if x != x:
                found = x
            elif low not in (0, n) and x0 != x:
                x1 = load(element(row, points, at + 1, 0), like)
                y1 = load(element(row, values, at + 1, 0), like)
                slope = (y1 - y0) / (x1 - x0)
                found = slope * (x - x0) + y0
                if found != found:
                    found = slope * (x - x1) + y1
                    if found != found and y0 == y1:
                        found = y0
            store(element(row, result, place, 0), found)
        return 1

    return small_interpolation
