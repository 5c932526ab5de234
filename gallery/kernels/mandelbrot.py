"""mandelbrot: after how many steps each point of the plane leaves the circle of radius 2, or the limit."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def mandelbrot(left, top, step, limit, counts):
    for i in range(counts.shape[0]):
        for j in range(counts.shape[1]):
            real = left + j * step
            imaginary = top - i * step
            x = 0.0
            y = 0.0
            count = 0
            while x * x + y * y <= 4.0 and count < limit:
                next_x = x * x - y * y + real
                y = 2.0 * x * y + imaginary
                x = next_x
                count += 1
            counts[i, j] = count


def initialise(h: int, w: int, limit: int) -> Arguments:
    return -2.2, 1.21, 3.0 / w, limit, np.zeros((h, w), np.int64)


def reference(left, top, step, limit, counts):
    i, j = np.indices(counts.shape)
    point = (left + j * step) + 1j * (top - i * step)
    z = np.zeros_like(point)
    counts[:] = 0
    inside = np.ones(counts.shape, bool)
    for _ in range(limit):
        inside[inside] = z[inside].real ** 2 + z[inside].imag ** 2 <= 4
        z[inside] = z[inside] ** 2 + point[inside]
        counts[inside] += 1


def operations(h: int, w: int, limit: int) -> int:
    """The most that there can be: points outside of the set leave before the limit."""
    return 10 * h * w * limit


BENCHMARK = Benchmark(
    "mandelbrot", mandelbrot, initialise, reference, ("counts",), operations, tolerance=0.0, catalogue=CATALOGUE
)
