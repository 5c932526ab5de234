"""fourier: a volume in Fourier space from images of it, each of which is a slice through its middle.

For each point of the volume, and each image, the point is turned into the image's coordinates; where it is nearer to
the plane of the image than one, it has a part, by its distance, of the four pixels around.
"""

import math

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def fourier(images, rotations, volume, weights):
    n = volume.shape[0]
    half = n // 2
    for z in range(n):
        for y in range(n):
            for x in range(n):
                for p in range(images.shape[0]):
                    X = float(x - half)
                    Y = float(y - half)
                    Z = float(z - half)
                    distance = abs(rotations[p, 2, 0] * X + rotations[p, 2, 1] * Y + rotations[p, 2, 2] * Z)
                    u = rotations[p, 0, 0] * X + rotations[p, 0, 1] * Y + rotations[p, 0, 2] * Z + half
                    v = rotations[p, 1, 0] * X + rotations[p, 1, 1] * Y + rotations[p, 1, 2] * Z + half
                    if distance < 1.0 and u >= 0.0 and v >= 0.0 and u < n - 1 and v < n - 1:
                        i = math.floor(v)
                        j = math.floor(u)
                        right = u - j
                        down = v - i
                        near = 1.0 - distance
                        upper = (1.0 - right) * images[p, i, j] + right * images[p, i, j + 1]
                        lower = (1.0 - right) * images[p, i + 1, j] + right * images[p, i + 1, j + 1]
                        volume[z, y, x] += near * ((1.0 - down) * upper + down * lower)
                        weights[z, y, x] += near


def initialise(n: int, images: int) -> Arguments:
    p, i, j = np.ogrid[:images, :n, :n]
    pixels = (3 * p + 5 * i + 7 * j) % 11 / 11.0 + 1j * ((p + i * j) % 5 / 5.0)
    rotations = np.stack([_rotation(0.7 * number, 1.3 * number + 0.2) for number in range(images)])
    return pixels, rotations, np.zeros((n, n, n), complex), np.zeros((n, n, n))


def _rotation(first: float, second: float) -> np.ndarray:
    """A turn about the z axis, then one about the x axis."""
    c, s = np.cos(first), np.sin(first)
    about_z = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    c, s = np.cos(second), np.sin(second)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    rotation: np.ndarray = about_x @ about_z
    return rotation


def reference(images, rotations, volume, weights):
    n = len(volume)
    axis = np.arange(n) - n // 2
    Z, Y, X = np.meshgrid(axis, axis, axis, indexing="ij")
    points = np.stack([X, Y, Z]).astype(float)
    for image, rotation in zip(images, rotations, strict=True):
        u, v, w = np.einsum("ab,bzyx->azyx", rotation, points)
        u, v, distance = u + n // 2, v + n // 2, np.abs(w)
        inside = (distance < 1) & (u >= 0) & (v >= 0) & (u < n - 1) & (v < n - 1)
        i, j = np.floor(v[inside]).astype(int), np.floor(u[inside]).astype(int)
        down, right = v[inside] - i, u[inside] - j
        pixel = image[i, j] * (1 - down) * (1 - right) + image[i, j + 1] * (1 - down) * right
        pixel += image[i + 1, j] * down * (1 - right) + image[i + 1, j + 1] * down * right
        volume[inside] += (1 - distance[inside]) * pixel
        weights[inside] += 1 - distance[inside]


def operations(n: int, images: int) -> int:
    """The most that there can be: what is far from an image is not computed to its end."""
    return 47 * n**3 * images


BENCHMARK = Benchmark(
    "fourier", fourier, initialise, reference, ("volume", "weights"), operations, perturbation=0.0, catalogue=CATALOGUE
)
