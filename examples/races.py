"""Loops that are silently wrong under ``numba.prange``, as several threads write one element, and right here.

Each is written as people write it, one iteration after the other.  A kernel's result is always what these loops
compute in their order, but for the rounding of sums.
"""

import polytune


@polytune.kernel
def histogram(image, counts):
    """Reduce into an array, at places that depend on data."""
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1


@polytune.kernel
def column_sums(A, sums):
    """Reduce into an array: all rows add to the same elements."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            sums[j] += A[i, j]


@polytune.kernel
def cyclic(x, y):
    """Update elements that come again after some iterations."""
    for i in range(x.shape[0]):
        y[i % 4] += x[i]


@polytune.kernel
def differences(x, y):
    """Carry a variable from one iteration to the next."""
    before = 0.0
    for i in range(x.shape[0]):
        y[i] = x[i] - before
        before = x[i]


@polytune.kernel
def last_above(x, limit):
    """Keep what the last of some iterations has assigned."""
    found = -1
    for i in range(x.shape[0]):
        if x[i] > limit:
            found = i
    return found


@polytune.kernel
def overlapping(x, y):
    """Write parts of an array that overlap: the later iteration has the last word."""
    for i in range(x.shape[0]):
        for k in range(3):
            y[i + k] = x[i] + k


@polytune.kernel
def in_place(A):
    """Read what other iterations write: a sweep over a grid, in place."""
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])


@polytune.kernel
def with_workspace(A, work, norms):
    """Use one array for all iterations: each overwrites what the others are reading."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            work[j] = A[i, j] * A[i, j]
        for j in range(A.shape[1]):
            norms[i] += work[j]


@polytune.kernel
def scattered(index, x, y):
    """Assign at places that may be the same: the last iteration has the last word."""
    for i in range(index.shape[0]):
        y[index[i]] = x[i]
