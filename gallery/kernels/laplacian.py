"""laplacian: the edges of an image of bytes, 8 times each point less those around it, within 0 and 255."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def laplacian(image, edges):
    h, w = edges.shape
    for i in range(h):
        for j in range(w):
            around = 0
            for k in range(3):
                for l in range(3):  # noqa: E741
                    around += int(image[i + k, j + l])
            edges[i, j] = min(max(9 * int(image[i + 1, j + 1]) - around, 0), 255)


def initialise(h: int, w: int) -> Arguments:
    i, j = np.ogrid[: h + 2, : w + 2]
    image = ((i // 3) * (j // 4) + i + 31 * j) % 256
    return image.astype(np.uint8), np.zeros((h, w), np.uint8)


def reference(image, edges):
    padded = image.astype(np.int32)
    columns = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    around = columns[:-2] + columns[1:-1] + columns[2:]
    edges[:] = np.clip(9 * padded[1:-1, 1:-1] - around, 0, 255)


def operations(h: int, w: int) -> int:
    return 13 * h * w


BENCHMARK = Benchmark(
    "laplacian", laplacian, initialise, reference, ("edges",), operations, tolerance=0.0, catalogue=CATALOGUE
)
