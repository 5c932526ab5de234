"""Finance: options, portfolios, price series, cash flows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def options(rng: np.random.Generator, n: int) -> Arguments:
    return rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n), 0.02, 0.3


def normal_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


jitted_cdf = njit(normal_cdf)


def black_scholes_numba(spot, strike, years, rate, volatility):
    calls = np.empty_like(spot)
    puts = np.empty_like(spot)
    for i in prange(len(spot)):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility**2) * years[i]) / spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * years[i])
        calls[i] = spot[i] * jitted_cdf(d1) - discounted * jitted_cdf(d2)
        puts[i] = calls[i] - spot[i] + discounted
    return calls, puts


@case(options, size=100000, small=7, calls=200, numba=black_scholes_numba)
def black_scholes(spot, strike, years, rate, volatility):
    calls = np.empty_like(spot)
    puts = np.empty_like(spot)
    for i in prange(len(spot)):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility**2) * years[i]) / spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * years[i])
        calls[i] = spot[i] * normal_cdf(d1) - discounted * normal_cdf(d2)
        puts[i] = calls[i] - spot[i] + discounted
    return calls, puts


def tree_data(rng: np.random.Generator, n: int) -> Arguments:
    return 100.0, 105.0, 1.0, 0.03, 0.25, n


@case(tree_data, size=1000, small=8, calls=100)
def american_put(spot, strike, years, rate, volatility, steps):
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1.0 / up
    discount = np.exp(-rate * dt)
    p = (np.exp(rate * dt) - down) / (up - down)
    prices = spot * down ** np.arange(steps, -1, -1) * up ** np.arange(0, steps + 1)
    values = np.maximum(strike - prices, 0.0)
    for step in range(steps - 1, -1, -1):
        values[: step + 1] = discount * (p * values[1 : step + 2] + (1 - p) * values[: step + 1])
        prices[: step + 1] = prices[: step + 1] * up
        values[: step + 1] = np.maximum(values[: step + 1], strike - prices[: step + 1])
    return values[0]


def asian_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.random.default_rng(rng.integers(1 << 30)), 100.0, 100.0, 0.02, 0.2, 50, n


@case(asian_data, size=5000, small=8, calls=60)
def asian_option(rng, spot, strike, rate, volatility, steps, paths):
    dt = 1.0 / steps
    drift = (rate - 0.5 * volatility * volatility) * dt
    total = 0.0
    for _ in range(paths):
        price = spot
        mean = 0.0
        for _ in range(steps):
            price *= np.exp(drift + volatility * np.sqrt(dt) * rng.standard_normal())
            mean += price
        total += max(mean / steps - strike, 0.0)
    return np.exp(-rate) * total / paths


def price_series(rng: np.random.Generator, n: int) -> Arguments:
    return (100.0 * np.exp(np.cumsum(0.01 * rng.standard_normal(n))),)


@case(price_series, size=200000, small=12, calls=200)
def max_drawdown(prices):
    peak, peak_at = prices[0], 0
    worst, start, end = 0.0, 0, 0
    for i, price in enumerate(prices):
        if price > peak:
            peak, peak_at = price, i
        drawdown = (peak - price) / peak
        if drawdown > worst:
            worst, start, end = drawdown, peak_at, i
    return worst, start, end


def bands_data(rng: np.random.Generator, n: int) -> Arguments:
    return 100.0 + np.cumsum(rng.standard_normal(n)), 20 if n > 50 else 4, 2.0


@case(bands_data, size=20000, small=15, calls=100, fastmath=SPECIAL_VALUES)
def bollinger_bands(prices, window, width):
    n = len(prices)
    middle = np.full(n, np.nan)
    lower = np.full(n, np.nan)
    upper = np.full(n, np.nan)
    for i in prange(window - 1, n):
        part = prices[i - window + 1 : i + 1]
        mean = part.mean()
        spread = width * part.std()
        middle[i] = mean
        lower[i] = mean - spread
        upper[i] = mean + spread
    return lower, middle, upper


def cash_data(rng: np.random.Generator, n: int) -> Arguments:
    flows = rng.uniform(0, 20, (n, 24))
    flows[:, 0] = -150.0
    return (flows,)


@case(cash_data, size=10000, small=6, calls=100, fastmath=SPECIAL_VALUES)
def internal_rates(flows):
    rates = np.full(flows.shape[0], np.nan)
    for i in prange(flows.shape[0]):
        rate = 0.05
        for _ in range(60):
            value = 0.0
            slope = 0.0
            for t in range(flows.shape[1]):
                discount = (1.0 + rate) ** -t
                value += flows[i, t] * discount
                slope -= t * flows[i, t] * discount / (1.0 + rate)
            if slope == 0.0:
                break
            step = value / slope
            rate -= step
            if abs(step) < 1e-10:
                rates[i] = rate
                break
    return rates


def portfolio_data(rng: np.random.Generator, n: int) -> Arguments:
    weights = rng.random((n // 10 + 2, n))
    return rng.standard_normal((n * 3, n)), weights / weights.sum(axis=1, keepdims=True)


def portfolio_risk_loops(returns, weights):
    n = returns.shape[0]
    centred = returns - returns.sum(axis=0) / n
    covariance = centred.T @ centred / (n - 1)
    moved = weights @ covariance
    risk = np.empty(weights.shape[0])
    for k in prange(weights.shape[0]):
        risk[k] = np.sqrt(np.sum(moved[k] * weights[k]))
    return risk


@case(portfolio_data, size=150, small=5, calls=150, numba=portfolio_risk_loops)
def portfolio_risk(returns, weights):
    covariance = np.cov(returns, rowvar=False)
    risk = np.empty(len(weights))
    for k, w in enumerate(weights):
        risk[k] = np.sqrt(w @ covariance @ w)
    return risk
