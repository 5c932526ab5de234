"""Fields on grids, each point computed from its neighbours."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def field(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape)


def heat_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 700, 700), np.zeros((700, 700)), 0.1, 20


@case(heat_data, calls=320)
def heat(u, v, c, steps):
    for _ in range(steps):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]


def laplacian_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 1200, 1200), np.zeros((1200, 1200))


@case(laplacian_data, calls=2000)
def laplacian(u, out):
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]


def wave_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 500, 400), field(rng, 500, 400), np.zeros((500, 400)), 0.2


@case(wave_data, calls=5000)
def wave(before, now, after, c):
    rows, columns = now.shape
    for i in prange(1, rows - 1):
        for j in range(1, columns - 1):
            bend = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
            after[i, j] = 2.0 * now[i, j] - before[i, j] + c * bend
    for i in prange(rows):
        after[i, 0] = 0.0
        after[i, columns - 1] = 0.0


def advection_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 600, 600), np.zeros((600, 600)), field(rng, 600, 600) - 0.5, 0.3


@case(advection_data, calls=5000)
def advection(q, out, speed, step):
    for i in prange(q.shape[0]):
        for j in range(1, q.shape[1] - 1):
            slope = q[i, j] - q[i, j - 1] if speed[i, j] > 0.0 else q[i, j + 1] - q[i, j]
            out[i, j] = q[i, j] - step * speed[i, j] * slope


def reaction_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 300, 300), field(rng, 300, 300), np.zeros((300, 300)), np.zeros((300, 300)), 0.035, 0.065, 5


@case(reaction_data, calls=2000)
def reaction_diffusion(u, v, next_u, next_v, feed, kill, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                around_u = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                around_v = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j]
                reacted = u[i, j] * v[i, j] * v[i, j]
                next_u[i, j] = u[i, j] + 0.16 * around_u - reacted + feed * (1.0 - u[i, j])
                next_v[i, j] = v[i, j] + 0.08 * around_v + reacted - (feed + kill) * v[i, j]
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = next_u[i, j]
                v[i, j] = next_v[i, j]


def life_data(rng: np.random.Generator) -> Arguments:
    cells = (rng.random((400, 400)) < 0.3).astype(np.int32)
    return cells, np.zeros_like(cells)


@case(life_data, calls=10_000)
def life(cells, after):
    for i in prange(1, cells.shape[0] - 1):
        for j in range(1, cells.shape[1] - 1):
            alive = (
                cells[i - 1, j - 1] + cells[i - 1, j] + cells[i - 1, j + 1] + cells[i, j - 1]
                + cells[i, j + 1] + cells[i + 1, j - 1] + cells[i + 1, j] + cells[i + 1, j + 1]
            )  # fmt: skip
            if alive == 3:
                after[i, j] = 1
            elif alive == 2:
                after[i, j] = cells[i, j]
            else:
                after[i, j] = 0


def diffusion_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 96, 96, 96), np.zeros((96, 96, 96)), 0.08


@case(diffusion_data, calls=2000)
def diffusion_3d(u, out, c):
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            for k in range(1, u.shape[2] - 1):
                around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
                out[i, j, k] = u[i, j, k] + c * (around + u[i, j, k - 1] + u[i, j, k + 1] - 6.0 * u[i, j, k])


def shallow_data(rng: np.random.Generator) -> Arguments:
    shape = (256, 256)
    height = 1.0 + 0.01 * rng.random(shape)
    return height, np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), 0.05


@case(shallow_data, calls=5000)
def shallow_water(h, u, v, next_h, next_u, next_v, dt):
    n, m = h.shape
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            next_u[i, j] = u[i, j] - dt * 0.5 * (h[i, j + 1] - h[i, j - 1])
            next_v[i, j] = v[i, j] - dt * 0.5 * (h[i + 1, j] - h[i - 1, j])
            flow = h[i, j + 1] * u[i, j + 1] - h[i, j - 1] * u[i, j - 1]
            flow += h[i + 1, j] * v[i + 1, j] - h[i - 1, j] * v[i - 1, j]
            next_h[i, j] = h[i, j] - dt * 0.5 * flow
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            h[i, j] = next_h[i, j]
            u[i, j] = next_u[i, j]
            v[i, j] = next_v[i, j]


def gradient_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 640, 480).astype(np.float32), np.zeros((640, 480), np.float32)


@case(gradient_data, calls=10_000)
def gradient_length(a, out):
    for i in prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            x = a[i, j + 1] - a[i, j - 1]
            y = a[i + 1, j] - a[i - 1, j]
            out[i, j] = np.sqrt(x * x + y * y)


def burgers_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 2000), np.zeros(2000), 0.1, 0.02, 100


@case(burgers_data, calls=10_000)
def burgers(u, v, dt, nu, steps):
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] - dt * u[i] * (u[i] - u[i - 1]) + nu * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        for i in range(1, n - 1):
            u[i] = v[i]


def relaxation_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 400, 400), field(rng, 400, 400), 4


@case(relaxation_data, calls=1000)
def relaxation(u, f, sweeps):
    n, m = u.shape
    for _ in range(sweeps):
        for i in prange(1, n - 1):
            for j in range(1 + i % 2, m - 1, 2):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
        for i in prange(1, n - 1):
            for j in range(2 - i % 2, m - 1, 2):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


def settled_data(rng: np.random.Generator) -> Arguments:
    start = field(rng, 600, 600)
    return start, np.zeros((600, 600)), np.zeros((600, 600)), 0.02


@case(settled_data, calls=60)
def settled(start, u, v, tolerance):
    """Sweeps until nothing changes by more than a tolerance."""
    for i in prange(u.shape[0]):
        for j in range(u.shape[1]):
            u[i, j] = start[i, j]
            v[i, j] = start[i, j]
    sweeps = 0
    change = tolerance + 1.0
    while change > tolerance:
        change = 0.0
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                change = max(change, abs(v[i, j] - u[i, j]))
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]
        sweeps += 1
    return sweeps


def exchanged_data(rng: np.random.Generator) -> Arguments:
    return field(rng, 500, 500), np.zeros((500, 500)), 0.1, 15


@case(exchanged_data, calls=500)
def heat_of_two(u, v, c, steps):
    """Arrays that exchange their names after each step."""
    for _ in range(steps):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return u
