"""Grids of numbers that are counted, and subscripts of parts of matrices."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0):
    return base ** np.linspace(start, stop, num, endpoint=endpoint)


@stands_for(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True):
    sign = -1.0 if start < 0 else 1.0
    out = sign * 10.0 ** np.linspace(np.log10(sign * start), np.log10(sign * stop), num, endpoint=endpoint)
    if num > 0:
        out[0] = start
    if num > 1 and endpoint:
        out[num - 1] = stop
    return out


@stands_for(np.diag_indices)
def diag_indices(n):
    places = np.arange(n)
    return places, places.copy()


@stands_for(np.diag_indices_from)
def diag_indices_from(arr):
    places = np.arange(arr.shape[0])
    return places, places.copy()


@stands_for(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    rows, columns = np.tril_indices(arr.shape[0], k, arr.shape[1])
    return rows, columns


@stands_for(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    rows, columns = np.triu_indices(arr.shape[0], k, arr.shape[1])
    return rows, columns


@stands_for(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims):
    place = multi_index[0]
    for at, size in zip(multi_index[1:], dims[1:], strict=True):
        place = place * size + at
    return place


@stands_for(np.lexsort)
def lexsort(keys):
    order = np.argsort(keys[0], kind="stable")
    for key in keys[1:]:
        order = order[np.argsort(key[order], kind="stable")]
    return order


class EqualBins:
    """The counts in bins of equal width, and their edges, for which the compiler has a form of its own."""

    def __call__(self, a, bins, range=None, weights=None):
        return np.histogram(a, bins, range, None, weights)


equal_bins = EqualBins()


@stands_for(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    if isinstance(bins, (tuple, list)):
        counts, edges = counts_between(a, np.array(bins), weights)
    elif np.ndim(bins) > 0:
        counts, edges = counts_between(a, bins, weights)
    elif range is None:
        counts, edges = equal_bins(a, bins, weights=weights)
    else:
        counts, edges = equal_bins(a, bins, range=(range[0], range[1]), weights=weights)
    if density is not None and density:
        return counts / np.diff(edges) / counts.sum(), edges
    return counts, edges


def counts_between(a, edges, weights):
    """The number of elements between each two edges, or the sum of their weights, and the edges.

    Args:
        a: the elements.
        edges: the bounds of the bins, in order.
        weights: of the elements, or None.
    """
    require_increasing(edges)
    flat = a.ravel()
    if weights is None:
        counts = np.zeros(len(edges) - 1, dtype=np.int64)
    else:
        counts = np.zeros(len(edges) - 1, dtype=weights.dtype)
    for i in np.arange(len(flat)):
        place = bin_between(edges, flat[i])
        if place >= 0:
            counts[place] += 1 if weights is None else weights.ravel()[i]
    return counts, edges


def require_increasing(edges):
    """An error where edges of bins decrease."""
    for k in np.arange(len(edges) - 1):
        if edges[k] > edges[k + 1]:
            raise ValueError("`bins` must increase monotonically, when an array")


def bin_between(edges, value):
    """The bin that a number is in; negative where it is in none."""
    if not (value >= edges[0] and value <= edges[-1]):
        return -1
    return min(np.searchsorted(edges, value, side="right"), len(edges) - 1) - 1


def edges_of(x, bins, limits):
    """The edges of bins of equal width, or those that are given.

    Args:
        x: the elements.
        bins: how many bins, or their edges.
        limits: the first and the last edge; None for the least and the greatest element.
    """
    if np.ndim(bins) > 0:
        return np.asarray(bins).astype(np.float64)
    low, high = (np.min(x), np.max(x)) if limits is None else limits
    if low == high:
        return np.linspace(low - 0.5, high + 0.5, bins + 1)
    return np.linspace(low, high, bins + 1)


@stands_for(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if isinstance(bins, (tuple, list)):
        xs = edges_of(x, bins[0], None if range is None else range[0])
        ys = edges_of(y, bins[1], None if range is None else range[1])
    else:
        xs = edges_of(x, bins, None if range is None else range[0])
        ys = edges_of(y, bins, None if range is None else range[1])
    out = np.zeros((len(xs) - 1, len(ys) - 1))
    for place in np.arange(len(x)):
        row, column = bin_between(xs, x[place]), bin_between(ys, y[place])
        if row >= 0 and column >= 0:
            out[row, column] += 1.0 if weights is None else weights[place]
    if density is not None and density:
        return out / out.sum() / np.diff(xs)[:, None] / np.diff(ys), xs, ys
    return out, xs, ys
