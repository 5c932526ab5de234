"""correlation: the correlation matrix of m attributes observed n times; the data end centred and scaled."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def correlation(float_n, data, corr, mean, stddev):
    n, m = data.shape
    eps = 0.1
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= float_n
    for j in range(m):
        stddev[j] = 0.0
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= float_n
        stddev[j] = np.sqrt(stddev[j])
        # An attribute that hardly varies is not divided by its deviation.
        stddev[j] = 1.0 if stddev[j] <= eps else stddev[j]
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= np.sqrt(float_n) * stddev[j]
    for i in range(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :m]
    data = i * j / m + i
    return float(n), data, np.zeros((m, m)), np.zeros(m), np.zeros(m)


def reference(float_n, data, corr, mean, stddev):
    mean[:] = data.sum(axis=0) / float_n
    stddev[:] = np.sqrt(((data - mean) ** 2).sum(axis=0) / float_n)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr[:] = data.T @ data
    np.fill_diagonal(corr, 1.0)


def operations(m: int, n: int) -> int:
    return 6 * n * m + 4 * m + m * (m - 1) * n


BENCHMARK = Benchmark("correlation", correlation, initialise, reference, ("data", "corr", "mean", "stddev"), operations)
