"""``np.ix_`` and ``np.block``."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, SubscriptError, UnsupportedSourceError
from tests.test_control import in_every_version
from tests.test_results import compared


def exchanged(A, rows, columns):
    B = A[np.ix_(rows, columns)]
    A[np.ix_(rows, columns)] = 0.0
    A[np.ix_([0, 1], [1, 2])] += B[:2, :2].sum()
    places = np.ix_(rows, columns[::-1])
    A[places] += 1.0
    if A[np.ix_(rows, columns)].sum() > 2:
        A[0, 0] += 5
    return B, A[places]


def without_fixed(K, f, fixed):
    free = ~fixed
    inner = K[np.ix_(free, free)]
    u = np.zeros(len(f))
    u[free] = inner @ f[free]
    return u, inner.sum()


def of_three(T, i, j, k):
    return T[np.ix_(i, j, k)] * 2, T[np.ix_(i, [0], k)]


@pytest.mark.parametrize("strict", [False, True])
def test_all_pairs_of_subscripts(strict: bool) -> None:
    for n in (0, 1, 5):
        A = np.arange((n + 3) * (n + 4)).reshape(n + 3, n + 4) / 8
        in_every_version(exchanged, A, np.arange(n + 3)[::2], np.arange(n + 2)[::-1], strict=strict)
        in_every_version(without_fixed, A[:n, :n].copy(), np.arange(n) / 4, np.arange(n) % 3 == 1, strict=strict)
        T = np.arange((n + 1) ** 2 * (n + 2.0)).reshape(n + 1, n + 1, n + 2)
        in_every_version(of_three, T, np.arange(n), np.arange(0, n, 2), -np.arange(n) - 1, strict=strict)


def test_meshes_that_are_refused() -> None:
    def of_matrix(A, rows):
        return A[np.ix_(rows, A)]

    def picked(A, rows, columns):
        return A[np.ix_(rows, columns)]

    with pytest.raises(UnsupportedSourceError, match=r"np\.ix_ of an array of 2 dimensions"):
        polytune.kernel(of_matrix)(np.ones((2, 2), np.int64), np.arange(2))
    with pytest.raises(SubscriptError):
        polytune.kernel(picked)(np.ones((2, 3)), np.arange(2), np.array([0, 3]))


def of_saddle_point(H, A, g):
    n, m = H.shape[0], A.shape[0]
    K = np.block([[H, A.T], [A, np.zeros((m, m))]])
    K += np.block([[2.0 * H, np.zeros((n, m))], [np.ones((m, n + m))]])
    return K, np.block([g, 1, g[:1]]), np.block([[g], [2.0 * g]]), np.block(g)


def of_planes(A, B):
    return np.block([[[A, B]], [[B, A]]])


@pytest.mark.parametrize("strict", [False, True])
def test_blocks(strict: bool) -> None:
    for n, m in ((1, 1), (3, 2), (4, 0)):
        H, A = np.arange(1.0 * n * n).reshape(n, n), np.arange(1.0 * m * n).reshape(m, n) - 2
        in_every_version(of_saddle_point, H, A, np.arange(n) / 2, strict=strict)
        in_every_version(of_planes, H, 2 * H, strict=strict)
    compared(of_planes, H.astype(np.float32), H.astype(np.int64))


def test_blocks_that_do_not_fit() -> None:
    def of_depths(A):
        return np.block([A, [A]])

    with pytest.raises(UnsupportedSourceError, match="of different depths"):
        polytune.kernel(of_depths)(np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="arrays that are joined"):
        polytune.kernel(of_planes)(np.ones((2, 2)), np.ones((3, 2)))
