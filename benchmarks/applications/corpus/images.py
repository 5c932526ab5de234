"""Images: filters, resizing, colours."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def filter_data(rng: np.random.Generator) -> Arguments:
    return rng.random((480, 640)), rng.random((5, 5)), np.zeros((480, 640))


@case(filter_data, calls=1000)
def filter_5x5(image, weights, out):
    for i in prange(2, image.shape[0] - 2):
        for j in range(2, image.shape[1] - 2):
            total = 0.0
            for a in range(5):
                for b in range(5):
                    total += weights[a, b] * image[i + a - 2, j + b - 2]
            out[i, j] = total


def blur_data(rng: np.random.Generator) -> Arguments:
    image = rng.random((600, 800)).astype(np.float32)
    return image, np.zeros_like(image), np.zeros_like(image)


@case(blur_data, calls=1000)
def separable_blur(image, rows, out):
    n, m = image.shape
    for i in prange(n):
        for j in range(2, m - 2):
            rows[i, j] = (
                np.float32(0.0625) * (image[i, j - 2] + image[i, j + 2])
                + np.float32(0.25) * (image[i, j - 1] + image[i, j + 1])
                + np.float32(0.375) * image[i, j]
            )
    for i in prange(2, n - 2):
        for j in range(2, m - 2):
            out[i, j] = (
                np.float32(0.0625) * (rows[i - 2, j] + rows[i + 2, j])
                + np.float32(0.25) * (rows[i - 1, j] + rows[i + 1, j])
                + np.float32(0.375) * rows[i, j]
            )


def edges_data(rng: np.random.Generator) -> Arguments:
    return rng.random((480, 640)), np.zeros((480, 640)), 0.8


@case(edges_data, calls=5000)
def edges(image, out, level):
    for i in prange(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            x = image[i - 1, j + 1] + 2.0 * image[i, j + 1] + image[i + 1, j + 1]
            x -= image[i - 1, j - 1] + 2.0 * image[i, j - 1] + image[i + 1, j - 1]
            y = image[i + 1, j - 1] + 2.0 * image[i + 1, j] + image[i + 1, j + 1]
            y -= image[i - 1, j - 1] + 2.0 * image[i - 1, j] + image[i - 1, j + 1]
            length = np.sqrt(x * x + y * y)
            if length > level:
                out[i, j] = 1.0
            else:
                out[i, j] = 0.0


def median_data(rng: np.random.Generator) -> Arguments:
    image = rng.random((500, 500)).astype(np.float32)
    return image, np.zeros_like(image)


@case(median_data, calls=20_000)
def median_of_3(image, out):
    for i in prange(image.shape[0]):
        for j in range(1, image.shape[1] - 1):
            low = min(image[i, j - 1], image[i, j])
            high = max(image[i, j - 1], image[i, j])
            out[i, j] = max(low, min(high, image[i, j + 1]))


def gamma_data(rng: np.random.Generator) -> Arguments:
    return rng.random((400, 600)), np.zeros((400, 600)), 1.0 / 2.2


@case(gamma_data, calls=500)
def gamma_curve(image, out, gamma):
    for i in prange(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = image[i, j] ** gamma


def doubled_data(rng: np.random.Generator) -> Arguments:
    return rng.random((300, 400)).astype(np.float32), np.zeros((600, 800), np.float32)


@case(doubled_data, calls=10_000)
def doubled(small, large):
    for i in prange(large.shape[0]):
        for j in range(large.shape[1]):
            large[i, j] = small[i // 2, j // 2]


def halved_data(rng: np.random.Generator) -> Arguments:
    return rng.random((1000, 800)), np.zeros((500, 400))


@case(halved_data, calls=5000)
def halved(large, small):
    for i in prange(small.shape[0]):
        for j in range(small.shape[1]):
            total = large[2 * i, 2 * j] + large[2 * i, 2 * j + 1] + large[2 * i + 1, 2 * j]
            small[i, j] = 0.25 * (total + large[2 * i + 1, 2 * j + 1])


def grey_data(rng: np.random.Generator) -> Arguments:
    return rng.random((480, 640, 3)).astype(np.float32), np.zeros((480, 640), np.float32)


@case(grey_data, calls=5000)
def grey(image, out):
    for i in prange(image.shape[0]):
        for j in range(image.shape[1]):
            red = np.float32(0.299) * image[i, j, 0]
            out[i, j] = red + np.float32(0.587) * image[i, j, 1] + np.float32(0.114) * image[i, j, 2]


def dilated_data(rng: np.random.Generator) -> Arguments:
    return rng.random((512, 512)), np.zeros((512, 512))


@case(dilated_data, calls=5000)
def dilated(image, out):
    for i in prange(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            most = image[i, j]
            for a in range(-1, 2):
                for b in range(-1, 2):
                    most = max(most, image[i + a, j + b])
            out[i, j] = most
