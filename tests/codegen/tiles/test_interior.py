"""Interior tiles of factorisations: code of their own, with vectors, that computes what the source does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polybench.registry import benchmark
from polytune.codegen.loops import If, Store, walk_nodes
from tests.every_version import stages_of, with_vectors
from tests.fuzz.interpreted import Interpreter

lu, cholesky = (benchmark(name).kernel.__wrapped__ for name in ("lu", "cholesky"))


@pytest.mark.parametrize("function, strict", [(lu, True), (lu, False), (cholesky, False)])
@pytest.mark.parametrize("size, tiles", [(5, (2, 2, 2)), (13, (4, 4, 4)), (12, (2, 5, 3)), (11, (16, 16, 16))])
def test_interior_tiles(function: Callable, strict: bool, size: int, tiles: tuple[int, ...]) -> None:
    half = np.random.default_rng(size).random((size, size))
    initial = half @ half.T + size * np.eye(size)
    stages = stages_of(function, [initial], strict=strict)
    assert with_vectors(stages)
    expected = initial.copy()
    function(expected)
    interpreter = Interpreter(stages.source)
    for version in with_vectors(stages):
        values = [initial.copy()]
        sizes = {f"tile_{member}": tile for member, tile in enumerate(tiles)}
        interpreter.run({"version": version, "threads": 3, **sizes}, values, seed=size)
        if strict:
            assert np.array_equal(values[0], expected), version
        else:
            np.testing.assert_allclose(values[0], expected, rtol=1e-12, err_msg=version)


def test_only_interior_tiles_have_vectors_in_a_factorisation() -> None:
    stages = stages_of(lu, [np.eye(4)], strict=True)
    program = next(program for program in stages.programs if program.has_vectors)
    (region,) = program.regions
    assert isinstance(region.body, If)
    inside, outside = (
        [type(part) for part in walk_nodes(body)] for body in (region.body.then, region.body.otherwise) if body
    )
    assert Store in inside
    assert Store not in outside
