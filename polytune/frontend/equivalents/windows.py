"""Windows, and the frequencies that belong to a transform."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for

# A window of one element is the cosine of zero: what its argument is divided by does not matter, but must not be zero.


@stands_for(np.bartlett)
def bartlett(M):
    n = np.arange(1 - M, M, 2)
    whole = max(M - 1, 1)
    return np.where(n <= 0, 1 + n / whole, 1 - n / whole)


@stands_for(np.hanning)
def hanning(M):
    n = np.arange(1 - M, M, 2)
    return 0.5 + 0.5 * np.cos(np.pi * n / max(M - 1, 1))


@stands_for(np.hamming)
def hamming(M):
    n = np.arange(1 - M, M, 2)
    return 0.54 + 0.46 * np.cos(np.pi * n / max(M - 1, 1))


@stands_for(np.blackman)
def blackman(M):
    n = np.arange(1 - M, M, 2)
    whole = max(M - 1, 1)
    return 0.42 + 0.5 * np.cos(np.pi * n / whole) + 0.08 * np.cos(2.0 * np.pi * n / whole)


@stands_for(np.kaiser)
def kaiser(M, beta):
    middle = max((M - 1) / 2, 0.5)
    from_middle = (np.arange(M) - (M - 1) / 2) / middle
    scaled = np.i0(beta * np.sqrt(1 - from_middle**2))
    return scaled / np.i0(np.full(1, beta * 1.0))[0]


@stands_for(np.fft.fftfreq)
def fftfreq(n, d=1.0):
    positive = (n - 1) // 2 + 1
    return np.concatenate((np.arange(0, positive), np.arange(-(n // 2), 0))) * (1.0 / (n * d))


@stands_for(np.fft.rfftfreq)
def rfftfreq(n, d=1.0):
    return np.arange(0, n // 2 + 1) * (1.0 / (n * d))


@stands_for(np.unwrap)
def unwrap(p):
    turned = p[..., 1:] - p[..., :-1]
    near = np.mod(turned + np.pi, 2 * np.pi) - np.pi
    near = np.where((near == -np.pi) & (turned > 0), np.pi, near)
    steps = np.where(np.abs(turned) < np.pi, 0.0, near - turned)
    out = p + 0.0
    out[..., 1:] = p[..., 1:] + np.cumsum(steps, axis=-1)
    return out
