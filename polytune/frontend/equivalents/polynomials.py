"""Polynomials as arrays of their coefficients, the highest power first."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(np.polyadd)
def polyadd(a1, a2):
    size = max(len(a1), len(a2))
    first = np.concatenate((np.zeros(size - len(a1), dtype=a1.dtype), a1))
    second = np.concatenate((np.zeros(size - len(a2), dtype=a2.dtype), a2))
    return first + second


@stands_for(np.polysub)
def polysub(a1, a2):
    size = max(len(a1), len(a2))
    first = np.concatenate((np.zeros(size - len(a1), dtype=a1.dtype), a1))
    second = np.concatenate((np.zeros(size - len(a2), dtype=a2.dtype), a2))
    return first - second


def leading_zeros(p):
    """The number of zeros that a polynomial begins with; of its last coefficient nothing is asked."""
    count = 0
    while count < len(p) - 1 and p[count] == 0:
        count += 1
    return count


@stands_for(np.polymul)
def polymul(a1, a2):
    first = leading_zeros(a1)
    second = leading_zeros(a2)
    return np.convolve(a1[first:], a2[second:])


@stands_for(np.polyder)
def polyder(p):
    return p[:-1] * np.arange(len(p) - 1, 0, -1)


@stands_for(np.polyint)
def polyint(p):
    out = np.zeros(len(p) + 1)
    out[:-1] = p / np.arange(len(p), 0, -1)
    return out


@stands_for(np.poly)
def poly(seq_of_zeros):
    n = len(seq_of_zeros)
    out = np.zeros(n + 1, dtype=(seq_of_zeros * np.float64(1)).dtype)
    out[0] = 1
    for k in range(n):
        for j in range(k + 1, 0, -1):
            out[j] -= seq_of_zeros[k] * out[j - 1]
    return out


@stands_for(np.vander)
def vander(x, N=None, increasing=False):
    columns = len(x) if N is None else N
    out = np.ones((len(x), columns), dtype=(x * np.int64(1)).dtype)
    for i in range(len(x)):
        for j in range(1, columns):
            if increasing:
                out[i, j] = out[i, j - 1] * x[i]
            else:
                out[i, columns - 1 - j] = out[i, columns - j] * x[i]
    return out
