"""How many iterations are jammed: as many as there are addresses for."""

from __future__ import annotations

import numpy as np

from polytune.codegen.loops import Compute, For, Program, walk_nodes
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def seven_points(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            for k in range(1, A.shape[2] - 1):
                B[i, j, k] = (
                    A[i - 1, j, k] + A[i + 1, j, k] + A[i, j - 1, k] + A[i, j + 1, k] + A[i, j, k - 1] + A[i, j, k + 1]
                )


def jammed(function, *arrays: np.ndarray) -> Program:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    stages = Stages(function, signature_of(names, arrays))
    return next(program for program in stages.programs if program.name.endswith("_jammed"))


def largest_body(program: Program) -> int:
    """The most statements that an innermost loop has."""
    loops = [node for region in program.regions for node in walk_nodes(region.body) if isinstance(node, For)]
    bodies = [list(walk_nodes(loop.body)) for loop in loops]
    return max(
        sum(isinstance(part, Compute) for part in body)
        for body in bodies
        if not any(isinstance(part, For) for part in body)
    )


def test_products_have_blocks_of_four_by_four() -> None:
    assert largest_body(jammed(product, *(np.ones((4, 4)) for _ in range(3)))) == 16


def test_stencils_in_space_run_along_few_rows() -> None:
    """Of two by two points: twelve rows of A, where four by four points have thirty-two, and four of B."""
    assert largest_body(jammed(seven_points, *(np.ones((4, 4, 4)) for _ in range(2)))) == 4
