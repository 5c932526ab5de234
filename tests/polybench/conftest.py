"""A small benchmark whose kernel runs as plain Python, so that the suite's own code is tested without the compiler."""

import numpy as np
import pytest

from polybench.benchmark import Benchmark
from polytune.tuner import Integer, Is, Nominal, Space


def double(x, y):
    for i in range(len(x)):
        y[i] = 2.0 * x[i] + y[i]


class InterpretedKernel:
    """Has the face of ``polytune.Kernel``; ``after_run(configuration, x, y)`` may spoil a result."""

    def __init__(self, after_run, is_strict=False):
        self.__wrapped__ = double
        self.after_run = after_run
        self.is_strict = is_strict
        self.ran = []

    @property
    def strict(self):
        return InterpretedKernel(self.after_run, is_strict=True)

    def __call__(self, x, y):
        double(x, y)
        self.after_run(None, self.is_strict, x, y)

    def space(self, x, y):
        tiled = Is("version", "tiled")
        return Space(
            [
                Nominal("version", ("source", "tiled")),
                Integer("threads", 1, 4, default=4),
                Integer("tile_0", 1, 64, when=tiled, default=32),
                Integer("tile_1", 8, 64, powers_of_two=True, when=tiled, default=16),
            ]
        )

    def run(self, configuration, x, y):
        self.ran.append(dict(configuration))
        double(x, y)
        self.after_run(configuration, self.is_strict, x, y)


@pytest.fixture
def make_benchmark():
    """From ``after_run`` to a benchmark with the name and the sizes of jacobi-1d."""

    def initialise(tsteps, n):
        return np.arange(float(n)), np.full(n, float(tsteps))

    def reference(x, y):
        y += 2 * x

    def make(after_run=lambda configuration, is_strict, x, y: None) -> Benchmark:
        return Benchmark(
            "jacobi-1d", InterpretedKernel(after_run), initialise, reference, ("y",), lambda tsteps, n: 2 * n
        )

    return make
