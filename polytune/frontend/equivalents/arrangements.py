"""Arrays in other shapes, and made of others."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(getattr(np, "row_stack", None))
def row_stack(tup):
    return np.vstack(tup)


@stands_for(np.dsplit)
def dsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, axis=2)


@stands_for(np.atleast_3d)
def atleast_3d(arys):
    if arys.ndim == 1:
        return arys[None, :, None]
    if arys.ndim == 2:
        return arys[:, :, None]
    return arys


@stands_for(np.diagflat)
def diagflat(v, k=0):
    flat = v.ravel()
    size = len(flat) + abs(k)
    out = np.zeros((size, size), dtype=flat.dtype)
    for i in range(len(flat)):
        out[i + max(-k, 0), i + max(k, 0)] = flat[i]
    return out


@stands_for(np.resize)
def resize(a, new_shape):
    flat = a.ravel()
    out = np.empty(new_shape, dtype=flat.dtype)
    for place in range(out.size):
        out.flat[place] = flat[place % len(flat)]
    return out


@stands_for(np.sort_complex)
def sort_complex(a):
    return np.sort(a).astype(np.complex128)


@stands_for(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x):
    return np.swapaxes(x, -1, -2)


@stands_for(np.linalg.multi_dot)
def multi_dot(arrays):
    product = arrays[0]
    for array in arrays[1:]:
        product = product @ array
    return product


@stands_for(np.linalg.cross)
def cross(x1, x2):
    return np.cross(x1, x2)


@stands_for(getattr(np, "cumulative_sum", None))
def cumulative_sum(x, *, axis=None):
    return np.cumsum(x, axis=axis)
