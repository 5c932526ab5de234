"""Images: filters, thresholds, colours, resampling."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def grey_levels(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.integers(0, 256, (n, n + 3)).astype(np.uint8),)


def brightness(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.random((n, n + 5)),)


@case(brightness, size=700, small=9, calls=200)
def sobel(image):
    left, right = image[:, :-2], image[:, 2:]
    horizontal = (right[:-2] - left[:-2]) + 2.0 * (right[1:-1] - left[1:-1]) + (right[2:] - left[2:])
    above, below = image[:-2], image[2:]
    vertical = (below[:, :-2] - above[:, :-2]) + 2.0 * (below[:, 1:-1] - above[:, 1:-1]) + (below[:, 2:] - above[:, 2:])
    magnitude = np.zeros_like(image)
    magnitude[1:-1, 1:-1] = np.sqrt(horizontal**2 + vertical**2)
    return magnitude


def box_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, n)).astype(np.float32), 2


@case(box_data, size=500, small=8, calls=200)
def box_blur(image, radius):
    height, width = image.shape
    padded = np.zeros((height + 2 * radius, width + 2 * radius), dtype=image.dtype)
    padded[radius : radius + height, radius : radius + width] = image
    total = np.zeros(image.shape, dtype=image.dtype)
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            total += padded[i : i + height, j : j + width]
    return total / (2 * radius + 1) ** 2


@case(grey_levels, size=600, small=11, calls=200)
def equalised(image):
    histogram = np.zeros(256, dtype=np.int64)
    for row in image:
        for level in row:
            histogram[level] += 1
    cumulative = np.cumsum(histogram)
    lowest = cumulative[image.min()]
    scale = 255.0 / max(image.size - lowest, 1)
    table = np.zeros(256, dtype=np.uint8)
    for level in range(256):
        table[level] = np.uint8(max((cumulative[level] - lowest) * scale, 0.0))
    out = np.empty_like(image)
    for i in prange(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = table[image[i, j]]
    return out


@case(grey_levels, size=600, small=10, calls=200)
def otsu_threshold(image):
    counts = np.zeros(256, np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    total = image.size
    weighted = 0.0
    for level in range(256):
        weighted += level * counts[level]
    below, sum_below = 0, 0.0
    best, threshold = -1.0, 0
    for level in range(256):
        below += counts[level]
        if below == 0:
            continue
        above = total - below
        if above == 0:
            break
        sum_below += level * counts[level]
        difference = sum_below / below - (weighted - sum_below) / above
        between = below * above * difference * difference
        if between > best:
            best = between
            threshold = level
    return threshold, image > threshold


def remap_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, n + 2)), rng.uniform(-1.0, n, (n, n)), rng.uniform(-1.0, n, (n, n))


@case(remap_data, size=500, small=9, calls=150)
def remapped(image, rows, columns):
    height, width = image.shape
    out = np.zeros(rows.shape)
    for i in prange(rows.shape[0]):
        for j in range(rows.shape[1]):
            y, x = rows[i, j], columns[i, j]
            if y < 0 or x < 0 or y >= height - 1 or x >= width - 1:
                continue
            top, left = int(y), int(x)
            dy, dx = y - top, x - left
            upper = (1 - dx) * image[top, left] + dx * image[top, left + 1]
            lower = (1 - dx) * image[top + 1, left] + dx * image[top + 1, left + 1]
            out[i, j] = (1 - dy) * upper + dy * lower
    return out


@case(grey_levels, size=300, small=8, calls=100)
def median_3x3(image):
    n, m = image.shape
    out = image.copy()
    for i in prange(1, n - 1):
        window = np.empty(9, dtype=np.uint8)
        for j in range(1, m - 1):
            k = 0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    value = image[i + a, j + b]
                    at = k
                    while at > 0 and window[at - 1] > value:
                        window[at] = window[at - 1]
                        at -= 1
                    window[at] = value
                    k += 1
            out[i, j] = window[4]
    return out


def colours(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.integers(0, 256, (n, n + 1, 3)).astype(np.uint8),)


@case(colours, size=500, small=7, calls=200)
def luminance(image):
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    return (0.299 * red + 0.587 * green + 0.114 * blue).astype(np.uint8)


@case(brightness, size=250, small=8, calls=100)
def dithered(image):
    work = image.copy()
    height, width = work.shape
    for y in range(height):
        for x in range(width):
            old = work[y, x]
            new = 1.0 if old > 0.5 else 0.0
            work[y, x] = new
            error = old - new
            if x + 1 < width:
                work[y, x + 1] += error * 7 / 16
            if y + 1 < height:
                if x > 0:
                    work[y + 1, x - 1] += error * 3 / 16
                work[y + 1, x] += error * 5 / 16
                if x + 1 < width:
                    work[y + 1, x + 1] += error * 1 / 16
    return work
