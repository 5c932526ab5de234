"""hotspot: the temperature of a chip under the power of its parts, by explicit steps of the heat equation.

Outside of the chip it is as warm as at its border, which a frame of one cell around it holds.
"""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark

_CAPACITY, _ACROSS, _OUTWARD, _AMBIENT = 0.05, 1.0, 0.2, 80.0


@polytune.kernel
def hotspot(tsteps, power, temperature, later):
    n = power.shape[0]
    for _t in range(tsteps):
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                later[i, j] = temperature[i, j] + 0.05 * (
                    power[i - 1, j - 1]
                    + (temperature[i + 1, j] + temperature[i - 1, j] - 2.0 * temperature[i, j])
                    + (temperature[i, j + 1] + temperature[i, j - 1] - 2.0 * temperature[i, j])
                    + 0.2 * (80.0 - temperature[i, j])
                )
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                temperature[i, j] = later[i, j]
        for j in range(1, n + 1):
            temperature[0, j] = later[1, j]
            temperature[n + 1, j] = later[n, j]
        for i in range(1, n + 1):
            temperature[i, 0] = later[i, 1]
            temperature[i, n + 1] = later[i, n]


def initialise(tsteps: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    power = (i * j) % 10 / 2.0
    i, j = np.ogrid[: n + 2, : n + 2]
    temperature = 60.0 + (2 * i + 3 * j) % 30
    return tsteps, power, temperature, temperature.copy()


def reference(tsteps, power, temperature, later):
    if not tsteps:
        return
    for _ in range(tsteps):
        inner = temperature[1:-1, 1:-1]
        sides = temperature[2:, 1:-1] + temperature[:-2, 1:-1] + temperature[1:-1, 2:] + temperature[1:-1, :-2]
        change = power + (sides - 4 * inner) / _ACROSS + _OUTWARD * (_AMBIENT - inner)
        warmer = np.pad(inner + _CAPACITY * change, 1, mode="edge")
        warmer[[0, 0, -1, -1], [0, -1, 0, -1]] = temperature[[0, 0, -1, -1], [0, -1, 0, -1]]
        temperature[:] = warmer
    later[1:-1, 1:-1] = temperature[1:-1, 1:-1]


def operations(tsteps: int, n: int) -> int:
    return 13 * tsteps * n**2


BENCHMARK = Benchmark(
    "hotspot", hotspot, initialise, reference, ("temperature", "later"), operations, catalogue=CATALOGUE
)
