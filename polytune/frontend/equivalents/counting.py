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
