"""Particles, and all pairs of them."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def bodies_data(rng: np.random.Generator, dtype: str = "float64") -> Arguments:
    x, mass = rng.random((600, 3)).astype(dtype), rng.random(600).astype(dtype)
    return x, mass, np.zeros((600, 3), dtype)


@case(bodies_data, calls=2000)
def gravity(x, mass, force):
    for i in prange(len(x)):
        for k in range(3):
            force[i, k] = 0.0
        for j in range(len(x)):
            a = x[j, 0] - x[i, 0]
            b = x[j, 1] - x[i, 1]
            c = x[j, 2] - x[i, 2]
            square = a * a + b * b + c * c + 1e-3
            scale = mass[j] / (square * np.sqrt(square))
            force[i, 0] += scale * a
            force[i, 1] += scale * b
            force[i, 2] += scale * c


def single_bodies_data(rng: np.random.Generator) -> Arguments:
    return bodies_data(rng, "float32")


@case(single_bodies_data, calls=2000)
def gravity_single(x, mass, force):
    for i in prange(len(x)):
        fx = np.float32(0.0)
        fy = np.float32(0.0)
        fz = np.float32(0.0)
        for j in range(len(x)):
            a = x[j, 0] - x[i, 0]
            b = x[j, 1] - x[i, 1]
            c = x[j, 2] - x[i, 2]
            square = a * a + b * b + c * c + np.float32(1e-3)
            scale = mass[j] / (square * np.sqrt(square))
            fx += scale * a
            fy += scale * b
            fz += scale * c
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz


def distances_data(rng: np.random.Generator) -> Arguments:
    return rng.random((500, 12)), np.zeros((500, 500))


@case(distances_data, calls=2000)
def distances(x, out):
    for i in prange(len(x)):
        for j in range(len(x)):
            total = 0.0
            for k in range(x.shape[1]):
                apart = x[i, k] - x[j, k]
                total += apart * apart
            out[i, j] = np.sqrt(total)


def gas_data(rng: np.random.Generator) -> Arguments:
    return 8.0 * rng.random((400, 3)), np.zeros(400)


@case(gas_data, calls=5000)
def lennard_jones(x, energy):
    for i in prange(len(x)):
        total = 0.0
        for j in range(len(x)):
            if i != j:
                square = (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + (x[i, 2] - x[j, 2]) ** 2 + 0.01
                inverse = 1.0 / square**3
                total += 4.0 * (inverse * inverse - inverse)
        energy[i] = total


def similarity_data(rng: np.random.Generator) -> Arguments:
    return rng.random((300, 8)), rng.random((400, 8)), np.zeros((300, 400)), 2.0


@case(similarity_data, calls=2000)
def similarity(x, y, out, width):
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = 0.0
            for k in range(x.shape[1]):
                total += (x[i, k] - y[j, k]) ** 2
            out[i, j] = np.exp(-width * total)


def potential_data(rng: np.random.Generator) -> Arguments:
    return rng.random(100), rng.random(100), rng.random(100) - 0.5, np.zeros((120, 120))


@case(potential_data, calls=1000)
def potential(px, py, charge, grid):
    for i in prange(grid.shape[0]):
        for j in range(grid.shape[1]):
            total = 0.0
            for k in range(len(px)):
                a = px[k] - i * 0.01
                b = py[k] - j * 0.01
                total += charge[k] / np.sqrt(a * a + b * b + 1e-4)
            grid[i, j] = total


def motion_data(rng: np.random.Generator) -> Arguments:
    n = 20_000
    return rng.random((n, 3)), rng.random((n, 3)) - 0.5, rng.random((n, 3)) - 0.5, 1e-3


@case(motion_data, calls=20_000)
def motion(x, v, a, dt):
    for i in prange(len(x)):
        for k in range(3):
            v[i, k] += dt * a[i, k]
            x[i, k] += dt * v[i, k]
            if x[i, k] < 0.0:
                x[i, k] = -x[i, k]
                v[i, k] = -v[i, k]
            elif x[i, k] > 1.0:
                x[i, k] = 2.0 - x[i, k]
                v[i, k] = -v[i, k]
