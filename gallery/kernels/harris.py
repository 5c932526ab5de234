"""harris: how much of a corner each point of an image is, by the gradients around it.

The gradients are those of Sobel; their products are added up over 3 x 3 points to the matrix M, and the corner is
det M - 0.04 (trace M)^2.  A border of two points has none.
"""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def harris(image, dx, dy, corner):
    h, w = image.shape
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            dx[i, j] = (
                (image[i - 1, j + 1] - image[i - 1, j - 1])
                + 2.0 * (image[i, j + 1] - image[i, j - 1])
                + (image[i + 1, j + 1] - image[i + 1, j - 1])
            )
            dy[i, j] = (
                (image[i + 1, j - 1] - image[i - 1, j - 1])
                + 2.0 * (image[i + 1, j] - image[i - 1, j])
                + (image[i + 1, j + 1] - image[i - 1, j + 1])
            )
    for i in range(2, h - 2):
        for j in range(2, w - 2):
            xx = 0.0
            xy = 0.0
            yy = 0.0
            for k in range(-1, 2):
                for l in range(-1, 2):  # noqa: E741
                    xx += dx[i + k, j + l] * dx[i + k, j + l]
                    xy += dx[i + k, j + l] * dy[i + k, j + l]
                    yy += dy[i + k, j + l] * dy[i + k, j + l]
            corner[i, j] = xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)


def initialise(h: int, w: int) -> Arguments:
    i, j = np.ogrid[:h, :w]
    image = ((i // 5 + j // 7) % 2) * 0.8 + (i * j) % 11 / 50.0
    return image, np.zeros((h, w)), np.zeros((h, w)), np.zeros((h, w))


def reference(image, dx, dy, corner):
    smooth, slope = np.array([1.0, 2.0, 1.0]), np.array([-1.0, 0.0, 1.0])
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    dx[1:-1, 1:-1] = np.einsum("ijkl,k,l->ij", windows, smooth, slope)
    dy[1:-1, 1:-1] = np.einsum("ijkl,k,l->ij", windows, slope, smooth)

    def around(values: np.ndarray) -> np.ndarray:
        summed: np.ndarray = np.lib.stride_tricks.sliding_window_view(values[1:-1, 1:-1], (3, 3)).sum(axis=(2, 3))
        return summed

    xx, xy, yy = around(dx * dx), around(dx * dy), around(dy * dy)
    corner[2:-2, 2:-2] = xx * yy - xy**2 - 0.04 * (xx + yy) ** 2


def operations(h: int, w: int) -> int:
    return 12 * (h - 2) * (w - 2) + 62 * (h - 4) * (w - 4)


BENCHMARK = Benchmark("harris", harris, initialise, reference, ("dx", "dy", "corner"), operations, catalogue=CATALOGUE)
