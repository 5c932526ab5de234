"""Simulations that draw random numbers, of a generator that is an argument."""

from __future__ import annotations

import numpy as np

from benchmarks.applications.case import Arguments, case


def darts_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.random.default_rng(rng.integers(1 << 30)), n


@case(darts_data, size=200000, small=20, calls=200)
def estimated_pi(rng, n):
    inside = 0
    for _ in range(n):
        x = rng.random()
        y = rng.random()
        if x**2 + y**2 < 1.0:
            inside += 1
    return 4.0 * inside / n


def spins_data(rng: np.random.Generator, n: int) -> Arguments:
    spins = np.where(rng.random((n, n)) < 0.5, 1, -1)
    return np.random.default_rng(rng.integers(1 << 30)), spins, 0.44, 3 * n * n


@case(spins_data, size=100, small=6, calls=150)
def metropolis(rng, spins, beta, flips):
    n = spins.shape[0]
    for _ in range(flips):
        i = rng.integers(0, n)
        j = rng.integers(0, n)
        around = spins[(i + 1) % n, j] + spins[(i - 1) % n, j] + spins[i, (j + 1) % n] + spins[i, (j - 1) % n]
        change = 2.0 * spins[i, j] * around
        if change <= 0.0 or rng.random() < np.exp(-beta * change):
            spins[i, j] = -spins[i, j]
    return spins.mean()


def paths_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.random.default_rng(rng.integers(1 << 30)), n, 50


@case(paths_data, size=4000, small=5, calls=150)
def brownian_bridges(rng, paths, steps):
    """The greatest values of paths from 0 to 0."""
    greatest = np.zeros(paths)
    path = np.zeros(steps + 1)
    for k in range(paths):
        for t in range(steps):
            path[t + 1] = path[t] + rng.normal(0.0, 1.0 / np.sqrt(steps))
        last = path[steps]
        for t in range(steps + 1):
            greatest[k] = max(greatest[k], path[t] - last * t / steps)
    return greatest
