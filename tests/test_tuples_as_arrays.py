"""Tuples of numbers as subscripts, and beside arrays, where NumPy makes arrays of them."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import BoundsError
from tests.test_control import in_every_version
from tests.test_results import compared

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def filled(walls, start):
    distance = np.full(walls.shape, -1)
    if walls[start]:
        return distance
    queue = np.zeros((walls.size, 2), dtype=np.int64)
    queue[0] = start
    distance[start] = 0
    head, tail = 0, 1
    while head < tail:
        y, x = queue[head]
        head += 1
        for dy, dx in STEPS:
            place = y + dy, x + dx
            inside = 0 <= place[0] < walls.shape[0] and 0 <= place[1] < walls.shape[1]
            if inside and not walls[place] and distance[place] < 0:
                distance[place] = distance[y, x] + 1
                queue[tail] = place
                tail += 1
    return distance


def greatest(A, places):
    best = (0, 0)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > A[best]:
                best = (i, j)
    total = 0.0
    for k in range(len(places)):
        place = (places[k], k)
        total += A[place]
        A[place] += 1.0
    last = A.shape[0] - 1, -1
    return best, total, A[last], A[best]


def rows_of_points(T, place, other):
    T[place] = T[other] + 1.0
    T[place] += T[place][0]
    y, x = place
    exchanged = (x, y)
    if T[exchanged].sum() > 1 and T[exchanged][0] > 0:
        T[exchanged] *= 2
    return T[place], T[exchanged][1]


def ordered(x, y):
    if x < y:
        return x, y
    return y, x


def stored(A, B, C):
    for i in range(A.shape[0]):
        A[i] = ordered(B[i], C[i])
    for i in range(A.shape[0] - 1):
        pair = B[i], C[i + 1]
        A[i] += pair
        A[i, ::-1] = pair
        both = [B[i], C[i]]
        A[i + 1] = both


def moved(P, S, shift):
    P += (1.0, 2.0)
    P[1:] -= shift
    scaled = P * (2, 0.5) + shift
    rest = (1.0, 2.0) - S
    for i in range(P.shape[0]):
        P[i] += (i, -i)
        P[i] *= shift
    return scaled, rest, shift - P[:1]


@pytest.mark.parametrize("strict", [False, True])
def test_tuples_of_numbers_as_subscripts(strict: bool) -> None:
    for n in (1, 2, 5):
        values = (np.arange(n * n) * 7 % 5).reshape(n, n)
        for arguments in ((values == 3, (0, 0)), (values == 0, (n - 1, -1))):
            in_every_version(filled, *arguments, strict=strict)
        in_every_version(greatest, values / 2.0, np.arange(n)[::-1].copy(), strict=strict)
        points = np.arange((n + 1) ** 2 * 3.0).reshape(n + 1, n + 1, 3)
        in_every_version(rows_of_points, points, (0, n), (n, -1), strict=strict)


@pytest.mark.parametrize("strict", [False, True])
def test_tuples_beside_arrays(strict: bool) -> None:
    for n in (0, 1, 2, 7):
        x, y = np.arange(n) - 2.0, (np.arange(n) * 3) % 4 * 1.0
        in_every_version(stored, np.zeros((n, 2)), x, y, strict=strict)
        points = np.arange(2.0 * n).reshape(n, 2)
        in_every_version(moved, points, points.astype(np.float32), (3.5, 2), strict=strict)
        compared(moved, points.astype(np.float32), points, (0.5, 2.0))


def test_a_tuple_that_is_out_of_range() -> None:
    def read(A, place):
        return A[place]

    kernel = polytune.kernel(read)
    with pytest.raises(BoundsError, match=r"A\[place\]"):
        kernel(np.ones((3, 4)), (3, 0))
    assert kernel(np.arange(12.0).reshape(3, 4), (2, -1)) == 11.0
