"""The nearest row of a sorted table, found by walking the tree of its common prefixes."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

_EXPANSIONS = 16


def nearest_row(rows: np.ndarray, distances: Sequence[np.ndarray], expansions: int = _EXPANSIONS) -> int:
    """The index of a row for which the sum of the columns' distances is small.

    Rows in lexicographic order form a tree whose nodes are ranges of rows with a common prefix.  It is searched best
    first; the distance of a prefix is a lower bound of those of its rows, so the first whole row reached is the
    nearest.  That may need many nodes: after `expansions` of them the answer is the better of two rows, those found
    by following the nearest branches from the root and from the best node open.  So the time stays below a
    millisecond whatever the size of the table.

    Args:
        rows: (n, d) level indices in lexicographic order, columns contiguous, n >= 1.
        distances: for each of d columns how far each of its levels is from what is wanted; not negative.
        expansions: how many nodes are opened at most.
    """
    n, d = rows.shape
    found = _descend(rows, distances, (0.0, 0, 0, n))
    # Distance, minus the number of columns decided (of equal distances the longest prefix first), and the range.
    heap: list[tuple[float, int, int, int]] = [(0.0, 0, 0, n)]
    for _ in range(expansions):
        distance, decided, first, end = heapq.heappop(heap)
        if distance >= found[0]:
            return found[1]
        if -decided == d:
            return first
        starts, ends, away = _children(rows, distances, -decided, first, end)
        for far, start, stop in zip(away.tolist(), starts.tolist(), ends.tolist(), strict=True):
            if distance + far < found[0]:
                heapq.heappush(heap, (distance + far, decided - 1, start, stop))
        if not heap:
            return found[1]
    return min(found, _descend(rows, distances, heap[0]))[1]


def _descend(rows: np.ndarray, distances: Sequence[np.ndarray], node: tuple[float, int, int, int]) -> tuple[float, int]:
    """The row reached from a node by always following the nearest branch, after its distance."""
    total, decided, first, end = node
    for column in range(-decided, len(distances)):
        if end - first == 1:
            total += float(distances[column][rows[first, column]])
            continue
        starts, ends, away = _children(rows, distances, column, first, end)
        nearest = int(away.argmin())
        total += float(away[nearest])
        first, end = int(starts[nearest]), int(ends[nearest])
    return total, first


def _children(
    rows: np.ndarray, distances: Sequence[np.ndarray], column: int, first: int, end: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ranges of rows within [first, end) that have the same level in a column: starts, ends and distances."""
    levels = rows[first:end, column]
    count = len(distances[column])
    if count < len(levels):
        bounds = levels.searchsorted(np.arange(count + 1, dtype=levels.dtype))
        there = np.flatnonzero(bounds[1:] > bounds[:-1])
        return first + bounds[there], first + bounds[there + 1], distances[column][there]
    starts = np.concatenate([[0], np.flatnonzero(levels[1:] != levels[:-1]) + 1])
    ends = np.append(starts[1:], len(levels))
    return first + starts, first + ends, distances[column][levels[starts]]
