"""nussinov: how many bases of an RNA sequence can pair when it folds, for every interval of it, int32.

The suite holds a base as a char; here the sequence is int32.
"""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


def match(first, second):
    return 1 if first + second == 3 else 0


@polytune.kernel
def nussinov(seq, table):
    n = len(seq)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                # Neighbours cannot pair.
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def initialise(n: int) -> Arguments:
    seq = ((np.arange(n) + 1) % 4).astype(np.int32)
    return seq, np.zeros((n, n), np.int32)


def reference(seq, table):
    n = len(seq)
    for i in range(n - 2, -1, -1):
        row, below = table[i], table[i + 1]
        pairs = seq[i] + seq[i + 1 :] == 3
        pairs[0] = False
        np.maximum(row[i + 1 :], below[i + 1 :], out=row[i + 1 :])
        np.maximum(row[i + 1 :], below[i:-1] + pairs, out=row[i + 1 :])
        # Once the value of an interval [i, k] is final, every longer interval [i, j] may be split behind k.
        for k in range(i + 1, n):
            row[k] = max(row[k], row[k - 1])
            if k + 1 < n:
                np.maximum(row[k + 1 :], row[k] + table[k + 1, k + 1 :], out=row[k + 1 :])


def operations(n: int) -> int:
    return n * (n - 1) * (n - 2) // 3 + 3 * (n - 1) ** 2


BENCHMARK = Benchmark("nussinov", nussinov, initialise, reference, ("table",), operations, tolerance=0.0)
