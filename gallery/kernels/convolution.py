"""convolution: an image under a filter of 7 x 7, where the filter lies within the image."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark

_FILTER = 7


@polytune.kernel
def convolution(image, weights, filtered):
    h, w = filtered.shape
    for i in range(h):
        for j in range(w):
            total = 0.0
            for k in range(7):
                for l in range(7):  # noqa: E741
                    total += weights[k, l] * image[i + k, j + l]
            filtered[i, j] = total


def initialise(h: int, w: int) -> Arguments:
    i, j = np.ogrid[: h + _FILTER - 1, : w + _FILTER - 1]
    image = (3 * i + 5 * j) % 17 / 17.0
    k = np.arange(_FILTER) - 3
    weights = np.exp(-(k[:, None] ** 2 + k**2 + k[:, None]) / 9.0)
    return image, weights, np.zeros((h, w))


def reference(image, weights, filtered):
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    filtered[:] = np.tensordot(windows, weights, axes=2)


def operations(h: int, w: int) -> int:
    return 2 * _FILTER**2 * h * w


BENCHMARK = Benchmark("convolution", convolution, initialise, reference, ("filtered",), operations, catalogue=CATALOGUE)
