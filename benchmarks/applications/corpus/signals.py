"""Signals, sequences and other arrays of one dimension."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def fir_data(rng: np.random.Generator) -> Arguments:
    return rng.random(100_000), rng.random(31), np.zeros(100_000)


@case(fir_data, calls=1000)
def fir(x, taps, out):
    for i in prange(len(taps) - 1, len(x)):
        total = 0.0
        for k in range(len(taps)):
            total += taps[k] * x[i - k]
        out[i] = total


def biquad_data(rng: np.random.Generator) -> Arguments:
    return rng.random((100, 2000)), np.zeros((100, 2000)), 0.3, 0.2, 0.1, -0.4, 0.1


@case(biquad_data, calls=1000)
def biquads(x, y, b0, b1, b2, a1, a2):
    for channel in prange(x.shape[0]):
        for t in range(2, x.shape[1]):
            forward = b0 * x[channel, t] + b1 * x[channel, t - 1] + b2 * x[channel, t - 2]
            y[channel, t] = forward - a1 * y[channel, t - 1] - a2 * y[channel, t - 2]


def spectrum_data(rng: np.random.Generator) -> Arguments:
    return rng.random(256), np.zeros(256), np.zeros(256)


@case(spectrum_data, calls=2000)
def spectrum(x, real, imaginary):
    n = len(x)
    for k in prange(n):
        a = 0.0
        b = 0.0
        for t in range(n):
            angle = -2.0 * math.pi * k * t / n
            a += x[t] * math.cos(angle)
            b += x[t] * math.sin(angle)
        real[k] = a
        imaginary[k] = b


def autocorrelation_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal(20_000), np.zeros(100)


@case(autocorrelation_data, calls=2000)
def autocorrelation(x, out):
    for lag in prange(len(out)):
        total = 0.0
        for t in range(len(x) - len(out)):
            total += x[t] * x[t + lag]
        out[lag] = total


def warping_data(rng: np.random.Generator) -> Arguments:
    cost = np.full((64, 101, 101), 1e30)
    cost[:, 0, 0] = 0.0
    return rng.random((64, 100)), rng.random((64, 100)), cost


@case(warping_data, calls=1000)
def time_warping(x, y, cost):
    for pair in prange(x.shape[0]):
        for i in range(1, x.shape[1] + 1):
            for j in range(1, y.shape[1] + 1):
                least = min(cost[pair, i - 1, j], min(cost[pair, i, j - 1], cost[pair, i - 1, j - 1]))
                cost[pair, i, j] = abs(x[pair, i - 1] - y[pair, j - 1]) + least


def edits_data(rng: np.random.Generator) -> Arguments:
    table = np.zeros((401, 401), np.int32)
    table[0], table[:, 0] = np.arange(401), np.arange(401)
    return rng.integers(0, 4, 400).astype(np.int32), rng.integers(0, 4, 400).astype(np.int32), table


@case(edits_data, calls=2000)
def edit_distance(first, second, table):
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            changed = table[i - 1, j - 1] + (0 if first[i - 1] == second[j - 1] else 1)
            table[i, j] = min(changed, min(table[i - 1, j] + 1, table[i, j - 1] + 1))


def logistic_data(rng: np.random.Generator) -> Arguments:
    # Of period four: where it is chaotic, the last bit of a product decides about all digits of the result.
    return rng.random(20_000), 3.5, 50


@case(logistic_data, calls=2000)
def logistic_map(x, r, steps):
    for i in prange(len(x)):
        y = x[i]
        for _ in range(steps):
            y = r * y * (1.0 - y)
        x[i] = y


def triad_data(rng: np.random.Generator) -> Arguments:
    return rng.random(1_000_000), rng.random(1_000_000), np.zeros(1_000_000), 0.7


@case(triad_data, calls=2000)
def triad(a, b, c, alpha):
    for i in prange(len(a)):
        c[i] = a[i] + alpha * b[i]


def short_data(rng: np.random.Generator) -> Arguments:
    return rng.random(60_000), rng.random(60_000)


@case(short_data, calls=50_000)
def damped(x, v):
    for i in range(len(x)):
        v[i] = 0.999 * v[i] - 0.01 * x[i]
        x[i] = x[i] + 0.01 * v[i]
