"""What is kept close, against enumeration: no element outside of a copy, none of its extents too small or too large."""

from __future__ import annotations

from collections.abc import Mapping as Names
from dataclasses import replace
from itertools import product

import islpy as isl
import numpy as np
import pytest

from polytune.codegen.device.kernel import DeviceKernel
from polytune.codegen.tiles.windows import constrain, window_context
from polytune.frontend.expression import Binary, Constant, Expression, Iterator, ParameterValue, Select
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.platforms.mapping import map_region
from polytune.schedule.platforms.promotion import Window, accesses_of, find_accumulators, find_shared_tiles
from tests.schedule.instances import points
from tests.schedule.kernels import matrix
from tests.schedule.platforms.test_partition import plan_of


def blur(A, B):
    n, m = A.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            B[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]


def far_apart(A, B):
    n = B.shape[0]
    for i in range(n):
        for j in range(n):
            B[i, j] = A[i] * A[i + n] + A[j]


def reversed_rows(A, B):
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            B[i, j] = A[n - 1 - i] + A[n - 1 - i]


def strided(A, B):
    n = B.shape[0]
    for i in range(n):
        for j in range(n):
            B[i, j] = A[2 * j] + A[2 * j + 1]


def written_elsewhere(A, B):
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            B[i, j] = B[i, j] + A[0, j]
            A[i + 1 - i, j] = 0.0


def data_dependent(A, B, limit):
    n = B.shape[0]
    for i in range(n):
        for j in range(n):
            if A[j] > limit:
                B[i, j] = A[j]


def kernel_of(function, *arguments, region: int = 0) -> DeviceKernel:
    names = function.__code__.co_varnames[: len(arguments)]
    program = Stages(function, signature_of(names, arguments)).partitioned
    assert program is not None and program.parts[region].kernel is not None
    return program.parts[region].kernel


def value(expression: Expression, names: Names[str, int]) -> int:
    """A subscript or an extent with numbers for its names."""
    match expression:
        case Constant(number):
            return int(number)
        case Iterator(name) | ParameterValue(name):
            return names[name]
        case Binary(operator, left, right):
            x, y = value(left, names), value(right, names)
            return {"+": x + y, "-": x - y, "*": x * y, "min": min(x, y), "max": max(x, y)}[operator]
        case Select():
            raise AssertionError("an extent of a tile is one expression here")
    raise AssertionError(expression)


def extents_of(kernel: DeviceKernel, tile: int) -> list[tuple[str, list[int]]]:
    """Each copy's array, and its extents where every member's tile has the same number of points."""
    names = {window.extent: tile for window in kernel.windows}
    return [(copy.array, [value(extent, names) for extent in copy.extents]) for copy in kernel.shared]


def test_extents() -> None:
    square = matrix(8, 8)
    # One point more at each side; all five references in one copy.
    assert extents_of(kernel_of(blur, square, square.copy()), 4) == [("A", [6, 6])]
    # The elements between are copied too; the references never meet, so each has a copy of its own.
    assert extents_of(kernel_of(strided, matrix(16), square), 4) == [("A", [7]), ("A", [7])]
    assert extents_of(kernel_of(reversed_rows, matrix(8), square), 4) == [("A", [4])]


def test_references_that_are_far_apart_have_copies_of_their_own() -> None:
    """One copy of all would be as large as the array, but A[i] and A[j] may be the same elements."""
    assert extents_of(kernel_of(far_apart, matrix(16), matrix(8, 8)), 4) == [("A", [4]), ("A", [4]), ("A", [4])]


def test_what_is_not_copied() -> None:
    square = matrix(8, 8)
    # Written in the same region.
    assert all(copy.array != "A" for copy in kernel_of(written_elsewhere, square, square.copy()).shared)

    def once(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = 2.0 * A[i, j]

    def gathered(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = A[i, j] + A[i * 0, 3]

    # No element is read twice.
    assert kernel_of(once, square, square.copy()).shared == ()
    # Only the element that all read.
    assert extents_of(kernel_of(gathered, square, square.copy()), 4) == [("A", [1, 1])]


@pytest.mark.parametrize("name", ["gemm", "syr2k", "gemver", "correlation", "symm"])
def test_copies_are_exactly_what_is_read(name: str) -> None:
    """Over many places of a tile: the copy begins at the least subscript, and its extent is the largest that occurs."""
    plan = plan_of(name)
    scop = plan.dependences.scop
    tile, checked = 3, 0
    for region in plan.regions:
        mapping = map_region(plan, region)
        if mapping is None:
            continue
        windows = [Window(f"L{member}", f"U{member}", f"T{member}") for member in range(mapping.members)]
        domain = region.domain.intersect_params(scop.context)
        pairs = tuple((window.lower, window.upper) for window in windows)
        context = window_context(domain, replace(region, band=mapping.band), domain.params(), pairs)
        for member, window in enumerate(windows):
            position = mapping.band.get_union_pw_aff(member)
            domain = constrain(domain, position, window.lower, 0, None)
            domain = constrain(domain, position, window.upper, None, -1)
        accesses = accesses_of(mapping, domain, scop)
        for shared in find_shared_tiles(mapping, windows, accesses, context, scop):
            checked += 1
            largest = [0] * len(shared.extents)
            read = [access.relation.range() for access in accesses if access.reference in shared.references]
            for lows in product((0, 1, 3, 5), repeat=mapping.members):
                values = {parameter.name: 9 + number for number, parameter in enumerate(scop.parameters)}
                for window, low in zip(windows, lows, strict=True):
                    values |= {window.lower: low, window.upper: low + tile}
                here = point_of(values, context)
                if here.is_disjoint(context):
                    continue
                elements = {point for part in read for point in coordinates(part, here)}
                for axis in range(len(largest) if elements else 0):
                    reached = [point[axis] for point in elements]
                    assert min(reached) == number_of(shared.origin[axis], here)
                    largest[axis] = max(largest[axis], max(reached) - min(reached) + 1)
            at_tile = point_of({window.extent: tile for window in windows}, context)
            extents = [number_of(extent, at_tile) for extent in shared.extents]
            assert largest == extents, shared.array
    assert checked


def coordinates(elements: isl.Set, here: isl.Set) -> list[tuple[int, ...]]:
    """The elements at a point of parameter space."""
    return points(elements.intersect_params(here).project_out_all_params())


def point_of(values: Names[str, int], alike: isl.Set) -> isl.Set:
    """The point of parameter space at which parameters have these values, for use with another set."""
    text = f"[{', '.join(values)}] -> {{ : {' and '.join(f'{name} = {value}' for name, value in values.items())} }}"
    return isl.Set.read_from_str(alike.get_ctx(), text)


def number_of(function: isl.PwAff, here: isl.Set) -> int:
    """The value of a function of parameters at a point."""
    return function.intersect_params(here).max_val().to_python()


@pytest.mark.parametrize(
    ("name", "region", "arrays"),
    [
        # The sum of a thread's own element over k.
        ("gemm", 1, [("C", True)]),
        # Written before it is read: nothing is loaded.
        ("product_of_sums", 0, [("C", False)]),
        ("transposed_copy", 0, [("B", False)]),
        # Neighbours' elements are read as well.
        ("triangular", 0, []),
        ("in_place_stencil", 0, []),
        # Overwritten or not, as the data say.
        ("may_write", 1, [("B", True)]),
    ],
)
def test_accumulators(name: str, region: int, arrays: list[tuple[str, bool]]) -> None:
    plan = plan_of(name)
    mapping = map_region(plan, plan.regions[region])
    assert mapping is not None
    scop = plan.dependences.scop
    accesses = accesses_of(mapping, mapping.region.domain, scop)
    found = find_accumulators(mapping, mapping.region.domain, accesses)
    assert [(accumulator.array, accumulator.is_read) for accumulator in found] == arrays
    for accumulator in found:
        assert accumulator.element.is_injective() and accumulator.element.is_single_valued()


def test_data_that_may_be_written_are_read_first() -> None:
    kernel = kernel_of(data_dependent, matrix(8), matrix(8, 8), 0.5)
    assert [(register.array, register.load is not None) for register in kernel.registers] == [("B", True)]
    assert np.all([copy.array == "A" for copy in kernel.shared])
