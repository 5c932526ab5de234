"""deriche: a recursive smoothing filter over the rows, then the columns, of a float32 image.

The suite takes the scratch images y1 and y2 as arguments; here they are local.  ``alpha`` is a NumPy float32, so that
the filter's coefficients are computed in float32 too.
"""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def deriche(alpha, image_in, image_out):
    w, h = image_in.shape
    y1 = np.empty_like(image_in)
    y2 = np.empty_like(image_in)
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0**-alpha
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1.0
    for i in range(w):
        ym1 = 0.0
        ym2 = 0.0
        xm1 = 0.0
        for j in range(h):
            y1[i, j] = a1 * image_in[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = image_in[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for i in range(w):
        yp1 = 0.0
        yp2 = 0.0
        xp1 = 0.0
        xp2 = 0.0
        for j in range(h - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2 = xp1
            xp1 = image_in[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i in range(w):
        for j in range(h):
            image_out[i, j] = c1 * (y1[i, j] + y2[i, j])
    for j in range(h):
        tm1 = 0.0
        ym1 = 0.0
        ym2 = 0.0
        for i in range(w):
            y1[i, j] = a5 * image_out[i, j] + a6 * tm1 + b1 * ym1 + b2 * ym2
            tm1 = image_out[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for j in range(h):
        tp1 = 0.0
        tp2 = 0.0
        yp1 = 0.0
        yp2 = 0.0
        for i in range(w - 1, -1, -1):
            y2[i, j] = a7 * tp1 + a8 * tp2 + b1 * yp1 + b2 * yp2
            tp2 = tp1
            tp1 = image_out[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i in range(w):
        for j in range(h):
            image_out[i, j] = c2 * (y1[i, j] + y2[i, j])


def initialise(w: int, h: int) -> Arguments:
    i, j = np.ogrid[:w, :h]
    image_in = ((313 * i + 991 * j) % 65536).astype(np.float32) / np.float32(65535)
    return np.float32(0.25), image_in, np.zeros((w, h), np.float32)


def reference(alpha, image_in, image_out):
    columns_filtered = _filter_rows(float(alpha), image_in.astype(np.float64)).T
    image_out[:] = _filter_rows(float(alpha), np.ascontiguousarray(columns_filtered)).T


def _filter_rows(alpha: float, image: np.ndarray) -> np.ndarray:
    """The sum of the causal and the anticausal filter along axis 1, all rows at once, in the image's precision."""
    decay = np.exp(-alpha)
    gain = (1 - decay) ** 2 / (1 + 2 * alpha * decay - np.exp(2 * alpha))
    causal = gain * np.array([1, decay * (alpha - 1)])
    anticausal = gain * np.array([decay * (alpha + 1), -(decay**2)])
    feedback = np.array([2**-alpha, -(decay**2)])
    # Two columns of zeros at either end stand for what is outside of the image.
    padded = np.zeros((image.shape[1] + 4, image.shape[0]))
    padded[2:-2] = image.T
    forward, backward = np.zeros_like(padded), np.zeros_like(padded)
    for j in range(2, len(padded) - 2):
        forward[j] = causal @ padded[[j, j - 1]] + feedback @ forward[[j - 1, j - 2]]
    for j in range(len(padded) - 3, 1, -1):
        backward[j] = anticausal @ padded[[j + 1, j + 2]] + feedback @ backward[[j + 1, j + 2]]
    return (forward + backward)[2:-2].T


def operations(w: int, h: int) -> int:
    return 32 * w * h


BENCHMARK = Benchmark(
    "deriche", deriche, initialise, reference, ("image_out",), operations, tolerance=1e-5, strict_ulps=32
)
