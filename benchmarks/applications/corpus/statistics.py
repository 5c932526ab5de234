"""Tables of observations: sums, distances, likelihoods."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def means_data(rng: np.random.Generator) -> Arguments:
    return rng.random((3000, 200)), np.zeros(200)


@case(means_data, calls=5000)
def column_means(x, mean):
    for j in range(x.shape[1]):
        mean[j] = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            mean[j] += x[i, j] / x.shape[0]


def standard_data(rng: np.random.Generator) -> Arguments:
    return rng.random((2000, 64)), np.zeros((2000, 64))


@case(standard_data, calls=1000)
def standardised(x, out):
    n = x.shape[0]
    for j in prange(x.shape[1]):
        mean = 0.0
        for i in range(n):
            mean += x[i, j]
        mean /= n
        square = 0.0
        for i in range(n):
            square += (x[i, j] - mean) ** 2
        deviation = math.sqrt(square / n)
        for i in range(n):
            out[i, j] = (x[i, j] - mean) / deviation


def centres_data(rng: np.random.Generator) -> Arguments:
    return rng.random((5000, 8)), rng.random((20, 8)), np.zeros(5000, np.int64)


@case(centres_data, calls=10_000)
def nearest_centres(x, centres, nearest):
    for i in prange(x.shape[0]):
        least = 1e300
        where = 0
        for c in range(centres.shape[0]):
            total = 0.0
            for k in range(x.shape[1]):
                total += (x[i, k] - centres[c, k]) ** 2
            if total < least:
                least = total
                where = c
        nearest[i] = where


def neighbour_data(rng: np.random.Generator) -> Arguments:
    return rng.random((300, 3)), rng.random((1500, 3)), np.zeros(300)


@case(neighbour_data, calls=2000)
def nearest_distance(x, y, out):
    for i in prange(x.shape[0]):
        least = 1e300
        for j in range(y.shape[0]):
            square = (x[i, 0] - y[j, 0]) ** 2 + (x[i, 1] - y[j, 1]) ** 2 + (x[i, 2] - y[j, 2]) ** 2
            least = min(least, square)
        out[i] = math.sqrt(least)


def correlation_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal((100, 600)), np.zeros((100, 100))


@case(correlation_data, calls=2000)
def row_correlations(x, out):
    for a in prange(x.shape[0]):
        for b in range(x.shape[0]):
            ab = 0.0
            aa = 0.0
            bb = 0.0
            for k in range(x.shape[1]):
                ab += x[a, k] * x[b, k]
                aa += x[a, k] * x[a, k]
                bb += x[b, k] * x[b, k]
            out[a, b] = ab / math.sqrt(aa * bb)


def likelihood_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal(200_000), 0.1, 1.2


@case(likelihood_data, calls=20_000)
def likelihood(x, mean, deviation):
    total = 0.0
    for i in prange(len(x)):
        z = (x[i] - mean) / deviation
        total += -0.5 * z * z - math.log(deviation)
    return total


def positive_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal((600, 700)), np.zeros(600)


@case(positive_data, calls=5000)
def positive_sums(x, out):
    for i in prange(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            d = x[i, j]
            if d > 0.0:
                total += d
        out[i] = total


def polynomial_data(rng: np.random.Generator) -> Arguments:
    return rng.random(300_000), np.zeros(300_000)


@case(polynomial_data, calls=5000)
def polynomial(x, out):
    for i in prange(len(x)):
        y = x[i]
        out[i] = ((((0.3 * y - 1.1) * y + 0.7) * y + 2.0) * y - 0.4) * y + 1.0


def cubes_data(rng: np.random.Generator) -> Arguments:
    return rng.random((500, 500)), np.zeros((500, 500))


@case(cubes_data, calls=5000)
def cubes(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] ** 3 - 2.0 * a[i, j] ** 2


def running_data(rng: np.random.Generator) -> Arguments:
    return rng.random((400, 900)), np.zeros((400, 900))


@case(running_data, calls=5000)
def running_sums(x, out):
    for i in prange(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
            out[i, j] = total
