"""Options, returns and time series."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def option_data(rng: np.random.Generator) -> Arguments:
    n = 40_000
    return 80.0 + 40.0 * rng.random(n), 80.0 + 40.0 * rng.random(n), 0.1 + rng.random(n), 0.02, 0.3, np.zeros(n)


@case(option_data, calls=1000)
def option_prices(spot, strike, years, rate, volatility, call):
    for i in prange(len(spot)):
        spread = volatility * math.sqrt(years[i])
        first = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        second = first - spread
        low = 0.5 + 0.5 * math.tanh(0.7978845608 * (first + 0.044715 * first * first * first))
        high = 0.5 + 0.5 * math.tanh(0.7978845608 * (second + 0.044715 * second * second * second))
        call[i] = spot[i] * low - strike[i] * math.exp(-rate * years[i]) * high


def lattice_data(rng: np.random.Generator) -> Arguments:
    return 80.0 + 40.0 * rng.random((256, 129)), 0.51, 0.999, 128


@case(lattice_data, calls=2000)
def lattice(values, up, discount, steps):
    for option in prange(values.shape[0]):
        for step in range(steps):
            for node in range(steps - step):
                values[option, node] = discount * (up * values[option, node + 1] + (1.0 - up) * values[option, node])


def garch_data(rng: np.random.Generator) -> Arguments:
    return 0.01 * rng.standard_normal((64, 2000)), np.full((64, 2000), 1e-4), 1e-6, 0.1, 0.85


@case(garch_data, calls=5000)
def garch(returns, variance, omega, alpha, beta):
    for i in prange(returns.shape[0]):
        for t in range(1, returns.shape[1]):
            variance[i, t] = omega + alpha * returns[i, t - 1] * returns[i, t - 1] + beta * variance[i, t - 1]


def average_data(rng: np.random.Generator) -> Arguments:
    return rng.random((200, 1500)), np.zeros((200, 1500))


@case(average_data, calls=1000)
def moving_average(prices, out):
    for i in prange(prices.shape[0]):
        for t in range(20, prices.shape[1]):
            total = 0.0
            for k in range(20):
                total += prices[i, t - k]
            out[i, t] = total / 20.0


def smoothing_data(rng: np.random.Generator) -> Arguments:
    return rng.random((300, 1000)), np.zeros((300, 1000)), 0.2


@case(smoothing_data, calls=2000)
def smoothing(x, out, weight):
    for i in prange(x.shape[0]):
        out[i, 0] = x[i, 0]
        for t in range(1, x.shape[1]):
            out[i, t] = weight * x[i, t] + (1.0 - weight) * out[i, t - 1]


def paths_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal((1000, 250)), np.full((1000, 251), 100.0), 0.01, 1e-4


@case(paths_data, calls=1000)
def price_paths(normal, price, volatility, drift):
    for i in prange(normal.shape[0]):
        for t in range(normal.shape[1]):
            price[i, t + 1] = price[i, t] * math.exp(drift + volatility * normal[i, t])


def returns_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal((750, 120)), np.zeros(120), np.zeros((120, 120))


@case(returns_data, calls=320)
def covariance_of_returns(returns, mean, out):
    days, assets = returns.shape
    for a in range(assets):
        mean[a] = 0.0
    for t in range(days):
        for a in range(assets):
            mean[a] += returns[t, a] / days
    for a in prange(assets):
        for b in range(assets):
            total = 0.0
            for t in range(days):
                total += (returns[t, a] - mean[a]) * (returns[t, b] - mean[b])
            out[a, b] = total / (days - 1)


def drawdown_data(rng: np.random.Generator) -> Arguments:
    return 100.0 + np.cumsum(rng.standard_normal((400, 800)), axis=1), np.zeros(400)


@case(drawdown_data, calls=2000)
def drawdown(price, worst):
    for i in prange(price.shape[0]):
        peak = price[i, 0]
        deepest = 0.0
        for t in range(price.shape[1]):
            peak = max(peak, price[i, t])
            deepest = max(deepest, peak - price[i, t])
        worst[i] = deepest
