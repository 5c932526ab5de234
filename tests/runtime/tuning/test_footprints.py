"""How many lines of the caches the model of the first choice expects accesses to touch."""

from __future__ import annotations

import pytest

from polytune.runtime.tuning.footprints import LoopStack

NEIGHBOURS = [(8, 0, (0,), "u", 3, 8)]
"""Three vectors of eight float64 next to one another, which move by as much as the loop does."""


@pytest.mark.parametrize(("step", "lines"), [(8, 100), (16, 200), (24, 300), (32, 300)])
def test_vectors_that_the_next_iteration_loads_too_count_once(step, lines):
    loops = LoopStack()
    loops.push(100.0, step, step)
    assert loops.lines(NEIGHBOURS)[0] == lines
    assert loops.lines(NEIGHBOURS)[1] == 3


def test_vectors_of_other_rows_count_beside_one_another():
    loops = LoopStack()
    loops.push(10.0, 4, 4)
    loops.push(100.0, 8, 8)
    rows = [(8, 1, (0, 1), "u", vectors, 8) for vectors in (3, 1, 3, 3, 3, 1)]
    assert loops.lines(rows)[0] == 4 * 10 * 100 and loops.lines(rows)[1] == 4 * 100
