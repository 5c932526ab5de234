"""Short loops in the innermost of several are written out where iterations of those are jammed."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.codegen.loops import Block, Compute, For, Node, Program, walk_nodes
from polytune.codegen.short_loops import MOST_STATEMENTS, with_short_loops_written_out
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.every_version import check_versions, stages_of
from tests.validation.validate import validate


def greatest_of_nine(image, out):
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            most = image[i, j]
            for a in range(-1, 2):
                for b in range(-1, 2):
                    most = max(most, image[i + a, j + b])
            out[i, j] = most


def backwards(image, out):
    for i in range(image.shape[0] - 4):
        for j in range(image.shape[1]):
            total = 1.0
            for a in range(4, -1, -2):
                total = 0.5 * total + image[i + a, j]
            out[i, j] = total


def of_twenty_five(image, weights, out):
    for i in range(2, image.shape[0] - 2):
        for j in range(2, image.shape[1] - 2):
            total = 0.0
            for a in range(5):
                for b in range(5):
                    total += weights[a, b] * image[i + a - 2, j + b - 2]
            out[i, j] = total


def of_many(image, out, depth):
    for i in range(image.shape[0]):
        for j in range(image.shape[1] - depth):
            total = 0.0
            for k in range(depth):
                total += image[i, j + k]
            out[i, j] = total


def programs(function, *arguments) -> dict[str, Program]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {each.name: each for each in Stages(function, signature_of(names, arguments)).programs}


def bodies(program: Program) -> list[Node]:
    """The bodies of innermost loops."""
    loops = [node for region in program.regions for node in walk_nodes(region.body) if isinstance(node, For)]
    return [each.body for each in loops if not any(isinstance(part, For) for part in walk_nodes(each.body))]


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).random(shape)


@pytest.mark.parametrize(("function", "statements"), [(greatest_of_nine, 11), (backwards, 5)])
def test_several_rows_are_computed_at_a_time(function, statements):
    jammed = programs(function, image(8, 8), image(8, 8))["tiled_jammed"]
    found = [sum(isinstance(part, Compute) for part in walk_nodes(body)) for body in bodies(jammed)]
    assert sorted(found) == [statements, 4 * statements]


@pytest.mark.parametrize(
    ("function", "others"), [(of_twenty_five, (image(5, 5), image(8, 8))), (of_many, (image(8, 8), 3))]
)
def test_loops_of_many_iterations_and_of_a_number_that_is_not_known_stay(function, others):
    assert not [name for name in programs(function, image(8, 8), *others) if name.endswith("_jammed")]


def test_only_what_stands_in_the_last_loop_of_a_nest_is_written_out():
    (region,) = programs(greatest_of_nine, image(8, 8), image(8, 8))["tiled"].regions
    outer = region.body
    assert isinstance(outer, For) and isinstance(outer.body, For) and isinstance(outer.body.body, Block)
    found = with_short_loops_written_out(outer, {outer.variable, outer.body.variable})
    left = [part.variable for part in walk_nodes(found) if isinstance(part, For)]
    assert left == [outer.variable, outer.body.variable]
    assert sum(isinstance(part, Compute) for part in walk_nodes(found)) == 11 <= MOST_STATEMENTS
    alone = with_short_loops_written_out(outer, {outer.variable})
    assert alone == outer


@pytest.mark.parametrize("function", [greatest_of_nine, backwards])
def test_each_statement_is_executed_once_in_every_version(function):
    stages = Stages(function, signature_of(("image", "out"), (image(9, 10), image(9, 10))))
    report = validate(stages, {"image": image(9, 10), "out": image(9, 10)}, 0)
    assert report.undecided == () and "tiled_jammed" in report.versions


@pytest.mark.parametrize("function", [greatest_of_nine, backwards])
@pytest.mark.parametrize("shape", [(0, 0), (3, 3), (5, 4), (9, 40), (14, 21)])
@pytest.mark.parametrize("strict", [False, True])
def test_results_are_those_of_python(function, shape, strict):
    arguments = (image(*shape), np.zeros(shape))
    check_versions(function, stages_of(function, arguments, strict=strict), arguments)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_compiled_versions_agree(dtype):
    made = (100 * image(37, 70)).astype(dtype)
    wanted = np.zeros_like(made)
    greatest_of_nine(made, wanted)
    kernel = polytune.Kernel(greatest_of_nine)
    space = kernel.space(made, wanted)
    for version in programs(greatest_of_nine, made, wanted):
        out = np.zeros_like(made)
        kernel.run(space.configuration(version=version), made, out)
        np.testing.assert_array_equal(out, wanted, version)
