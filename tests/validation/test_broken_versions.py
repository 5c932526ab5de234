"""Validation finds what it is there to find: each test breaks a version in one way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from polytune.codegen.loops import Block, Compute, For, Let, Node, PrivateSum, Program, Store, TiledMember, walk_nodes
from polytune.codegen.transform import Target
from polytune.codegen.vectors.expressions import VECTOR, Between, Lanes, Total
from polytune.frontend.expression import Binary, Constant, Iterator, map_children
from polytune.pipeline import Stages
from tests.schedule.kernels import SMALL, Case, polybench_case
from tests.validation.broken import (
    TRAP,
    begun_late,
    broken_node,
    broken_nodes,
    doubled,
    dropped,
    nodes_of,
    shortened,
    swapped,
    with_region,
)
from tests.validation.reference import Reference, execute_source
from tests.validation.validate import validate_program

TARGET = Target(16, 8)
"""Two lanes of float64: small problems have whole vectors."""


class Subject:
    """A kernel to be broken."""

    def __init__(self, case: Case):
        self.stages: Stages = replace(case.stages, target=TARGET)
        self.reference: Reference = execute_source(self.stages.scop, case.arguments(), seed=1)

    def version(self, name: str) -> Program:
        return next(program for program in self.stages.programs if program.name == name)

    def hold(self, program: Program, tiles: int | Sequence[int] = 2, seed: int = 0) -> None:
        sizes = (tiles,) * program.tile_depth if isinstance(tiles, int) else tiles
        validate_program(program, self.stages, self.reference, sizes, program.outer, seed)

    def fault(self, program: Program, tiles: int | Sequence[int] = 2, seeds: range = range(5)) -> str:
        """What is wrong with a version; nothing where no order of tiles shows anything."""
        for seed in seeds:
            try:
                self.hold(program, tiles, seed)
            except AssertionError as error:
                return str(error)
        return ""


_subjects: dict[str, Subject] = {}


def subject(name: str) -> Subject:
    if name not in _subjects:
        _subjects[name] = Subject(SMALL.get(name) or polybench_case(name))
    return _subjects[name]


@pytest.mark.parametrize("name", ["product_of_sums", "row_buffer", "in_place_stencil", "transposed_copy"])
def test_every_statement_dropped_and_doubled(name: str) -> None:
    """Of all versions, one after another, wherever one is executed at all; many assignments are idempotent."""
    kernel, executed = subject(name), 0
    for program in kernel.stages.programs:
        kernel.hold(program)
        for number in range(nodes_of(program, Compute)):
            trapped = broken_node(program, Compute, lambda node: TRAP, number)
            if "ZeroDivisionError" in kernel.fault(trapped, seeds=range(1)):
                executed += 1
                assert "is executed 2 times" in kernel.fault(broken_node(program, Compute, doubled, number))
                assert kernel.fault(broken_node(program, Compute, dropped, number))
    assert executed > 2


@pytest.mark.parametrize("change", [shortened, begun_late], ids=["last", "first"])
def test_iteration_dropped(change: Callable[[Node], Node]) -> None:
    kernel = subject("row_buffer")
    program = kernel.version("parallel")
    for broken in broken_nodes(program, For, change):
        assert "instance S" in kernel.fault(broken)


def test_iteration_of_vectors_dropped() -> None:
    kernel = subject("gemm")
    program = next(each for each in kernel.stages.programs if each.has_vectors)
    kernel.hold(program, tiles=6)
    assert all(kernel.fault(program, tiles=6) == "" for _ in range(2))
    faults = [kernel.fault(broken, tiles=6) for broken in broken_nodes(program, For, begun_late)]
    assert (
        sum("is not executed" in fault or "holds at the end" in fault or "is written 0" in fault for fault in faults)
        > 3
    )


def test_statements_exchanged() -> None:
    kernel = subject("two_live_ranges")
    program = kernel.version("parallel")
    fault = kernel.fault(broken_node(program, Block, swapped, 0))
    assert "it writes to B[" in fault and "what it does not write in the source order" in fault


def test_iterations_exchanged() -> None:
    """A loop that runs backwards, although each iteration needs the one before."""
    kernel = subject("descending")

    def backwards(node: Any) -> Any:
        def change(part: Any) -> Any:
            if part == Iterator(node.variable):
                last = Binary("-", Binary("+", node.start, node.stop, "int64"), Constant(1, "int64"), "int64")
                return Binary("-", last, part, "int64")
            return map_children(part, change)

        return replace(node, body=change(node.body))

    program = next(each for each in kernel.stages.programs if not each.team)
    assert "it writes to B[6] what it does not write" in kernel.fault(broken_node(program, For, backwards, 0))


def test_wavefront_without_order() -> None:
    kernel = subject("in_place_stencil")
    program = kernel.version("tiled")
    assert program.regions[0].kind == "wavefront"
    fault = kernel.fault(with_region(program, 0, replace(program.regions[0], kind="parallel")))
    assert "a race: A[" in fault or " writes to A[" in fault


def test_window_that_is_too_wide() -> None:
    """Two tiles that both compute what is between them: the same values, but twice, and at the same time."""
    kernel = subject("transposed_copy")
    program = next(each for each in kernel.stages.programs if each.regions[0].kind == "parallel")
    region = program.regions[0]
    low, high = region.windows[0]
    after = Binary("min", Binary("+", Iterator(high), Constant(1, "int64"), "int64"), region.members[0].upper, "int64")
    wider = Block((Let(high, after), region.body))
    fault = kernel.fault(with_region(program, 0, replace(region, body=wider)))
    assert "is executed 2 times" in fault and low


def test_range_of_tiles_that_is_too_short() -> None:
    kernel = subject("transposed_copy")
    program = next(each for each in kernel.stages.programs if each.regions[0].kind == "parallel")
    region = program.regions[0]
    upper = Binary("-", region.members[0].upper, Constant(1, "int64"), "int64")
    shorter = (TiledMember(region.members[0].lower, upper), *region.members[1:])
    assert "is not executed" in kernel.fault(with_region(program, 0, replace(region, members=shorter)), tiles=1)
    empty = (TiledMember(upper, upper), *region.members[1:])
    assert "it has nothing to do" in kernel.fault(with_region(program, 0, replace(region, members=empty)))


def test_copy_that_is_missing() -> None:
    kernel = subject("row_buffer")
    program = kernel.version("parallel")
    assert program.regions[0].private == {"row"}
    fault = kernel.fault(with_region(program, 0, replace(program.regions[0], private=frozenset())))
    assert "a race: row[" in fault


def test_copy_of_what_is_shared() -> None:
    kernel = subject("stencil")
    program = kernel.version("parallel")
    fault = kernel.fault(with_region(program, 0, replace(program.regions[0], private=frozenset({"B"}))))
    assert "it writes to A[" in fault


def test_variable_that_outlives_its_tile() -> None:
    kernel = subject("scalar_used_twice")
    program = kernel.version("parallel")
    number = next(region.index for region in program.regions if not region.local)
    region = replace(program.regions[number], local=frozenset({"t"}))
    assert "it writes to C[" in kernel.fault(with_region(program, number, region))


def test_vector_stored_twice() -> None:
    """Elements are stored to that have their values already."""
    kernel = subject("jacobi-2d")
    program = kernel.version("tiled_unrolled")
    faults = [kernel.fault(broken, tiles=32, seeds=range(1)) for broken in broken_nodes(program, Store, doubled)]
    stored = [fault for fault in faults if fault]
    assert len(stored) > 4 and all("times, and 3 times in the source order" in fault for fault in stored)


def test_mask_that_is_missing() -> None:
    kernel = subject("product_of_sums")
    program = next(each for each in kernel.stages.programs if each.has_vectors)

    def everywhere(node: Any) -> Any:
        return (
            replace(node, value=replace(node.value, last=Constant(9, "int64")))
            if isinstance(node.value, Between)
            else node
        )

    faults = [kernel.fault(broken, tiles=3) for broken in broken_nodes(program, Let, everywhere)]
    assert any("outside of the shape" in fault for fault in faults)
    assert any("a race" in fault or "is written" in fault for fault in faults)


def test_sum_of_lanes_that_lacks_one() -> None:
    kernel = subject("atax")
    found = 0
    for program in kernel.stages.programs:
        for number in range(nodes_of(program, Store)):

            def without(node: Any) -> Any:
                def change(part: Any) -> Any:
                    if isinstance(part, Total) and part.value.dtype == VECTOR:
                        return Binary("+", part, Constant(1.0, part.dtype), part.dtype)
                    return map_children(part, change)

                return replace(node, value=change(node.value))

            broken = broken_node(program, Store, without, number)
            if broken != program and "differs" not in (fault := kernel.fault(broken, tiles=6)) and fault:
                found += "holds at the end what it does not hold" in fault or " writes to " in fault
    assert found


def test_sums_of_workers() -> None:
    kernel = subject("bicg")
    program = next(each for each in kernel.stages.programs if each.has_sums)
    number, region = next((region.index, region) for region in program.regions if region.sums)
    kernel.hold(program)
    assert "a race: " in kernel.fault(with_region(program, number, replace(region, sums=())))
    lost = tuple(shorter(own) for own in region.sums)
    fault = kernel.fault(with_region(program, number, replace(region, sums=lost)))
    assert "holds at the end" in fault or "elements were read that nobody had written" in fault


def shorter(own: PrivateSum) -> PrivateSum:
    assert own.elements is not None
    return replace(
        own, elements=TiledMember(Binary("+", own.elements.lower, Constant(1, "int64"), "int64"), own.elements.upper)
    )


def test_transposed_copy_that_is_not_copied_back() -> None:
    kernel = subject("product_of_sums")
    program = next(each for each in kernel.stages.programs if each.name == "transposed")
    own = {statement.name for statement in kernel.stages.scop.statements}
    copies = [node.statement not in own for region in program.regions for node in computed(region.body)]
    assert any(copies)
    for number, is_copy in enumerate(copies):
        if is_copy:
            fault = kernel.fault(broken_node(program, Compute, dropped, number))
            assert "is not made" in fault or "it writes to" in fault


def computed(node: Node) -> list[Compute]:
    return [part for part in walk_nodes(node) if isinstance(part, Compute)]


def test_lanes_one_element_off() -> None:
    kernel = subject("jacobi-2d")
    program = kernel.version("tiled_unrolled")

    def moved(node: Any) -> Any:
        def change(part: Any) -> Any:
            if isinstance(part, Lanes):
                *outer, last = part.element.subscripts
                further = Binary("-", last, Constant(1, "int64"), "int64")
                return replace(part, element=replace(part.element, subscripts=(*outer, further)))
            return map_children(part, change)

        return replace(node, value=change(node.value))

    kernel.hold(program, tiles=32)
    faults = [kernel.fault(broken, tiles=32, seeds=range(1)) for broken in broken_nodes(program, Let, moved)]
    found = [fault for fault in faults if fault]
    assert len(found) > 20 and all("outside of the shape" in f or "holds at the end" in f for f in found)


def test_instance_that_the_source_does_not_have() -> None:
    kernel = subject("stencil")
    program = next(each for each in kernel.stages.programs if not each.team)

    def longer(node: Any) -> Any:
        return replace(node, stop=Binary("+", node.stop, Constant(1, "int64"), "int64"))

    assert "it is executed, and is none of the source" in kernel.fault(broken_node(program, For, longer, 1))


def test_message_says_where() -> None:
    kernel = subject("row_buffer")
    program = kernel.version("parallel")
    fault = kernel.fault(broken_node(program, Compute, doubled, 0), tiles=(3,) * program.tile_depth)
    assert fault.startswith("version parallel of row_buffer, {")
    assert "tiles (3,), seed 0: region 0, tile at [" in fault
    assert "instance S0[" in fault
