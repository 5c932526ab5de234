"""One small function for each feature of the language."""

# ruff: noqa: SIM108

from __future__ import annotations

import functools
import math
from math import sqrt

import numpy as np

WEIGHT = 0.25
OFFSET = np.float32(1.5)
SHIFT = 2
NOTHING_YET = -np.inf
UNKNOWN = np.float32(np.nan)
LARGEST = np.finfo(np.float32).max


def steps(A):
    n = len(A)
    for i in range(1, n, 3):
        A[i] += 1.0
    for i in range(n - 1, -1, -2):
        A[i] *= 2.0
    for i in range(n - 2, 0, -1):
        A[i] = A[i + 1] + A[i - 1]


def triangle_of_steps(A):
    n = A.shape[0]
    for i in range(0, n, 2):
        for j in range(n - 1, i, -3):
            A[i, j] = A[j, i] + 1.0


def shadowed(A):
    n = len(A)
    for i in range(n):
        A[i] += 1.0
        for i in range(3):
            A[i] += 0.5
    for i in range(2):
        A[i] *= 2.0


def ends(A, B):
    for i in range(A.shape[0]):
        A[i, -1] = B[-2] + A[-1, i]


def chains(A):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            if 1 <= i < n - 1 and not (j == 2 or j > 4):
                A[i][j] += 1.0
            elif i == 0 or j % 2 == 1:
                A[i][j] -= 1.0
            else:
                A[i][j] *= 3.0


def affine_choices(A, B):
    n = len(A)
    for i in range(n):
        low = max(0, i - 2)
        high = min(n, i + 3)
        for j in range(low, high):
            A[i] += B[abs(i - j)] * B[(i + j) // 2] + B[(i + j) % n if False else (i + j) % 3]


def substituted(A, B):
    n = len(A)
    half = n // 2
    for i in range(half):
        left = 2 * i
        right = left + 1
        A[left] = B[right]
        A[right] = B[left] + right


def merged(A, B):
    n = len(A)
    for i in range(n):
        if i > 2:
            k = i - 1
        else:
            k = 0
        A[i] += B[k]


def carried(A):
    count = 0
    last = 0
    for i in range(len(A)):
        A[i] += count + last
        count += 2
        last = i
    A[0] = count * last


def conditional_expression(A, B):
    n = len(A)
    for i in range(n):
        A[i] = (B[i - 1] if i > 0 else 0.0) + (B[i + 1] if i + 1 < n else 1.0)
        A[i] += A[i] if A[i] > 0.5 else -A[i]


def data_branch(A, B, limit):
    for i in range(len(A)):
        if A[i] > limit:
            B[i] = A[i] - limit
            if i > 2:
                B[i] += 1.0
        elif A[i] < 0.25:
            B[i] = 0.0
        if i > 1 and B[i] > 0.1 and A[i - 2] > 0.1:
            A[i] = A[i - 2]


def data_choice(A, B):
    for i in range(len(A)):
        if A[i] > 0.5:
            B[i] = A[i]
        else:
            B[i] = 1.0 - A[i]


def branch_around_loops(A, B, limit):
    n, m = A.shape
    for i in range(n):
        if B[i] > limit:
            for j in range(m):
                A[i, j] += B[i]
        else:
            for j in range(1, m, 2):
                A[i, j] = 0.0


def exchanged_by_data(A, B):
    """Variables that only live within one statement, and one (x) that on one way has the value of the turn before."""
    x = 0.0
    for i in range(1, len(A)):
        if A[i - 1] > A[i]:
            A[i - 1], A[i] = A[i], A[i - 1]
        if A[i] > 0.5:
            if B[i] > 0.5:
                x = A[i]
                y = x + 1.0
            else:
                y = 2.0 * x
            B[i] = y
            B[i] += x


def extremes(A, B):
    """Branches that keep the lesser or the greater number, also beside NaN, and some that only look like them."""
    low = A[0]
    for i in range(len(A)):
        if A[i] < low:
            low = A[i]
        if B[i] > A[i]:
            A[i] = B[i]
        if B[0] < A[i]:
            B[0] = A[i]
        if A[i] > B[1]:
            A[i] = B[1]
        if low < A[i]:
            B[i] = A[i]
    B[2] = low


def unordered_values(A, B):
    for i in range(len(A)):
        if math.isnan(A[i]) or np.isinf(B[i]):
            A[i] = 0.0
        B[i] = np.clip(A[i] * 4.0, 0.5, 2.5) if np.isfinite(A[i]) and not math.isinf(i) else -1.0


def newton(A, B):
    for i in range(len(A)):
        guess = A[i] + 1.0
        count = 0
        while abs(guess * guess - A[i]) > 1e-9 and count < 50:
            guess = 0.5 * (guess + A[i] / guess)
            count += 1
        B[i] = guess + count


def swapped(A, B, u, v):
    for i in range(len(A)):
        A[i], B[i] = B[i], A[i]
    u, v = v, u
    for i in range(len(A)):
        A[i] = A[i] * u + v


def several_targets(A, B):
    for i in range(len(A)):
        A[i] = B[i] = x = A[i] + B[i]
        B[i] += x


def reassigned_arguments(A, alpha, n):
    alpha = alpha * 2.0
    n -= 1
    for i in range(n):
        alpha += A[i]
        A[i] = alpha
    return alpha + n


def local_arrays(A, B):
    n, m = A.shape
    row = np.empty(m)
    total = np.zeros((n, m), dtype=np.float64)
    copy = np.empty_like(A)
    for i in range(n):
        for j in range(m):
            row[j] = A[i, j] * 2.0
        for j in range(m):
            total[i, j] += row[m - 1 - j]
            copy[i, j] = total[i, j]
    for i in range(n):
        for j in range(m):
            B[i, j] = copy[i, j] + total[i, j]


def derived(A, n):
    size = n * n
    root = int(math.sqrt(size))
    for i in range(size):
        A[i] += 1.0
    for i in range(root):
        A[i] *= 2.0


def distance(a, b):
    d = a - b
    if d < 0.0:
        d = -d
    return sqrt(d * d + WEIGHT)


def clamped(x, low, high=1.0):
    if x < low:
        return low
    if x > high:
        return high
    return x


def expressions_inlined(A, B):
    for i in range(len(A)):
        A[i] = distance(A[i], B[i]) + clamped(A[i] + B[i], 0.25) + clamped(i, 2, 4)


def scale(M, factor, row):
    for j in range(M.shape[1]):
        M[row, j] *= factor


def dot(x, y, n):
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


def wrapped(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)

    return call


@wrapped
def fill(x, value):
    n = len(x)
    for i in range(n):
        x[i] = value


def procedures_inlined(A, x, y):
    n = A.shape[0]
    for i in range(n):
        scale(A, x[i], i)
        y[i] = dot(x, y, n) + dot(y, y, i)
    fill(x, y[0])


def single_precision(A, B, alpha):
    for i in range(len(A)):
        t = 0.0
        t += A[i] * 0.1
        A[i] = t * alpha + A[i] / 3 + OFFSET
        B[i] = A[i] * B[i] + A[i] ** 2
        A[i] += math.sqrt(B[i]) + np.sqrt(A[i])


def integers(P, Q):
    n = len(P)
    for i in range(n):
        P[i] = P[i] // 3 + P[i] % 5 - i * SHIFT
        Q[i] = max(P[i], Q[i], i) - min(Q[i], 7)
        P[i] = (P[i] == Q[i]) + abs(Q[i]) + int(Q[i] / 2)
        Q[i] = P[i] ** 2 + (1 if P[i] > 3 else 0)


def mixed_integers(P, A):
    for i in range(len(P)):
        A[i] += P[i] * 0.5 + float(i)
        P[i] = A[i] * 10.0


def returned(A):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    return total / len(A) + A[0]


def constants(A):
    if SHIFT > 1:
        for i in range(len(A)):
            A[i] += WEIGHT * math.pi
    else:
        A.undefined_for_this_constant()
    pass


def infinite_starts(A, B):
    n, m = A.shape
    for i in range(n):
        least, greatest = np.inf, NOTHING_YET
        for j in range(m):
            least = min(least, A[i, j])
            if A[i, j] > greatest:
                greatest = A[i, j]
        B[i, 0] = least
        B[i, 1] = greatest
        B[i, 2] = float("nan") if least == float("-inf") else float("inf")


def extreme_constants(A, F, P, Q):
    best = np.iinfo(np.int64).max
    for i in range(len(A)):
        best = min(best, P[i])
        A[i] = -math.inf if A[i] < 0.5 else np.nan
        A[i] = max(A[i], np.finfo(A.dtype).min)
        F[i] = np.float32(np.inf) if F[i] < 0.5 else UNKNOWN
        F[i] = min(F[i], LARGEST) - np.float32("-inf") if i > 2 else -LARGEST
        Q[i] = np.iinfo(Q.dtype).min if Q[i] < 2**40 else np.iinfo(np.int32).max
        P[i] = best


def zeros_of_both_signs(A):
    for i in range(len(A)):
        A[i] = math.copysign(2.0, 0.0 if A[i] < 0.5 else -0.0)
