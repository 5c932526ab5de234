"""add: the sum of two images."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def add(first, second, added):
    for i in range(added.shape[0]):
        for j in range(added.shape[1]):
            added[i, j] = first[i, j] + second[i, j]


def initialise(h: int, w: int) -> Arguments:
    i, j = np.ogrid[:h, :w]
    first = ((i + 2 * j) % 256).astype(np.float32)
    second = ((3 * i * j) % 256).astype(np.float32)
    return first, second, np.zeros((h, w), np.float32)


def reference(first, second, added):
    np.add(first, second, out=added)


def operations(h: int, w: int) -> int:
    return h * w


BENCHMARK = Benchmark("add", add, initialise, reference, ("added",), operations, tolerance=0.0, catalogue=CATALOGUE)
