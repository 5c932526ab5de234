"""Functions that are accepted, with calls of ``map``."""

# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import vector


def _difference(x, y):
    return x - y


def _square(x):
    return x * x


@accepted(lambda: (vector(5) + 3.0, vector(5), vector(5)))
def copies_of_several(a, b, c):
    first, second, third = map(np.array, (a, b, c))
    for i in range(1, len(a)):
        first[i] -= second[i - 1] * third[i - 1] / first[i - 1]
    second += 1.0
    return first, second, third


@accepted(lambda: (vector(6), vector(6) * 2.0), lambda: (vector(1), vector(1)))
def mapped_elements(x, y):
    low, high = map(float, (x[0], y[-1]))
    both = tuple(map(_square, [low, high]))
    total = sum(map(_square, x)) + sum(map(_difference, x, y))
    return both, total, max(map(math.fabs, x)), np.array(list(map(_difference, y, x))), list(map(abs, (low, -high)))


@accepted(lambda: (vector(6),), lambda: (np.zeros(0),))
def mapped_list(x):
    return list(map(_square, x))
