"""Statistics: moments, correlations, resampling, densities, tables."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def samples(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.standard_normal((n, n // 20 + 3)) + 1.0,)


def standardised_loops(X):
    n, m = X.shape
    mean, deviation, out = np.zeros(m), np.zeros(m), np.empty_like(X)
    for i in range(n):
        for j in range(m):
            mean[j] += X[i, j]
    mean /= n
    for i in range(n):
        for j in range(m):
            deviation[j] += (X[i, j] - mean[j]) ** 2
    deviation = np.sqrt(deviation / n)
    for i in prange(n):
        for j in range(m):
            out[i, j] = (X[i, j] - mean[j]) / deviation[j]
    return out


@case(samples, size=2000, small=9, calls=200, numba=standardised_loops)
def standard_scores(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def correlations_loops(X):
    n = X.shape[0]
    mean = X.sum(axis=0) / n
    centred = X - mean
    covariance = centred.T @ centred / (n - 1)
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


@case(samples, size=2000, small=10, calls=200, numba=correlations_loops)
def correlations(X):
    n = X.shape[0]
    centred = X - np.mean(X, axis=0)
    covariance = centred.T @ centred / (n - 1)
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


def quantile_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.random(n) + 0.1, np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@case(quantile_data, size=50000, small=12, calls=100)
def weighted_quantiles(values, weights, levels):
    order = np.argsort(values)
    ordered = values[order]
    cumulative = np.cumsum(weights[order])
    total = cumulative[-1]
    result = np.empty(len(levels))
    for k, level in enumerate(levels):
        position = np.searchsorted(cumulative, level * total)
        result[k] = ordered[min(position, len(values) - 1)]
    return result


def bootstrap_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.integers(0, n, (200, n))


@case(bootstrap_data, size=5000, small=9, calls=100)
def bootstrap_means(sample, draws):
    means = np.empty(draws.shape[0])
    for b in prange(draws.shape[0]):
        means[b] = sample[draws[b]].mean()
    return means, means.std()


def gaps_data(rng: np.random.Generator, n: int) -> Arguments:
    x = rng.standard_normal((n // 100 + 3, n))
    x[rng.random(x.shape) < 0.05] = np.nan
    return x, 0.1


@case(gaps_data, size=4000, small=15, calls=100, fastmath=SPECIAL_VALUES)
def smoothed_with_gaps(series, alpha):
    rows, n = series.shape
    out = np.full(series.shape, np.nan)
    for r in prange(rows):
        level = 0.0
        started = False
        for t in range(n):
            value = series[r, t]
            if np.isnan(value):
                continue
            if not started:
                level = value
                started = True
            else:
                level = alpha * value + (1.0 - alpha) * level
            out[r, t] = level
    return out


def density_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.linspace(-3.0, 3.0, n // 2 + 3), rng.standard_normal(n), 0.3


def kernel_density_loops(points, data, bandwidth):
    out = np.zeros(len(points))
    for i in prange(len(points)):
        for j in range(len(data)):
            z = (points[i] - data[j]) / bandwidth
            out[i] += np.exp(-0.5 * z * z)
    return out / (len(data) * bandwidth * np.sqrt(2.0 * np.pi))


@case(density_data, size=1500, small=9, calls=60, numba=kernel_density_loops)
def kernel_density(points, data, bandwidth):
    z = (points[:, None] - data[None, :]) / bandwidth
    return np.exp(-0.5 * z * z).sum(axis=1) / (len(data) * bandwidth * np.sqrt(2.0 * np.pi))


def outlier_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.standard_normal((n, 40)), 2.0


def without_outliers_loops(X, limit):
    n, m = X.shape
    mean, deviation, out = np.zeros(m), np.zeros(m), np.empty_like(X)
    counts = np.zeros(m, np.int64)
    for i in range(n):
        for j in range(m):
            mean[j] += X[i, j]
    mean /= n
    for i in range(n):
        for j in range(m):
            deviation[j] += (X[i, j] - mean[j]) ** 2
    deviation = np.sqrt(deviation / n)
    for i in range(n):
        for j in range(m):
            far = abs(X[i, j] - mean[j]) > limit * deviation[j]
            out[i, j] = mean[j] if far else X[i, j]
            counts[j] += far
    return out, counts


@case(outlier_data, size=5000, small=11, calls=150, numba=without_outliers_loops)
def without_outliers(X, limit):
    mean = np.mean(X, axis=0)
    far = np.abs(X - mean) > limit * np.std(X, axis=0)
    return np.where(far, mean, X), np.count_nonzero(far, axis=0)


def pairs(rng: np.random.Generator, n: int) -> Arguments:
    x = rng.random(n)
    return x, 2.0 * x + rng.standard_normal(n)


@case(pairs, size=200000, small=7, calls=300)
def linear_fit(x, y):
    n = x.size
    mx, my = x.sum() / n, y.sum() / n
    sxx = ((x - mx) ** 2).sum()
    syy = ((y - my) ** 2).sum()
    if sxx == 0.0 or syy == 0.0:
        return 0.0, my, 0.0
    sxy = ((x - mx) * (y - my)).sum()
    slope = sxy / sxx
    return slope, my - slope * mx, sxy / np.sqrt(sxx * syy)


def table_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, 6, n), rng.integers(0, 4, n), 6, 4


@case(table_data, size=300000, small=20, calls=200)
def chi_squared(first, second, rows, columns):
    table = np.zeros((rows, columns))
    for a, b in zip(first, second):
        table[a, b] += 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = 0.0
    for i in range(rows):
        for j in range(columns):
            if expected[i, j] > 0.0:
                statistic += (table[i, j] - expected[i, j]) ** 2 / expected[i, j]
    return statistic, table
