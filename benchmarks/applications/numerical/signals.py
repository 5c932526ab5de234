"""Signals: filters, transforms, alignment, events."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def convolution_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.random(n // 200 + 3)


@case(convolution_data, size=20000, small=10, calls=200)
def convolved(x, h):
    out = np.zeros(len(x) + len(h) - 1)
    for k in range(len(h)):
        out[k : k + len(x)] += h[k] * x
    return out


def sections_data(rng: np.random.Generator, n: int) -> Arguments:
    sections = np.array([[0.2, 0.4, 0.2, 1.0, -0.3, 0.1], [0.3, 0.1, 0.3, 1.0, 0.2, 0.05]])
    return sections, rng.standard_normal(n)


@case(sections_data, size=100000, small=12, calls=100)
def second_order_sections(sections, x):
    y = x.copy()
    for b0, b1, b2, a0, a1, a2 in sections:
        first, second = 0.0, 0.0
        for i in range(len(y)):
            value = y[i]
            out = (b0 * value + first) / a0
            first = b1 * value - a1 * out + second
            second = b2 * value - a2 * out
            y[i] = out
    return y


def real_signal(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.standard_normal(n),)


@case(real_signal, size=600, small=9, calls=60)
def fourier_matrix(x):
    n = len(x)
    k = np.arange(n)
    basis = np.exp(-2j * np.pi * np.outer(k, k) / n)
    spectrum = basis @ x.astype(np.complex128)
    return spectrum, np.abs(spectrum) ** 2


def radix_data(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.standard_normal(n) + 1j * rng.standard_normal(n),)


@case(radix_data, size=2**14, small=16, calls=100)
def fast_fourier(x):
    n = x.shape[0]
    a = np.empty(n, dtype=np.complex128)
    bits = 0
    while 1 << bits < n:
        bits += 1
    for i in range(n):
        reverse = 0
        for b in range(bits):
            if i & (1 << b):
                reverse |= 1 << (bits - 1 - b)
        a[reverse] = x[i]
    size = 2
    while size <= n:
        half = size // 2
        step = np.exp(-2j * np.pi / size)
        for start in range(0, n, size):
            factor = 1.0 + 0.0j
            for k in range(half):
                even = a[start + k]
                odd = factor * a[start + k + half]
                a[start + k] = even + odd
                a[start + k + half] = even - odd
                factor *= step
        size *= 2
    return a


def correlation_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.standard_normal(n), n // 100 + 4


@case(correlation_data, size=20000, small=12, calls=100)
def autocorrelation_of_slices(x, lags):
    centred = x - x.mean()
    n = len(x)
    result = np.empty(lags)
    for lag in prange(lags):
        result[lag] = np.dot(centred[: n - lag], centred[lag:])
    return result / result[0]


def haar_data(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.standard_normal(n),)


@case(haar_data, size=2**16, small=16, calls=200)
def haar_levels(x):
    out = x.copy()
    n = len(x)
    while n > 1:
        half = n // 2
        for_next = np.empty(n)
        for i in range(half):
            for_next[i] = (out[2 * i] + out[2 * i + 1]) / np.sqrt(2.0)
            for_next[half + i] = (out[2 * i] - out[2 * i + 1]) / np.sqrt(2.0)
        for i in range(n):
            out[i] = for_next[i]
        n = half
    return out


@case(haar_data, size=2**18, small=16, calls=300)
def haar_step(x):
    scale = 1.0 / np.sqrt(2.0)
    return np.concatenate(((x[::2] + x[1::2]) * scale, (x[::2] - x[1::2]) * scale))


def warping_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.random(n + 2), n // 10 + 3


@case(warping_data, size=1000, small=9, calls=60, fastmath=SPECIAL_VALUES)
def dynamic_time_warping(a, b, window):
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            distance = abs(a[i - 1] - b[j - 1])
            cost[i, j] = distance + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


def peaks_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.cumsum(rng.standard_normal(n)), 0.5


@case(peaks_data, size=200000, small=20, calls=200)
def peaks(x, height):
    positions = np.zeros(x.size, dtype=np.int64)
    count = 0
    for i in range(1, x.size - 1):
        if x[i] <= x[i - 1] or x[i] < x[i + 1]:
            continue
        if x[i] - min(x[i - 1], x[i + 1]) < height:
            continue
        positions[count] = i
        count += 1
    return count, positions


def filterbank_data(rng: np.random.Generator, n: int) -> Arguments:
    frames = rng.standard_normal((n, 65)) + 1j * rng.standard_normal((n, 65))
    return frames.astype(np.complex64), rng.random((20, 65)).astype(np.float32)


def band_energies_loops(frames, bank):
    power = frames.real**2 + frames.imag**2
    return np.log(np.maximum(power @ bank.T, np.float32(1e-6)))


@case(filterbank_data, size=3000, small=6, calls=150, numba=band_energies_loops)
def band_energies(frames, bank):
    power = frames.real**2 + frames.imag**2
    energies = power @ bank.T
    return np.log(np.maximum(energies, 1e-6))
