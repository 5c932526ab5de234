"""Functions that are accepted, with element types that have names or are computed of others."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import vector

SINGLE = np.float32


@accepted(lambda: (vector(4),), lambda: (vector(4).astype(np.float32),), lambda: (np.arange(3, dtype=np.uint8),))
def type_of_an_array(x):
    dtype = x.dtype
    out = np.zeros(len(x), dtype)
    out[:] = x + x
    kind = out.dtype
    return out, np.ones(2, dtype=kind), (x * 2.5).astype(dtype)


@accepted(
    lambda: (vector(4), vector(4).astype(np.float32), 2),
    lambda: (vector(4).astype(np.float32), np.arange(4, dtype=np.int8), 2),
    lambda: (np.arange(4, dtype=np.int16), np.arange(4, dtype=np.uint8), np.float64(1.5)),
)
def types_of_several(x, y, factor):
    out = np.empty(len(x), dtype=np.result_type(x, y))
    out[:] = x + y
    wide = np.promote_types(x.dtype, SINGLE)
    return out, np.zeros(2, wide), np.zeros(2, np.result_type(x, factor)), np.zeros(2, np.result_type(y, 1.0))


@accepted(lambda: (vector(4).astype(np.float32),), lambda: (np.arange(3),))
def types_of_texts(x):
    return x.astype(np.dtype("f8")), np.zeros(2, np.dtype(np.int16)), np.ones(2, np.dtype(x.dtype))


def _two(x, dtype=None):
    if dtype is None:
        dtype = x.dtype
    return np.ones(2, dtype=dtype)


@accepted(lambda: (vector(4).astype(np.float32),), lambda: (np.arange(3),))
def type_by_default(x):
    return _two(x), _two(x, np.float64)


@accepted(lambda: (np.array([200, 100, 3], dtype=np.uint8),), lambda: (np.arange(1, 4, dtype=np.uint64),))
def less_than_sums_of_unsigned(u):
    return u.sum() - 1, np.sum(u[1:]) - 1, (u - 1).sum() - 2, u.sum() - u[0], u.prod() - 1
