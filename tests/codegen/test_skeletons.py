"""What is around regions: each region sees the value that its call gives to a variable, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.codegen.loops import For, RegionCall, walk_nodes


def nests(n, m, alpha, A, B):
    for i in range(2, m, 3):
        for j in range(1, m):
            A[i, j + 1] = (B[m + 1, j + 2, j + 2] - B[j - 1, n - j + 1, i + 2]) - (0.25 * (A[0, j + 1] * alpha))
        for j in range(2, m):
            s = 0.0
            for k in range(i, m):
                s += min(B[i + 2, m - j + 1, k + 2], alpha) + 0.125 * alpha
            B[i + 1, j + 2, j + 2] = s - max(B[i + 1, j + 2, j + 2], s)
            for k in range(2, m):
                A[i + k + 1, k + 1] = B[i + 1, j, k]


def arguments(m: int) -> tuple:
    rng = np.random.default_rng(m)
    return m - 2, m, 0.5, rng.uniform(-2, 2, (2 * m, 2 * m)), rng.uniform(-2, 2, (m + 2, m + 2, m + 8))


@pytest.mark.parametrize("m", [5, 9])
def test_regions_that_follow_one_another_see_the_variable_of_the_loop(m):
    kernel = polytune.Kernel(nests, strict=True)
    generated = kernel.generated(*arguments(m))
    wanted = arguments(m)
    nests(*wanted)
    for version in generated.module.VERSIONS:
        found = arguments(m)
        kernel.run(generated.space.configuration(version=version.name, **version.sizes), *found)
        for got, expected in zip(found[3:], wanted[3:], strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=version.name)


def test_no_call_changes_what_a_later_one_reads():
    kernel = polytune.Kernel(nests, strict=True)
    programs = kernel.stages(kernel._accept(arguments(5), {}).signature).programs
    moved = 0
    for program in programs:
        nodes = list(walk_nodes(program.skeleton))
        variables = {node.variable for node in nodes if isinstance(node, For)}
        for call in (node for node in nodes if isinstance(node, RegionCall)):
            for name, value in zip(program.regions[call.region].outer, call.prefix, strict=True):
                if getattr(value, "name", None) != name:
                    assert name not in variables, program.name
                    moved += 1
    assert moved
