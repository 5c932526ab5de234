"""What parts read and write against enumeration: everything read is there, and what is written back is just that."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune.frontend.scop import AccessKind, Scop
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.partitioned.description import Part, Partitioned
from polytune.schedule.regions import Region
from polytune.schedule.rewrites.factoring import FACTORED
from tests.fuzz.interpreted import Interpreter
from tests.schedule.instances import Instance, pairs, parameters_at, times
from tests.schedule.kernels import SMALL, Case, matrix, polybench_case

Elements = dict[str, set[tuple[int, ...]]]


def lower_triangle(A, B):
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            B[i, j] = A[j, i] + 1.0


def every_third(A, B):
    n = B.shape[0]
    for i in range(n):
        B[i] = A[3 * i + 1]
        A[3 * i + 2] = 0.0


def reversed_loop(A, B):
    n = A.shape[0]
    for i in range(n - 1, 1, -2):
        B[n - 1 - i] = A[i] + A[i - 1]


def chequered(A):
    n = A.shape[0]
    for i in range(1, n - 1):
        for j in range(1 + i % 2, n - 1, 2):
            A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])


def skewed(A, B):
    n = B.shape[0]
    for i in range(n):
        for j in range(n):
            B[i, j] = A[i + j] + A[2 * i - j + n]


def band_of_a_matrix(A, B):
    n = A.shape[0]
    for i in range(n):
        for j in range(max(0, i - 2), min(n, i + 3)):
            B[i, j] = A[i, j] * 2.0


def two_arrays_in_one_loop(A, B):
    n = A.shape[0]
    for i in range(n // 2):
        A[2 * i] = A[2 * i + 1]
        B[n - 1 - i, i] = A[2 * i]


OWN = {
    function.__name__: Case(function.__name__, function, arguments)
    for function, arguments in (
        (lower_triangle, (matrix(6, 6), matrix(6, 6))),
        (every_third, (matrix(18), matrix(6))),
        (reversed_loop, (matrix(9), matrix(9))),
        (chequered, (matrix(8, 8),)),
        (skewed, (matrix(18), matrix(6, 6))),
        (band_of_a_matrix, (matrix(7, 7), matrix(7, 7))),
        (two_arrays_in_one_loop, (matrix(8), matrix(8, 4))),
    )
}
OTHERS = ("scalar_out_of_loop", "returned_scalar", "last_above", "two_sums_into_one")
"""Those without device versions of the kernel's own statements; what partial sums access, tests of theirs hold."""

NAMES = [*OWN, *(name for name in SMALL if name not in OTHERS)]

SUITE = ["gemm", "syrk", "trmm", "lu", "atax"]


def case_of(name: str) -> Case:
    return OWN.get(name) or SMALL.get(name) or polybench_case(name)


def elements(boxes: list[tuple[str, Any]]) -> Elements:
    found: Elements = defaultdict(set)
    for array, box in boxes:
        found[array] |= set(product(*(range(*axis) for axis in box)))
    return found


class Accessed:
    """Per region and instance, what is accessed, by plain enumeration."""

    def __init__(self, stages: Stages, names: Mapping[str, int]):
        scop: Scop = stages.scop
        self.here = parameters_at(scop, names)
        self.scop = scop
        self.touched: dict[tuple[Instance, AccessKind], Elements] = defaultdict(lambda: defaultdict(set))
        for statement in scop.statements:
            for access in statement.accesses:
                for instance, (_, element) in pairs(isl.UnionMap.from_map(access.relation), self.here):
                    self.touched[instance, access.kind][access.array].add(element or (0,))

    def of(self, instances: list[Instance], kinds: tuple[AccessKind, ...]) -> Elements:
        found: Elements = defaultdict(set)
        for instance in instances:
            for kind in kinds:
                for array, touched in self.touched[instance, kind].items():
                    found[array] |= touched
        return found

    def positions(self, region: Region) -> dict[Instance, tuple[tuple[int, ...], tuple[int, ...]]]:
        """Per instance the values of the loops around the region, and of its band."""
        instances = {instance for instance, _ in pairs(region.domain.identity(), self.here)}
        around: Mapping[Instance, tuple[int, ...]] = dict.fromkeys(instances, ())
        inside: Mapping[Instance, tuple[int, ...]] = around
        if region.prefix is not None:
            schedule = isl.UnionMap.from_multi_union_pw_aff(region.prefix).intersect_domain(region.domain)
            around = times(schedule, self.here)
        if region.band is not None:
            schedule = isl.UnionMap.from_multi_union_pw_aff(region.band).intersect_domain(region.domain)
            inside = times(schedule, self.here)
        return {instance: (around[instance], inside[instance]) for instance in instances}


def parts_of(ranges: tuple[tuple[int, int], ...], choose: random.Random) -> Iterator[tuple[tuple[int, int], ...]]:
    """Windows of a region: all of it, one point, and random ones."""
    yield ranges
    for _ in range(5):
        limits = []
        for start, stop in ranges:
            low = choose.randrange(start, stop)
            limits.append((low, choose.randrange(low, stop) + 1))
        yield tuple(limits)


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_have_no_device_version_or_one_with_partial_sums(name: str) -> None:
    plan = case_of(name).stages.device_plan
    assert plan is None or plan.recipe.order == FACTORED


@pytest.mark.parametrize("name", [*NAMES, *SUITE])
def test_transfers_are_what_is_accessed(name: str) -> None:
    case = case_of(name)
    given = case.arguments()
    stages = Stages(case.function, signature_of(tuple(given), tuple(given.values())), devices=True)  # type: ignore[arg-type]
    plan, interpreter = stages.device_plan, Interpreter(stages.source)
    assert plan is not None
    module = interpreter.module
    partitioned: Partitioned = module["PARTITIONED"]
    parameters: tuple[int, ...] = module["parameters"](*given.values())
    accessed = Accessed(stages, dict(zip(module["PARAMETERS"], parameters, strict=True)))
    shapes = {name: value.shape for name, value in given.items() if isinstance(value, np.ndarray)}
    choose = random.Random(case.seed)
    positions = [accessed.positions(region) for region in plan.regions]
    steps = list(partitioned.steps(*parameters))
    choose.shuffle(steps)
    for number, around in steps[:12]:
        region, part = plan.regions[number], partitioned.parts[number]
        mine = {instance: inside for instance, (outer, inside) in positions[number].items() if outer == around}
        assert mine, "a region is only reached where it has work"
        ranges = part.ranges(*parameters, *around)
        for member, (start, stop) in enumerate(ranges):
            values = {inside[member] for inside in mine.values()}
            assert (start, stop) == (min(values), max(values) + 1)
        for limits in parts_of(ranges[: part.shared], choose):
            chosen = [
                instance
                for instance, inside in mine.items()
                if all(low <= value < high for value, (low, high) in zip(inside, limits, strict=False))
            ]
            check_part(part, (*parameters, *around), limits, accessed, chosen, region, shapes)


def check_part(
    part: Part,
    before: tuple[int, ...],
    limits: tuple[tuple[int, int], ...],
    accessed: Accessed,
    chosen: list[Instance],
    region: Region,
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    """Compare the boxes of a part with what its instances access."""
    integers = (*before, *(limit for pair in limits for limit in pair))
    reads, writes = elements(part.reads(*integers)), elements(part.writes(*integers))
    own = region.private | region.local
    written = accessed.of(chosen, (AccessKind.MUST_WRITE, AccessKind.MAY_WRITE))
    # What may be overwritten but need not be has to be there as well.
    needed = accessed.of(chosen, (AccessKind.READ, AccessKind.MAY_WRITE))
    for array in written.keys() | writes.keys():
        if array not in own:
            assert writes[array] == written[array], f"writes of {array} in {limits}"
    for array in needed:
        if array not in own:
            assert needed[array] <= reads[array], f"reads of {array} in {limits}"
    for array, touched in reads.items():
        if array in shapes and chosen:
            assert all(0 <= x < n for element in touched for x, n in zip(element, shapes[array], strict=True)), array
    if not chosen:
        assert not any(writes.values())


@pytest.mark.parametrize("name", ["lower_triangle", "chequered", "two_arrays_in_one_loop", "band_of_a_matrix"])
def test_boxes_of_what_is_written_are_disjoint(name: str) -> None:
    """Of one array: what is counted or copied twice would be moved twice."""
    case = case_of(name)
    given = case.arguments()
    stages = Stages(case.function, signature_of(tuple(given), tuple(given.values())), devices=True)  # type: ignore[arg-type]
    module = Interpreter(stages.source).module
    parameters = module["parameters"](*given.values())
    for number, around in module["PARTITIONED"].steps(*parameters):
        part = module["PARTITIONED"].parts[number]
        limits = part.ranges(*parameters, *around)[: part.shared]
        boxes = part.writes(*parameters, *around, *(limit for pair in limits for limit in pair))
        total = sum(len(list(product(*(range(*axis) for axis in box)))) for _, box in boxes)
        assert total == sum(len(touched) for touched in elements(boxes).values())


@pytest.mark.parametrize(
    ("function", "arguments", "moved"),
    [
        # Rectangles are moved as one box each, whatever the split.
        (SMALL["product_of_sums"].function, (matrix(5, 4), matrix(5, 3), matrix(3, 4)), 1),
        # Rows of a triangle: one box each.
        (lower_triangle, (matrix(6, 6), matrix(6, 6)), 6),
    ],
)
def test_number_of_boxes(function: Callable[..., Any], arguments: tuple[Any, ...], moved: int) -> None:
    names = function.__code__.co_varnames[: len(arguments)]
    stages = Stages(function, signature_of(names, arguments), devices=True)  # type: ignore[arg-type]
    module = Interpreter(stages.source).module
    parameters = module["parameters"](*arguments)
    (part,) = module["PARTITIONED"].parts
    limits = [limit for pair in part.ranges(*parameters)[: part.shared] for limit in pair]
    assert len(part.writes(*parameters, *limits)) == moved
