"""fdtd-2d: Maxwell's equations in a plane by finite differences in the time domain."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def fdtd_2d(ex, ey, hz, fict):
    tmax = len(fict)
    nx, ny = hz.shape
    for t in range(tmax):
        for j in range(ny):
            ey[0, j] = fict[t]
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def initialise(tmax: int, nx: int, ny: int) -> Arguments:
    i, j = np.ogrid[:nx, :ny]
    return i * (j + 1) / nx, i * (j + 2) / ny, i * (j + 3) / nx, np.arange(tmax, dtype=np.float64)


def reference(ex, ey, hz, fict):
    for source in fict:
        ey[0] = source
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex[:-1], axis=1) + np.diff(ey[:, :-1], axis=0))


def operations(tmax: int, nx: int, ny: int) -> int:
    return tmax * (3 * (nx - 1) * ny + 3 * nx * (ny - 1) + 5 * (nx - 1) * (ny - 1))


BENCHMARK = Benchmark("fdtd-2d", fdtd_2d, initialise, reference, ("ex", "ey", "hz"), operations)
