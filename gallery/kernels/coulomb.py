"""coulomb: the electrostatic potential of point charges on the points of a cubic grid, by direct summation."""

import math

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def coulomb(spacing, atoms, potential):
    n = potential.shape[0]
    for z in range(n):
        for y in range(n):
            for x in range(n):
                total = 0.0
                for a in range(atoms.shape[0]):
                    dx = x * spacing - atoms[a, 0]
                    dy = y * spacing - atoms[a, 1]
                    dz = z * spacing - atoms[a, 2]
                    total += atoms[a, 3] / math.sqrt(dx * dx + dy * dy + dz * dz)
                potential[z, y, x] = total


def initialise(n: int, atoms: int) -> Arguments:
    spacing = 0.5
    a = np.arange(atoms)
    # A third of the spacing off the grid, so that no atom lies on a point of it.
    places = np.column_stack([(7 * a) % n, (11 * a) % n, (13 * a) % n]) * spacing + spacing / 3
    charges = (-1.0) ** a * (1 + a % 5)
    return spacing, np.column_stack([places, charges]), np.zeros((n, n, n))


def reference(spacing, atoms, potential):
    axis = spacing * np.arange(len(potential))
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)[..., ::-1]
    potential[:] = 0
    for atom in atoms:
        potential += atom[3] / np.linalg.norm(points - atom[:3], axis=-1)


def operations(n: int, atoms: int) -> int:
    return 14 * n**3 * atoms


BENCHMARK = Benchmark(
    "coulomb", coulomb, initialise, reference, ("potential",), operations, perturbation=0.01, catalogue=CATALOGUE
)
