"""adi: alternating direction implicit integration of the heat equation; each sweep solves tridiagonal systems.

The suite takes the scratch arrays v, p and q as arguments; here they are local.
"""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def adi(tsteps, u):
    n = len(u)
    v = np.empty((n, n))
    p = np.empty((n, n))
    q = np.empty((n, n))
    dx = 1.0 / n
    dy = 1.0 / n
    dt = 1.0 / tsteps
    b1 = 2.0
    b2 = 1.0
    mul1 = b1 * dt / (dx * dx)
    mul2 = b2 * dt / (dy * dy)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for _t in range(1, tsteps + 1):
        # Column sweep: implicit along the first axis, from u to v.
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (-d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]) / (
                    a * p[i, j - 1] + b
                )
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        # Row sweep: implicit along the second axis, from v to u.
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (-a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]) / (
                    d * p[i, j - 1] + e
                )
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def initialise(tsteps: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    return tsteps, (i + n - j) / n


def reference(tsteps, u):
    n = len(u)
    a, d = -n * n / tsteps, -n * n / tsteps / 2
    # The first axis of the solution of a sweep is the implicit one; its ends are held at one.
    v, transposed = np.ones((n, n)), np.ones((n, n))
    for _ in range(tsteps):
        explicit = -d * u[1:-1, :-2] + (1 + 2 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        _solve_tridiagonal(a, explicit, v[:, 1:-1])
        explicit = -a * v[:-2, 1:-1] + (1 + 2 * a) * v[1:-1, 1:-1] - a * v[2:, 1:-1]
        _solve_tridiagonal(d, np.ascontiguousarray(explicit.T), transposed[:, 1:-1])
        u[1:-1] = transposed[:, 1:-1].T


def _solve_tridiagonal(off_diagonal: float, right_side: np.ndarray, x: np.ndarray) -> None:
    """Solve ``o x[j-1] + (1 - 2 o) x[j] + o x[j+1] = right_side[j-1]`` for the inner rows of x, given its outer two.

    Gaussian elimination of the whole matrix, every column at once.
    """
    n = len(right_side)
    diagonal = np.full(n, 1 - 2 * off_diagonal)
    y = right_side.copy()
    y[0] -= off_diagonal * x[0]
    y[-1] -= off_diagonal * x[-1]
    for j in range(1, n):
        factor = off_diagonal / diagonal[j - 1]
        diagonal[j] -= factor * off_diagonal
        y[j] -= factor * y[j - 1]
    y[-1] /= diagonal[-1]
    for j in range(n - 2, -1, -1):
        y[j] = (y[j] - off_diagonal * y[j + 1]) / diagonal[j]
    x[1:-1] = y


def operations(tsteps: int, n: int) -> int:
    return 30 * tsteps * (n - 2) ** 2


BENCHMARK = Benchmark("adi", adi, initialise, reference, ("u",), operations)
