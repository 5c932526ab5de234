"""reduction: the sum of a vector."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def reduction(x, total):
    total[0] = 0.0
    for i in range(x.shape[0]):
        total[0] += x[i]


def initialise(n: int) -> Arguments:
    return np.arange(n) % 101 / 101.0, np.zeros(1)


def reference(x, total):
    total[0] = x.sum()


def operations(n: int) -> int:
    return n


BENCHMARK = Benchmark("reduction", reduction, initialise, reference, ("total",), operations, catalogue=CATALOGUE)
