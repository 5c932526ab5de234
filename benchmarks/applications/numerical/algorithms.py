"""Algorithms in which data decide what comes next: dynamic programs, searches, walks."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case
from benchmarks.applications.numerical.graphs import sparse


def sack_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(1, 50, n), rng.random(n), 20 * n


@case(sack_data, size=100, small=5, calls=3000)
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        w = weights[i]
        for c in range(capacity, w - 1, -1):
            candidate = best[c - w] + values[i]
            if candidate > best[c]:
                best[c] = candidate
    return best[capacity]


def window_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), 15


@case(window_data, size=5000, small=20, calls=1000)
def sliding_medians(x, width):
    n = len(x) - width + 1
    out = np.empty(n)
    for i in prange(n):
        window = np.empty(width)
        for k in range(width):
            value = x[i + k]
            j = k
            while j > 0 and window[j - 1] > value:
                window[j] = window[j - 1]
                j -= 1
            window[j] = value
        out[i] = window[width // 2]
    return out


def mask_data(rng: np.random.Generator, n: int) -> Arguments:
    return ((rng.random((n, n + 10)) > 0.3).astype(np.int64),)


@case(mask_data, size=300, small=6, calls=5000)
def longest_runs(image):
    n, m = image.shape
    longest = np.zeros(n, np.int64)
    for i in prange(n):
        best = 0
        run = 0
        for j in range(m):
            if image[i, j] > 0:
                run += 1
                if run > best:
                    best = run
            else:
                run = 0
        longest[i] = best
    return longest


def walker_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, 100, n), rng.integers(0, 1 << 31, n), 300, 100


@case(walker_data, size=500, small=4, calls=1000)
def random_walkers(positions, seeds, steps, size):
    farthest = np.zeros(len(positions), np.int64)
    for a in prange(len(positions)):
        seed = seeds[a]
        x = positions[a]
        far = 0
        for _step in range(steps):
            seed = (1103515245 * seed + 12345) % 2147483648
            x = (x + 1) % size if seed & 65536 else (x - 1) % size
            if x > far:
                far = x
        positions[a] = x
        seeds[a] = seed
        farthest[a] = far
    return farthest


def view_data(rng: np.random.Generator, n: int) -> Arguments:
    return n, 3 * n // 4, 20.0, 1e-4


@case(view_data, size=160, small=8, calls=500)
def marched_rays(width, height, far, nearest):
    out = np.zeros((height, width))
    for y in prange(height):
        for x in range(width):
            dx = (x - 0.5 * width) / width
            dy = (y - 0.5 * height) / width
            length = math.sqrt(dx * dx + dy * dy + 1.0)
            t = 0.0
            steps = 0
            while t < far and steps < 64:
                px, py, pz = t * dx / length, t * dy / length, t / length - 3.0
                distance = math.sqrt(px * px + py * py + pz * pz) - 1.0
                if distance < nearest:
                    break
                t += distance
                steps += 1
            out[y, x] = t
    return out


def cells_data(rng: np.random.Generator, n: int) -> Arguments:
    return (
        1.0 + 0.1 * rng.random((9, n, n + 10)),
        np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]),
        np.array([0, 0, 1, 0, -1, 1, 1, -1, -1]),
        np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4),
        1.2,
    )


@case(cells_data, size=60, small=4, calls=3000)
def streamed_lattice(f, cx, cy, w, omega):
    q, n, m = f.shape
    out = np.empty_like(f)
    for i in prange(n):
        for j in range(m):
            rho = 0.0
            ux = 0.0
            uy = 0.0
            for k in range(q):
                v = f[k, i, j]
                rho += v
                ux += cx[k] * v
                uy += cy[k] * v
            ux /= rho
            uy /= rho
            square = ux * ux + uy * uy
            for k in range(q):
                along = 3.0 * (cx[k] * ux + cy[k] * uy)
                target = w[k] * rho * (1 + along + 0.5 * along * along - 1.5 * square)
                out[k, (i + cx[k]) % n, (j + cy[k]) % m] = f[k, i, j] + omega * (target - f[k, i, j])
    return out


def pairs_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, n, n + n // 5), rng.integers(0, n, n + n // 5), n


@case(pairs_data, size=5000, small=10, calls=3000)
def merged_sets(first, second, n):
    parent = np.empty(n, np.int64)
    for i in range(n):
        parent[i] = i
    merged = 0
    for e in range(len(first)):
        a = first[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = second[e]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            merged += 1
    return merged, parent


def pattern_data(rng: np.random.Generator, n: int) -> Arguments:
    first, columns = sparse(rng, n, 8)
    return first, columns, n


@case(pattern_data, size=1000, small=7, calls=2000)
def product_pattern(first, columns, n):
    counts = np.zeros(n, np.int64)
    for i in prange(n):
        marks = np.zeros(n, np.uint8)
        found = 0
        for p in range(first[i], first[i + 1]):
            k = columns[p]
            for q in range(first[k], first[k + 1]):
                j = columns[q]
                if marks[j] == 0:
                    marks[j] = 1
                    found += 1
        counts[i] = found
    return counts
