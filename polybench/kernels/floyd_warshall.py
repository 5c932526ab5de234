"""floyd-warshall: the lengths of the shortest paths between all pairs of nodes, int32."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def floyd_warshall(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = path[i, j] if path[i, j] < path[i, k] + path[k, j] else path[i, k] + path[k, j]


def initialise(n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    total = i + j
    absent = (total % 13 == 0) | (total % 7 == 0) | (total % 11 == 0)
    return (np.where(absent, 999, i * j % 7 + 1).astype(np.int32),)


def reference(path):
    for k in range(len(path)):
        np.minimum(path, path[:, k, None] + path[k], out=path)


def operations(n: int) -> int:
    return 2 * n**3


BENCHMARK = Benchmark("floyd-warshall", floyd_warshall, initialise, reference, ("path",), operations, tolerance=0.0)
