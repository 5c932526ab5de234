"""covariance: the covariance matrix of m attributes observed n times; the data end centred."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def covariance(float_n, data, cov, mean):
    n, m = data.shape
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= float_n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= float_n - 1.0
            cov[j, i] = cov[i, j]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :m]
    data = i * j / m
    return float(n), data, np.zeros((m, m)), np.zeros(m)


def reference(float_n, data, cov, mean):
    mean[:] = data.sum(axis=0) / float_n
    data -= mean
    cov[:] = data.T @ data / (float_n - 1.0)


def operations(m: int, n: int) -> int:
    return 2 * n * m + m + (2 * n + 1) * m * (m + 1) // 2 + 1


BENCHMARK = Benchmark("covariance", covariance, initialise, reference, ("data", "cov", "mean"), operations)
