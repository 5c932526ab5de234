"""n-body: a step of bodies that attract one another, all pairs, softened so that none meet."""

import math

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def n_body(step, softening, place, mass, velocity, new_place, new_velocity):
    n = mass.shape[0]
    for i in range(n):
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(n):
            dx = place[0, j] - place[0, i]
            dy = place[1, j] - place[1, i]
            dz = place[2, j] - place[2, i]
            squared = dx * dx + dy * dy + dz * dz + softening
            pull = mass[j] / (squared * math.sqrt(squared))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        new_velocity[0, i] = velocity[0, i] + step * ax
        new_velocity[1, i] = velocity[1, i] + step * ay
        new_velocity[2, i] = velocity[2, i] + step * az
        new_place[0, i] = place[0, i] + step * new_velocity[0, i]
        new_place[1, i] = place[1, i] + step * new_velocity[1, i]
        new_place[2, i] = place[2, i] + step * new_velocity[2, i]


def initialise(n: int) -> Arguments:
    d, i = np.ogrid[:3, :n]
    place = np.sin(1.0 + 3.0 * d + 0.7 * i)
    velocity = np.cos(2.0 * d + 0.3 * i)
    mass = 1.0 + i[0] % 4
    return 0.01, 0.05, place, mass, velocity, np.zeros((3, n)), np.zeros((3, n))


def reference(step, softening, place, mass, velocity, new_place, new_velocity):
    difference = place[:, None, :] - place[:, :, None]
    distance = np.sqrt((difference**2).sum(axis=0) + softening)
    acceleration = np.einsum("dij,ij->di", difference, mass / distance**3)
    new_velocity[:] = velocity + step * acceleration
    new_place[:] = place + step * new_velocity


def operations(n: int) -> int:
    return 18 * n**2 + 12 * n


BENCHMARK = Benchmark(
    "n-body", n_body, initialise, reference, ("new_place", "new_velocity"), operations, catalogue=CATALOGUE
)
