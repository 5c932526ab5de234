"""Time-tiled stencils whose boundaries have loops of their own, at places that depend on the sizes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from polytune.codegen.loops import Compute, walk_nodes
from tests.every_version import check_versions, stages_of


def walls(p, q, b, steps):
    rows, columns = p.shape
    for _ in range(steps):
        for i in range(rows):
            for j in range(columns):
                q[i, j] = p[i, j]
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                p[i, j] = 0.25 * (q[i, j - 1] + q[i, j + 1] + q[i - 1, j] + q[i + 1, j]) - b[i, j]
        for i in range(rows):
            p[i, columns - 1] = p[i, columns - 2]
            p[i, 0] = p[i, 1]
        for j in range(columns):
            p[0, j] = p[1, j]
            p[rows - 1, j] = 0.0


def data(rows: int, columns: int, steps: int) -> tuple:
    rng = np.random.default_rng(rows * columns)
    return (*(rng.random((rows, columns)) for _ in range(3)), steps)


def test_tiles_of_time_have_each_statement_once():
    """isl would otherwise tell cases apart by which statements begin and end in a tile, until its budget is used up."""
    stages = stages_of(walls, data(4, 4, 1))
    assert not stages.given_up
    (region,) = next(program.regions for program in stages.programs if program.name == "tiled")
    computed = Counter(node.statement for node in walk_nodes(region.body) if isinstance(node, Compute))
    assert computed == dict.fromkeys((statement.name for statement in stages.scop.statements), 1)


@pytest.mark.parametrize(
    ("rows", "columns", "steps"), [(2, 2, 3), (2, 5, 2), (3, 3, 4), (9, 5, 5), (7, 14, 6), (6, 6, 0)]
)
def test_every_version_computes_what_the_source_does(rows: int, columns: int, steps: int):
    initial = data(rows, columns, steps)
    check_versions(walls, stages_of(walls, initial), initial, tiles=((2, 3, 4), (4,), (64,)))
