"""Geometry: polygons, boxes, rotations, rays."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from benchmarks.applications.case import SPECIAL_VALUES, Arguments, case


def polygon_data(rng: np.random.Generator, n: int) -> Arguments:
    angles = np.sort(rng.uniform(0, 2 * np.pi, 30))
    radii = rng.uniform(0.5, 1.0, 30)
    polygon = np.stack((radii * np.cos(angles), radii * np.sin(angles)), axis=1)
    return rng.uniform(-1, 1, (n, 2)), polygon


@case(polygon_data, size=50000, small=12, calls=150)
def points_in_polygon(points, polygon):
    inside = np.zeros(len(points), dtype=np.bool_)
    corners = len(polygon)
    for p in prange(len(points)):
        x, y = points[p]
        odd = False
        for i in range(corners):
            j = (i + 1) % corners
            xi, yi = polygon[i]
            xj, yj = polygon[j]
            if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
                odd = not odd
        inside[p] = odd
    return inside


def ring(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random(n), rng.random(n)


@case(ring, size=300000, small=7, calls=300)
def polygon_area(x, y):
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


def rotation_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, 3)), 0.3, 0.5, 0.7


@case(rotation_data, size=100000, small=6, calls=200)
def rotated(points, a, b, c):
    ca, sa, cb, sb, cc, sc = np.cos(a), np.sin(a), np.cos(b), np.sin(b), np.cos(c), np.sin(c)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]])
    about_y = np.array([[cb, 0.0, sb], [0.0, 1.0, 0.0], [-sb, 0.0, cb]])
    about_z = np.array([[cc, -sc, 0.0], [sc, cc, 0.0], [0.0, 0.0, 1.0]])
    return points @ (about_z @ about_y @ about_x).T


def boxes_data(rng: np.random.Generator, n: int) -> Arguments:
    def boxes(count: int) -> np.ndarray:
        corner = rng.random((count, 2))
        return np.concatenate((corner, corner + rng.random((count, 2))), axis=1)

    return boxes(n), boxes(n // 2 + 1)


def overlaps_loops(first, second):
    out = np.empty((len(first), len(second)))
    for i in prange(len(first)):
        area = (first[i, 2] - first[i, 0]) * (first[i, 3] - first[i, 1])
        for j in range(len(second)):
            other = (second[j, 2] - second[j, 0]) * (second[j, 3] - second[j, 1])
            width = min(first[i, 2], second[j, 2]) - max(first[i, 0], second[j, 0])
            height = min(first[i, 3], second[j, 3]) - max(first[i, 1], second[j, 1])
            common = max(width, 0.0) * max(height, 0.0)
            out[i, j] = common / (area + other - common)
    return out


@case(boxes_data, size=800, small=7, calls=150, numba=overlaps_loops)
def overlaps(first, second):
    area1 = (first[:, 2] - first[:, 0]) * (first[:, 3] - first[:, 1])
    area2 = (second[:, 2] - second[:, 0]) * (second[:, 3] - second[:, 1])
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    extent = np.maximum(high - low, 0.0)
    common = extent[:, :, 0] * extent[:, :, 1]
    return common / (area1[:, None] + area2[None, :] - common)


def cross(u, v):
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def inner(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def rays_data(rng: np.random.Generator, n: int) -> Arguments:
    directions = rng.standard_normal((n, 3))
    return np.zeros(3), directions, rng.standard_normal((n // 50 + 3, 3, 3)) + np.array([0.0, 0.0, 3.0])


@njit
def jitted_cross(u, v):
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


@njit
def jitted_inner(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def ray_distances_numba(origin, directions, triangles):
    out = np.full(len(directions), np.inf)
    for r in prange(len(directions)):
        direction = directions[r]
        for t in range(len(triangles)):
            corner = triangles[t, 0]
            first = triangles[t, 1] - corner
            second = triangles[t, 2] - corner
            across = jitted_cross(direction, second)
            determinant = jitted_inner(first, across)
            if abs(determinant) < 1e-9:
                continue
            offset = origin - corner
            u = jitted_inner(offset, across) / determinant
            if u < 0.0 or u > 1.0:
                continue
            along = jitted_cross(offset, first)
            v = jitted_inner(direction, along) / determinant
            if v < 0.0 or u + v > 1.0:
                continue
            distance = jitted_inner(second, along) / determinant
            if 1e-9 < distance < out[r]:
                out[r] = distance
    return out


@case(rays_data, size=3000, small=10, calls=60, numba=ray_distances_numba, fastmath=SPECIAL_VALUES)
def ray_distances(origin, directions, triangles):
    out = np.full(len(directions), np.inf)
    for r in prange(len(directions)):
        direction = directions[r]
        for t in range(len(triangles)):
            corner = triangles[t, 0]
            first = triangles[t, 1] - corner
            second = triangles[t, 2] - corner
            across = cross(direction, second)
            determinant = inner(first, across)
            if abs(determinant) < 1e-9:
                continue
            offset = origin - corner
            u = inner(offset, across) / determinant
            if u < 0.0 or u > 1.0:
                continue
            along = cross(offset, first)
            v = inner(direction, along) / determinant
            if v < 0.0 or u + v > 1.0:
                continue
            distance = inner(second, along) / determinant
            if 1e-9 < distance < out[r]:
                out[r] = distance
    return out


def hull_data(rng: np.random.Generator, n: int) -> Arguments:
    points = rng.standard_normal((n, 2))
    return (points[np.lexsort((points[:, 1], points[:, 0]))],)


@case(hull_data, size=100000, small=12, calls=150)
def convex_hull(points):
    n = len(points)
    hull = np.zeros((2 * n, 2))
    k = 0
    for i in range(n):
        while k >= 2:
            ux, uy = hull[k - 1] - hull[k - 2]
            vx, vy = points[i] - hull[k - 2]
            if ux * vy - uy * vx > 0:
                break
            k -= 1
        hull[k] = points[i]
        k += 1
    lower = k + 1
    for i in range(n - 2, -1, -1):
        while k >= lower:
            ux, uy = hull[k - 1] - hull[k - 2]
            vx, vy = points[i] - hull[k - 2]
            if ux * vy - uy * vx > 0:
                break
            k -= 1
        hull[k] = points[i]
        k += 1
    return hull[:n], k - 1


def cloud(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, 3)), rng.random((n // 2 + 2, 3))


def hausdorff_loops(A, B):
    worst = 0.0
    for i in prange(len(A)):
        nearest = np.inf
        for j in range(len(B)):
            dx, dy, dz = A[i, 0] - B[j, 0], A[i, 1] - B[j, 1], A[i, 2] - B[j, 2]
            nearest = min(nearest, dx * dx + dy * dy + dz * dz)
        worst = max(worst, nearest)
    for j in prange(len(B)):
        nearest = np.inf
        for i in range(len(A)):
            dx, dy, dz = A[i, 0] - B[j, 0], A[i, 1] - B[j, 1], A[i, 2] - B[j, 2]
            nearest = min(nearest, dx * dx + dy * dy + dz * dz)
        worst = max(worst, nearest)
    return np.sqrt(worst)


@case(cloud, size=1500, small=6, calls=100, numba=hausdorff_loops, fastmath=SPECIAL_VALUES)
def hausdorff(A, B):
    distances = np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=-1))
    return max(distances.min(axis=1).max(), distances.min(axis=0).max())
