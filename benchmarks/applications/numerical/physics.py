"""Physics: particles, fields, lattices, quantum mechanics."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def bodies(rng: np.random.Generator, n: int) -> Arguments:
    return rng.standard_normal((n, 3)), rng.random(n) + 0.5, 0.1


def gravity_loops(positions, masses, softening):
    n = positions.shape[0]
    out = np.zeros((n, 3))
    for i in prange(n):
        for j in range(n):
            dx = positions[j, 0] - positions[i, 0]
            dy = positions[j, 1] - positions[i, 1]
            dz = positions[j, 2] - positions[i, 2]
            square = dx * dx + dy * dy + dz * dz + softening**2
            factor = masses[j] / (square * np.sqrt(square))
            out[i, 0] += factor * dx
            out[i, 1] += factor * dy
            out[i, 2] += factor * dz
    return out


@case(bodies, size=600, small=7, calls=100, numba=gravity_loops)
def gravity_broadcast(positions, masses, softening):
    difference = positions[None, :, :] - positions[:, None, :]
    square = (difference**2).sum(axis=2) + softening**2
    return (difference * (masses / square**1.5)[:, :, None]).sum(axis=1)


def spins_data(rng: np.random.Generator, n: int) -> Arguments:
    return (2 * rng.integers(0, 2, (n, n)) - 1).astype(np.int8), rng.random((n, n)), 0.4


@case(spins_data, size=400, small=6, calls=100)
def ising_sweep(spins, draws, beta):
    n, m = spins.shape
    for colour in range(2):
        for i in prange(n):
            for j in range(m):
                if (i + j) % 2 != colour:
                    continue
                around = spins[(i - 1) % n, j] + spins[(i + 1) % n, j] + spins[i, (j - 1) % m] + spins[i, (j + 1) % m]
                change = 2 * spins[i, j] * around
                if change <= 0 or draws[i, j] < np.exp(-beta * change):
                    spins[i, j] = -spins[i, j]
    return spins.sum()


def membrane(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, n)), rng.random((n, n)), 0.2, 10


@case(membrane, size=400, small=7, calls=60)
def membrane_waves(now, before, courant, steps):
    now, before = now.copy(), before.copy()
    for _ in range(steps):
        laplacian = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
        after = np.zeros_like(now)
        after[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + courant * laplacian
        before = now
        now = after
    return now, np.sum(now**2)


def flow_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((9, n, n)) + 1.0, 0.7


WEIGHTS = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36])
STEPS_X = (0, 1, 0, -1, 0, 1, -1, -1, 1)
STEPS_Y = (0, 0, 1, 0, -1, 1, 1, -1, -1)


def lattice_boltzmann_loops(f, tau):
    _, n, m = f.shape
    out = np.empty_like(f)
    for i in prange(n):
        for j in range(m):
            density = 0.0
            ux = 0.0
            uy = 0.0
            for k in range(9):
                density += f[k, i, j]
                ux += STEPS_X[k] * f[k, i, j]
                uy += STEPS_Y[k] * f[k, i, j]
            ux /= density
            uy /= density
            square = 1.5 * (ux * ux + uy * uy)
            for k in range(9):
                along = 3.0 * (STEPS_X[k] * ux + STEPS_Y[k] * uy)
                rest = WEIGHTS[k] * density * (1.0 + along + 0.5 * along**2 - square)
                to_i, to_j = (i + STEPS_X[k]) % n, (j + STEPS_Y[k]) % m
                out[k, to_i, to_j] = f[k, i, j] + (rest - f[k, i, j]) / tau
    return out


@case(flow_data, size=150, small=6, calls=100, numba=lattice_boltzmann_loops)
def lattice_boltzmann(f, tau):
    density = f.sum(axis=0)
    ux = np.zeros_like(density)
    uy = np.zeros_like(density)
    for k in range(9):
        ux += STEPS_X[k] * f[k]
        uy += STEPS_Y[k] * f[k]
    ux /= density
    uy /= density
    square = 1.5 * (ux**2 + uy**2)
    out = np.empty_like(f)
    for k, (dx, dy) in enumerate(zip(STEPS_X, STEPS_Y)):
        along = 3.0 * (dx * ux + dy * uy)
        rest = WEIGHTS[k] * density * (1.0 + along + 0.5 * along**2 - square)
        collided = f[k] + (rest - f[k]) / tau
        out[k] = np.roll(np.roll(collided, dx, axis=0), dy, axis=1)
    return out


def deposit_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.uniform(0.0, 1.0, n), rng.random(n), n // 50 + 4


@case(deposit_data, size=100000, small=20, calls=150)
def charge_density(positions, charges, cells):
    density = np.zeros(cells)
    for p in range(len(positions)):
        x = positions[p] * cells
        cell = int(np.floor(x))
        part = x - cell
        density[cell % cells] += charges[p] * (1.0 - part)
        density[(cell + 1) % cells] += charges[p] * part
    return density


def mandelbrot_data(rng: np.random.Generator, n: int) -> Arguments:
    return n, n + 3, 60


@case(mandelbrot_data, size=250, small=8, calls=60)
def mandelbrot(height, width, limit):
    counts = np.zeros((height, width), dtype=np.int32)
    for i in prange(height):
        for j in range(width):
            c = complex(-2.0 + 2.5 * j / width, -1.25 + 2.5 * i / height)
            z = 0.0j
            for k in range(limit):
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
                z = z * z + c
                counts[i, j] = k + 1
    return counts


def packet(rng: np.random.Generator, n: int) -> Arguments:
    x = np.linspace(-5.0, 5.0, n)
    return np.exp(-(x**2) + 2j * x), 0.5 * x**2, 10.0 / (n - 1), 0.001, 20


@case(packet, size=4000, small=9, calls=60)
def crank_nicolson(psi, potential, dx, dt, steps):
    n = psi.shape[0]
    psi = psi.copy()
    r = 0.25j * dt / dx**2
    diagonal = 1.0 + 2.0 * r + 0.5j * dt * potential
    c = np.empty(n, np.complex128)
    d = np.empty(n, np.complex128)
    for _ in range(steps):
        right = (1.0 - 2.0 * r - 0.5j * dt * potential) * psi
        right[1:] += r * psi[:-1]
        right[:-1] += r * psi[1:]
        c[0] = -r / diagonal[0]
        d[0] = right[0] / diagonal[0]
        for i in range(1, n):
            denominator = diagonal[i] + r * c[i - 1]
            c[i] = -r / denominator
            d[i] = (right[i] + r * d[i - 1]) / denominator
        psi[n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            psi[i] = d[i] - c[i] * psi[i + 1]
    return psi, np.sum(np.abs(psi) ** 2) * dx


def tracer(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.standard_normal(n), 0.1, 30


@case(tracer, size=20000, small=8, calls=60)
def upwind(u, velocity, ratio, steps):
    u = u.copy()
    for _ in range(steps):
        backward = u - np.roll(u, 1)
        forward = np.roll(u, -1) - u
        u = u - ratio * velocity * np.where(velocity > 0, backward, forward)
    return u


def cells_data(rng: np.random.Generator, n: int) -> Arguments:
    counts = rng.integers(0, 40, n)
    first = np.concatenate(([0], np.cumsum(counts)))
    return rng.random((n, 2)) * 10.0, first, rng.integers(0, n, first[-1]), 3.0


@case(cells_data, size=8000, small=9, calls=150)
def pair_energy(positions, first, neighbours, cutoff):
    n = positions.shape[0]
    energy = np.zeros(n)
    for i in prange(n):
        total = 0.0
        for at in range(first[i], first[i + 1]):
            j = neighbours[at]
            if j == i:
                continue
            d = positions[i] - positions[j]
            square = d[0] * d[0] + d[1] * d[1]
            if square >= cutoff * cutoff or square == 0.0:
                continue
            inverse = 1.0 / (square * square * square)
            total += 4.0 * inverse * (inverse - 1.0)
        energy[i] = 0.5 * total
    return energy
